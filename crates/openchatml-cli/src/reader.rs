//! Reads documents: as text or JSON of a format, or as token ids.

use std::borrow::Cow;
use std::collections::BTreeMap;

use openchatml::convert::{Lost, Sidecar};
use openchatml::{
    Code, Conversation, Diagnostic, Document, Dropped, Format, Mode, Parsed, ReadOptions, Role,
    Severity, Span,
};
use openchatml_data::record::{RecordReader, nothing};
use openchatml_templates::ResponseTemplate;
use openchatml_tokens::ParsedIds;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::args::{Choice, ReadArgs, ResponseArgs};
use crate::console::Console;
use crate::encodings::{Encodings, Tokenizers, Use};
use crate::failure::Failure;
use crate::input::finding;
use crate::model::response_template;
use crate::tools;

/// Reads documents, on several threads at once.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    records: RecordReader,
    ids: Option<Ids>,
    /// Reads text in the place of the readers of formats.
    response: Option<ResponseTemplate>,
}

impl Reader {
    /// Returns the reader for the options; `mode` is the default mode.
    ///
    /// # Errors
    ///
    /// Ids are read, and the encoding does not exist or does not fit the format; or the file with the
    /// tools cannot be used.
    pub(crate) fn new(args: &ReadArgs, mode: Mode, console: &Console) -> Result<Self, Failure> {
        Self::with(args, mode, Encodings::wanted(args, false, console)?.as_ref(), console)
    }

    /// Returns the reader for the options, with encodings that are already open.
    ///
    /// # Errors
    ///
    /// Ids are read, and the encoding lacks control tokens of the format; or the file with the tools
    /// cannot be used.
    pub(crate) fn with(
        args: &ReadArgs,
        mode: Mode,
        encodings: Option<&Encodings>,
        console: &Console,
    ) -> Result<Self, Failure> {
        let ids = match (args.from, encodings) {
            (Choice::Tokens(format), Some(encodings)) => {
                Some(Ids(Tokenizers::new(format, Use::Reading, encodings.clone())?))
            }
            _ => None,
        };
        match args.from {
            Choice::Format(format) => args.reader.check_reasoning(Some(format))?,
            Choice::Tokens(format) => args.reader.check_reasoning(Some(format.into()))?,
            Choice::Auto => args.reader.check_reasoning(None)?,
        }
        let is_detected = args.from == Choice::Auto;
        let mut options = args.reader.options(mode);
        options.tools = tools::of_input(&args.reader, console)?;
        let records = RecordReader { options, is_detected };
        Ok(Self { records, ids, response: None })
    }

    /// Reads the output of a model with its response template, if there is one.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or contains no valid template.
    pub(crate) fn with_response(
        mut self,
        args: &ResponseArgs,
        console: &Console,
    ) -> Result<Self, Failure> {
        if let Some(path) = &args.response_template {
            self.response = Some(response_template(path, console)?);
            self.records.options.continues = Some(Role::Assistant);
        }
        Ok(self)
    }

    /// Whether token ids are read.
    pub(crate) fn reads_ids(&self) -> bool {
        self.ids.is_some()
    }

    /// The options of the readers.
    pub(crate) fn options(&self) -> &ReadOptions {
        &self.records.options
    }

    /// Returns the options to read this text with.
    pub(crate) fn options_for(&self, text: &str, format: Format) -> Cow<'_, ReadOptions> {
        self.records.options_for(text, format)
    }

    /// Whether a text is a raw completion of the assistant.
    pub(crate) fn is_completion(&self, text: &str, format: Format) -> bool {
        match &self.ids {
            Some(ids) => ids.is_completion(text, self.options()),
            None => self.options_for(text, format).continues == Some(Role::Assistant),
        }
    }

    /// Reads a document. If no format was named and this format drops a part of the document, it is
    /// read in another format that fits.
    pub(crate) fn parse<'t>(&self, text: &'t str, format: Format) -> Parsed<'t> {
        self.parse_as(text, format).0
    }

    /// Like `read`, and returns the format.
    pub(crate) fn parse_as<'t>(&self, text: &'t str, format: Format) -> (Parsed<'t>, Format) {
        match (&self.ids, &self.response) {
            (Some(ids), _) => (ids.parse(text, self.options()), format),
            (None, Some(response)) => (response.read(None, text, self.options()), format),
            (None, None) => self.records.parse_as(text, format),
        }
    }
}

