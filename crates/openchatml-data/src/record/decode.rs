//! Decodes bytes as text. Bytes that are not UTF-8 are reported and replaced.

use std::borrow::Cow;

use openchatml::lex::{Utf8Decoder, Utf8Piece};
use openchatml::{Code, Diagnostic, Dropped, Span};

use super::finding::finding;

/// The number of invalid places that are reported one by one.
const MOST_TOLD: usize = 1000;

/// With this number of invalid places, the input is not text.
const MOST_BAD: usize = 1 << 20;

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// The text of some bytes, with U+FFFD for bytes that are not UTF-8.
#[derive(Debug)]
pub struct Decoded<'b> {
    /// The text, without a byte order mark.
    pub text: Cow<'b, str>,
    /// The diagnostics, with places in the text.
    pub found: Vec<Diagnostic>,
    is_refused: bool,
    /// The bytes.
    pub(super) raw: &'b [u8],
    /// The position of the text in the bytes.
    pub(super) base: usize,
    pub(super) patches: Vec<Patch>,
}

/// A place after which positions in text and bytes differ.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patch {
    /// The first byte of text after the replacement.
    pub(super) after: usize,
    /// The difference between the lengths of text and bytes up to there.
    pub(super) longer: usize,
}

impl<'b> Decoded<'b> {
    /// Whether the bytes are not text at all.
    pub fn is_no_text(&self) -> bool {
        self.is_refused
    }

    /// Decodes `bytes`, which begin at byte `offset` of their file.
    pub fn new(bytes: &'b [u8], offset: usize) -> Self {
        let skipped = if offset == 0 && bytes.starts_with(BOM) { BOM.len() } else { 0 };
        Self::record(&bytes[skipped..], offset + skipped)
    }

    /// Decodes the bytes of a record, which begin at byte `base` of their file. A byte order mark
    /// in a record is part of its text.
    pub fn record(bytes: &'b [u8], base: usize) -> Self {
        let (found, patches) = (Vec::new(), Vec::new());
        match simdutf8::basic::from_utf8(bytes) {
            Ok(text) => {
                let text = Cow::Borrowed(text);
                Self { text, found, is_refused: false, raw: bytes, base, patches }
            }
            Err(_) => {
                let text = Cow::Borrowed("");
                let mut decoded =
                    Self { text, found, is_refused: false, raw: bytes, base, patches };
                decoded.mend(bytes);
                decoded
            }
        }
    }

    /// Replaces bytes that are not UTF-8.
    #[cold]
    fn mend(&mut self, bytes: &[u8]) {
        let is_utf16 = matches!(bytes, [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..]);
        let mut text = String::with_capacity(bytes.len() + 64);
        let mut utf8 = Utf8Decoder::default();
        for piece in utf8.decode(bytes) {
            self.push(piece, &mut text, is_utf16);
            if self.is_refused {
                break;
            }
        }
        if let Some(piece) = utf8.finish() {
            self.push(piece, &mut text, is_utf16);
        }
        self.text = Cow::Owned(text);
    }

    /// Appends a piece to `text`.
    fn push(&mut self, piece: Utf8Piece<'_>, text: &mut String, is_utf16: bool) {
        let len = match piece {
            Utf8Piece::Text(piece) => return text.push_str(piece),
            Utf8Piece::Invalid(len) => len,
        };
        let at = text.len();
        text.push(char::REPLACEMENT_CHARACTER);
        let longer = self.patches.last().map_or(0, |patch| patch.longer);
        let offset = self.base + at - longer;
        let longer = longer + text.len() - at - len;
        self.patches.push(Patch { after: text.len(), longer });
        let span = Span::new(at, text.len());
        let number = self.patches.len();
        if number <= MOST_TOLD {
            let message = format!("the byte at offset {offset} is not UTF-8");
            let mut bad = finding(Code::ParseUtf8, span, message);
            let help = if is_utf16 { UTF16 } else { "U+FFFD replaces it" };
            bad.help = Some(help.to_owned());
            bad.dropped = Some(Dropped::Value);
            self.found.push(bad);
        } else if number == MOST_TOLD + 1 {
            let message =
                format!("more than {MOST_TOLD} bytes are not UTF-8; the rest is not shown");
            self.found.push(finding(Code::Limit, span, message));
        }
        self.is_refused = is_utf16 || number == MOST_BAD;
    }
}

const UTF16: &str = "the input looks like UTF-16: convert it to UTF-8 first";

#[cfg(test)]
mod tests {
    use super::Decoded;

    #[test]
    fn valid_text_is_borrowed() {
        let decoded = Decoded::new("\u{feff}é".as_bytes(), 0);
        assert_eq!((decoded.text.as_ref(), decoded.base), ("é", 3));
        assert!(matches!(decoded.text, std::borrow::Cow::Borrowed(_)));
        assert!(decoded.found.is_empty());
    }

    #[test]
    fn invalid_bytes_are_replaced_and_located() {
        let decoded = Decoded::new(b"ab\xFFcd\xE2\x82xy", 10);
        assert_eq!(decoded.text, "ab\u{fffd}cd\u{fffd}xy");
        let messages: Vec<_> = decoded.found.iter().map(|bad| bad.message.as_str()).collect();
        assert_eq!(
            messages,
            ["the byte at offset 12 is not UTF-8", "the byte at offset 15 is not UTF-8"],
        );
        assert!(!decoded.is_refused);
    }

    #[test]
    fn binary_input_is_refused() {
        let decoded = Decoded::new(&[0xFF; 5000], 0);
        assert!(!decoded.is_refused);
        assert_eq!(decoded.found.len(), 1001);
        assert!(Decoded::new(&[0xFF; 2 << 20], 0).is_refused);
        let utf16 = Decoded::new(b"\xFF\xFEh\0i\0", 0);
        assert!(utf16.is_refused);
        assert_eq!(utf16.found.len(), 1);
    }
}
