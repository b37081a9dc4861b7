//! Token ids, and the properties that must hold between them, text and streams.

use std::sync::LazyLock;

use openchatml::convert::{Channels, prepare};
use openchatml::{Document, Event, Format, Keep, Message, ReadOptions, RenderOptions};
use openchatml_tokens::{ByteEncoding, Encoding, Token, Tokenizer};

use crate::{Source, conversion, document, one_in, pick, property, run, secrets};

/// An encoding with two bytes per id where possible, so that spelled control tokens and characters
/// are split over ids in all ways.
#[derive(Clone, Debug)]
pub struct Pairs(ByteEncoding);

const FIRST_PAIR: u32 = 1 << 16;

impl Pairs {
    /// Creates the encoding with ids for all control tokens of a format.
    pub fn all(format: Format) -> Self {
        let spellings = format.dialect().controls.entries().iter().map(|entry| entry.1);
        Self(ByteEncoding::new(spellings))
    }

    /// Returns the single-byte ids of a pair.
    pub fn apart(id: u32) -> Option<[u32; 2]> {
        let pair = id.checked_sub(FIRST_PAIR)?;
        Some([pair / 256, pair % 256])
    }

    /// Creates the encoding with ids for all, some or none of the control tokens of a format.
    pub fn any(source: &mut Source<'_>, format: Format) -> Self {
        let spellings = format.dialect().controls.entries().iter().map(|entry| entry.1);
        let has = match source.int_in_range(0..=3).unwrap_or(0) {
            0 => 0,
            1 => source.arbitrary().unwrap_or(0),
            _ => u32::MAX,
        };
        let spellings = spellings.enumerate().filter(|(at, _)| has >> at & 1 == 1);
        Self(ByteEncoding::new(spellings.map(|(_, spelling)| spelling)))
    }
}

impl Encoding for Pairs {
    fn encode(&self, text: &str, ids: &mut Vec<u32>) {
        for pair in text.as_bytes().chunks(2) {
            match *pair {
                [one, two] => ids.push(FIRST_PAIR + u32::from(one) * 256 + u32::from(two)),
                _ => ids.extend(pair.iter().copied().map(u32::from)),
            }
        }
    }

    fn control(&self, spelling: &str) -> Option<u32> {
        self.0.control(spelling)
    }

    fn controls(&self) -> Vec<(&str, u32)> {
        self.0.controls()
    }

    fn token(&self, id: u32) -> Option<Token<'_>> {
        let Some(pair) = id.checked_sub(FIRST_PAIR) else { return self.0.token(id) };
        let pair = usize::try_from(pair).ok()?;
        PAIRS.get(pair * 2..pair * 2 + 2).map(Token::Bytes)
    }
}

static PAIRS: LazyLock<Vec<u8>> =
    LazyLock::new(|| (0..=u16::MAX).flat_map(|pair| pair.to_be_bytes()).collect());

/// Creates a tokenizer for a random format, with the encoding from `encoding`.
///
/// # Panics
///
/// Never, because every format here has a text form.
pub fn tokenizer<E: Encoding>(
    source: &mut Source<'_>,
    encoding: impl FnOnce(&mut Source<'_>, Format) -> E,
) -> Tokenizer<E> {
    let format = pick(source, &run::text_formats());
    let encoding = encoding(source, format);
    Tokenizer::new(format.text().expect("a text form"), encoding)
}

/// Returns the pairs encoding, or sometimes `other`.
pub fn pairs_or<'e, E: Encoding>(
    source: &mut Source<'_>,
    format: Format,
    other: &'e E,
) -> Box<dyn Encoding + 'e> {
    match one_in(source, 3) {
        true => Box::new(other),
        false => Box::new(Pairs::any(source, format)),
    }
}

