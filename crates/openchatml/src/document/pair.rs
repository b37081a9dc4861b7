//! Preference pairs in formats of one conversation: an object with both conversations.

use crate::json::Json;
use crate::model::{Conversation, Document, Pair};
use crate::options::{ReadOptions, RenderOptions};
use crate::reading::Parsed;
use crate::writing::RenderError;
use crate::{Code, Diagnostic, Limits, Span};

use super::DocumentReader;

const KEYS: &[&str] = &["chosen", "rejected"];

type ReadSide = for<'a> fn(&'a str, &ReadOptions) -> Parsed<'a>;
type WriteSide = fn(&Document<'_>, &RenderOptions) -> Result<String, RenderError>;

/// Whether a text begins like an object with both sides of a pair.
pub(crate) fn is_pair(text: &str, limits: &Limits) -> bool {
    let mut json = Json::new(text, limits);
    json.peek() == Some(b'{') && json.begins_with(KEYS)
}

/// Reads an object with both sides of a pair, each of which is a document that `read` reads.
pub(crate) fn read_pair<'a>(text: &'a str, read: ReadSide, options: &ReadOptions) -> Parsed<'a> {
    let mut reader = DocumentReader::new(options);
    let mut json = reader.json(text);
    let mut sides = [None, None];
    let start = json.offset();
    let ended = reader.object(&mut json, KEYS, |reader, json, key| {
        let start = json.offset();
        let passed = json.skip();
        json.forget(start);
        // A side that is cut off is read to the end of the text.
        let end = if passed.is_ok() { json.position() } else { text.len() };
        let mut parsed = read(&text[start..end], reader.options);
        if passed.is_err() {
            // With a fix, the rest of the text could have another meaning.
            parsed.diagnostics.iter_mut().for_each(|found| found.fix = None);
        }
        let side = usize::from(key == KEYS[1]);
        sides[side] = side_of(reader, parsed, Span::new(start, end));
        passed
    });
    let [chosen, rejected] = sides;
    if chosen.is_none() || rejected.is_none() {
        reader.lacks("the object has only one of `chosen` and `rejected`", start);
    }
    let pair = Pair::new(chosen.unwrap_or_default(), rejected.unwrap_or_default());
    // The reader of each side has checked it.
    reader.finish(json, ended.map(|_| ()), Document::Pair(pair.into()), |_| None)
}

/// Returns a side that was read from this part of the text of the pair.
fn side_of<'a>(
    reader: &mut DocumentReader<'_>,
    parsed: Parsed<'a>,
    span: Span,
) -> Option<Conversation<'a>> {
    let Parsed { document, diagnostics } = parsed;
    let side = reader.pointer();
    for mut found in diagnostics {
        place(&mut found, span.start);
        found.pointer = found.pointer.map(|inner| format!("{side}{inner}"));
        reader.pass(found);
    }
    let Document::Conversation(mut conversation) = document else {
        reader.drop_item(Code::ParseJson.at(span, "a side of a pair must be a conversation"));
        return None;
    };
    for message in &mut conversation.messages {
        message.span = message.span.shift(span.start);
    }
    Some(conversation)
}

/// Moves a diagnostic forward by `start` bytes.
fn place(found: &mut Diagnostic, start: usize) {
    found.span = found.span.shift(start);
    for edit in found.fix.iter_mut().flat_map(|fix| &mut fix.edits) {
        edit.span = edit.span.shift(start);
    }
}

/// Writes an object with both sides of a pair, each of which `write` writes.
pub(crate) fn write_pair(
    pair: &Pair<'_>,
    write: WriteSide,
    options: &RenderOptions,
) -> Result<String, RenderError> {
    let side = |conversation: &Conversation<'_>| write(&conversation.clone().into(), options);
    let chosen = side(&pair.chosen)?;
    let rejected = side(&pair.rejected).map_err(|error| error.renumber(pair.numbers()))?;
    Ok(format!(r#"{{"chosen":{chosen},"rejected":{rejected}}}"#))
}
