//! What happens to text before the model sees it: normalizers and pre-tokenizers.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokenizers::{NormalizerWrapper, PreTokenizerWrapper};

use crate::encoding::error::{EncodingError, Quoted};

/// The steps of a file, so that they add nothing to text and leave nothing out of it.
#[derive(Debug, Default)]
pub(super) struct Steps {
    pub(super) normalizer: Option<NormalizerWrapper>,
    pub(super) pre_tokenizer: Option<PreTokenizerWrapper>,
    /// Each byte of text becomes a character of the byte-level alphabet.
    pub(super) is_byte_level: bool,
    /// What stands for a space.
    pub(super) space: Option<char>,
    /// The normalizers that change text.
    pub(super) changes: Vec<String>,
}

/// Where sequences of steps have them.
const NORMALIZERS: &str = "normalizers";
const PRE_TOKENIZERS: &str = "pretokenizers";

impl Steps {
    /// The steps of a file.
    ///
    /// # Errors
    ///
    /// One of them is not known, cannot be carried out, or leaves text out.
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

    /// A normalizer as it is carried out; `None` if it is not.
    fn normalizer(&mut self, mut step: Value, at: &str) -> Result<Option<Value>, EncodingError> {
        match kind(&step, at)? {
            "Sequence" => {
                let mut steps = Vec::new();
                for (at, step) in parts(&mut step, NORMALIZERS, at)? {
                    steps.extend(self.normalizer(step, &at)?);
                }
                step[NORMALIZERS] = steps.into();
            }
            // It puts something before text, which is not always the beginning of anything.
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

    /// A pre-tokenizer as it is carried out.
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
                // What the pattern finds is kept, and the rest is left out. It is kept, too.
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

/// The name of a step.
fn kind<'s>(step: &'s Value, at: &str) -> Result<&'s str, EncodingError> {
    let reason = "a step without a `type`".to_owned();
    step["type"].as_str().ok_or(EncodingError::Part { at: at.to_owned(), reason })
}

/// The steps of a sequence, and where they stand.
fn parts(step: &mut Value, key: &str, at: &str) -> Result<Vec<(String, Value)>, EncodingError> {
    let Value::Array(steps) = step[key].take() else {
        let reason = format!("a sequence without `{key}`");
        return Err(EncodingError::Part { at: at.to_owned(), reason });
    };
    let place = |index| format!("{at}/{key}/{index}");
    Ok(steps.into_iter().enumerate().map(|(index, step)| (place(index), step)).collect())
}

/// Makes a step.
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
