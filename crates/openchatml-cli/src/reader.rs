//! How documents are read: as text or JSON of a format, or as token ids.

use openchatml::convert::Sidecar;
use openchatml::{
    Code, Diagnostic, Document, Format, Mode, Parsed, ReadOptions, Severity, Span, parse,
};
use openchatml_tokens::Read;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::args::{Choice, ReadArgs};
use crate::console::Console;
use crate::encodings::{Encodings, Tokenizers};
use crate::failure::Failure;
use crate::input::finding;

/// Reads documents, on several threads at once.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    pub(crate) options: ReadOptions,
    ids: Option<Ids>,
}

impl Reader {
    /// The reader that was asked for; `mode` counts if none was.
    ///
    /// # Errors
    ///
    /// Ids are to be read, and there is no such encoding.
    pub(crate) fn new(args: &ReadArgs, mode: Mode, console: &Console) -> Result<Self, Failure> {
        let options = args.reader.options(mode);
        let ids = match args.from {
            Choice::Tokens(format) => {
                let encodings = Encodings::open(&args.encoding, console)?;
                Some(Ids(Tokenizers::new(format, encodings)))
            }
            Choice::Auto | Choice::Format(_) => None,
        };
        Ok(Self { options, ids })
    }

    /// Reads a document.
    pub(crate) fn parse<'t>(&self, text: &'t str, format: Format) -> Parsed<'t> {
        match &self.ids {
            Some(ids) => ids.parse(text, &self.options),
            None => parse(text, format, &self.options),
        }
    }
}

/// Reads token ids, which are a JSON array.
#[derive(Clone, Debug)]
struct Ids(Tokenizers);

impl Ids {
    fn parse(&self, text: &str, options: &ReadOptions) -> Parsed<'static> {
        let (numbers, sidecar) = match held(text) {
            Ok(held) => held,
            Err(found) => {
                let document = Document::default();
                return Parsed { document, diagnostics: vec![*found] };
            }
        };
        let ids: Vec<u32> = numbers.iter().map(|number| number.0).collect();
        // Written as ids again, the messages have these.
        let read = self.0.with(|tokenizer| tokenizer.parse(&ids, options).with_ids(&ids));
        let mut parsed = placed(read, &numbers);
        if let (Some(sidecar), Document::Conversation(conversation)) =
            (sidecar, &mut parsed.document)
            && let Err(other) = sidecar.restore(conversation)
        {
            parsed.diagnostics.push(finding(Code::ParseJson, Span::at(0), other.to_string()));
        }
        parsed
    }
}

/// What `tokens --mask` writes: more than ids.
#[derive(Deserialize)]
struct Masked<'t> {
    #[serde(borrow)]
    ids: &'t RawValue,
    #[serde(borrow)]
    sidecar: Option<&'t RawValue>,
}

/// Ids, and where they stand in a text.
type Numbers = Vec<(u32, Span)>;

/// The ids of an array, or of the field `ids` of an object; with what is beside them there.
fn held(text: &str) -> Result<(Numbers, Option<Sidecar>), Box<Diagnostic>> {
    if !text.trim_start().starts_with('{') {
        return Ok((numbers(text)?, None));
    }
    let masked: Masked<'_> = serde_json::from_str(text).map_err(|error| {
        let at = text.floor_char_boundary(error.column().saturating_sub(1));
        Box::new(finding(Code::ParseJson, Span::at(at), error.to_string()))
    })?;
    let offset = |part: &RawValue| part.get().as_ptr().addr() - text.as_ptr().addr();
    let moved = |mut found: Diagnostic, by: usize| {
        found.span = Span::new(found.span.start + by, found.span.end + by);
        Box::new(found)
    };
    let base = offset(masked.ids);
    let mut numbers = numbers(masked.ids.get()).map_err(|found| moved(*found, base))?;
    for (_, span) in &mut numbers {
        *span = Span::new(span.start + base, span.end + base);
    }
    let sidecar = masked.sidecar.map(|sidecar| {
        Sidecar::from_json(sidecar.get()).map_err(|found| moved(found, offset(sidecar)))
    });
    Ok((numbers, sidecar.transpose()?))
}

/// What was read, in places of the numbers and not of the text that they stand for.
fn placed(read: Read, numbers: &[(u32, Span)]) -> Parsed<'static> {
    let end = numbers.last().map_or(0, |number| number.1.end);
    let place = |span: Span| {
        let ids = read.ids_at(span);
        match numbers.get(ids).unwrap_or_default() {
            [] => Span::at(end),
            [first, .., last] => Span::new(first.1.start, last.1.end),
            [one] => one.1,
        }
    };
    let mut document = read.document().clone();
    if let Document::Conversation(conversation) = &mut document {
        for message in &mut conversation.messages {
            message.span = place(message.span);
        }
    }
    let mut diagnostics = read.diagnostics().to_vec();
    for found in &mut diagnostics {
        found.span = place(found.span);
        // It mends text.
        found.fix = None;
    }
    Parsed { document, diagnostics }
}

/// The numbers of a JSON array, and where they stand.
fn numbers(text: &str) -> Result<Numbers, Box<Diagnostic>> {
    let wrong = |at: usize, what: &str| {
        let mut end = (at + 1).min(text.len());
        while !text.is_char_boundary(end) {
            end += 1;
        }
        let start = text.floor_char_boundary(at);
        let mut found = finding(Code::ParseJson, Span::new(start, end.max(start)), what);
        found.severity = Severity::Error;
        found.help = Some("token ids are a JSON array of whole numbers: [200006, 1428]".to_owned());
        Box::new(found)
    };
    let bytes = text.as_bytes();
    let skip = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
            at += 1;
        }
        at
    };
    let mut at = skip(0);
    if bytes.get(at) != Some(&b'[') {
        return Err(wrong(at, "this is no array of token ids"));
    }
    let mut numbers = Vec::new();
    at = skip(at + 1);
    while bytes.get(at) != Some(&b']') {
        let digits = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 {
            return Err(wrong(at, "a token id is missing here"));
        }
        // One that no id can be is the largest that one can be.
        let id = text[at..at + digits].parse().unwrap_or(u32::MAX);
        numbers.push((id, Span::new(at, at + digits)));
        at = skip(at + digits);
        match bytes.get(at) {
            Some(b',') => at = skip(at + 1),
            Some(b']') => {}
            _ => return Err(wrong(at, "`,` or `]` is missing here")),
        }
    }
    let rest = skip(at + 1);
    match rest < bytes.len() {
        true => Err(wrong(rest, "nothing may follow the array")),
        false => Ok(numbers),
    }
}

#[cfg(test)]
mod tests {
    use super::numbers;

    #[test]
    fn arrays_of_numbers_are_read_and_others_refused() {
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
    fn numbers_know_where_they_stand() {
        let found = numbers("[1, 22]").unwrap();
        assert_eq!(found.iter().map(|it| it.1.range()).collect::<Vec<_>>(), [1..2, 4..6]);
    }
}
