//! The wire list of ChatML: strings are text, and `{"token": …}` are control tokens.
//!
//! It is a carrier of lexemes, like text, so the same reader and writer handle both.

use super::{CONTROLS, RULES, TEXT};
use crate::diagnostic::quote;
use crate::document::DocumentReader;
use crate::engine::Engine;
use crate::grammar::frame;
use crate::json::{Json, JsonError, write_string};
use crate::lex::Lexeme;
use crate::model::Document;
use crate::options::{ReadOptions, RenderOptions};
use crate::reading::{Keep, Parsed, Whole};
use crate::writing::{RenderError, Sink, SinkError};
use crate::{Code, Control, Fix, Span};

type Result<T> = std::result::Result<T, JsonError>;

pub(super) fn read<'a>(text: &'a str, options: &ReadOptions) -> Parsed<'a> {
    let mut reader = DocumentReader::new(options);
    let mut json = reader.json(text);
    let mut whole = Whole::default();
    // The reader counts the diagnostics.
    let mut uncounted = options.clone();
    uncounted.limits.diagnostics = usize::MAX;
    let mut engine = Engine::new(&TEXT, &uncounted, Keep::Copy);
    // Strings with escapes, in which places are not exact, and duplicate tokens.
    let mut escaped: Vec<Span> = Vec::new();
    let read = items(&mut reader, &mut json, |reader, json| {
        match json.peek() {
            Some(b'"') => {
                let (text, span) = json.string()?;
                let inside = Span::new(span.start + 1, span.end - 1);
                if inside.len() != text.len() {
                    escaped.push(inside);
                }
                engine.lexeme(Lexeme::Text(&text, inside), &mut whole);
            }
            Some(b'{') => {
                let start = json.offset();
                let control = token(reader, json, &mut escaped)?;
                let span = Span::new(start, json.position());
                // An invalid token in a message is replaced by one that no message can contain, so
                // that the text after it is hidden.
                let is_inside = engine.message().is_some();
                let other = is_inside.then_some((Control::Channel, span));
                if let Some((control, span)) = control.or(other) {
                    engine.lexeme(Lexeme::Control(control, span), &mut whole);
                }
            }
            _ => reader.wrong(json, "a string or `{\"token\": …}`")?,
        }
        whole.diagnostics.drain(..).for_each(|found| reader.pass(found));
        Ok(())
    });
    engine.finish(&mut whole);
    whole.diagnostics.drain(..).for_each(|found| reader.pass(found));
    let mut parsed = reader.finish(json, read, whole.into_document(), |_| None);
    for diagnostic in &mut parsed.diagnostics {
        // Places in a string with escapes also count.
        let Span { start, end } = diagnostic.span;
        let start = text.floor_char_boundary(start);
        diagnostic.span = Span::new(start, text.ceil_char_boundary(end.min(text.len())));
        diagnostic.fix = diagnostic.fix.take().and_then(|fix| in_json(fix, text, &escaped));
    }
    parsed
}

/// Reads the list. `null` is not an empty list.
fn items<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    item: impl FnMut(&mut DocumentReader<'_>, &mut Json<'a>) -> Result<()>,
) -> Result<()> {
    match json.peek() {
        Some(b'[') => reader.array(json, item),
        _ => reader.wrong(json, "an array"),
    }
}

/// Converts a fix of the text form to the wire list, where a control token is an object. Returns
/// `None` if it would insert one, or change an `escaped` string.
fn in_json(mut fix: Fix, text: &str, escaped: &[Span]) -> Option<Fix> {
    for edit in &mut fix.edits {
        let replaced = text.get(edit.span.range())?;
        let next = escaped.partition_point(|string| string.end < edit.span.start);
        if escaped.get(next).is_some_and(|string| string.start <= edit.span.end) {
            return None;
        }
        match CONTROLS.control(&edit.replacement) {
            Some(_) if replaced.starts_with('{') => {
                let (at, _, len) = CONTROLS.find(replaced)?;
                let start = edit.span.start + at;
                edit.span = Span::new(start, start + len);
            }
            Some(_) => return None,
            // A control character is also an error in JSON.
            None if replaced.contains(char::is_control) => return None,
            None if replaced.contains(['"', '\\']) && edit.replacement != "\"" => return None,
            None => {}
        }
    }
    Some(fix)
}

