//! Preference pairs in formats of one conversation: an object with both conversations.

use crate::json::Json;
use crate::model::{Conversation, Document, FormId, Message, Pair, Role, Shape, untrain};
use crate::options::{ReadOptions, RenderOptions};
use crate::reading::Parsed;
use crate::writing::RenderError;
use crate::{Code, Diagnostic, Limits, Span};

use super::DocumentReader;

const KEYS: &[&str] = &["chosen", "rejected"];

type ReadSide = for<'a> fn(&'a str, &ReadOptions) -> Parsed<'a>;
type WriteSide = fn(&Document<'_>, &RenderOptions) -> Result<String, RenderError>;

/// Whether a text begins like an object with both sides of a pair, and has none of the keys with the
/// messages of a conversation, the `holders`.
pub(crate) fn is_pair(text: &str, holders: &[&str], limits: &Limits) -> bool {
    let mut json = Json::new(text, limits);
    json.peek() == Some(b'{') && json.begins_with(KEYS) && {
        let start = json.offset();
        holders.iter().all(|holder| json.value_at(holder, start).is_none())
    }
}

/// Reports that a record has only one of two sides, which have these keys. The better one continues
/// the conversation, the other one is dropped.
pub(crate) fn one_side<'a>(
    reader: &mut DocumentReader<'_>,
    messages: &mut Vec<Message<'a>>,
    sides: &mut [Option<Vec<Message<'a>>>; 2],
    keys: [&str; 2],
    start: usize,
) {
    let (at, alone) = match sides {
        [Some(alone), None] => (0, alone),
        [None, Some(alone)] => (1, alone),
        _ => return,
    };
    let span = alone.first().map_or(Span::at(start), |message| message.span);
    let (is, other) = (keys[at], keys[1 - at]);
    let found = Code::ParseJson.at(span, format!("the object has `{is}`, but no `{other}`"));
    if at == 0 {
        messages.append(alone);
        reader.report(found.help(format!("`{is}` is read as the end of the conversation")));
    } else {
        reader.drop_item(found.help("it will be dropped"));
    }
    *sides = [None, None];
}

/// Returns the pair of a prompt and two continuations of it. Both sides have the prompt and its
/// tools, and the chosen one has the other data of the prompt.
pub(crate) fn continued<'a>(
    reader: &mut DocumentReader<'_>,
    json: &Json<'a>,
    form: FormId,
    mut prompt: Conversation<'a>,
    sides: [Vec<Message<'a>>; 2],
) -> Document<'a> {
    let most = reader.options.limits.messages;
    let asked = prompt.messages.len();
    untrain(&mut prompt.messages, form);
    let mut is_cut = asked > most;
    let mut room = most.saturating_sub(asked);
    let [chosen, rejected] = sides.map(|side| {
        is_cut |= side.len() > room;
        let mut messages = prompt.messages.clone();
        messages.extend(side.into_iter().take(room));
        room = most.saturating_sub(messages.len());
        messages.truncate(most);
        messages
    });
    if is_cut {
        reader.too_many(0, json);
    }
    let mut other = Conversation::from_messages(rejected);
    other.tools.clone_from(&prompt.tools);
    let mut better = Conversation { messages: chosen, ..prompt };
    better.set_shape(form, Shape::Exchange(asked));
    Document::Pair(Pair::new(better, other).into())
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

/// Returns where two continuations of one prompt begin, if a pair can be written as that in this form:
/// if it was not read as two documents, and both sides have the same tools.
pub(crate) fn continued_at(pair: &Pair<'_>, form: FormId) -> Option<usize> {
    let asked = match pair.chosen.shape(form) {
        Shape::Exchange(asked) if asked <= pair.shared() => asked,
        _ if pair.chosen.is_of(form) => return None,
        _ => shared_turns(pair),
    };
    (pair.chosen.tools == pair.rejected.tools).then_some(asked)
}

/// Returns the number of messages before the turn in which the sides of a pair differ. The whole
/// turn of the assistant belongs to the sides, even if it begins with the same reasoning. A side is
/// never empty.
pub(crate) fn shared_turns(pair: &Pair<'_>) -> usize {
    let Pair { chosen, rejected } = pair;
    let last = chosen.messages.len().min(rejected.messages.len()).saturating_sub(1);
    let shared = pair.shared().min(last);
    let is_assistant = |it: &Message<'_>| it.role == Role::Assistant;
    let mut next = pair.sides().into_iter().filter_map(|(_, side)| side.messages.get(shared));
    let begun = chosen.messages[..shared].iter().rev().take_while(|it| is_assistant(it)).count();
    if next.any(is_assistant) { shared - begun } else { shared }
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
