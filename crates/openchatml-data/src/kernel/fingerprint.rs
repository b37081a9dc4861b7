//! Numbers that equal or similar conversations share.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::FixedSizeBinaryBuilder;
use arrow_schema::{ArrowError, DataType, Field};
use openchatml::Document;
use openchatml::lint::fingerprint_beside_text;
use twox_hash::{XxHash3_64, XxHash3_128};

use super::options::KernelOptions;
use super::task::{Columns, Outcome, ReadDocument};

/// The number of words in a shingle.
const SHINGLE: usize = 3;

/// The columns `fingerprint` and `signature`.
pub(super) struct Fingerprints<'k> {
    options: &'k KernelOptions,
    hashes: usize,
    fingerprints: FixedSizeBinaryBuilder,
    signatures: FixedSizeBinaryBuilder,
    text: String,
    signature: Signature,
}

impl<'k> Fingerprints<'k> {
    pub(super) fn new(options: &'k KernelOptions, hashes: usize) -> Self {
        let width = i32::try_from(4 * hashes).unwrap_or(i32::MAX);
        Self {
            options,
            hashes,
            fingerprints: FixedSizeBinaryBuilder::new(16),
            signatures: FixedSizeBinaryBuilder::new(width),
            text: String::new(),
            signature: Signature::new(hashes),
        }
    }

    pub(super) fn fields(hashes: usize) -> Vec<Field> {
        let width = i32::try_from(4 * hashes).unwrap_or(i32::MAX);
        let mut fields = vec![Field::new("fingerprint", DataType::FixedSizeBinary(16), false)];
        if hashes > 0 {
            fields.push(Field::new("signature", DataType::FixedSizeBinary(width), false));
        }
        fields
    }
}

impl Columns for Fingerprints<'_> {
    fn push(&mut self, mut read: ReadDocument<'_>) -> Outcome {
        let _ = self.options.consent.judge(&mut read.found, &mut Vec::new());
        if read.is_lost(self.options) {
            return Outcome::refused(read.found);
        }
        normalize(&read.document, &mut self.text);
        let rest = fingerprint_beside_text(&read.document);
        let fingerprint = XxHash3_128::oneshot_with_seed(rest, self.text.as_bytes());
        let mut is_appended = self.fingerprints.append_value(fingerprint.to_le_bytes()).is_ok();
        if self.hashes > 0 {
            let signature = self.signature.of(&self.text, rest);
            is_appended &= self.signatures.append_value(signature).is_ok();
        }
        debug_assert!(is_appended, "the widths are fixed");
        Outcome::written(read.found)
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<ArrayRef>, ArrowError> {
        let mut columns: Vec<ArrayRef> = vec![Arc::new(self.fingerprints.finish())];
        if self.hashes > 0 {
            columns.push(Arc::new(self.signatures.finish()));
        }
        Ok(columns)
    }
}

/// Writes the roles and the texts of a document, with single spaces between words. Documents with
/// the same words in the same messages give the same text.
fn normalize(document: &Document<'_>, out: &mut String) {
    out.clear();
    for conversation in document.conversations() {
        out.push('\u{1}');
        for message in &conversation.messages {
            out.push('\u{2}');
            out.push_str(message.role.as_str());
            // Some formats write `final` where others write no channel.
            out.push(':');
            out.push_str(message.effective_channel().as_str());
            out.push_str(message.recipient.as_deref().unwrap_or_default());
            out.push('\u{3}');
            for word in message.body.text().split_whitespace() {
                out.push(' ');
                out.push_str(word);
            }
        }
    }
    if let Document::Infill(infill) = document {
        // A task to fill in has no messages: it equals only a task with the same parts.
        out.push_str(&format!("{infill:?}"));
    }
}

/// MinHash signatures (Broder 1997): the smallest hash of all shingles, for each of some hash
/// functions. The share of equal hashes in two signatures estimates the Jaccard similarity of the
/// shingles.
#[derive(Debug)]
struct Signature {
    /// The factor and the summand of each hash function.
    functions: Vec<(u32, u32)>,
    least: Vec<u32>,
    bytes: Vec<u8>,
}