/// Reads `{"token": "<|…|>"}`.
fn token(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'_>,
    repeated: &mut Vec<Span>,
) -> Result<Option<(Control, Span)>> {
    let start = json.offset();
    let (mut control, mut has_token, mut is_repeated) = (None, false, false);
    reader.object(json, &["token"], |reader, json, _| {
        is_repeated |= has_token;
        if let Some(slip) = curly_quote(reader, json) {
            (has_token, control) = (true, Some(slip));
            return Ok(());
        }
        (has_token, control) = (true, None);
        if json.peek() == Some(b'n') {
            return reader.wrong(json, "a control token");
        }
        let Some((spelling, span)) = reader.string(json)? else { return Ok(()) };
        control = CONTROLS.control(&spelling);
        if control.is_none() {
            let text = format!("unknown control token {}", quote(&spelling));
            reader.drop_item(Code::ParseJson.at(span, text));
        }
        Ok(())
    })?;
    let span = Span::new(start, json.position());
    // A fix would find another token than the one that is used.
    repeated.extend(is_repeated.then_some(span));
    if !has_token {
        reader.drop_item(Code::ParseJson.at(span, "an object in this list must have a `token`"));
    }
    Ok(control.map(|control| (control, span)))
}

/// Handles a token that ends with a curly quote, as twice in the specification's examples:
/// `"<|message|>”`.
fn curly_quote(reader: &mut DocumentReader<'_>, json: &mut Json<'_>) -> Option<Control> {
    let start = json.offset();
    let text = json.rest().strip_prefix('"')?;
    for (control, spelling) in CONTROLS.entries() {
        if text.strip_prefix(spelling).is_some_and(|rest| rest.starts_with('”')) {
            let at = start + 1 + spelling.len();
            let span = Span::new(at, at + '”'.len_utf8());
            let found = Code::ParseSlip.at(span, "the token ends with a curly quote, read as `\"`");
            reader.tolerate(found.fix(Fix::safe(span, "\"")));
            json.advance(1 + spelling.len() + '”'.len_utf8());
            return Some(*control);
        }
    }
    None
}

pub(super) fn write(
    document: &Document<'_>,
    options: &RenderOptions,
) -> std::result::Result<String, RenderError> {
    let mut sink = WireSink { out: String::from("["), text: String::new() };
    frame::write(&RULES, document, options, &mut sink)?;
    sink.flush();
    sink.out.push(']');
    Ok(sink.out)
}

/// The sink for a wire list. Text cannot become a token here.
struct WireSink {
    out: String,
    /// The text since the last token.
    text: String,
}

impl WireSink {
    fn flush(&mut self) {
        if !self.text.is_empty() {
            self.separate();
            write_string(&mut self.out, &self.text);
            self.text.clear();
        }
    }

    fn separate(&mut self) {
        if self.out.len() > 1 {
            self.out.push(',');
        }
    }
}

impl Sink for WireSink {
    fn control(&mut self, control: Control) -> std::result::Result<(), SinkError> {
        self.flush();
        let Some(spelling) = CONTROLS.spelling(control) else {
            let reason = "this dialect lacks a control token";
            return Err(SinkError::new(Span::default(), "", reason));
        };
        self.separate();
        self.out.push_str("{\"token\":\"");
        self.out.push_str(spelling);
        self.out.push_str("\"}");
        Ok(())
    }

    fn text(&mut self, text: &str) -> std::result::Result<(), SinkError> {
        self.text.push_str(text);
        Ok(())
    }

    fn preamble(&mut self, _: &str) -> std::result::Result<(), SinkError> {
        let reason = "this dialect has no header";
        Err(SinkError::new(Span::default(), "", reason))
    }
}
