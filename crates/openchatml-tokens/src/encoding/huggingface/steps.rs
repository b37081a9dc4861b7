//! The steps before the model: normalizers and pre-tokenizers.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokenizers::{NormalizerWrapper, PreTokenizerWrapper};

use crate::encoding::error::{EncodingError, Quoted};

/// The steps of a file, changed so that they neither add nor drop text.
#[derive(Debug, Default)]
pub(super) struct Steps {
    pub(super) normalizer: Option<NormalizerWrapper>,
    pub(super) pre_tokenizer: Option<PreTokenizerWrapper>,
    /// Whether bytes become characters of the byte-level alphabet.
    pub(super) is_byte_level: bool,
    /// The character that represents a space.
    pub(super) space: Option<char>,
    /// The normalizers that change text.
    pub(super) changes: Vec<String>,
}

/// The keys of the steps in a sequence.
const NORMALIZERS: &str = "normalizers";
const PRE_TOKENIZERS: &str = "pretokenizers";

impl Steps {
    /// Loads the steps of a file.
    ///
    /// # Errors
    ///
    /// A step is unknown, invalid, or drops text.
    pub(super) fn new(
        normalizer: Option<Value>,
        pre_tokenizer: Option<Value>,
    ) -> Result<Self, EncodingError> {
        let mut this = Self::default();
        let at = "/normalizer";
        if let Some(step) = normalizer.filter(|step| !step.is_null()) {
            let step = this.normalizer(step, at)?;
            this.normalizer = step.map(|step| made(step, at)).transpose()?;
        }
        let at = "/pre_tokenizer";
        if let Some(step) = pre_tokenizer.filter(|step| !step.is_null()) {
            let step = this.pre_tokenizer(step, at)?;
            this.pre_tokenizer = Some(made(step, at)?);
        }
        Ok(this)
    }

    /// Converts a normalizer. Returns `None` if it is skipped.
    fn normalizer(&mut self, mut step: Value, at: &str) -> Result<Option<Value>, EncodingError> {
        match kind(&step, at)? {
            "Sequence" => {
                let mut steps = Vec::new();
                for (at, step) in parts(&mut step, NORMALIZERS, at)? {
                    steps.extend(self.normalizer(step, &at)?);
                }
                step[NORMALIZERS] = steps.into();
            }
            // It adds a prefix at the beginning of the input, but a text of a message is rarely
            // there.
            "Prepend" => return Ok(None),
            "ByteLevel" => self.is_byte_level = true,
            "Replace" if step["pattern"]["String"] == " " => match only_char(&step["content"]) {
                Some(space) => self.space = Some(space),
                None => self.changes.push("Replace".to_owned()),
            },
            name @ ("NFC" | "NFD" | "NFKC" | "NFKD" | "Lowercase" | "Strip" | "StripAccents"
            | "BertNormalizer" | "Nmt" | "Replace") => self.changes.push(name.to_owned()),
            name => return Err(cannot(at, name)),
        }
        Ok(Some(step))
    }

    /// Converts a pre-tokenizer.
    fn pre_tokenizer(&mut self, mut step: Value, at: &str) -> Result<Value, EncodingError> {
        match kind(&step, at)? {
            "Sequence" => {
                let mut steps = Vec::new();
                for (at, step) in parts(&mut step, PRE_TOKENIZERS, at)? {
                    steps.push(self.pre_tokenizer(step, &at)?);
                }
                step[PRE_TOKENIZERS] = steps.into();
            }
            "ByteLevel" => {
                self.is_byte_level = true;
                step["add_prefix_space"] = false.into();
            }
            "Metaspace" => {
                self.space = only_char(&step["replacement"]);
                let split = step["split"].as_bool().unwrap_or(true);
                let replacement = step["replacement"].take();
                step = json!({
                    "type": "Metaspace",
                    "replacement": replacement,
                    "prepend_scheme": "never",
                    "split": split,
                });
            }
            "Split" if step["behavior"] == "Removed" && step["invert"] == true => {
                // This behavior drops text. Keep all text instead.
                step["behavior"] = "Isolated".into();
                step["invert"] = false.into();
            }
            name @ ("Split" | "Punctuation") if step["behavior"] == "Removed" => {
                return Err(leaves_out(at, name));
            }
            name @ ("Whitespace" | "WhitespaceSplit" | "BertPreTokenizer"
            | "CharDelimiterSplit") => return Err(leaves_out(at, name)),
            "Split" | "Punctuation" | "Digits" | "UnicodeScripts" => {}
            name => return Err(cannot(at, name)),
        }
        Ok(step)
    }
}

/// Returns the name of a step.
fn kind<'s>(step: &'s Value, at: &str) -> Result<&'s str, EncodingError> {
    let reason = "a step without a `type`".to_owned();
    step["type"].as_str().ok_or(EncodingError::Part { at: at.to_owned(), reason })
}

/// Returns the steps of a sequence, with their JSON pointers.
fn parts(step: &mut Value, key: &str, at: &str) -> Result<Vec<(String, Value)>, EncodingError> {
    let Value::Array(steps) = step[key].take() else {
        let reason = format!("a sequence without `{key}`");
        return Err(EncodingError::Part { at: at.to_owned(), reason });
    };
    let place = |index| format!("{at}/{key}/{index}");
    Ok(steps.into_iter().enumerate().map(|(index, step)| (place(index), step)).collect())
}

/// Deserializes a step.
fn made<S: DeserializeOwned>(step: Value, at: &str) -> Result<S, EncodingError> {
    serde_json::from_value(step)
        .map_err(|error| EncodingError::Part { at: at.to_owned(), reason: error.to_string() })
}

fn only_char(text: &Value) -> Option<char> {
    let mut chars = text.as_str()?.chars();
    chars.next().filter(|_| chars.next().is_none())
}

fn leaves_out(at: &str, name: &str) -> EncodingError {
    let reason = format!("`{name}` drops characters, so ids would not represent the whole text");
    EncodingError::Part { at: at.to_owned(), reason }
}

fn cannot(at: &str, name: &str) -> EncodingError {
    let reason = format!("cannot apply {}", Quoted(name));
    EncodingError::Part { at: at.to_owned(), reason }
}
