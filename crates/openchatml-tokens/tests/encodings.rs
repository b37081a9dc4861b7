//! Encodings from files give the ids of the libraries that use these files, as
//! `encodings/record.py` recorded them, and text never becomes a control token.
//!
//! `OPENCHATML_ENCODINGS` names a file with more recorded ids, for a larger run.

#![cfg(all(feature = "huggingface", feature = "tiktoken"))]

use std::collections::HashMap;

use openchatml_tokens::{Encoding, EncodingError, HuggingFace, Tiktoken, Token};
use serde_json::{Value, json};

const BYTE_LEVEL: &str = include_str!("encodings/byte_level.json");
const SENTENCEPIECE: &str = include_str!("encodings/sentencepiece.json");
const UNIGRAM: &str = include_str!("encodings/unigram.json");
const RANKS: &[u8] = include_bytes!("encodings/ranks.tiktoken");
/// The pattern with which the ids of the rank file were recorded.
const PATTERN: &str = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";

fn ranks() -> Tiktoken {
    Tiktoken::from_ranks(RANKS, PATTERN, [("<|end|>", 1000)]).expect("a rank file")
}

fn patched(json: &str, patch: &Value) -> Result<HuggingFace, EncodingError> {
    let mut file: Value = serde_json::from_str(json).expect("a file of ours");
    merge(&mut file, patch);
    HuggingFace::from_json(file.to_string().as_bytes())
}

/// Applies a patch to a value (RFC 7386).
fn merge(value: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *value = patch.clone();
        return;
    };
    if !value.is_object() {
        *value = json!({});
    }
    for (key, patch) in patch {
        match patch {
            Value::Null => drop(value.as_object_mut().map(|it| it.remove(key))),
            _ => merge(&mut value[key], patch),
        }
    }
}

fn encoding(file: &str, patch: &Value) -> Box<dyn Encoding> {
    let json = match file {
        "byte_level" => BYTE_LEVEL,
        "sentencepiece" => SENTENCEPIECE,
        "unigram" => UNIGRAM,
        _ => return Box::new(ranks()),
    };
    Box::new(patched(json, patch).unwrap_or_else(|error| panic!("{file} with {patch}: {error}")))
}

fn encode(encoding: &impl Encoding, text: &str) -> Vec<u32> {
    let mut ids = Vec::new();
    encoding.encode(text, &mut ids);
    ids
}

fn decode(encoding: &impl Encoding, ids: &[u32]) -> Vec<u8> {
    let bytes = |id: &u32| match encoding.token(*id) {
        Some(Token::Bytes(bytes)) => bytes.to_vec(),
        other => panic!("{id} is {other:?}"),
    };
    ids.iter().flat_map(bytes).collect()
}

#[test]
fn ids_equal_those_of_the_libraries() {
    let text = match std::env::var_os("OPENCHATML_ENCODINGS") {
        Some(file) => std::fs::read_to_string(file).expect("a file of recorded ids"),
        None => include_str!("encodings/ids.jsonl").to_owned(),
    };
    let mut encodings = HashMap::new();
    for line in text.lines() {
        let case: Value = serde_json::from_str(line).expect("a case");
        let (file, patch) = (case["file"].as_str().unwrap(), &case["patch"]);
        let encoding = encodings
            .entry(format!("{file} {patch}"))
            .or_insert_with_key(|_| encoding(file, patch));
        let text = case["text"].as_str().unwrap();
        let ids: Vec<u32> = serde_json::from_value(case["ids"].clone()).unwrap();
        assert_eq!(encode(encoding, text), ids, "{file} with {patch}: {text:?}");
        if patch["normalizer"]["type"] != "NFC" && patch["normalizer"]["type"] != "Sequence" {
            let space = if matches!(file, "sentencepiece" | "unigram") { " " } else { "▁" };
            let text = text.replace('▁', space);
            assert_eq!(decode(encoding, &ids), text.as_bytes(), "{file} with {patch}");
        }
    }
}

