//! The model of a `tokenizer.json`, and the bytes of its tokens.

use std::collections::HashMap;

use tokenizers::ModelWrapper;
use tokenizers::models::bpe::{BPE, Vocab as Vocabulary};
use tokenizers::models::unigram::Unigram;

use super::file::{Merge, Model, Vocab};
use super::steps::Steps;
use crate::encoding::error::{EncodingError, Quoted};
use crate::encoding::tokens::check_bytes;

/// The maximum length of a token, in bytes.
const LONGEST: usize = 4096;

/// The spelling of bytes in the tokens of a model.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spelling {
    is_byte_level: bool,
    has_bytes: bool,
    space: Option<char>,
}

impl Spelling {
    pub(super) fn new(model: &Model, steps: &Steps) -> Self {
        Self {
            is_byte_level: steps.is_byte_level,
            has_bytes: model.byte_fallback == Some(true),
            space: steps.space,
        }
    }

    /// Returns the spelling of the token of one byte.
    fn single(self, byte: u8) -> Option<String> {
        match (self.is_byte_level, self.has_bytes) {
            (true, _) => Some(letter(byte).to_string()),
            (false, true) => Some(format!("<0x{byte:02X}>")),
            (false, false) => None,
        }
    }

    /// Returns the byte of a byte token such as `<0x0A>`.
    pub(super) fn byte(self, token: &str) -> Option<u8> {
        let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
        let byte = u8::from_str_radix(digits, 16).ok()?;
        let is_one = self.has_bytes && !self.is_byte_level && *token == format!("<0x{byte:02X}>");
        is_one.then_some(byte)
    }

    /// Returns the bytes of a token.
    pub(super) fn bytes(self, token: &str) -> Vec<u8> {
        if let Some(byte) = self.byte(token) {
            return vec![byte];
        }
        if self.is_byte_level
            && let Some(bytes) = token.chars().map(byte_of).collect()
        {
            return bytes;
        }
        self.bytes_of_added(token)
    }

    /// Returns the bytes of an added token.
    pub(super) fn bytes_of_added(self, token: &str) -> Vec<u8> {
        match self.space {
            Some(space) => token.replace(space, " ").into_bytes(),
            None => token.as_bytes().to_vec(),
        }
    }
}

/// Returns the character for a byte in the byte-level alphabet: printable bytes represent
/// themselves, the others are mapped to characters after the first 256.
fn letter(byte: u8) -> char {
    let others = match byte {
        0..=0x20 => u32::from(byte),
        0x7F..=0xA0 => u32::from(byte) - 0x7F + 0x21,
        0xAD => 0x43,
        _ => return char::from(byte),
    };
    char::from_u32(0x100 + others).unwrap_or_default()
}

/// Returns the byte for a character of the byte-level alphabet.
fn byte_of(letter: char) -> Option<u8> {
    match u32::from(letter) {
        code @ (0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF) => u8::try_from(code).ok(),
        code @ 0x100..=0x120 => u8::try_from(code - 0x100).ok(),
        code @ 0x121..=0x142 => u8::try_from(code - 0x121 + 0x7F).ok(),
        0x143 => Some(0xAD),
        _ => None,
    }
}

/// The ids of the tokens of a model, by their spelling.
pub(super) type Ids = HashMap<String, u32>;

/// A loaded model and its tokens.
#[derive(Debug)]
pub(super) struct ReadyModel {
    pub(super) model: ModelWrapper,
    pub(super) ids: Ids,
    /// The ids of the single-byte tokens, by the byte.
    pub(super) bytes: Vec<Option<u32>>,
}

