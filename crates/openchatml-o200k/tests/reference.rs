//! The ids equal those of the reference encoder, as `record_ids.py` recorded them.
//!
//! `OPENCHATML_IDS` names a file with more recorded ids, for a larger run.

use openchatml_o200k::Encoder;
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    text: String,
    ids: Vec<u32>,
}

fn cases() -> Vec<Case> {
    let text = match std::env::var_os("OPENCHATML_IDS") {
        Some(file) => std::fs::read_to_string(file).expect("a file of recorded ids"),
        None => include_str!("ids.jsonl").to_owned(),
    };
    text.lines().map(|line| serde_json::from_str(line).expect("a case")).collect()
}

fn encode(encoder: &Encoder, text: &str) -> Vec<u32> {
    let mut ids = Vec::new();
    encoder.encode(text, &mut ids);
    ids
}

/// With a cache that holds everything, with one that holds almost nothing, and a second time from
/// the cache.
#[test]
fn ids_equal_those_of_the_reference() {
    let cases = cases();
    for encoder in [Encoder::default(), Encoder::default().another_with(256)] {
        for _ in 0..2 {
            for Case { text, ids } in &cases {
                assert_eq!(encode(&encoder, text), *ids, "{text:?}");
                assert_eq!(encoder.count(text), ids.len(), "{text:?}");
            }
        }
    }
}

/// Ids decode to the bytes that were encoded.
#[test]
fn ids_decode_to_their_text() {
    let encoder = Encoder::default();
    for Case { text, ids } in cases() {
        let bytes: Vec<u8> =
            ids.iter().flat_map(|id| encoder.token(*id).expect("a token")).copied().collect();
        assert_eq!(bytes, text.as_bytes());
    }
}

/// Decoding many ids gives the joined bytes of each, and ends before an invalid id: over the whole
/// vocabulary, cut at any point.
#[test]
fn decoding_many_ids_equals_decoding_each() {
    let encoder = Encoder::default();
    let all: Vec<u32> = (0..).take_while(|id| encoder.token(*id).is_some()).collect();
    assert_eq!(all.len(), 199_998);
    let (mut expected, mut at) = (Vec::new(), Vec::new());
    for id in &all {
        at.push(expected.len());
        let token = encoder.token(*id).expect("a token");
        assert_eq!(encoder.text(*id), std::str::from_utf8(token).ok());
        expected.extend_from_slice(token);
    }
    for size in [1, 63, 64, 65, all.len()] {
        let (mut bytes, mut starts) = (Vec::new(), Vec::new());
        for ids in all.chunks(size) {
            let more = [ids, &[u32::MAX, 0]].concat();
            assert_eq!(encoder.decode(&more, &mut bytes, &mut starts), ids.len());
        }
        assert!((bytes, starts) == (expected.clone(), at.clone()), "in parts of {size}");
    }
}

/// Texts that are slow in other encoders: a megabyte of each is encoded and decodes to itself.
#[test]
fn a_megabyte_of_anything_is_encoded() {
    let encoder = Encoder::default();
    let parts = [
        "a", " ", "\n", "0", "!", "中", "A", "\t", "ab", "aA", "\u{301}", "a\u{301}", " a", "\r\n",
        "😀", "e'",
    ];
    for part in parts {
        let text = part.repeat(1_000_000 / part.len());
        let ids = encode(&encoder, &text);
        let bytes: usize = ids.iter().map(|id| encoder.token(*id).expect("a token").len()).sum();
        assert_eq!(bytes, text.len(), "{part:?}");
    }
}
