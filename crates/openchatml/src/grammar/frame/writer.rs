//! The writer of framed messages.

use std::collections::HashMap;

use super::Rules;
use super::header::{self, Context, Shape};
use super::marker::{MarkerPlace, marker_place};
use super::opening::Opening;
use super::write_header::{Checked, header as write_header, sanitized};
use crate::lex::TokenTable;
use crate::limits::Limits;
use crate::model::{Conversation, Document, End, Layout, Marker, Message, Raw, RawPiece, Segment};
use crate::options::{LayoutChoice, RenderOptions, Values};
use crate::reading::Keep;
use crate::writing::{
    Part, Place, PlainOpening, RenderError, Sink, SinkError, write_pieces, write_raw,
};
use crate::{Code, Control, Span};

/// An error in a part of a message.
pub(crate) type Named = (Place, SinkError);

/// Writes a document that must be a conversation.
pub(crate) fn write(
    rules: &'static Rules,
    document: &Document<'_>,
    options: &RenderOptions,
    sink: &mut dyn Sink,
) -> Result<(), RenderError> {
    let Some(conversation) = document.as_conversation() else {
        return Err(RenderError::not_a_conversation(rules.form.name()));
    };
    if let Some(header) = &conversation.header {
        // Comments are more than layout.
        let keeps = options.layout == LayoutChoice::Keep || header.has_comments();
        let written = match header.source().filter(|_| keeps) {
            Some(source) => sink.preamble(source),
            None => sink.preamble(&crate::header::emit(header)),
        };
        written.map_err(|error| RenderError::sink(error, None, Place::Header))?;
    }
    write_messages(rules, conversation, options, sink)
}

fn write_messages(
    rules: &'static Rules,
    conversation: &Conversation<'_>,
    options: &RenderOptions,
    sink: &mut dyn Sink,
) -> Result<(), RenderError> {
    let keeps = options.layout == LayoutChoice::Keep;
    let around = conversation.layout.as_ref().filter(|it| keeps && it.form == rules.form);
    if let Some(lead) = around.and_then(|around| around.lead.as_ref()) {
        write_raw(lead, sink).map_err(|error| RenderError::sink(error, None, Place::Document))?;
    }
    if options.values == Values::Sanitize {
        keep_ids_apart(rules, conversation)?;
    }
    let mut writer = Writer { rules, options, sink };
    let last = conversation.messages.len().saturating_sub(1);
    for (index, message) in conversation.messages.iter().enumerate() {
        let place = match index == last && options.generation_prompt.is_none() {
            true if options.continue_final => Position::LeftOpen,
            true => Position::Last,
            false => Position::Inside,
        };
        writer
            .message(index, message, place)
            .map_err(|(place, error)| RenderError::sink(error, Some(index), place))?;
    }
    if let Some(role) = options.generation_prompt {
        let mut prompt = Message::new(role, "");
        prompt.end = End::Prompt;
        let index = conversation.messages.len();
        writer
            .message(index, &prompt, Position::Last)
            .map_err(|(place, error)| RenderError::sink(error, Some(index), place))?;
    }
    Ok(())
}

/// Refuses ids of calls that become equal after sanitizing (SPEC 2.2 §8.2).
fn keep_ids_apart(rules: &Rules, conversation: &Conversation<'_>) -> Result<(), RenderError> {
    let mut ids: HashMap<String, &str> = HashMap::new();
    for (index, message) in conversation.messages.iter().enumerate() {
        let Some(id) = message.call_id.as_deref() else { continue };
        let clean = sanitized(message, rules.controls).call_id.unwrap_or_default();
        if ids.insert(clean.into_owned(), id).is_some_and(|other| other != id) {
            let text = "after sanitizing, this `call_id` equals that of another call";
            let error = RenderError::new(Code::ParseHeader, Some(index), text);
            let help = "change the ids of the calls so that they differ after sanitizing";
            return Err(error.at(Place::CallId, Span::default()).help(help));
        }
    }
    Ok(())
}

/// The position of a message. Only the last message can be open; an earlier incomplete message is
/// closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    Inside,
    Last,
    /// The last message, left open for the model to continue.
    LeftOpen,
}

struct Writer<'w> {
    rules: &'static Rules,
    options: &'w RenderOptions,
    sink: &'w mut dyn Sink,
}

impl Writer<'_> {
    /// Returns the layout of a message, if it must be kept.
    fn kept<'m>(&self, message: &'m Message<'_>) -> Option<&'m Layout<'m>> {
        message.layout.as_deref().filter(|layout| {
            self.options.layout == LayoutChoice::Keep && layout.form == self.rules.form
        })
    }

    fn message(
        &mut self,
        index: usize,
        message: &Message<'_>,
        position: Position,
    ) -> Result<(), Named> {
        self.sink.part(Part::Opening(index));
        let kept = self.kept(message);
        let controls = self.rules.controls;
        let sink = &mut *self.sink;
        let raw = kept.and_then(|layout| layout.header.as_ref());
        let is_prompt = message.end == End::Prompt && position != Position::Inside;
        if let Some(opening) = plain_opening(message, self.rules)
            && raw.is_none()
            && !is_prompt
        {
            sink.opening(opening).map_err(|error| (Place::Role, error))?;
            return self.rest(message, position);
        }
        put(sink, Control::Start)?;
        match raw.filter(|raw| says_the_same(raw, message, self.rules)) {
            Some(raw) => raw_header(raw, sink).map_err(|error| (Place::Role, error))?,
            None => {
                let mut checked = Checked { sink, controls };
                match self.options.values {
                    Values::Sanitize => {
                        write_header(&sanitized(message, controls), self.rules, &mut checked)?;
                    }
                    _ => write_header(message, self.rules, &mut checked)?,
                }
            }
        }
        if is_prompt {
            return Ok(());
        }
        put(sink, Control::Message)?;
        self.rest(message, position)
    }

    /// Writes the body of a message, its end, and the text after it.
    fn rest(&mut self, message: &Message<'_>, position: Position) -> Result<(), Named> {
        let kept = self.kept(message);
        let sink = &mut *self.sink;
        sink.part(Part::Body);
        body(message, self.rules, sink).map_err(|error| (Place::Body, error))?;
        let is_open = match position {
            Position::Inside => false,
            Position::Last => message.end == End::Open,
            Position::LeftOpen => true,
        };
        if is_open {
            return Ok(());
        }
        let end = match message.end {
            End::Call => Control::Call,
            End::Return => Control::Return,
            _ => Control::End,
        };
        sink.part(Part::End);
        put(sink, end)?;
        sink.part(Part::Gap);
        let after = kept.and_then(|layout| layout.after.as_ref());
        match after {
            Some(after) => write_raw(after, sink),
            None => sink.word(self.rules.gap),
        }
        .map_err(|error| (Place::End, error))
    }
}

