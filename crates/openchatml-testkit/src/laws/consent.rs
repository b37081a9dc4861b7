//! The law of consent: no datum of the input is missing in the output, unless an error covers it or
//! a loss reports it (decision 38).

use std::cell::LazyCell;
use std::collections::BTreeSet;
use std::ops::Range;

use openchatml::convert::{Loss, Lost, convert};
use openchatml::render::LayoutChoice;
use openchatml::{
    Carrier, Diagnostic, Document, Dropped, Message, RenderOptions, Severity, render,
};

use super::{Broken, Case, Verdict};
use crate::grammar::{data, json};

/// Reads a text and writes it in the other format, or in its own format with its own or the
/// canonical layout.
pub(crate) fn consent(case: &Case<'_>) -> Verdict {
    let parsed = case.parse();
    let mut options = RenderOptions::default();
    options.layout = case.choose(&[LayoutChoice::Keep, LayoutChoice::Canonical]);
    let (output, losses) = if case.from == case.to {
        let Ok(output) = render(&parsed.document, case.to, &options) else { return Ok(()) };
        (output, Vec::new())
    } else {
        let Ok(converted) = convert(&parsed.document, case.to, &options) else { return Ok(()) };
        (converted.output, converted.losses)
    };
    let written: BTreeSet<_> = data(&output).into_iter().map(|(_, datum)| datum).collect();
    let errors = Errors::of(case, &parsed.diagnostics);
    let conversions = LazyCell::new(|| conversions(&parsed.document));
    if errors.tree.is_none() && case.from.carrier() == Carrier::Json {
        // The recovered document has no keys to search for.
        return Ok(());
    }
    for (at, datum) in data(case.text) {
        if written.contains(datum)
            || errors.cover(at)
            || names_nothing(&case.text[at + datum.len()..])
        {
            continue;
        }
        let place = Place::of(datum, &parsed.document, || {
            conversions.iter().any(|output| output.contains(datum))
        });
        if errors.drops_header && matches!(place, Place::Header) {
            continue;
        }
        let is_told = is_named(place, case, at, datum, &losses, &parsed.document);
        if is_told || errors.went_whole(at, &losses, &parsed.document) {
            continue;
        }
        let what = match (errors.touch(at), place) {
            (true, _) => "lost with an error that does not say that it is dropped",
            (_, Place::Nowhere) => "not read, without an error",
            (_, Place::Beyond) => "kept beside the conversation, and lost without a name",
            (_, Place::Header) => "header lost without a name",
            (_, Place::Tools) => "tool lost without a name",
            (_, Place::Body(_)) => "text lost without a name",
            (_, Place::Field(..)) => "field lost without a name",
        };
        let losses: Vec<_> = losses.iter().map(ToString::to_string).collect();
        let found: Vec<_> = parsed.diagnostics.iter().map(ToString::to_string).collect();
        let detail = format!("{datum} is not in {output:?}; losses {losses:?}; found {found:?}");
        let cause = match errors.tree.as_ref().map(|(_, root)| path(case.text, root, at)) {
            Some(path) => path,
            None => format!("{:?}: {}", place.kind(), errors.codes(&parsed.diagnostics, at)),
        };
        return Err(Broken { what, cause, detail });
    }
    Ok(())
}

