//! The ids of Apertus equal those of the library that serves its models, which encodes the text of
//! a whole prompt: over random hostile conversations.

#![cfg(feature = "huggingface")]

use openchatml::{Format, RenderOptions, render};
use openchatml_testkit::{cases, document};
use openchatml_tokens::{HuggingFace, Tokenizer};
use serde_json::{Value, json};

/// The number of cases of the property.
const CASES: usize = 20_000;

/// A vocabulary with an id for each control token of a format.
fn vocabulary(format: Format) -> Vec<u8> {
    let file = include_str!("encodings/byte_level.json");
    let mut file: Value = serde_json::from_str(file).expect("a file of ours");
    let added = format.dialect().controls.entries().iter().zip(500..).map(|((_, spelling), id)| {
        json!({
            "id": id, "content": spelling, "special": true, "normalized": false,
            "single_word": false, "lstrip": false, "rstrip": false,
        })
    });
    file["added_tokens"] = added.collect();
    file["post_processor"] = Value::Null;
    file.to_string().into_bytes()
}

#[test]
fn ids_of_a_conversation_equal_ids_of_its_text() {
    let format: Format = "apertus".parse().expect("a format");
    let file = vocabulary(format);
    let library = tokenizers::Tokenizer::from_bytes(&file).expect("a file for it");
    let encoding = HuggingFace::from_json(&file).expect("a file for us");
    let tokenizer = Tokenizer::new(format.text().expect("a text format"), encoding);
    assert_eq!(tokenizer.spelled(), []);
    cases(CASES, |source| {
        let document = document::document(source, format);
        let options = RenderOptions::default();
        let Ok(text) = render(&document, format, &options) else { return };
        let expected = library.encode_fast(text.as_str(), false).expect("it encodes text");
        let rendered = tokenizer.render(&document, &options).expect("text could");
        assert_eq!(rendered.ids, expected.get_ids(), "{text:?}");
    });
}
