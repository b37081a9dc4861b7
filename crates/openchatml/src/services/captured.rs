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
    let mut end = 0;
    text.split_inclusive(['\n', '\r']).filter_map(move |raw| {
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

/// Returns the type of the first event and its place, if a text can be a capture.
pub(crate) fn first_type(text: &str) -> Option<(Cow<'_, str>, Span)> {
    let text = &text[..text.floor_char_boundary(LOOK_BYTES)];
    let begin = text.trim_start_matches('\u{feff}').trim_start();
    let start = text.len() - begin.len();
    let is_line = begin.starts_with('{')
        || begin.starts_with("data:")
        || FRAMING.iter().any(|field| begin.starts_with(field));
    let (event, at) = match begin.strip_prefix('[') {
        Some(inside) => (inside, start + 1),
        None if is_line => match lines(text).next()? {
            Line::Event(event, span) => (event, span.start),
            Line::Other(_) => return None,
        },
        None => return None,
    };
    let mut json = Json::new(event, &Limits::default());
    if json.peek() != Some(b'{') {
        return None;
    }
    let start = at + json.offset();
    Some((json.ahead(&["type"], OTHERS)?, Span::new(start, start + 1)))
}