/// Added tokens, byte tokens and control tokens have their own ids, and spelled control tokens stay
/// text.
#[test]
fn spelled_control_tokens_in_text_are_text() {
    let both = json!({"model": {"ignore_merges": true}, "pre_tokenizer": {
        "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}});
    // A model whose vocabulary also contains the spelling of its control tokens.
    let mut knows: Value = serde_json::from_str(BYTE_LEVEL).unwrap();
    for added in knows["added_tokens"].as_array().unwrap().clone() {
        knows["model"]["vocab"][added["content"].as_str().unwrap()] = added["id"].clone();
    }
    let knows = knows.to_string();
    let plain = json!({"pre_tokenizer": null, "normalizer": null});
    let encodings = [
        patched(BYTE_LEVEL, &json!({})),
        patched(&knows, &both),
        patched(SENTENCEPIECE, &json!({})),
        patched(SENTENCEPIECE, &json!({"model": {"ignore_merges": true}})),
        patched(UNIGRAM, &json!({})),
        patched(UNIGRAM, &plain),
    ];
    let spelled = [
        "<|im_start|>",
        "<|im_end|>",
        "<|end|>",
        "<s>",
        "</s>",
        "<unk>",
        "<tool_call>",
        "<0x41>",
        "<0x0A>",
        "a<s></s>b<unk>c",
        "<|end|><|end|>",
        "<<s>s>",
        "\n\n\n\n<|start|>    x",
    ];
    for encoding in encodings.map(|made| made.expect("an encoding")) {
        for text in spelled {
            let ids = encode(&encoding, text);
            assert_eq!(decode(&encoding, &ids), text.as_bytes(), "{ids:?} of {encoding:#?}");
            for control in ["<|im_start|>", "<|im_end|>", "<s>", "</s>", "<unk>", "<tool_call>"] {
                let id = encoding.control(control);
                assert!(id.is_none_or(|id| !ids.contains(&id)), "{control} in {text:?}");
            }
        }
    }
    let ranks = ranks();
    assert!(!encode(&ranks, "<|end|>").contains(&1000));
}

#[test]
fn control_tokens_have_their_ids() {
    let encoding = patched(BYTE_LEVEL, &json!({})).unwrap();
    let end = encoding.control("<|im_end|>").expect("an added token");
    assert_eq!(encoding.token(end), Some(Token::Control("<|im_end|>")));
    // A token that is not special is text in a format that does not have it.
    let call = encoding.control("<tool_call>").expect("an added token");
    assert_eq!(encoding.token(call), Some(Token::Bytes(b"<tool_call>")));
    // White space is encoded as text.
    assert_eq!(encoding.control("    "), None);
    let spaces = encode(&encoding, "    ");
    assert_eq!((spaces.len(), encoding.token(spaces[0])), (1, Some(Token::Bytes(b"    "))));
    assert_eq!(encoding.control("<|nothing|>"), None);
    assert_eq!(encoding.token(u32::MAX), None);
    assert_eq!(ranks().control("<|end|>"), Some(1000));
    assert_eq!(ranks().token(1000), Some(Token::Control("<|end|>")));
    assert_eq!(ranks().token(999), None);
}

#[test]
fn steps_that_change_text_are_listed() {
    let changes = |patch: Value| patched(BYTE_LEVEL, &patch).expect("it can be").changes().to_vec();
    assert!(changes(json!({})).is_empty());
    assert_eq!(changes(json!({"normalizer": {"type": "NFC"}})), ["NFC"]);
    let both =
        json!([{"type": "Lowercase"}, {"type": "Strip", "strip_left": true, "strip_right": true}]);
    let both = json!({"normalizer": {"type": "Sequence", "normalizers": both}});
    assert_eq!(changes(both), ["Lowercase", "Strip"]);
}

/// Long texts of one kind, which are slow in other encoders and form thousands of tokens at once,
/// are encoded and decode to themselves.
#[test]
fn long_texts_of_one_kind_are_encoded() {
    let parts =
        ["a", " ", "\n", "0", "!", "中", "\t", "\u{301}", "<|im_end|>", "</s>", "<0x41>", "ab "];
    let encodings: [Box<dyn Encoding>; 4] = [
        encoding("byte_level", &json!({})),
        encoding("sentencepiece", &json!({})),
        encoding("unigram", &json!({"pre_tokenizer": null})),
        encoding("ranks", &json!({})),
    ];
    for (encoding, part) in encodings.iter().flat_map(|it| parts.map(|part| (it, part))) {
        let text = part.repeat(100_000 / part.len());
        assert!(decode(encoding, &encode(encoding, &text)) == text.as_bytes(), "{part:?}");
    }
}