impl Signature {
    fn new(hashes: usize) -> Self {
        let number = |at: usize, seed: u64| {
            let [a, b, c, d, ..] =
                XxHash3_64::oneshot_with_seed(seed, &at.to_le_bytes()).to_le_bytes();
            u32::from_le_bytes([a, b, c, d])
        };
        // An odd factor maps different hashes to different hashes.
        let functions = (0..hashes).map(|at| (number(at, 1) | 1, number(at, 2))).collect();
        Self { functions, least: Vec::new(), bytes: Vec::new() }
    }

    /// Returns the signature of a text. Case and punctuation do not matter. A document with another
    /// `rest`, which is not text, is not similar.
    fn of(&mut self, text: &str, rest: u64) -> &[u8] {
        self.least.clear();
        self.least.resize(self.functions.len(), u32::MAX);
        let mut last = [0; SHINGLE];
        let mut count = 0;
        let mut lower = String::new();
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        for word in words {
            lower.clear();
            lower.extend(word.chars().flat_map(char::to_lowercase));
            last.rotate_left(1);
            last[SHINGLE - 1] = XxHash3_64::oneshot_with_seed(rest, lower.as_bytes());
            count += 1;
            if count >= SHINGLE {
                self.add(&last);
            }
        }
        // A short text is one shingle.
        if count < SHINGLE {
            self.add(&last);
        }
        self.bytes.clear();
        self.bytes.extend(self.least.iter().flat_map(|hash| hash.to_le_bytes()));
        &self.bytes
    }

    fn add(&mut self, shingle: &[u64; SHINGLE]) {
        let hash = shingle.iter().fold(0_u64, |hash, word| {
            (hash.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15)
        });
        let hash = (hash >> 32) as u32;
        for (least, (factor, summand)) in self.least.iter_mut().zip(&self.functions) {
            let own = hash.wrapping_mul(*factor).wrapping_add(*summand);
            // The low bits of a product depend only on the low bits of its factors.
            *least = (*least).min(own ^ (own >> 15));
        }
    }
}

#[cfg(test)]
mod tests {
    use openchatml::{Conversation, Message};

    use super::{Signature, normalize};

    fn similarity(one: &str, two: &str) -> f64 {
        let hashes = 256;
        let mut signature = Signature::new(hashes);
        let one = signature.of(one, 0).to_vec();
        let two = signature.of(two, 0);
        let same = one.chunks(4).zip(two.chunks(4)).filter(|(one, two)| one == two).count();
        f64::from(u32::try_from(same).unwrap()) / 256.0
    }

    #[test]
    fn signatures_estimate_the_jaccard_similarity() {
        let words: Vec<_> = (0..600).map(|at| format!("w{at}")).collect();
        let text = |from: usize, to: usize| words[from..to].join(" ");
        assert!(similarity(&text(0, 400), &text(0, 400)) > 0.999);
        // 198 of 598 shingles are in both.
        let third = similarity(&text(0, 400), &text(200, 600));
        assert!((0.23..0.43).contains(&third), "{third}");
        assert!(similarity(&text(0, 200), &text(300, 500)) < 0.05);
        assert!(similarity("Hello, World! Again.", "hello world again") > 0.999);
        assert!(similarity("a", "b") < 0.05);
    }

    #[test]
    fn white_space_does_not_matter_but_words_and_messages_do() {
        let text = |messages: &[(&str, bool)]| {
            let messages = messages.iter().map(|(text, is_user)| match is_user {
                true => Message::user(text.to_string()),
                false => Message::answer(text.to_string()),
            });
            let mut out = String::new();
            normalize(&Conversation::from_messages(messages).into(), &mut out);
            out
        };
        assert_eq!(text(&[(" a  b\n", true)]), text(&[("a b", true)]));
        assert_ne!(text(&[("a b", true)]), text(&[("A b", true)]));
        assert_ne!(text(&[("a b", true)]), text(&[("a b", false)]));
        assert_ne!(text(&[("a b", true)]), text(&[("a", true), ("b", true)]));
    }
}
