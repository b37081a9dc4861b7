//! The document in a record: the record itself, or a string in it.

use std::borrow::Cow;
use std::fmt;

use openchatml::convert::{Loss, Lost};
use openchatml::{
    Candidate, Code, Diagnostic, Dropped, Format, Span, detect, detect_records, is_part_of_record,
};
use serde::Deserialize;
use serde::de::{self, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::finding::{finding, is_json};
use super::json::escape;

/// A document and its position in the text of a page: the whole text, or a JSON string in it.
#[derive(Debug)]
pub struct Slot<'l> {
    /// The document.
    pub text: Cow<'l, str>,
    place: Place<'l>,
    /// Another field of the object that contains the text.
    pub other_fields: Vec<(String, Span)>,
}

#[derive(Clone, Copy, Debug)]
enum Place<'l> {
    Whole,
    /// In a JSON string, whose characters (with escapes) begin at this byte.
    String(&'l str, usize),
    /// In a string that is the field `text` of an object.
    Field(&'l str, usize),
}

impl<'l> Slot<'l> {
    /// Creates a document that is the whole page.
    pub fn whole(text: &'l str) -> Self {
        Self { text: Cow::Borrowed(text), place: Place::Whole, other_fields: Vec::new() }
    }

    /// Returns the document in a line of a JSONL file: the line itself if it is JSON messages,
    /// otherwise a string, or the field `text` of an object.
    ///
    /// # Errors
    ///
    /// The line contains no document.
    pub fn of_line(line: &'l str, format: Format) -> Result<Self, Box<Diagnostic>> {
        if is_json(format) {
            return Ok(Self::whole(line));
        }
        Self::text(line)
    }

    /// Returns the text in a line that is a JSON string, or an object with the field `text`.
    ///
    /// # Errors
    ///
    /// The line is neither.
    pub fn text(line: &'l str) -> Result<Self, Box<Diagnostic>> {
        let wrong = |error: &serde_json::Error| Box::new(not_a_line(line, error));
        let (raw, other_fields, is_field) = match line.trim_start().as_bytes().first() {
            Some(b'{') => {
                let held: Held<'l> = serde_json::from_str(line).map_err(|error| wrong(&error))?;
                (held.text, held.others, true)
            }
            _ => (serde_json::from_str(line).map_err(|error| wrong(&error))?, Vec::new(), false),
        };
        let text: String = serde_json::from_str(raw.get()).map_err(|error| {
            let at = offset_in(line, raw.get());
            let span = Span::new(at, at + raw.get().len());
            // A string that is valid JSON has no other errors.
            let message = match error.is_data() {
                true => "a line must be a string, or an object with a string as `text`",
                false => "half of a surrogate pair is not valid text",
            };
            let mut found = finding(Code::ParseJson, span, message);
            found.dropped = Some(Dropped::Record);
            Box::new(found)
        })?;
        // The quotes are not part of the text.
        let inner = &raw.get()[1..raw.get().len() - 1];
        let at = offset_in(line, inner);
        let place = if is_field { Place::Field(inner, at) } else { Place::String(inner, at) };
        let at = |part: &str| offset_in(line, part);
        let other_fields = other_fields.into_iter().map(|(key, value)| {
            (key, Span::new(at(value.get()), at(value.get()) + value.get().len()))
        });
        Ok(Self { text: Cow::Owned(text), place, other_fields: other_fields.collect() })
    }

    /// Returns the document at the same place of the line after the line was fixed.
    ///
    /// # Errors
    ///
    /// There is no document any more.
    pub fn again<'m>(&self, mended: &'m str) -> Result<Slot<'m>, Box<Diagnostic>> {
        match self.place {
            Place::Whole => Ok(Slot::whole(mended)),
            Place::String(..) | Place::Field(..) => Slot::text(mended),
        }
    }

    /// Converts the places of a diagnostic from the document to the page.
    pub fn place(&self, diagnostic: &mut Diagnostic) {
        diagnostic.span = self.span(diagnostic.span);
        if matches!(self.place, Place::Whole) {
            return;
        }
        for edit in diagnostic.fix.iter_mut().flat_map(|fix| &mut fix.edits) {
            edit.span = self.span(edit.span);
            let mut inner = String::new();
            escape(&edit.replacement, &mut inner);
            edit.replacement = inner;
        }
    }

    /// Converts a span from the document to the page.
    pub fn span(&self, span: Span) -> Span {
        match self.place {
            Place::Whole => span,
            Place::String(raw, at) | Place::Field(raw, at) => {
                Span::new(at + raw_offset(raw, span.start), at + raw_offset(raw, span.end))
            }
        }
    }

    /// Returns the page with another document at this place. The rest is not changed.
    pub fn replace(&self, page: &str, document: &str, out: &mut String) {
        match self.place {
            Place::Whole => out.push_str(document),
            Place::String(raw, at) | Place::Field(raw, at) => {
                out.push_str(&page[..at]);
                escape(document, out);
                out.push_str(&page[at + raw.len()..]);
            }
        }
    }

    /// Returns the loss of each field next to the text, for outputs that have no place for it. They
    /// are at their places in the page.
    pub fn lost_fields(&self) -> impl Iterator<Item = Loss> {
        let columns = self.other_fields.iter().filter(|(key, _)| !is_part_of_record(key));
        columns.map(|(key, span)| {
            let mut loss = Loss::new(None, *span, Lost::Field);
            loss.detail = Some(key.as_str().into());
            loss
        })
    }

    /// Returns an error for each field next to the text that would be a part of the conversation, or
    /// say whether a model is trained on it, if the record had no text.
    pub fn dropped_fields(&self) -> impl Iterator<Item = Diagnostic> {
        let parts = self.other_fields.iter().filter(|(key, _)| is_part_of_record(key));
        parts.map(|(key, span)| {
            let text = format!("unknown key `{key}` next to `text`: it will be dropped");
            let mut found = finding(Code::UnknownKey, *span, text);
            found.dropped = Some(Dropped::Key);
            found
        })
    }

    /// Whether the document is the field of an object.
    pub fn is_field(&self) -> bool {
        matches!(self.place, Place::Field(..))
    }
}