/// Loads the model of a file.
///
/// # Errors
///
/// The tokens of this kind of model do not define their bytes, some bytes have no tokens, or the
/// file is inconsistent.
pub(super) fn make(file: Model, spelling: Spelling) -> Result<ReadyModel, EncodingError> {
    let is_unigram = matches!(file.vocab, Vocab::Scores(_));
    let kind = file.kind.as_deref().unwrap_or(if is_unigram { "Unigram" } else { "BPE" });
    match (kind, is_unigram) {
        ("BPE", false) | ("Unigram", true) => {}
        ("BPE" | "Unigram", _) => {
            return Err(part(
                "/model/vocab",
                "the vocabulary does not match the type of the model",
            ));
        }
        _ => {
            let reason = "its tokens do not define their bytes";
            return Err(part("/model/type", &format!("{}: {reason}", Quoted(kind))));
        }
    }
    for (key, affix) in [
        ("continuing_subword_prefix", &file.continuing_subword_prefix),
        ("end_of_word_suffix", &file.end_of_word_suffix),
    ] {
        if affix.as_ref().is_some_and(|affix| !affix.is_empty()) {
            return Err(part(&format!("/model/{key}"), "tokens that contain it have no bytes"));
        }
    }
    let ids = ids(&file.vocab)?;
    let single = |byte| ids.get(&spelling.single(byte)?).copied();
    let bytes: Vec<_> = (0..=u8::MAX).map(single).collect();
    check_bytes(|byte| bytes[usize::from(byte)].is_some())?;
    let byte_fallback = spelling.has_bytes;
    let model = match file.vocab {
        Vocab::Ids(_) => {
            let merges = merges(file.merges, &ids)?;
            let ignore_merges = file.ignore_merges == Some(true);
            bpe(&ids, merges, byte_fallback, ignore_merges)?
        }
        Vocab::Scores(scores) => {
            // Unknown text becomes bytes; this token marks it.
            let unknown = file.unk_id.ok_or_else(|| part("/model", "it has no `unk_id`"))?;
            let made = Unigram::from(scores, Some(unknown), byte_fallback);
            made.map_err(|error| part("/model/unk_id", &error.to_string()))?.into()
        }
    };
    Ok(ReadyModel { model, ids, bytes })
}

/// Returns the ids of the tokens, by their spelling.
fn ids(vocab: &Vocab) -> Result<Ids, EncodingError> {
    let mut ids = Ids::new();
    let mut add = |token: &String, id: u32| {
        let wrong = if token.is_empty() {
            "a token is empty".to_owned()
        } else if token.len() > LONGEST {
            format!("{} has {} bytes, but the maximum is {LONGEST}", Quoted(token), token.len())
        } else if ids.insert(token.clone(), id).is_some() {
            format!("duplicate token {}", Quoted(token))
        } else {
            return Ok(());
        };
        Err(part("/model/vocab", &wrong))
    };
    match vocab {
        Vocab::Ids(tokens) => tokens.iter().try_for_each(|(token, id)| add(token, *id))?,
        Vocab::Scores(tokens) => {
            (0..).zip(tokens).try_for_each(|(id, (token, _))| add(token, id))?;
        }
    }
    Ok(ids)
}

/// Returns the merges. Both parts and the result of each merge must be tokens.
fn merges(merges: Option<Vec<Merge>>, ids: &Ids) -> Result<Vec<(String, String)>, EncodingError> {
    let merges = merges.ok_or_else(|| part("/model", "it has no `merges`"))?;
    let mut checked = Vec::with_capacity(merges.len());
    for (index, Merge(left, right)) in merges.into_iter().enumerate() {
        let whole = [left.as_str(), &right].concat();
        if let Some(missing) = [&left, &right, &whole].into_iter().find(|it| !ids.contains_key(*it))
        {
            let reason = format!("{} is not in the vocabulary", Quoted(missing));
            return Err(part(&format!("/model/merges/{index}"), &reason));
        }
        checked.push((left, right));
    }
    Ok(checked)
}

fn bpe(
    ids: &Ids,
    merges: Vec<(String, String)>,
    byte_fallback: bool,
    ignore_merges: bool,
) -> Result<ModelWrapper, EncodingError> {
    let vocab = ids.iter().map(|(token, id)| (token.clone(), *id));
    let mut builder = BPE::builder().vocab_and_merges(vocab.collect::<Vocabulary>(), merges);
    builder = builder.byte_fallback(byte_fallback).ignore_merges(ignore_merges);
    builder.build().map(Into::into).map_err(|error| part("/model", &error.to_string()))
}

fn part(at: &str, reason: &str) -> EncodingError {
    EncodingError::Part { at: at.to_owned(), reason: reason.to_owned() }
}
