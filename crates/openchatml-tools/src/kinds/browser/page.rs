//! Pages: numbered lines with numbered links.

/// The maximum length of a line of a text page, in bytes.
const WIDTH: usize = 400;

/// The size of a view in bytes: the default, and the maximum if the model asks for a number of
/// lines.
const VIEW: usize = 8 << 10;
const LONGEST: usize = 32 << 10;

/// The maximum number of matches within a page.
const PLACES: usize = 50;

/// A page of the browser: an opened document, search results, or matches within a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) title: String,
    pub(super) url: String,
    pub(super) lines: Vec<String>,
    pub(super) links: Vec<Link>,
}

/// The target of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Link {
    Url(String),
    /// A line of the page with this cursor.
    Line(usize, usize),
}

/// Replaces the brackets of links, so that text of a page cannot look like a link or a citation.
pub(super) fn escape_link_brackets(text: &str) -> String {
    text.replace('【', "〖").replace('】', "〗").replace(['\r', '\0'], "")
}

impl Page {
    /// Creates a page from plain text.
    pub(super) fn text(url: &str, text: &str) -> Self {
        let mut lines = Vec::new();
        for line in escape_link_brackets(text).lines() {
            wrap(line, WIDTH, &mut lines);
        }
        Self { title: name(url), url: url.to_owned(), lines, links: Vec::new() }
    }

    /// Returns the view of the page from this line on.
    pub(super) fn view(&self, cursor: usize, from: usize, count: Option<usize>) -> String {
        let last = self.lines.len().saturating_sub(1);
        let from = from.min(last);
        let limit = if count.is_some() { LONGEST } else { VIEW };
        let mut body = String::new();
        let mut to = from;
        for (at, line) in self.lines.iter().enumerate().skip(from).take(count.unwrap_or(usize::MAX))
        {
            // A view has at least one line.
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

    /// Returns a page with links to the matches of a pattern.
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

/// Removes the links from a line, because their numbers belong to another page.
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

/// Wraps a long line, at spaces if possible.
pub(super) fn wrap(mut line: &str, width: usize, into: &mut Vec<String>) {
    while line.len() > width {
        let end = line.floor_char_boundary(width);
        let end = line[..end].rfind(' ').filter(|at| *at > width / 2).unwrap_or(end);
        into.push(line[..end].to_owned());
        line = line[end..].trim_start_matches(' ');
    }
    into.push(line.to_owned());
}

/// Returns the name of a page without a title.
pub(super) fn name(url: &str) -> String {
    let path = url.strip_prefix(super::search::SCHEME).unwrap_or(url);
    let path = path.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    escape_link_brackets(path.rsplit('/').next().unwrap_or_default())
}
