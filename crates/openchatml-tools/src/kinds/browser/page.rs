//! Pages: numbered lines with numbered links.

/// How wide the lines of texts are.
const WIDTH: usize = 400;

/// How many bytes are seen at once, if nobody asks for a number of lines, and at most.
const VIEW: usize = 8 << 10;
const LONGEST: usize = 32 << 10;

/// How many places a search within a page tells.
const PLACES: usize = 50;

/// What was opened, searched or found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) title: String,
    pub(super) url: String,
    pub(super) lines: Vec<String>,
    pub(super) links: Vec<Link>,
}

/// What a link leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Link {
    Url(String),
    /// A line of the page with this cursor.
    Line(usize, usize),
}

/// Text that cannot pass for a link or a citation of ours.
pub(super) fn escape_link_brackets(text: &str) -> String {
    text.replace('【', "〖").replace('】', "〗").replace(['\r', '\0'], "")
}

impl Page {
    /// A page of text.
    pub(super) fn text(url: &str, text: &str) -> Self {
        let mut lines = Vec::new();
        for line in escape_link_brackets(text).lines() {
            wrap(line, WIDTH, &mut lines);
        }
        Self { title: name(url), url: url.to_owned(), lines, links: Vec::new() }
    }

    /// What is seen of it from a line on.
    pub(super) fn view(&self, cursor: usize, from: usize, count: Option<usize>) -> String {
        let last = self.lines.len().saturating_sub(1);
        let from = from.min(last);
        let limit = if count.is_some() { LONGEST } else { VIEW };
        let mut body = String::new();
        let mut to = from;
        for (at, line) in self.lines.iter().enumerate().skip(from).take(count.unwrap_or(usize::MAX))
        {
            // One line is always seen.
            if at > from && body.len() + line.len() > limit {
                break;
            }
            body.push_str(&format!("L{at}: {line}\n"));
            to = at;
        }
        let url = if self.url.is_empty() { String::new() } else { format!(" ({})", self.url) };
        format!(
            "[{cursor}] {}{url}\n**viewing lines [{from} - {to}] of {last}**\n\n{body}",
            self.title
        )
    }

    /// The places where a pattern is, as a page that links to them.
    pub(super) fn find(&self, cursor: usize, pattern: &str) -> Self {
        let wanted = pattern.to_lowercase();
        let mut lines = Vec::new();
        let mut links = Vec::new();
        for (at, line) in self.lines.iter().enumerate() {
            if !line.to_lowercase().contains(&wanted) {
                continue;
            }
            if links.len() == PLACES {
                lines.push("There are more.".into());
                break;
            }
            lines.push(format!("# 【{}†match at L{at}】", links.len()));
            lines.extend(self.lines[at..].iter().take(3).map(|line| unlink(line)));
            lines.push(String::new());
            links.push(Link::Line(cursor, at));
        }
        let pattern = escape_link_brackets(pattern);
        if links.is_empty() {
            lines.push(format!("`{}` is not found.", pattern.escape_debug()));
        }
        let title = format!("`{}` in {}", pattern.escape_debug(), self.title);
        Self { title, url: self.url.clone(), lines, links }
    }
}

/// A line without its links, whose numbers are another page's.
fn unlink(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('【') {
        text.push_str(before);
        rest = after.split_once('†').map_or(after, |it| it.1);
    }
    text.push_str(rest);
    text.replace('】', "")
}

/// A long line in several, at spaces where there are any.
pub(super) fn wrap(mut line: &str, width: usize, into: &mut Vec<String>) {
    while line.len() > width {
        let end = line.floor_char_boundary(width);
        let end = line[..end].rfind(' ').filter(|at| *at > width / 2).unwrap_or(end);
        into.push(line[..end].to_owned());
        line = line[end..].trim_start_matches(' ');
    }
    into.push(line.to_owned());
}

/// What a page without a title is called.
pub(super) fn name(url: &str) -> String {
    let path = url.strip_prefix(super::search::SCHEME).unwrap_or(url);
    let path = path.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    escape_link_brackets(path.rsplit('/').next().unwrap_or_default())
}
