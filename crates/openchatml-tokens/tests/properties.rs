//! What must hold between text and ids, over random hostile documents.

use openchatml::{Document, Format, Keep, ReadOptions, RenderOptions, parse, render};
use openchatml_testkit::{Source, cases, document, one_in, pick, property, run};
use openchatml_tokens::{ByteEncoding, Encoding, MaskPolicy, Token, Tokenizer};

/// How many cases a property runs over.
const CASES: usize = 20_000;

/// Two bytes an id where it can be, so that control tokens that are spelled, and characters, are
/// spread over ids in all ways.
struct Pairs(ByteEncoding);

const FIRST_PAIR: u32 = 1 << 16;

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

    fn token(&self, id: u32) -> Option<Token<'_>> {
        let Some(pair) = id.checked_sub(FIRST_PAIR) else { return self.0.token(id) };
        let pair = usize::try_from(pair).ok()?;
        PAIRS.get(pair * 2..pair * 2 + 2).map(Token::Bytes)
    }
}

static PAIRS: std::sync::LazyLock<Vec<u8>> =
    std::sync::LazyLock::new(|| (0..=u16::MAX).flat_map(|pair| pair.to_be_bytes()).collect());

/// An encoding that has ids for all, some or none of the control tokens.
fn encoding(source: &mut Source<'_>, format: Format) -> Box<dyn Encoding> {
    #[cfg(all(feature = "huggingface", feature = "tiktoken"))]
    match source.int_in_range(0..=7).unwrap_or(0) {
        0 => return Box::new(&*files::BYTE_LEVEL),
        1 => return Box::new(&*files::RANKS),
        _ => {}
    }
    Box::new(pairs(source, format))
}

/// Encodings from files, which have ids for some of the control tokens.
#[cfg(all(feature = "huggingface", feature = "tiktoken"))]
mod files {
    use std::sync::LazyLock;

    use openchatml_tokens::{HuggingFace, Tiktoken};

    pub(crate) static BYTE_LEVEL: LazyLock<HuggingFace> = LazyLock::new(|| {
        HuggingFace::from_json(include_bytes!("encodings/byte_level.json")).expect("a file of ours")
    });
    pub(crate) static RANKS: LazyLock<Tiktoken> = LazyLock::new(|| {
        let ranks = include_bytes!("encodings/ranks.tiktoken");
        let controls = ["<|start|>", "<|end|>", "<|im_start|>", "<|im_end|>", "<|literal|>"];
        Tiktoken::from_ranks(ranks, r"\w+|\s+", controls.into_iter().zip(1000..))
            .expect("ours, too")
    });
}

fn pairs(source: &mut Source<'_>, format: Format) -> Pairs {
    let spellings = format.dialect().controls.entries().iter().map(|entry| entry.1);
    let has = match source.int_in_range(0..=3).unwrap_or(0) {
        0 => 0,
        1 => source.arbitrary().unwrap_or(0),
        _ => u32::MAX,
    };
    Pairs(ByteEncoding::new(
        spellings.enumerate().filter(|(at, _)| has >> at & 1 == 1).map(|(_, spelling)| spelling),
    ))
}

fn tokenizer(source: &mut Source<'_>) -> Tokenizer<Box<dyn Encoding>> {
    let format = pick(source, &run::text_formats());
    let encoding = encoding(source, format);
    Tokenizer::new(format, encoding).expect("a text format")
}

fn open() -> ReadOptions {
    let mut options = ReadOptions::default();
    options.open_prompt = true;
    options
}

/// A document read from ids says what was written, whatever its text spells.
#[test]
fn what_is_written_as_ids_reads_back_the_same() {
    cases(CASES, |source| {
        let tokenizer = tokenizer(source);
        let document = document::document(source, tokenizer.format());
        let options = RenderOptions::default();
        let Ok(rendered) = tokenizer.render(&document, &options) else {
            assert!(!tokenizer.spelled().is_empty(), "{document:#?} is refused");
            return;
        };
        let read = tokenizer.parse(&rendered.ids, &open());
        assert_eq!(*read.document(), document, "{:?}\n{:#?}", read.text(), read.diagnostics());
        let again = tokenizer.render(read.document(), &options).expect("it was read");
        assert_eq!(again, rendered, "{:?}", read.text());
    });
}

/// Where text can say the same, it reads the same.
#[test]
fn text_and_ids_agree() {
    cases(CASES, |source| {
        let tokenizer = tokenizer(source);
        let format = tokenizer.format();
        let document = document::document(source, format);
        let options = RenderOptions::default();
        let (Ok(text), Ok(rendered)) =
            (render(&document, format, &options), tokenizer.render(&document, &options))
        else {
            return;
        };
        let from_text = parse(&text, format, &open());
        let from_ids = tokenizer.parse(&rendered.ids, &open());
        assert_eq!(from_text.document, *from_ids.document(), "{text:?}");
        if document_is_plain(&document) {
            assert_eq!(from_ids.text(), text);
            assert_eq!(from_ids.diagnostics(), from_text.diagnostics, "{text:?}");
        }
    });
}

