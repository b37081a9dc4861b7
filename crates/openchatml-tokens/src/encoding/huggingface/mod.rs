//! Encodings from a `tokenizer.json`.

mod file;
mod model;
mod steps;

use std::collections::HashSet;

use aho_corasick::{AhoCorasick, MatchKind};
use tokenizers::{
    Model as _, ModelWrapper, NormalizedString, Normalizer as _, NormalizerWrapper,
    OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer as _, PreTokenizerWrapper,
};

use self::file::{Added, File};
use self::model::{Ids, ReadyModel, Spelling};
use self::steps::Steps;
use super::error::{EncodingError, Quoted};
use super::tokens::{Text, Tokens};
use super::{Encoding, Token};

/// An encoding from a `tokenizer.json`, the file format of the library `tokenizers` by Hugging
/// Face.
///
/// Its ids are the ids of that library for text that contains no added token and is not at the
/// beginning of the input: no token is added before, around or after the text. Ids stand for the
/// bytes of the text that is encoded; [`Self::changes`] lists the steps that change the text
/// before.
///
/// **Text never encodes to an added token**, whether the token is marked as special or not, because
/// formats have control tokens of both kinds. There is one exception: an added token that is not
/// special and consists only of white space is not a control token, and text does encode to it.
///
/// ```
/// use openchatml_tokens::{Encoding, HuggingFace, Token};
///
/// let json = include_bytes!("../../../tests/encodings/byte_level.json");
/// let encoding = HuggingFace::from_json(json)?;
/// let end = encoding.control("<|im_end|>").expect("an added token");
/// assert_eq!(encoding.token(end), Some(Token::Control("<|im_end|>")));
/// let mut ids = Vec::new();
/// encoding.encode("<|im_end|>", &mut ids);
/// assert!(ids.len() > 1 && !ids.contains(&end)); // Ordinary text, whatever it spells.
/// # Ok::<(), openchatml_tokens::EncodingError>(())
/// ```
#[derive(Debug)]
pub struct HuggingFace {
    normalizer: Option<NormalizerWrapper>,
    pre_tokenizer: Option<PreTokenizerWrapper>,
    model: ModelWrapper,
    /// The added tokens that text can contain.
    whitespace: Option<WhitespaceTokens>,
    /// The tokens of the model that text must not encode to, because they are added tokens.
    barred: HashSet<u32>,
    /// The ids of the single-byte tokens.
    bytes: Vec<Option<u32>>,
    tokens: Tokens,
    changes: Vec<String>,
}

/// The character that represents a space in most vocabularies that replace it.
const SPACE: char = '\u{2581}';

/// The added tokens of white space.
#[derive(Debug)]
struct WhitespaceTokens {
    finder: AhoCorasick,
    ids: Vec<u32>,
}

impl HuggingFace {
    /// Reads an encoding from the bytes of a `tokenizer.json`.
    ///
    /// # Errors
    ///
    /// - [`EncodingError::Json`] and [`EncodingError::Part`]: the file is not a `tokenizer.json`,
    ///   contradicts itself, or contains an unknown part.
    /// - [`EncodingError::Part`]: the tokens do not define their bytes, as in `WordPiece` and
    ///   `WordLevel`, or the pre-tokenizer drops characters.
    /// - [`EncodingError::Bytes`]: the vocabulary has no tokens for some text.
    /// - [`EncodingError::SameId`]: two tokens have the same id.
    ///
    /// ```
    /// use openchatml_tokens::{EncodingError, HuggingFace};
    ///
    /// let error = HuggingFace::from_json(b"{{ messages }}").unwrap_err();
    /// assert!(matches!(error, EncodingError::Json { line: 1, column: 2, .. }));
    /// let error = HuggingFace::from_json(br#"{"model": {"vocab": {}, "merges": []}}"#).unwrap_err();
    /// assert!(matches!(error, EncodingError::Bytes { .. }));
    /// ```
    pub fn from_json(json: &[u8]) -> Result<Self, EncodingError> {
        let File { added_tokens, normalizer, pre_tokenizer, model } = File::read(json)?;
        let steps = Steps::new(normalizer, pre_tokenizer)?;
        let spelling = Spelling::new(&model, &steps);
        let unknown = model.unk_id.and_then(|id| u32::try_from(id).ok());
        let ReadyModel { model, ids, bytes } = model::make(model, spelling)?;
        let added = added_tokens.unwrap_or_default();
        check(&added, &ids)?;
        let (whitespace, added): (Vec<_>, Vec<_>) = added
            .into_iter()
            .filter(|token| is_blank(token) || !is_letter(token, &ids))
            .partition(is_blank);
        let spelled = ids.iter().filter(|(token, _)| spelling.byte(token).is_some());
        let barred = spelled.map(|(_, id)| *id).chain(added.iter().map(|token| token.id));
        Ok(Self {
            normalizer: steps.normalizer,
            pre_tokenizer: steps.pre_tokenizer,
            model,
            barred: barred.chain(unknown).collect(),
            bytes,
            tokens: tokens(&ids, &whitespace, &added, spelling)?,
            whitespace: WhitespaceTokens::new(whitespace)?,
            changes: steps.changes,
        })
    }