/// Whether a loss names a datum at this byte of the input.
fn is_named(
    place: Place,
    case: &Case<'_>,
    at: usize,
    datum: &str,
    losses: &[Loss],
    document: &Document<'_>,
) -> bool {
    let may_be_lost = |place: Place, loss: &Loss| place.may_be_lost(loss, at, document);
    let is_named = losses.iter().any(|loss| may_be_lost(place, loss));
    // Data that only the own format can write is dropped together with its message.
    let mut gone =
        losses.iter().filter(|loss| WHOLE.contains(&loss.lost) || PARTS.contains(&loss.lost));
    let went = gone.any(|loss| may_be_lost(Place::Beyond, loss));
    // A loss may name the datum as a key, or the key of the datum.
    let is_key = |loss: &&Loss| {
        let key = loss.detail.as_ref().map(|key| format!("\"{key}\""));
        let before = &case.text[..case.text.floor_char_boundary(at + datum.len() + 1)];
        key.is_some_and(|key| before.contains(&key))
    };
    let mut keys = losses.iter().filter(is_key);
    let is_under = keys.any(|loss| may_be_lost(Place::Beyond, loss));
    // The datum is in the name of a column, whose value is named as lost.
    let is_column = losses.iter().any(|loss| {
        let is_its = loss.detail.as_ref().is_some_and(|key| key.contains(datum));
        is_its && loss.span.start >= at + datum.len()
    });
    is_named || went || is_under || is_column
}

/// The parts of the input that errors cover.
struct Errors {
    tree: Option<(json::Json, json::Node)>,
    dropped: Vec<Range<usize>>,
    others: Vec<Range<usize>>,
    /// Whether the header is dropped.
    drops_header: bool,
}

impl Errors {
    fn of(case: &Case<'_>, found: &[Diagnostic]) -> Self {
        let tree = (case.from.carrier() == Carrier::Json).then(|| json::read(case.text)).flatten();
        let (mut dropped, mut others, mut drops_header) = (Vec::new(), Vec::new(), false);
        for found in found.iter().filter(|found| found.severity == Severity::Error) {
            let mut span = found.span.range();
            if let Some((_, root)) = &tree {
                span = widened(span, root);
            }
            match found.dropped {
                Some(Dropped::Record | Dropped::Limit) => dropped.push(0..case.text.len()),
                Some(Dropped::Header) => drops_header = true,
                Some(Dropped::Duplicate) => {
                    if let Some((_, root)) = &tree {
                        let same = before(case.text, &found.span.range(), root);
                        // Without an earlier duplicate, the key is a synonym of another one.
                        dropped.extend(if same.is_empty() { vec![span] } else { same });
                    }
                }
                Some(_) => dropped.push(span),
                None => others.push(span),
            }
        }
        Self { tree, dropped, others, drops_header }
    }

    fn cover(&self, at: usize) -> bool {
        self.dropped.iter().any(|span| span.contains(&at))
    }

    /// Whether all messages from the object with this datum were dropped. A field that applies to
    /// each of them was dropped with them.
    fn went_whole(&self, at: usize, losses: &[Loss], document: &Document<'_>) -> bool {
        let Some(object) = self.tree.as_ref().and_then(|(_, root)| object(root, at)) else {
            return false;
        };
        let messages = document.as_conversation().map_or(&[][..], |it| &it.messages);
        let is_dropped = |index: usize| {
            losses.iter().any(|it| it.message == Some(index) && WHOLE.contains(&it.lost))
        };
        let is_inside = |span: Range<usize>| object.start <= span.start && span.end <= object.end;
        let made = messages.iter().enumerate().filter(|(_, it)| is_inside(it.span.range()));
        let mut made = made.map(|(index, _)| index).peekable();
        made.peek().is_some() && made.all(is_dropped)
    }

    fn codes(&self, found: &[Diagnostic], at: usize) -> String {
        let here = found.iter().filter(|found| found.span.range().contains(&at));
        here.map(|found| found.code.as_str()).collect::<Vec<_>>().join(" ")
    }

    fn touch(&self, at: usize) -> bool {
        self.others.iter().any(|span| span.contains(&at))
    }
}

/// Returns the object with the member at this byte.
fn object(node: &json::Node, at: usize) -> Option<Range<usize>> {
    let (key, value) = node.children.iter().find(|(_, value)| value.span.contains(&at))?;
    let inner = object(value, at);
    inner.or_else(|| (!key.is_empty()).then(|| node.span.clone()))
}