/// Writes a header in its original form. It begins with the role.
fn raw_header(raw: &Raw<'_>, sink: &mut dyn Sink) -> Result<(), SinkError> {
    let text = match raw.pieces().next() {
        Some(RawPiece::Text(text)) => text,
        _ => "",
    };
    let start = text.len() - text.trim_ascii_start().len();
    let len = text[start..].bytes().take_while(|byte| !byte.is_ascii_whitespace()).count();
    write_pieces(raw.pieces_in(0..start + len), sink)?;
    sink.part(Part::Header);
    write_pieces(raw.pieces_in(start + len..raw.as_str().len()), sink)
}

/// Returns the complete opening of a message, if it is a known one.
fn plain_opening(message: &Message<'_>, rules: &Rules) -> Option<&'static PlainOpening> {
    let is_plain = message.name.is_none()
        && message.recipient.is_none()
        && message.call_id.is_none()
        && message.intent.is_none()
        && message.content_type.is_none();
    if !is_plain {
        return None;
    }
    rules.openings.iter().find(|it| it.role == message.role && it.channel == message.channel)
}

/// Writes a body.
fn body(message: &Message<'_>, rules: &Rules, sink: &mut dyn Sink) -> Result<(), SinkError> {
    if let Some(text) = message.body.as_plain() {
        return plain(text, message, sink);
    }
    let mut after_text = false;
    let mut at = 0;
    for segment in message.body.segments() {
        let was_text = std::mem::replace(&mut after_text, matches!(segment, Segment::Text(_)));
        let (len, written) = match segment {
            Segment::Text(text) => {
                if was_text {
                    // Separate parts of text stay separate.
                    sink.part(Part::Body);
                }
                (text.len(), plain(&text, message, sink))
            }
            Segment::Literal(text) => (text.len(), literal(&text, message, rules.controls, sink)),
            Segment::Marker(marker) => (0, self::marker(marker, message, rules.controls, sink)),
        };
        written.map_err(|error| error.within(at))?;
        at += len;
    }
    Ok(())
}

fn marker(
    marker: Marker,
    message: &Message<'_>,
    controls: &'static TokenTable,
    sink: &mut dyn Sink,
) -> Result<(), SinkError> {
    if let MarkerPlace::Marker = marker_place(message) {
        return sink.control(Control::Marker(marker));
    }
    let reason = "a reasoning marker is allowed only in a message on the channel `analysis`:";
    let spelling = controls.spelling(Control::Marker(marker)).unwrap_or_default();
    Err(SinkError::new(Span::default(), spelling, reason))
}

fn plain(text: &str, message: &Message<'_>, sink: &mut dyn Sink) -> Result<(), SinkError> {
    match marker_place(message) {
        MarkerPlace::Text => sink.text(text),
        MarkerPlace::Marker | MarkerPlace::Forbidden => sink.text_among_markers(text),
    }
}

fn literal(
    text: &str,
    message: &Message<'_>,
    controls: &'static TokenTable,
    sink: &mut dyn Sink,
) -> Result<(), SinkError> {
    if controls.spelling(Control::EndLiteral).is_none() || controls.has(Control::EndLiteral, text) {
        return plain(text, message, sink);
    }
    sink.control(Control::Literal)?;
    sink.text(text)?;
    sink.control(Control::EndLiteral)
}

fn put(sink: &mut dyn Sink, control: Control) -> Result<(), Named> {
    sink.control(control).map_err(|error| (Place::End, error))
}

/// Whether an original header still matches the message.
fn says_the_same(raw: &Raw<'_>, message: &Message<'_>, rules: &'static Rules) -> bool {
    let mut opening = Opening::default();
    let mut at = 0;
    for piece in raw.pieces() {
        match piece {
            RawPiece::Control(control) => {
                let text = rules.controls.spelling(control).unwrap_or_default();
                let span = Span::new(at, at + text.len());
                match control {
                    Control::Marker(_) => opening.marker(control, text, span, Keep::Copy),
                    _ => opening.control(control, span),
                }
                at = span.end;
            }
            RawPiece::Text(text) => {
                opening.text(text, Span::new(at, at + text.len()), Keep::Copy);
                at += text.len();
            }
        }
    }
    let limits = Limits::default();
    let context = Context {
        shape: Shape::Whole,
        rules,
        limits: &limits,
        is_completion: false,
        checker: None,
        raw: None,
    };
    let head = header::read(&mut opening, Keep::Copy, &context);
    // A typing error is written in its corrected form, because other readers might take it
    // literally.
    head.found.iter().all(|(found, _)| found.code != Code::ParseSlip)
        && head.message.has_header_of(message)
}