/// Reads token ids from a JSON array.
#[derive(Clone, Debug)]
struct Ids(Tokenizers);

impl Ids {
    fn is_completion(&self, text: &str, options: &ReadOptions) -> bool {
        let Ok((numbers, ..)) = held(text) else { return false };
        let ids: Vec<u32> = numbers.iter().map(|number| number.0).collect();
        let begins = self.0.with(|tokenizer| tokenizer.is_completion(&ids) == Some(true));
        options.continues == Some(Role::Assistant) || options.continues.is_none() && begins
    }

    fn parse(&self, text: &str, options: &ReadOptions) -> Parsed<'static> {
        let (numbers, sidecar, beside) = match held(text) {
            Ok(held) => held,
            Err(found) => {
                return nothing(*found);
            }
        };
        let ids: Vec<u32> = numbers.iter().map(|number| number.0).collect();
        // The messages keep these ids when they are written as ids again.
        let read = self.0.with(|tokenizer| {
            let mut options = options.clone();
            if tokenizer.is_completion(&ids) == Some(true) {
                options.continues.get_or_insert(Role::Assistant);
            }
            tokenizer.parse(&ids, &options).with_ids(&ids)
        });
        let mut parsed = placed(read, &numbers);
        if let (Some(sidecar), Document::Conversation(conversation)) =
            (sidecar, &mut parsed.document)
            && let Err(other) = sidecar.restore(conversation)
        {
            parsed.diagnostics.push(finding(Code::ParseJson, Span::at(0), other.to_string()));
        }
        parsed.diagnostics.extend(beside);
        parsed
    }
}

/// Ids, and their positions in a text.
type Numbers = Vec<(u32, Span)>;

/// The ids of a record, its sidecar, and the dropped data.
type Held = (Numbers, Option<Sidecar>, Vec<Diagnostic>);

/// The fields of an object in order, including duplicate fields.
struct Fields<'t>(Vec<(String, &'t RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object with `ids`")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

/// Returns the ids of an array, or of the field `ids` of an object, with the other fields.
fn held(text: &str) -> Result<Held, Box<Diagnostic>> {
    if !text.trim_start().starts_with('{') {
        return Ok((numbers(text)?, None, Vec::new()));
    }
    // The output of `tokens --mask`: ids and more.
    let Fields(all) = serde_json::from_str(text).map_err(|error| {
        Box::new(finding(Code::ParseJson, at(text, &error), message_of(&error)))
    })?;
    let mut fields: BTreeMap<String, &RawValue> = BTreeMap::new();
    let mut repeated = Vec::new();
    for (key, value) in all {
        if let Some(before) = fields.insert(key.clone(), value) {
            repeated.push((key, before));
        }
    }
    let Some(ids) = fields.remove("ids") else {
        let place = Span::new(0, text.len().min(1));
        return Err(Box::new(finding(Code::ParseJson, place, "missing field `ids`")));
    };
    let offset = |part: &RawValue| part.get().as_ptr().addr() - text.as_ptr().addr();
    let moved = |mut found: Diagnostic, by: usize| {
        found.span = Span::new(found.span.start + by, found.span.end + by);
        Box::new(found)
    };
    let base = offset(ids);
    let mut numbers = numbers(ids.get()).map_err(|found| moved(*found, base))?;
    for (_, span) in &mut numbers {
        *span = Span::new(span.start + base, span.end + base);
    }
    let sidecar = fields.remove("sidecar").map(|sidecar| {
        Sidecar::from_json(sidecar.get()).map_err(|found| moved(found, offset(sidecar)))
    });
    let dropped = |(key, value): (&String, &&RawValue)| {
        let at = offset(value);
        let span = Span::new(at, at + value.get().len());
        // Fields that `tokens --mask` computed from the ids and would compute again.
        if matches!(key.as_str(), "mask" | "weights" | "spans") {
            let text = format!("{}: `{key}`", Lost::Field);
            let mut found = finding(Code::Loss, span, text);
            found.severity = Severity::Warning;
            return found;
        }
        let text = format!("unknown key `{key}` next to `ids`: it will be dropped");
        let mut found = finding(Code::UnknownKey, span, text);
        found.dropped = Some(Dropped::Key);
        found
    };
    let repeated = repeated.iter().map(|(key, value)| {
        let at = offset(value);
        let span = Span::new(at, at + value.get().len());
        let text = format!("duplicate key `{key}`: the last value is used");
        let mut found = finding(Code::DuplicateKey, span, text);
        found.dropped = Some(Dropped::Duplicate);
        found
    });
    let found = repeated.chain(fields.iter().map(dropped)).collect();
    Ok((numbers, sidecar.transpose()?, found))
}