/// Returns the earlier members with the same key.
fn before(text: &str, key: &Range<usize>, node: &json::Node) -> Vec<Range<usize>> {
    let found = node.children.iter().position(|(it, _)| it == key);
    let Some(index) = found else {
        return node.children.iter().flat_map(|(_, value)| before(text, key, value)).collect();
    };
    let same =
        node.children[..index].iter().filter(|(it, _)| text[it.clone()] == text[key.clone()]);
    same.map(|(key, value)| key.start..value.span.end).collect()
}

/// Returns the keys above a byte of the text. Data are replaced by `$`.
fn path(text: &str, node: &json::Node, at: usize) -> String {
    for (key, value) in &node.children {
        let name = text[key.clone()].trim_matches('"');
        let name = if data(name).is_empty() { name } else { "$" };
        if key.contains(&at) {
            return format!("/{name} itself");
        }
        if value.span.contains(&at) {
            return format!("/{name}{}", path(text, value, at));
        }
    }
    String::new()
}

/// Extends a span of a key to its value, and a span of a value to its key.
fn widened(span: Range<usize>, node: &json::Node) -> Range<usize> {
    for (key, value) in &node.children {
        if !key.is_empty() && key.start <= span.start && span.end <= key.end && !span.is_empty() {
            return key.start..value.span.end;
        }
        if value.span == span && !key.is_empty() {
            return key.start..span.end;
        }
        if value.span.start <= span.start && span.end <= value.span.end {
            return widened(span, value);
        }
    }
    span
}

/// The place of a datum in a document.
#[derive(Clone, Copy, Debug)]
enum Place {
    Header,
    Tools,
    Body(usize),
    Field(usize, Lost),
    /// In data that only the same format writes.
    Beyond,
    /// Nowhere: the reader dropped it.
    Nowhere,
}

/// Losses of layout and not of content.
const NARROW: &[Lost] = &[
    Lost::Developer,
    Lost::CommentaryMoved,
    Lost::Channel,
    Lost::Intent,
    Lost::Constraint,
    Lost::Markers,
    Lost::Order,
    Lost::Return,
    Lost::CallEnd,
    Lost::Open,
    Lost::Merged,
    Lost::SystemMoved,
    Lost::Recovered,
    Lost::Refusal,
    Lost::Preamble,
    Lost::Arguments,
    Lost::ArgumentTypes,
];

/// Losses that drop a message.
const WHOLE: &[Lost] = &[
    Lost::Analysis,
    Lost::Commentary,
    Lost::Call,
    Lost::Reply,
    Lost::Foreign,
    Lost::Hidden,
    Lost::LateSystem,
    Lost::Empty,
    Lost::Prompt,
];

/// Losses that drop a header or a part of it.
const HEADERS: &[Lost] = &[Lost::Header, Lost::Capabilities, Lost::Profiles, Lost::Version];

/// Losses that drop a part of a message.
const PARTS: &[Lost] = &[Lost::Part, Lost::Image, Lost::Audio, Lost::Video, Lost::File];

/// Losses that drop an item before a message.
const ITEMS: &[Lost] = &[Lost::Item, Lost::Reference, Lost::Hosted];

/// Losses of single fields.
const FIELDS: &[Lost] = &[Lost::Name, Lost::Recipient, Lost::CallId, Lost::ContentType];

/// Whether a key is followed by `null` or an empty list, so that nothing is lost with it. `rest` is
/// the text after its name.
fn names_nothing(rest: &str) -> bool {
    let value = rest.strip_prefix('"').and_then(|rest| rest.trim_ascii_start().strip_prefix(':'));
    let value = value.map(str::trim_ascii_start).unwrap_or_default();
    value.starts_with("null")
        || value.strip_prefix('[').is_some_and(|it| it.trim_ascii_start().starts_with(']'))
}

