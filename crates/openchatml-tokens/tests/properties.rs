//! What must hold between text and ids, over random hostile documents.

use openchatml::{Document, Format, ReadOptions, RenderOptions, parse, render};
use openchatml_testkit::ids::{self, Pairs};
use openchatml_testkit::{Source, cases, document};
use openchatml_tokens::{Encoding, MaskPolicy, Tokenizer};

/// How many cases a property runs over.
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
fn what_is_written_as_ids_reads_back_the_same() {
    cases(CASES, |source| {
        let tokenizer = tokenizer(source);
        ids::round_trips(source, &tokenizer);
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

#[test]
fn any_ids_are_read_and_streams_tell_the_same() {
    cases(CASES, |source| {
        let tokenizer = tokenizer(source);
        ids::streams(source, &tokenizer);
    });
}

#[test]
fn hidden_text_does_not_show_in_what_a_user_sees_of_ids() {
    cases(CASES, |source| {
        let tokenizer = tokenizer(source);
        ids::hides(source, &tokenizer);
    });
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
