//! HTML as lines of text.
//!
//! The parser builds no tree, because the memory for the tree of a hostile page is not bounded by
//! the length of the page. The browser needs only lines and links.

use html5gum::emitters::default::DefaultEmitter;
use html5gum::{StartTag, Token, Tokenizer};
use reqwest::Url;

use super::page::{Link, Page, escape_link_brackets, name, wrap};

/// The maximum length of a line, in bytes.
const WIDTH: usize = 120;

/// The maximum total length of the URLs of a page, in bytes. Later links become text.
const LINKS: usize = 1 << 20;

/// Block elements, which start and end a line, and those that are surrounded by empty lines.
const BLOCKS: [&str; 24] = [
    "address",
    "article",
    "aside",
    "body",
    "caption",
    "dd",
    "div",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "header",
    "html",
    "legend",
    "li",
    "main",
    "nav",
    "option",
    "section",
    "summary",
    "tr",
    "br",
];
const PARAGRAPHS: [&str; 13] =
    ["blockquote", "details", "dl", "h1", "h2", "h3", "h4", "h5", "h6", "ol", "p", "pre", "ul"];

impl Page {
    /// Creates a page from HTML.
    pub(super) fn html(url: &str, html: &str) -> Self {
        let mut emitter = DefaultEmitter::<()>::default();
        emitter.naively_switch_states(true);
        let mut writer = Writer { base: Url::parse(url).ok(), ..Writer::default() };
        // Reading from a string cannot fail.
        for token in Tokenizer::new_with_emitter(html, emitter).flatten() {
            match token {
                Token::StartTag(tag) => writer.start(&tag),
                Token::EndTag(tag) => writer.end(&String::from_utf8_lossy(&tag.name)),
                Token::String(text) => writer.text(&String::from_utf8_lossy(&text)),
                Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
            }
        }
        writer.end_line();
        while writer.lines.last().is_some_and(String::is_empty) {
            writer.lines.pop();
        }
        let title = writer.title.split_whitespace().collect::<Vec<_>>().join(" ");
        let title = if title.is_empty() { name(url) } else { escape_link_brackets(&title) };
        Self { title, url: url.to_owned(), lines: writer.lines, links: writer.links }
    }
}

#[derive(Default)]
struct Writer {
    base: Option<Url>,
    title: String,
    lines: Vec<String>,
    links: Vec<Link>,
    /// The total length of their URLs, in bytes.
    link_bytes: usize,
    line: String,
    /// Whether white space follows the last word.
    is_apart: bool,
    /// The number of open `<pre>` elements.
    pre: usize,
    /// The open link, and whether it has text in this line.
    link: Option<(usize, bool)>,
    /// The open element whose text is not part of the page, such as `<script>`.
    aside: Option<&'static str>,
}

impl Writer {
    fn start(&mut self, tag: &StartTag<()>) {
        let tag_name = String::from_utf8_lossy(&tag.name);
        let attribute = |key: &[u8]| {
            let value = tag.attributes.iter().find(|it| it.0.as_slice() == key);
            value.map(|it| String::from_utf8_lossy(it.1).into_owned())
        };
        self.block(&tag_name);
        match &*tag_name {
            "script" => self.aside = Some("script"),
            "style" => self.aside = Some("style"),
            "title" => self.aside = Some("title"),
            "a" => {
                self.end_link();
                self.link = attribute(b"href").and_then(|to| Some((self.number(&to)?, false)));
            }
            "img" => self.text(&attribute(b"alt").unwrap_or_default()),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                let level = usize::from(tag_name.as_bytes()[1] - b'0');
                self.line = "#".repeat(level) + " ";
            }
            "li" => self.line = "* ".into(),
            "td" | "th" if !self.line.is_empty() => self.line.push_str(" | "),
            "hr" => {
                self.end_line();
                self.lines.push("---".into());
            }
            "pre" => self.pre += 1,
            _ => {}
        }
    }

    fn end(&mut self, tag_name: &str) {
        if self.aside.is_some_and(|aside| aside == tag_name) {
            self.aside = None;
        }
        match tag_name {
            "a" => self.end_link(),
            "pre" => self.pre = self.pre.saturating_sub(1),
            _ => {}
        }
        self.block(tag_name);
    }

    /// Starts a new line for a block element.
    fn block(&mut self, tag_name: &str) {
        if BLOCKS.contains(&tag_name) {
            self.end_line();
        } else if PARAGRAPHS.contains(&tag_name) {
            self.end_line();
            if self.lines.last().is_some_and(|line| !line.is_empty()) {
                self.lines.push(String::new());
            }
        }
    }

    fn text(&mut self, text: &str) {
        match self.aside {
            // Only the first `<title>` is that of the page: SVG images have titles as well.
            Some("title") if self.title.len() < 1024 && self.lines.is_empty() => {
                self.title.push_str(text);
            }
            Some(_) => {}
            None if self.pre > 0 => {
                let mut lines = text.split('\n');
                self.word(lines.next().unwrap_or_default());
                for line in lines {
                    self.end_line();
                    self.word(line);
                }
            }
            None => {
                for (at, word) in text.split(|it: char| it.is_ascii_whitespace()).enumerate() {
                    self.is_apart |= at > 0;
                    self.word(word);
                }
            }
        }
    }

    /// Writes a word, inside the open link.
    fn word(&mut self, word: &str) {
        if word.is_empty() {
            return;
        }
        if std::mem::take(&mut self.is_apart) && !self.line.is_empty() && !self.line.ends_with(' ')
        {
            self.line.push(' ');
        }
        if let Some((id, is_written @ false)) = &mut self.link {
            self.line.push_str(&format!("【{id}†"));
            *is_written = true;
        }
        self.line.push_str(&escape_link_brackets(word));
    }

    fn end_link(&mut self) {
        if let Some((_, true)) = self.link {
            self.line.push('】');
        }
        self.link = None;
    }

    fn end_line(&mut self) {
        if let Some((_, is_written @ true)) = &mut self.link {
            // The link continues in the next line.
            *is_written = false;
            self.line.push('】');
        }
        self.is_apart = false;
        let line = std::mem::take(&mut self.line);
        if self.pre > 0 {
            self.lines.push(line);
        } else if !line.trim_end().is_empty() {
            wrap(line.trim_end(), WIDTH, &mut self.lines);
        }
    }

    /// Returns the number of a link, if it leads to another page.
    fn number(&mut self, target: &str) -> Option<usize> {
        let target = target.trim();
        let url = match &self.base {
            Some(base) => base.join(target).ok()?,
            None => Url::parse(target).ok()?,
        };
        if !matches!(url.scheme(), "http" | "https") || target.starts_with('#') {
            return None;
        }
        self.link_bytes += url.as_str().len();
        if self.link_bytes > LINKS {
            return None;
        }
        self.links.push(Link::Url(url.into()));
        Some(self.links.len() - 1)
    }
}