/// Returns the messages in the order of their numbers: of a pair, those of one side, and then those
/// of the other side that are not shared.
fn messages_of<'d, 'a>(document: &'d Document<'a>) -> Vec<&'d Message<'a>> {
    match document {
        Document::Pair(pair) => {
            let rest = pair.rejected.messages.iter().skip(pair.shared());
            pair.chosen.messages.iter().chain(rest).collect()
        }
        _ => document.as_conversation().map_or(Vec::new(), |it| it.messages.iter().collect()),
    }
}

impl Place {
    /// Returns the place without the message.
    fn kind(self) -> Self {
        match self {
            Self::Body(_) => Self::Body(0),
            Self::Field(_, lost) => Self::Field(0, lost),
            place => place,
        }
    }

    /// Returns the place of a datum. `is_converted` tells whether any format writes it.
    fn of(datum: &str, document: &Document<'_>, is_converted: impl Fn() -> bool) -> Self {
        let conversations = document.conversations();
        if conversations.is_empty() {
            let is_there = format!("{document:?}").contains(datum);
            return if is_there { Self::Body(0) } else { Self::Nowhere };
        }
        let has = |text: Option<&str>| text.is_some_and(|text| text.contains(datum));
        for (index, message) in messages_of(document).into_iter().enumerate() {
            if message.body.text().contains(datum) {
                return Self::Body(index);
            }
            let fields =
                [&message.name, &message.recipient, &message.call_id, &message.content_type];
            for (field, lost) in fields.into_iter().zip(FIELDS) {
                if has(field.as_deref()) {
                    return Self::Field(index, *lost);
                }
            }
        }
        let is_in = |text: String| text.contains(datum);
        if conversations.iter().any(|it| is_in(format!("{:?}", it.header))) {
            return Self::Header;
        }
        if conversations.iter().any(|it| is_in(format!("{:?}", it.tools))) {
            return Self::Tools;
        }
        // The `Debug` output of a conversation includes the data for its own format.
        match is_in(format!("{conversations:?}")) || is_converted() {
            true => Self::Beyond,
            false => Self::Nowhere,
        }
    }

    /// Whether a loss can explain that a datum, at this byte of the input, is not in the output.
    fn may_be_lost(self, loss: &Loss, at: usize, document: &Document<'_>) -> bool {
        let lost = loss.lost;
        let is_of = |index: usize| loss.message == Some(index);
        match self {
            Self::Header => HEADERS.contains(&lost),
            Self::Tools => matches!(lost, Lost::Tools | Lost::Declaration | Lost::HostedTool),
            // A section declares one of the tools.
            Self::Body(_) if lost == Lost::Tools => true,
            Self::Body(index) => is_of(index) && WHOLE.contains(&lost),
            Self::Field(index, field) => {
                let is_changed = (field, lost) == (Lost::CallId, Lost::CallIdChanged);
                is_of(index) && (WHOLE.contains(&lost) || lost == field || is_changed)
            }
            // If an item belongs to a hidden message, no format writes the item. If its message is
            // not written, the item is not visible in its own format.
            Self::Nowhere => {
                let is_beyond = matches!(lost, Lost::Summary | Lost::Encrypted);
                (is_beyond || ITEMS.contains(&lost)) && loss.span.range().contains(&at)
            }
            Self::Beyond => {
                let messages = messages_of(document);
                let span = loss.message.and_then(|index| messages.get(index)).map(|it| it.span);
                let is_here = loss.span.range().contains(&at)
                    || span.is_none_or(|span| span.range().contains(&at));
                // An item without a message of its own.
                let is_here = is_here || lost == Lost::Summary;
                is_here && !NARROW.contains(&lost) && !FIELDS.contains(&lost)
            }
        }
    }
}

/// Returns the document in all formats that can carry it.
fn conversions(document: &Document<'_>) -> Vec<String> {
    let outputs = openchatml::Format::all()
        .filter_map(|format| convert(document, format, &RenderOptions::default()).ok());
    outputs.map(|converted| converted.output).collect()
}