/// Returns the possible formats of the documents in these lines, and the line with the evidence for
/// the best one. Lines contain JSON documents, or texts as JSON strings.
pub fn detect_lines<'l>(lines: &[&'l str]) -> (Vec<Candidate>, Option<(usize, Slot<'l>)>) {
    let found = detect_records(lines.iter().copied());
    if found.first().is_some_and(|best| is_json(best.format)) {
        return (found, None);
    }
    let texts = lines.iter().enumerate();
    let texts = texts.filter_map(|(at, line)| Some((at, Slot::text(line).ok()?)));
    let texts: Vec<_> = texts.collect();
    let is_other =
        |line: &&&str| line.trim_start().starts_with(['{', '[']) && Slot::text(line).is_err();
    if lines.iter().filter(is_other).count() > texts.len() {
        return (found, None);
    }
    let texts = texts.into_iter().map(|(at, slot)| (detect(&slot.text), (at, slot)));
    let confidence = |found: &[Candidate]| found.first().map_or(0, |best| best.confidence);
    let best = texts.reduce(|best, next| match confidence(&next.0) > confidence(&best.0) {
        true => next,
        false => best,
    });
    match best {
        Some((found, text)) if !found.is_empty() => (found, Some(text)),
        _ => (Vec::new(), None),
    }
}

/// Returns the position of `part` in `whole`.
fn offset_in(whole: &str, part: &str) -> usize {
    part.as_ptr().addr() - whole.as_ptr().addr()
}

fn not_a_line(line: &str, error: &serde_json::Error) -> Diagnostic {
    let text = error.to_string();
    let text = text.split(" at line ").next().unwrap_or_default();
    let text = if error.is_data() {
        text.to_owned()
    } else {
        format!("the line is not valid JSON: {text}")
    };
    let at = line.floor_char_boundary(error.column().saturating_sub(1));
    let end = line.ceil_char_boundary(at + 1);
    let mut found = finding(Code::ParseJson, Span::new(at, end), text);
    found.dropped = Some(Dropped::Record);
    found.help = Some("a line must be a string, or an object with a string as `text`".to_owned());
    found
}

/// Returns the position in `raw`, the inside of a JSON string, of byte `wanted` of its text.
fn raw_offset(raw: &str, wanted: usize) -> usize {
    let (mut at, mut decoded) = (0, 0);
    while decoded < wanted && at < raw.len() {
        let rest = &raw[at..];
        let (raw_len, text_len) = match rest.strip_prefix('\\') {
            None => {
                let run = rest.find('\\').unwrap_or(rest.len()).min(wanted - decoded);
                (run, run)
            }
            Some(escape) if escape.starts_with('u') => {
                let unit = |rest: &str| u32::from_str_radix(rest.get(2..6)?, 16).ok();
                match unit(rest) {
                    Some(0xD800..=0xDBFF) => (12, 4),
                    code => (6, code.and_then(char::from_u32).map_or(3, char::len_utf8)),
                }
            }
            Some(_) => (2, 1),
        };
        at += raw_len;
        decoded += text_len;
    }
    at.min(raw.len())
}

/// An object with a field `text`.
struct Held<'l> {
    text: &'l RawValue,
    others: Vec<(String, &'l RawValue)>,
}

impl<'de> Deserialize<'de> for Held<'de> {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Held<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with a string as `text`")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Held<'de>, A::Error> {
                let (mut text, mut others) = (None, Vec::new());
                while let Some(key) = map.next_key::<String>()? {
                    if key != "text" {
                        others.push((key, map.next_value::<&RawValue>()?));
                    } else if text.replace(map.next_value::<&RawValue>()?).is_some() {
                        return Err(de::Error::duplicate_field("text"));
                    }
                }
                let text = text.ok_or_else(|| de::Error::missing_field("text"))?;
                Ok(Held { text, others })
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

#[cfg(test)]
mod tests {
    use openchatml::{Applicability, Code, Dropped, Edit, Fix, Span};

    use super::super::finding::finding;
    use super::{Slot, raw_offset};

    #[test]
    fn a_line_contains_a_string_or_an_object() {
        assert_eq!(Slot::text(r#" "a\nb" "#).unwrap().text, "a\nb");
        let slot = Slot::text(r#"{"id": 1, "text": "a\u00e9"}"#).unwrap();
        assert_eq!((slot.text.as_ref(), slot.other_fields[0].0.as_str()), ("aé", "id"));
        for wrong in ["", "1", "[]", "{}", r#"{"text": 1}"#, r#""a"#, r#"{"text":"a","text":"b"}"#]
        {
            assert!(Slot::text(wrong).is_err(), "{wrong}");
        }
        let found = Slot::text(r#"{"text": "\ud800"}"#).unwrap_err();
        assert!(found.message.starts_with("half of a surrogate pair"), "{found}");
        assert_eq!(found.dropped, Some(Dropped::Record));
    }

    #[test]
    fn spans_refer_to_the_line() {
        let line = r#"{"text": "é\n\ud83d\ude00\"x"}"#;
        let slot = Slot::text(line).unwrap();
        let at = slot.text.find('x').unwrap();
        let mut found = finding(Code::ParseFrame, Span::new(at, at + 1), "");
        let edit = Edit { span: Span::new(0, 2), replacement: "\"".to_owned() };
        found.fix = Some(Fix::new(Applicability::Safe, vec![edit]));
        slot.place(&mut found);
        assert_eq!(&line[found.span.range()], "x");
        let edit = &found.fix.unwrap().edits[0];
        assert_eq!((&line[edit.span.range()], edit.replacement.as_str()), ("é", "\\\""));
        let mut replaced = String::new();
        slot.replace(line, "\t", &mut replaced);
        assert_eq!(replaced, r#"{"text": "\t"}"#);
    }

    #[test]
    fn offsets_count_escapes() {
        let raw = r"a\u00e9\ud83d\ude00b";
        let offsets: Vec<_> = [0, 1, 3, 7, 8, 99].map(|at| raw_offset(raw, at)).into();
        assert_eq!(offsets, [0, 1, 7, 19, 20, 20]);
    }
}
