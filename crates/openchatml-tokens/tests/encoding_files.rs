//! Invalid files of encodings are refused with the error and its place, in time and memory
//! proportional to their length.

#![cfg(all(feature = "huggingface", feature = "tiktoken"))]

use openchatml_tokens::{Encoding, EncodingError, HuggingFace, Tiktoken};
use serde_json::{Value, json};

const BYTE_LEVEL: &str = include_str!("encodings/byte_level.json");
const UNIGRAM: &str = include_str!("encodings/unigram.json");
const RANKS: &[u8] = include_bytes!("encodings/ranks.tiktoken");
const PATTERN: &str = r"\w+|\s+|[^\w\s]+";

/// The error of a file with this change.
fn refused(file: &str, change: impl Fn(&mut Value)) -> String {
    let mut file: Value = serde_json::from_str(file).expect("a file of ours");
    change(&mut file);
    match HuggingFace::from_json(file.to_string().as_bytes()) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("it is not refused"),
    }
}

#[test]
fn invalid_tokenizer_json_is_refused() {
    let cases: &[(&[u8], &str)] = &[
        (b"", "1:0: EOF while parsing a value"),
        (b"\xFF\xFE", "1:1: expected value"),
        (b"{% for message in messages %}", "1:2: key must be a string"),
        (b"IQ== 0\nIg== 1\n", "1:1: expected value"),
        (b"[]", "1:2: invalid length 0, expected an object with a `model`"),
        (b"{}", "1:2: missing field `model`"),
        (br#"{"model": 3}"#, "1:11: invalid type: integer `3`, expected an object with a `vocab`"),
        (
            br#"{"model": {"vocab": 3}}"#,
            "1:21: invalid type: integer `3`, expected tokens with their ids or scores",
        ),
        (
            br#"{"model": {"vocab": {"a": -1}}}"#,
            "1:28: the id of `a`: invalid value: integer `-1`, expected u32",
        ),
        (br#"{"model": {"vocab": {}, "merges": ["a"]}}"#, "1:38: `a` is not a pair of tokens"),
        (br#"{"model": {"vocab": {}, "merges": [["a"]]}}"#, "1:40: a merge must have two tokens"),
    ];
    for (file, expected) in cases {
        let error = HuggingFace::from_json(file).unwrap_err().to_string();
        assert_eq!(error, *expected, "{:?}", String::from_utf8_lossy(file));
    }
    // A file that is cut off at any point is refused.
    for at in (0..BYTE_LEVEL.len() - 2).step_by(97) {
        let error = HuggingFace::from_json(&BYTE_LEVEL.as_bytes()[..at]).unwrap_err();
        assert!(matches!(error, EncodingError::Json { .. }), "{error}");
    }
    let deep = "[".repeat(1_000_000);
    assert!(HuggingFace::from_json(deep.as_bytes()).is_err());
}

#[test]
fn an_inconsistent_vocabulary_is_refused() {
    let model = |change: fn(&mut Value)| refused(BYTE_LEVEL, |file| change(&mut file["model"]));
    assert_eq!(model(|it| it["vocab"]["the"] = 0.into()), "id 0 is both `!` and `the`");
    assert_eq!(model(|it| it["vocab"][""] = 77777.into()), "/model/vocab: a token is empty");
    assert_eq!(
        model(|it| it["vocab"]["x".repeat(5000)] = 77777.into()),
        format!("/model/vocab: `{}…` has 5000 bytes, but the maximum is 4096", "x".repeat(40))
    );
    assert_eq!(
        model(|it| drop(it["vocab"].as_object_mut().unwrap().remove("!"))),
        "no token encodes the byte 0x21 (1 such bytes), so some text has no ids"
    );
    assert_eq!(
        model(|it| it["merges"] = json!([["t", "the"]])),
        "/model/merges/0: `tthe` is not in the vocabulary"
    );
    assert_eq!(model(|it| it["merges"] = Value::Null), "/model: it has no `merges`");
    assert_eq!(
        model(|it| it["type"] = "Unigram".into()),
        "/model/vocab: the vocabulary does not match the type of the model"
    );
    assert_eq!(
        model(|it| it["type"] = "WordPiece".into()),
        "/model/type: `WordPiece`: its tokens do not define their bytes"
    );
    assert_eq!(
        model(|it| it["end_of_word_suffix"] = "</w>".into()),
        "/model/end_of_word_suffix: tokens that contain it have no bytes"
    );
    let twice = BYTE_LEVEL.replacen(r#""vocab":{"#, r#""vocab":{"!":0,"#, 1);
    let error = HuggingFace::from_json(twice.as_bytes()).unwrap_err();
    assert_eq!(error.to_string(), "/model/vocab: duplicate token `!`");
    let unigram = |change: fn(&mut Value)| refused(UNIGRAM, |file| change(&mut file["model"]));
    assert_eq!(unigram(|it| it["unk_id"] = Value::Null), "/model: it has no `unk_id`");
    assert_eq!(
        unigram(|it| it["unk_id"] = 100_000.into()),
        "/model/unk_id: The `unk_id` is larger than vocabulary size"
    );
    assert_eq!(
        unigram(|it| it["byte_fallback"] = false.into()),
        "no token encodes the byte 0x00 (243 such bytes), so some text has no ids"
    );
    assert_eq!(unigram(|it| it["vocab"][9][0] = "".into()), "/model/vocab: a token is empty");
}

#[test]
fn added_tokens_that_collide_are_refused() {
    let added = |id: u32, content: &str| {
        refused(BYTE_LEVEL, |file| {
            let added = json!({"id": id, "content": content, "special": true});
            file["added_tokens"].as_array_mut().unwrap().push(added);
        })
    };
    assert_eq!(added(0, "<|new|>"), "id 0 is both `!` and `<|new|>`");
    assert_eq!(added(500, "<|new|>"), "id 500 is both `<|new|>` and `<|start|>`");
    assert_eq!(
        added(7777, "<|end|>"),
        "/added_tokens/14: `<|end|>` has the id 7777 here, but the id 502 before"
    );
    assert_eq!(added(7777, ""), "/added_tokens/14: an added token is empty");
}

#[test]
fn steps_that_drop_text_or_are_unknown_are_refused() {
    let step = |key: &str, step: Value| refused(BYTE_LEVEL, |file| file[key] = step.clone());
    let out = "drops characters, so ids would not represent the whole text";
    let pre = |value| step("pre_tokenizer", value);
    assert_eq!(pre(json!({"type": "Whitespace"})), format!("/pre_tokenizer: `Whitespace` {out}"));
    let removed =
        json!({"type": "Split", "pattern": {"Regex": "a"}, "behavior": "Removed", "invert": false});
    assert_eq!(
        pre(json!({"type": "Sequence", "pretokenizers": [{"type": "Digits"}, removed]})),
        format!("/pre_tokenizer/pretokenizers/1: `Split` {out}")
    );
    assert_eq!(
        pre(json!({"type": "FixedLength", "length": 0})),
        "/pre_tokenizer: cannot apply `FixedLength`"
    );
    assert_eq!(
        pre(json!({"type": "Sequence"})),
        "/pre_tokenizer: a sequence without `pretokenizers`"
    );
    assert_eq!(pre(json!(["ByteLevel"])), "/pre_tokenizer: a step without a `type`");
    let wrong = json!({"type": "Split", "pattern": {"Regex": "("}, "behavior": "Isolated", "invert": false});
    assert!(pre(wrong).starts_with("/pre_tokenizer: "));
    assert_eq!(
        step("normalizer", json!({"type": "Precompiled", "precompiled_charsmap": "AAAA"})),
        "/normalizer: cannot apply `Precompiled`"
    );
}

#[test]
fn invalid_rank_files_are_refused() {
    let refused = |file: &[u8]| {
        Tiktoken::from_ranks(file, PATTERN, [("<|end|>", 1000)]).unwrap_err().to_string()
    };
    let with = |line: &str| refused(&[RANKS, line.as_bytes()].concat());
    assert_eq!(refused(b""), "line 1: expected a token and its rank");
    assert_eq!(
        refused(b"{% for message in messages %}"),
        "line 1: `{%` is not base64: Invalid symbol 123, offset 0."
    );
    assert_eq!(with("Zm9v"), "line 501: expected a token and its rank, found `Zm9v`");
    assert_eq!(with("Zm9vb 600\n"), "line 501: `Zm9vb` is not base64: Invalid input length: 5");
    assert_eq!(with("Zm9vYmFy one"), "line 501: `one` is not a rank");
    assert_eq!(with("Zm9vYmFy 4294967296"), "line 501: `4294967296` is not a rank");
    assert_eq!(with("Zm9vYmFy -1"), "line 501: `-1` is not a rank");
    assert_eq!(with(" 600"), "line 501: a token is empty");
    assert_eq!(with("IQ== 600"), "line 501: the token of an earlier line");
    assert_eq!(with("Zm9vYmFy 7"), "id 7 is both `(` and `foobar`");
    assert_eq!(with("Zm9vYmFy 1000"), "id 1000 is both `foobar` and `<|end|>`");
    let cut: Vec<u8> =
        RANKS.split_inclusive(|byte| *byte == b'\n').take(100).flatten().copied().collect();
    assert_eq!(
        refused(&cut),
        "no token encodes the byte 0x00 (143 such bytes), so some text has no ids"
    );
    for at in (0..RANKS.len()).step_by(13) {
        // A shorter list of ranks may still be valid.
        let _ = Tiktoken::from_ranks(&RANKS[..at], PATTERN, [("<|end|>", 1000)]);
    }
    let nested = ["(".repeat(100_000), ")".repeat(100_000)].concat();
    for pattern in ["(", nested.as_str(), r"(\p{L}{1000}){1000}"] {
        let error = Tiktoken::from_ranks(RANKS, pattern, [("<|end|>", 1000)]).unwrap_err();
        assert!(matches!(error, EncodingError::Pattern { .. }), "{error}");
    }
    let error = Tiktoken::from_known(RANKS).unwrap_err();
    assert!(matches!(error, EncodingError::UnknownRanks { .. }), "{error}");
    assert!(matches!(Tiktoken::from_known(b"?").unwrap_err(), EncodingError::Line { line: 1, .. }));
}

/// The largest id takes no more memory than the smallest one.
#[test]
fn gaps_and_large_ids_take_no_memory() {
    let mut file: Value = serde_json::from_str(BYTE_LEVEL).unwrap();
    let added = json!({"id": u32::MAX, "content": "<|far|>", "special": true});
    file["added_tokens"].as_array_mut().unwrap().push(added);
    let encoding = HuggingFace::from_json(file.to_string().as_bytes()).unwrap();
    assert_eq!(encoding.control("<|far|>"), Some(u32::MAX));
    let ranks = [RANKS, b"Zm9vYmFy 4294967295\n"].concat();
    let encoding = Tiktoken::from_ranks(&ranks, PATTERN, [("<|end|>", 1 << 31)]).unwrap();
    let mut ids = Vec::new();
    encoding.encode("foobar", &mut ids);
    assert_eq!(ids, [u32::MAX]);
}
