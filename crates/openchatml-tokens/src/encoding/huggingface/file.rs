//! The parts of a `tokenizer.json` that determine the ids of text.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::encoding::error::{EncodingError, Quoted};

/// The file. Post-processors, truncation, padding and decoders are ignored: they do not change the
/// ids of ordinary text, and the tokens themselves define their text.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object with a `model`")]
pub(super) struct File {
    pub(super) added_tokens: Option<Vec<Added>>,
    pub(super) normalizer: Option<Value>,
    pub(super) pre_tokenizer: Option<Value>,
    pub(super) model: Model,
}

/// An added token.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an added token")]
pub(super) struct Added {
    pub(super) id: u32,
    pub(super) content: String,
    #[serde(default)]
    pub(super) special: bool,
}

/// The model, which converts pieces of text to tokens.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object with a `vocab`")]
pub(super) struct Model {
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    pub(super) vocab: Vocab,
    pub(super) merges: Option<Vec<Merge>>,
    pub(super) unk_id: Option<usize>,
    pub(super) byte_fallback: Option<bool>,
    pub(super) ignore_merges: Option<bool>,
    pub(super) continuing_subword_prefix: Option<String>,
    pub(super) end_of_word_suffix: Option<String>,
}

/// The tokens of a model.
#[derive(Debug)]
pub(super) enum Vocab {
    /// Tokens with their ids.
    Ids(Vec<(String, u32)>),
    /// Tokens with their scores. The ids are their indexes.
    Scores(Vec<(String, f64)>),
}

/// A merge of two tokens.
#[derive(Debug)]
pub(super) struct Merge(pub(super) String, pub(super) String);

impl File {
    /// Parses the file.
    ///
    /// # Errors
    ///
    /// The file is not JSON, or a value has the wrong type.
    pub(super) fn read(json: &[u8]) -> Result<Self, EncodingError> {
        serde_json::from_slice(json).map_err(|error| {
            let text = error.to_string();
            let reason = text.split(" at line ").next().unwrap_or_default().to_owned();
            EncodingError::Json { line: error.line(), column: error.column(), reason }
        })
    }
}

impl<'de> Deserialize<'de> for Vocab {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(VocabVisitor)
    }
}

struct VocabVisitor;

impl<'de> Visitor<'de> for VocabVisitor {
    type Value = Vocab;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tokens with their ids or scores")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vocab, A::Error> {
        let mut tokens = Vec::new();
        while let Some(token) = map.next_key::<String>()? {
            let id = map.next_value::<u32>().map_err(|error| {
                A::Error::custom(format!("the id of {}: {error}", Quoted(&token)))
            })?;
            tokens.push((token, id));
        }
        Ok(Vocab::Ids(tokens))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vocab, A::Error> {
        let mut tokens = Vec::new();
        while let Some(token) = list.next_element()? {
            tokens.push(token);
        }
        Ok(Vocab::Scores(tokens))
    }
}

impl<'de> Deserialize<'de> for Merge {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(MergeVisitor)
    }
}

struct MergeVisitor;

impl<'de> Visitor<'de> for MergeVisitor {
    type Value = Merge;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("two tokens that merge")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Merge, E> {
        match text.split_once(' ') {
            Some((left, right)) if !right.contains(' ') => Ok(Merge(left.into(), right.into())),
            _ => Err(E::custom(format!("{} is not a pair of tokens", Quoted(text)))),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Merge, A::Error> {
        let missing = || A::Error::custom("a merge must have two tokens");
        let left = list.next_element()?.ok_or_else(missing)?;
        let right = list.next_element()?.ok_or_else(missing)?;
        match list.next_element::<String>()? {
            None => Ok(Merge(left, right)),
            Some(_) => Err(missing()),
        }
    }
}