    /// Returns the normalizers that change text before it is encoded, such as `NFC` and
    /// `Lowercase`, so that the ids may stand for a different text. If there are none, ids stand
    /// for the original text. The only exception is the character that stands for a space in this
    /// encoding: it becomes a space.
    ///
    /// ```
    /// use openchatml_tokens::HuggingFace;
    ///
    /// let json = include_bytes!("../../../tests/encodings/byte_level.json");
    /// assert!(HuggingFace::from_json(json)?.changes().is_empty());
    /// # Ok::<(), openchatml_tokens::EncodingError>(())
    /// ```
    pub fn changes(&self) -> &[String] {
        &self.changes
    }

    /// Adds the ids of text that contains no added tokens of white space.
    fn encode_plain(&self, text: &str, ids: &mut Vec<u32>) {
        let start = ids.len();
        if !text.is_empty() && self.try_encode(text, ids).is_err() {
            // No text is known for which this happens. Encoding bytes loses nothing.
            ids.truncate(start);
            ids.extend(text.bytes().filter_map(|byte| self.bytes[usize::from(byte)]));
        }
    }

    fn try_encode(&self, text: &str, ids: &mut Vec<u32>) -> tokenizers::Result<()> {
        let mut text = NormalizedString::from(text);
        if let Some(normalizer) = &self.normalizer {
            normalizer.normalize(&mut text)?;
        }
        let mut pieces = PreTokenizedString::from(text);
        if let Some(pre_tokenizer) = &self.pre_tokenizer {
            pre_tokenizer.pre_tokenize(&mut pieces)?;
        }
        let splits = pieces.get_splits(OffsetReferential::Normalized, OffsetType::None);
        splits.into_iter().try_for_each(|(piece, ..)| self.encode_piece(piece, ids))
    }

    fn encode_piece(&self, piece: &str, ids: &mut Vec<u32>) -> tokenizers::Result<()> {
        for token in self.model.tokenize(piece)? {
            if self.is_spelled(&token, piece) {
                self.encode_apart(&token.value, ids)?;
            } else {
                ids.push(token.id);
            }
        }
        Ok(())
    }

    /// Whether a piece of text encodes to a token that text must not encode to.
    fn is_spelled(&self, token: &tokenizers::Token, piece: &str) -> bool {
        self.barred.contains(&token.id)
            && piece.get(token.offsets.0..token.offsets.1) == Some(&token.value)
    }

    /// Adds the ids of text that spells a forbidden token. The first character and the rest are
    /// encoded separately. If the rest spells another forbidden token, each character is encoded
    /// separately.
    #[cold]
    fn encode_apart(&self, text: &str, ids: &mut Vec<u32>) -> tokenizers::Result<()> {
        let first = text.chars().next().map_or(0, char::len_utf8);
        let (first, rest) = text.split_at(first);
        let of_rest = self.model.tokenize(rest)?;
        ids.extend(self.model.tokenize(first)?.iter().map(|token| token.id));
        if of_rest.iter().any(|token| self.is_spelled(token, rest)) {
            let mut char = [0; 4];
            for letter in rest.chars() {
                let tokens = self.model.tokenize(letter.encode_utf8(&mut char))?;
                ids.extend(tokens.iter().map(|token| token.id));
            }
        } else {
            ids.extend(of_rest.iter().map(|token| token.id));
        }
        Ok(())
    }
}