/// Generates ids of a document, damaged ids, or random ids.
pub fn any_ids<E: Encoding>(source: &mut Source<'_>, tokenizer: &Tokenizer<E>) -> Vec<u32> {
    let document = document::document(source, tokenizer.format().into());
    let rendered = tokenizer.render(&document, &RenderOptions::default());
    let (mut ids, most) = match rendered {
        Ok(rendered) if !one_in(source, 4) => (rendered.ids, 4),
        _ => (Vec::new(), 32),
    };
    for _ in 0..source.int_in_range(0..=most).unwrap_or(0) {
        let at = source.int_in_range(0..=ids.len()).unwrap_or(0);
        let id = match source.int_in_range(0..=4).unwrap_or(0) {
            0 => source.arbitrary().unwrap_or(0),
            1 => source.int_in_range(256..=275).unwrap_or(256),
            2 => source.int_in_range(0..=255).unwrap_or(0),
            3 => {
                let controls = tokenizer.format().dialect().controls.entries();
                tokenizer.id(pick(source, controls).0).unwrap_or(FIRST_PAIR + 0xC3A9)
            }
            _ if at < ids.len() => {
                ids.remove(at);
                continue;
            }
            _ => continue,
        };
        ids.insert(at, id);
    }
    if one_in(source, 4) {
        ids.truncate(source.int_in_range(0..=ids.len()).unwrap_or(0));
    }
    ids
}

/// A document is read from its ids unchanged, even if its text contains spellings of control
/// tokens.
///
/// # Panics
///
/// The property does not hold.
pub fn round_trips<E: Encoding>(source: &mut Source<'_>, tokenizer: &Tokenizer<E>) {
    let document = document::document(source, tokenizer.format().into());
    let options = RenderOptions::default();
    let rendered = match tokenizer.render(&document, &options) {
        Ok(rendered) => rendered,
        Err(error) => {
            let format = tokenizer.format().to_string();
            // Tokens around replies are ordinary words there, also as ids.
            let has_words = ["deepseek-v3.2", "deepseek-v4", "deepseek-v4.1"].contains(&&*format);
            let may_refuse = has_words || !tokenizer.spelled().is_empty();
            assert!(may_refuse, "{format}: {document:?} is refused: {error}");
            return;
        }
    };
    let mut open = ReadOptions::default();
    open.open_prompt = true;
    let read = tokenizer.parse(&rendered.ids, &open);
    assert_eq!(*read.document(), document, "{:?}\n{:#?}", read.text(), read.diagnostics());
    let again = tokenizer.render(read.document(), &options).expect("it was read");
    assert_eq!(again, rendered, "{:?}", read.text());
}

/// Any ids can be read. A stream gives the same result, and all diagnostics have valid spans.
///
/// # Panics
///
/// The property does not hold.
pub fn streams<E: Encoding>(source: &mut Source<'_>, tokenizer: &Tokenizer<E>) {
    let options = run::options(source);
    let ids = any_ids(source, tokenizer);
    let read = tokenizer.parse(&ids, &options);
    for found in read.diagnostics() {
        let text = read.text().get(found.span.range());
        assert!(text.is_some(), "{found} is outside of {:?}", read.text());
        let at = read.ids_at(found.span);
        assert!(at.start <= at.end && at.end <= ids.len(), "{at:?} of {}", ids.len());
    }
    let whole = told(tokenizer, [ids.as_slice()], &options);
    let size = source.int_in_range(1..=3).unwrap_or(1);
    assert_eq!(told(tokenizer, ids.chunks(size), &options), whole, "{:?}", read.text());
    if let Document::Conversation(conversation) = read.document() {
        assert_eq!(whole.messages, conversation.messages, "{:?}\n{ids:?}", read.text());
    }
}

/// The ids of two conversations that differ only in hidden text look the same to a user, and show
/// nothing hidden.
///
/// # Panics
///
/// The property does not hold.
pub fn hides<E: Encoding>(source: &mut Source<'_>, tokenizer: &Tokenizer<E>) {
    let format = Format::from(tokenizer.format());
    let converts = one_in(source, 2);
    let [one, two] = match converts {
        true => {
            let formats: Vec<_> = Format::all().collect();
            let origin = pick(source, &formats);
            run::differ_in_hidden(source, origin)
        }
        false => run::differ_in_hidden(source, format),
    };
    let options = match converts {
        true => secrets::render_options(source),
        false => RenderOptions::default(),
    };
    let route = |document: &Document<'_>| {
        let mut outcome = match converts {
            true => {
                let prepared = prepare(document, format, &options)?;
                outcome(tokenizer, &tokenizer.render_prepared(&prepared, &options)?.ids)
            }
            false => outcome(tokenizer, &tokenizer.render(document, &options)?.ids),
        };
        outcome.takes = outcome.joins && secrets::takes(document, format, &options);
        Ok(outcome)
    };
    let name = format!("ids of {format}, converted: {converts}, {options:?}");
    secrets::leaks_nothing(&one, &route, &name);
    secrets::ignores_secrets(&one, &two, &route, &name);
}

