//! Properties of text and ids, over random hostile documents.

use std::ops::Range;

use openchatml::{Document, Format, ReadOptions, RenderOptions, parse, render};
use openchatml_testkit::ids::{self, Pairs};
use openchatml_testkit::{Source, cases, document};
use openchatml_tokens::{ByteEncoding, Encoding, MaskPolicy, Tokenizer};

/// The number of cases of a property.
const CASES: usize = 100_000;

/// An encoding that has ids for all, some or none of the control tokens.
fn encoding(source: &mut Source<'_>, format: Format) -> Box<dyn Encoding> {
    #[cfg(all(feature = "huggingface", feature = "tiktoken"))]
    match source.int_in_range(0..=7).unwrap_or(0) {
        0 => return Box::new(&*files::BYTE_LEVEL),
        1 => return Box::new(&*files::RANKS),
        _ => {}
    }
    Box::new(Pairs::any(source, format))
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

fn tokenizer(source: &mut Source<'_>) -> Tokenizer<Box<dyn Encoding>> {
    ids::tokenizer(source, encoding)
}

fn open() -> ReadOptions {
    let mut options = ReadOptions::default();
    options.open_prompt = true;
    options
}

#[test]
fn documents_survive_a_round_trip_through_ids() {
    cases(CASES, |source| {
        let tokenizer = tokenizer(source);
        ids::round_trips(source, &tokenizer);
    });
}

/// Text that can represent the same as the ids is read in the same way.
#[test]
fn text_and_ids_agree() {
    cases(CASES, |source| {
        let tokenizer = tokenizer(source);
        let format = tokenizer.format();
        let document = document::document(source, format.into());
        let options = RenderOptions::default();
        let (Ok(text), Ok(rendered)) =
            (render(&document, format.into(), &options), tokenizer.render(&document, &options))
        else {
            return;
        };
        let from_text = parse(&text, format.into(), &open());
        let from_ids = tokenizer.parse(&rendered.ids, &open());
        assert_eq!(from_text.document, *from_ids.document(), "{text:?}");
        if document_is_plain(&document) {
            assert_eq!(from_ids.text(), text);
            assert_eq!(from_ids.diagnostics(), from_text.diagnostics, "{text:?}");
        }
    });
}

/// Whether every part of a document is written in text as it is, without escapes.
fn document_is_plain(document: &Document<'_>) -> bool {
    let json: Format = "json".parse().expect("a format");
    let text = render(document, json, &RenderOptions::default()).expect("it says all");
    !text.contains('<')
}

#[test]
fn any_ids_can_be_read_and_streamed() {
    cases(CASES, |source| {
        let tokenizer = tokenizer(source);
        ids::streams(source, &tokenizer);
    });
}

#[test]
fn hidden_text_in_ids_is_not_visible_to_users() {
    cases(CASES, |source| {
        let tokenizer = tokenizer(source);
        ids::hides(source, &tokenizer);
    });
}

#[test]
fn ids_after_the_stop_token_of_a_completion_are_ignored() {
    cases(CASES, |source| {
        let tokenizer = tokenizer(source);
        ids::completions_stop(source, &tokenizer);
    });
}

/// Apertus is encoded as in `transformers`: the whole text is split at its control tokens, and the
/// text between two of them is encoded as one, whoever its author is. A token belongs to the part
/// in which it begins.
#[test]
fn text_between_control_tokens_is_encoded_as_one() {
    let format: Format = "apertus".parse().expect("a format");
    let pairs = Tokenizer::new(format.text().expect("a text format"), Pairs::all(format));
    let spellings = format.dialect().controls.entries().iter().map(|entry| entry.1);
    let bytes = Tokenizer::new(format.text().expect("a text format"), ByteEncoding::new(spellings));
    let byte = |id: u32| u8::try_from(id).ok();
    cases(CASES, |source| {
        let document = document::document(source, format);
        let options = RenderOptions::default();
        let Ok(single) = bytes.render(&document, &options) else { return };
        let rendered = pairs.render(&document, &options).expect("it could");
        let mut expected = Vec::new();
        // The position of each byte and control token among the ids.
        let mut places = Vec::new();
        for run in single.ids.chunk_by(|one, two| byte(*one).is_some() && byte(*two).is_some()) {
            let first = expected.len();
            let text: Option<Vec<u8>> = run.iter().map(|id| byte(*id)).collect();
            match text.and_then(|text| String::from_utf8(text).ok()) {
                Some(text) => {
                    pairs.encoding().encode(&text, &mut expected);
                    places.extend((0..run.len()).map(|at| first + at.div_ceil(2)));
                }
                None => {
                    expected.extend(run);
                    places.push(first);
                }
            }
        }
        places.push(expected.len());
        assert_eq!(rendered.ids, expected);
        let messages = &document.as_conversation().expect("it has messages").messages;
        for (one, other) in single.spans.iter().zip(&rendered.spans) {
            let body: Option<Vec<u8>> =
                single.ids[one.body.clone()].iter().map(|id| byte(*id)).collect();
            let said = messages[one.message].body.text();
            assert_eq!(body.as_deref(), Some(said.as_bytes()));
            let place = |part: &Range<usize>| places[part.start]..places[part.end];
            assert_eq!(place(&one.opening), other.opening);
            assert_eq!(place(&one.header), other.header);
            assert_eq!(place(&one.body), other.body);
            assert_eq!(place(&one.end), other.end);
            assert_eq!(place(&one.gap), other.gap);
        }
    });
}

/// The parts of the messages cover the output in order, and the trained part of a conversation
/// consists of whole parts.
#[test]
fn spans_are_adjacent_and_masks_use_them() {
    cases(CASES, |source| {
        let tokenizer = tokenizer(source);
        let document = document::document(source, tokenizer.format().into());
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