impl Encoding for HuggingFace {
    fn encode(&self, text: &str, ids: &mut Vec<u32>) {
        let mut at = 0;
        if let Some(WhitespaceTokens { finder, ids: whitespace }) = &self.whitespace {
            for found in finder.find_iter(text) {
                self.encode_plain(&text[at..found.start()], ids);
                ids.push(whitespace[found.pattern().as_usize()]);
                at = found.end();
            }
        }
        self.encode_plain(&text[at..], ids);
    }

    fn control(&self, spelling: &str) -> Option<u32> {
        self.tokens.control(spelling)
    }

    fn controls(&self) -> Vec<(&str, u32)> {
        self.tokens.controls().collect()
    }

    fn token(&self, id: u32) -> Option<Token<'_>> {
        self.tokens.get(id)
    }
}

impl WhitespaceTokens {
    fn new(tokens: Vec<Added>) -> Result<Option<Self>, EncodingError> {
        if tokens.is_empty() {
            return Ok(None);
        }
        let mut finder = AhoCorasick::builder();
        let finder = finder.match_kind(MatchKind::LeftmostLongest);
        let finder = finder.build(tokens.iter().map(|token| &token.content)).map_err(|error| {
            EncodingError::Part { at: "/added_tokens".to_owned(), reason: error.to_string() }
        })?;
        Ok(Some(Self { finder, ids: tokens.into_iter().map(|token| token.id).collect() }))
    }
}

/// Whether text can contain an added token.
fn is_blank(token: &Added) -> bool {
    let is_blank = |c: char| c.is_whitespace() || c == SPACE;
    !token.special && token.content.chars().all(is_blank)
}

/// Whether an added token is a character that the model also has. Some files list such characters
/// to fill the vocabulary up to a round size. They remain ordinary characters.
fn is_letter(token: &Added, ids: &Ids) -> bool {
    token.content.chars().count() == 1 && ids.contains_key(&token.content)
}

/// Checks that added tokens are not empty, have one id each, and have the same id in the model.
fn check(added: &[Added], ids: &Ids) -> Result<(), EncodingError> {
    let mut known = std::collections::HashMap::new();
    for (index, Added { id, content, .. }) in added.iter().enumerate() {
        let other = known.insert(content, *id).or_else(|| ids.get(content).copied());
        let reason = match other {
            _ if content.is_empty() => "an added token is empty".to_owned(),
            Some(other) if other != *id => {
                format!("{} has the id {id} here, but the id {other} before", Quoted(content))
            }
            _ => continue,
        };
        return Err(EncodingError::Part { at: format!("/added_tokens/{index}"), reason });
    }
    Ok(())
}

/// Returns the meanings of all ids.
fn tokens(
    ids: &Ids,
    whitespace: &[Added],
    added: &[Added],
    spelling: Spelling,
) -> Result<Tokens, EncodingError> {
    let mut entries = Vec::with_capacity(ids.len() + added.len());
    let mut seen = HashSet::new();
    for token in added.iter().chain(whitespace).filter(|token| seen.insert(&token.content)) {
        // An added token that is not special is text in formats that do not define it.
        let text = match token.special {
            true => Text::Control(token.content.as_str().into()),
            false => Text::Bytes(spelling.bytes_of_added(&token.content).into()),
        };
        entries.push((token.id, text));
    }
    for (token, id) in ids.iter().filter(|(token, _)| !seen.contains(token)) {
        entries.push((*id, Text::Bytes(spelling.bytes(token).into())));
    }
    let controls = added.iter().map(|token| (token.content.clone(), token.id)).collect();
    Tokens::new(entries, controls)
}