/// Converts the result to positions in the numbers instead of the text of the ids.
fn placed(read: ParsedIds, numbers: &[(u32, Span)]) -> Parsed<'static> {
    let end = numbers.last().map_or(0, |number| number.1.end);
    let place = |span: &mut Span| {
        *span = match numbers.get(read.ids_at(*span)).unwrap_or_default() {
            [] => Span::at(end),
            [first, .., last] => Span::new(first.1.start, last.1.end),
            [one] => one.1,
        };
    };
    let mut found: Vec<Span> = read.diagnostics().iter().map(|found| found.span).collect();
    let nothing = Conversation::default();
    let conversation = read.document().as_conversation().unwrap_or(&nothing);
    let mut message_spans: Vec<Span> =
        conversation.messages.iter().map(|message| message.span).collect();
    found.iter_mut().chain(&mut message_spans).for_each(place);
    let mut parsed = read.into_parsed();
    for (diagnostic, span) in parsed.diagnostics.iter_mut().zip(found) {
        diagnostic.span = span;
        // The fix changes text.
        diagnostic.fix = None;
    }
    if let Document::Conversation(conversation) = &mut parsed.document {
        conversation
            .messages
            .iter_mut()
            .zip(message_spans)
            .for_each(|(message, span)| message.span = span);
    }
    parsed
}

/// Returns the numbers of a JSON array and their positions.
fn numbers(text: &str) -> Result<Numbers, Box<Diagnostic>> {
    let wrong = |span: Span, message: String| {
        let help = "write token ids as a JSON array of whole numbers, such as [200006, 1428]";
        Box::new(finding(Code::ParseJson, span, message).help(help))
    };
    let array: Vec<&RawValue> =
        serde_json::from_str(text).map_err(|error| wrong(at(text, &error), message_of(&error)))?;
    let number = |value: &&RawValue| {
        let start = value.get().as_ptr().addr() - text.as_ptr().addr();
        let span = Span::new(start, start + value.get().len());
        let is_number = value.get().bytes().all(|byte| byte.is_ascii_digit());
        match is_number {
            // A number that is too large for an id becomes the largest number.
            true => Ok((value.get().parse().unwrap_or(u32::MAX), span)),
            false => Err(wrong(span, "invalid token id".to_owned())),
        }
    };
    array.iter().map(number).collect()
}

/// Returns the position of an error in JSON.
fn at(text: &str, error: &serde_json::Error) -> Span {
    let before: usize =
        text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let end = text.floor_char_boundary(before + error.column());
    Span::new(text.floor_char_boundary(end.saturating_sub(1)), end)
}

/// Returns the message of an error without the place.
fn message_of(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::numbers;

    #[test]
    fn only_arrays_of_numbers_are_accepted() {
        let ids = |text| numbers(text).map(|all| all.iter().map(|it| it.0).collect::<Vec<_>>());
        assert_eq!(ids(" [1, 22,\n333]\n").unwrap(), [1, 22, 333]);
        assert!(ids("[]").unwrap().is_empty());
        assert_eq!(ids("[99999999999]").unwrap(), [u32::MAX]);
        let bad = ["", "1", "[1", "[1,", "[1 2]", "[-1]", "[1.5]", "[1]x", "[é]", "{\"ids\":[]}"];
        for text in bad {
            let found = numbers(text).unwrap_err();
            assert!(text.get(found.span.range()).is_some(), "{text:?}: {:?}", found.span);
        }
    }

    #[test]
    fn numbers_have_positions() {
        let found = numbers("[1, 22]").unwrap();
        assert_eq!(found.iter().map(|it| it.1.range()).collect::<Vec<_>>(), [1..2, 4..6]);
    }
}
