//! Captured streams of a service: server-sent events, one event in JSON per line, or a JSON array of
//! events.

use std::borrow::Cow;

use crate::Span;
use crate::json::{Json, JsonError};
use crate::limits::Limits;

/// A line of a capture, or an item of an array.
pub(crate) enum Line<'a> {
    /// The JSON of an event.
    Event(&'a str, Span),
    /// Neither an event nor framing.
    Other(Span),
}

/// The fields of server-sent events that add nothing to the JSON of an event.
const FRAMING: &[&str] = &["event:", "id:", "retry:", ":"];

/// Returns the lines of a capture that are more than framing. Services write each event into one
/// line.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut end = headers(text);
    text[end..].split_inclusive(['\n', '\r']).filter_map(move |raw| {
        let start = end;
        end += raw.len();
        let line = raw.trim_start_matches('\u{feff}');
        let line = line.trim_ascii();
        if line.is_empty() || FRAMING.iter().any(|field| line.starts_with(field)) {
            return None;
        }
        let event = line.strip_prefix("data:").map(str::trim_ascii_start);
        if event == Some("[DONE]") {
            return None;
        }
        let event = event.or_else(|| line.starts_with('{').then_some(line));
        let part = event.unwrap_or(line);
        let at = start + (part.as_ptr().addr() - raw.as_ptr().addr());
        let span = Span::new(at, at + part.len());
        Some(event.map_or(Line::Other(span), |event| Line::Event(event, span)))
    })
}

/// Returns the length of the HTTP headers before a capture, as `curl -i` writes them. Redirections
/// have headers of their own.
pub(crate) fn headers(text: &str) -> usize {
    let mut end = 0;
    while text[end..].starts_with("HTTP/") {
        let lines = text[end..].split_inclusive('\n');
        let is_header = |line: &&str| !line.trim_ascii().is_empty();
        end += lines.clone().take_while(is_header).map(str::len).sum::<usize>();
        end += { lines }.find(|line| !is_header(line)).map_or(0, str::len);
    }
    end
}

/// Returns the events of a capture, and what is between them.
///
/// # Errors
///
/// The capture is an array that is not valid JSON.
pub(crate) fn events<'a>(text: &'a str, limits: &Limits) -> Result<Vec<Line<'a>>, JsonError> {
    let mut json = Json::new(text, limits).repairing().without_notes();
    if json.peek() != Some(b'[') {
        return Ok(lines(text).collect());
    }
    let mut events = Vec::new();
    json.array(|json| {
        let start = json.offset();
        json.pass()?;
        events.push(Line::Event(json.since(start), Span::new(start, json.position())));
        Ok(())
    })?;
    json.end()?;
    Ok(events)
}

/// Keys of documents that are not events. They end the search.
const OTHERS: &[&str] = &["messages", "role", "content", "model", "max_tokens", "system", "tools"];

/// How many bytes are searched for the first event.
const LOOK_BYTES: usize = 1 << 16;

/// The first event of a capture.
pub(crate) struct First<'a> {
    /// The JSON of the event, and the text after it.
    text: &'a str,
    start: usize,
    /// Whether it is a server-sent event.
    pub(crate) is_sent: bool,
    /// Whether the capture is a JSON array.
    pub(crate) is_item: bool,
}

/// Returns the first event, if a text can be a capture.
pub(crate) fn first(text: &str) -> Option<First<'_>> {
    let text = &text[..text.floor_char_boundary(LOOK_BYTES)];
    let begin = text[headers(text)..].trim_start_matches('\u{feff}').trim_start();
    let start = text.len() - begin.len();
    let is_sent = begin.starts_with("data:") || FRAMING.iter().any(|it| begin.starts_with(it));
    let inside = begin.strip_prefix('[');
    let (event, start) = match inside {
        Some(inside) => (inside, start + 1),
        None if is_sent || begin.starts_with('{') => match lines(text).next()? {
            Line::Event(event, span) => (event, span.start),
            Line::Other(_) => return None,
        },
        None => return None,
    };
    let mut json = Json::new(event, &Limits::default());
    (json.peek() == Some(b'{')).then_some(())?;
    let at = json.offset();
    Some(First { text: &event[at..], start: start + at, is_sent, is_item: inside.is_some() })
}

impl<'a> First<'a> {
    /// The place where the event begins.
    pub(crate) fn place(&self) -> Span {
        Span::new(self.start, self.start + 1)
    }

    /// Reads the event.
    pub(crate) fn json(&self) -> Json<'a> {
        Json::new(self.text, &Limits::default())
    }

    /// Returns the first string under this key, unless keys of other documents precede it.
    fn word(&self, key: &str) -> Option<Cow<'a, str>> {
        self.json().ahead(&[key], OTHERS)
    }
}

/// Returns the type of the first event and its place, if a text can be a capture.
pub(crate) fn first_type(text: &str) -> Option<(Cow<'_, str>, Span)> {
    let first = first(text)?;
    Some((first.word("type")?, first.place()))
}