/// Whether nothing in a document is written in text by other means than itself.
fn document_is_plain(document: &Document<'_>) -> bool {
    let json: Format = "json".parse().expect("a format");
    let text = render(document, json, &RenderOptions::default()).expect("it says all");
    !text.contains('<')
}

/// Any ids at all are read, as a stream like as a whole, and every byte stands somewhere.
#[test]
fn any_ids_are_read_and_streams_tell_the_same() {
    cases(CASES, |source| {
        let tokenizer = tokenizer(source);
        let options = run::options(source);
        let ids = any_ids(source, &tokenizer);
        let read = tokenizer.parse(&ids, &options);
        for found in read.diagnostics() {
            let text = read.text().get(found.span.range());
            assert!(text.is_some(), "{found} is outside of {:?}", read.text());
            let at = read.ids_at(found.span);
            assert!(at.start <= at.end && at.end <= ids.len(), "{at:?} of {}", ids.len());
        }
        let whole = told(&tokenizer, &[&ids], &options);
        let single: Vec<&[u32]> = ids.chunks(1).collect();
        assert_eq!(told(&tokenizer, &single, &options), whole, "{:?}", read.text());
        if let Document::Conversation(conversation) = read.document() {
            assert_eq!(whole.messages, conversation.messages, "{:?}\n{ids:?}", read.text());
        }
    });
}

fn told(
    tokenizer: &Tokenizer<Box<dyn Encoding>>,
    chunks: &[&[u32]],
    options: &ReadOptions,
) -> property::Told {
    let mut told = property::Told::default();
    let mut stream = tokenizer.stream(options).keep(Keep::Bodies);
    for chunk in chunks {
        stream.feed(chunk, |event| told.event(event));
    }
    stream.finish(|event| told.event(event));
    told.finish()
}

/// Ids of a document, damaged, or of anything.
fn any_ids(source: &mut Source<'_>, tokenizer: &Tokenizer<Box<dyn Encoding>>) -> Vec<u32> {
    let document = document::document(source, tokenizer.format());
    let mut ids = match tokenizer.render(&document, &RenderOptions::default()) {
        Ok(rendered) => rendered.ids,
        Err(_) => Vec::new(),
    };
    for _ in 0..source.int_in_range(0..=4).unwrap_or(0) {
        let at = source.int_in_range(0..=ids.len()).unwrap_or(0);
        let id = match source.int_in_range(0..=3).unwrap_or(0) {
            0 => source.arbitrary().unwrap_or(0),
            1 => source.int_in_range(256..=275).unwrap_or(256),
            2 => source.int_in_range(0..=255).unwrap_or(0),
            _ if at < ids.len() => {
                ids.remove(at);
                continue;
            }
            _ => FIRST_PAIR + 0xC3A9,
        };
        ids.insert(at, id);
    }
    if one_in(source, 4) {
        ids.truncate(source.int_in_range(0..=ids.len()).unwrap_or(0));
    }
    ids
}

/// The parts of the messages cover what was written, in order, and the trained part of a
/// conversation is made of whole parts.
#[test]
fn spans_follow_each_other_and_masks_are_made_of_them() {
    cases(CASES, |source| {
        let tokenizer = tokenizer(source);
        let document = document::document(source, tokenizer.format());
        let Some(conversation) = document.as_conversation() else { return };
        let options = RenderOptions::default();
        let Ok(rendered) = tokenizer.render(&document, &options) else { return };
        assert_eq!(rendered.spans.len(), conversation.messages.len());
        let mut at = rendered.spans.first().map_or(0, |span| span.opening.start);
        for span in &rendered.spans {
            for part in [&span.opening, &span.header, &span.body, &span.end, &span.gap] {
                assert_eq!(part.start, at, "{:?}", rendered.spans);
                at = part.end;
            }
        }
        assert!(rendered.spans.is_empty() || at <= rendered.ids.len());
        let mask = MaskPolicy::default().mask(conversation, &rendered);
        assert_eq!(mask.len(), rendered.ids.len());
        for (span, message) in rendered.spans.iter().zip(&conversation.messages) {
            let is_trained = message.role == openchatml::Role::Assistant && !message.foreign;
            for at in span.body.clone().chain(span.end.clone()) {
                assert_eq!(mask[at], is_trained, "{span:?} of {message:?}");
            }
            assert!(!mask[span.gap.clone()].iter().any(|it| *it));
        }
    });
}