/// Writes ids, reads them again, and streams them.
fn outcome<E: Encoding>(tokenizer: &Tokenizer<E>, ids: &[u32]) -> secrets::Outcome {
    let mut options = ReadOptions::default();
    options.open_prompt = true;
    let document = tokenizer.parse(ids, &options).document().clone();
    let mut events = Vec::new();
    let mut tell = |event: Event<'_>| events.extend(property::for_user(event));
    let mut stream = tokenizer.stream(&options);
    for id in ids {
        stream.feed_with(&[*id], &mut tell);
    }
    stream.finish_with(&mut tell);
    secrets::renumber(&mut events);
    let joins = tokenizer.format().dialect().carries.channels == Channels::Sections;
    secrets::Outcome { document, events, joins, takes: false }
}

/// Text after the stop token of a completion is not visible and makes no call, and parsing ids
/// gives the same result as streaming them.
///
/// # Panics
///
/// The property does not hold.
pub fn completions_stop<E: Encoding>(source: &mut Source<'_>, tokenizer: &Tokenizer<E>) {
    let Some((text, more)) = run::stopped(source, tokenizer.format().into()) else { return };
    let (ids, more) = (of_text(tokenizer, &text), of_text(tokenizer, &more));
    let longer = [ids.as_slice(), more.as_slice()].concat();
    let options = run::continues();
    let seen = |ids: &[u32]| {
        let read = tokenizer.parse(ids, &options).into_conversation();
        let calls = read.messages.iter().filter(|it| conversion::is_made(it)).count();
        let mut done = Vec::new();
        let mut stream = tokenizer.stream(&options);
        let mut tell = |event: Event<'_>| {
            if matches!(event, Event::Done { .. }) {
                done.push(event.to_json());
            }
        };
        for id in ids {
            stream.feed_with(&[*id], &mut tell);
        }
        stream.finish_with(&mut tell);
        (property::seen(&read), calls, done)
    };
    let before = tokenizer.parse(&ids, &options).into_conversation();
    let is_stopped = |it: &Message<'_>| run::is_stopped(it, tokenizer.format().into());
    if before.messages.last().is_some_and(is_stopped) {
        assert_eq!(seen(&longer), seen(&ids), "{text:?}, and then {more:?}");
    }
}

/// Returns the ids of a text with control tokens.
fn of_text<E: Encoding>(tokenizer: &Tokenizer<E>, text: &str) -> Vec<u32> {
    let (mut ids, mut rest) = (Vec::new(), text);
    while let Some((at, control, len)) = tokenizer.format().dialect().controls.find(rest) {
        tokenizer.encoding().encode(&rest[..at], &mut ids);
        match tokenizer.id(control) {
            Some(id) => ids.push(id),
            None => tokenizer.encoding().encode(&rest[at..at + len], &mut ids),
        }
        rest = &rest[at + len..];
    }
    tokenizer.encoding().encode(rest, &mut ids);
    ids
}

fn told<'i, E: Encoding>(
    tokenizer: &Tokenizer<E>,
    chunks: impl IntoIterator<Item = &'i [u32]>,
    options: &ReadOptions,
) -> property::StreamOutput {
    let mut told = property::StreamOutput::default();
    let mut stream = tokenizer.stream(options).keep(Keep::Bodies);
    for chunk in chunks {
        stream.feed_with(chunk, |event| told.event(event));
    }
    stream.finish_with(|event| told.event(event));
    told.finish()
}

/// The ids of a text decode to its bytes, and their number equals the count.
///
/// # Panics
///
/// The property does not hold.
pub fn encodes<E: Encoding>(encoding: &E, text: &str) {
    let ids = of(encoding, text);
    let mut bytes: Vec<u8> = Vec::with_capacity(text.len());
    for id in &ids {
        match encoding.token(*id) {
            Some(Token::Text(text)) => bytes.extend(text.as_bytes()),
            Some(Token::Bytes(part)) => bytes.extend(part),
            other => panic!("{id} is {other:?}, in the ids of {text:?}"),
        }
    }
    assert_eq!(bytes, text.as_bytes(), "{text:?}: {ids:?}");
    assert_eq!(encoding.count(text), ids.len(), "{text:?}");
}

/// Returns the ids of a text.
pub fn of<E: Encoding>(encoding: &E, text: &str) -> Vec<u32> {
    let mut ids = Vec::new();
    encoding.encode(text, &mut ids);
    ids
}
