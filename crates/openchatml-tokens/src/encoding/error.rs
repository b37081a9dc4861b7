//! Errors of encoding files.

use std::fmt;

/// An error in an encoding file, and its place.
///
/// ```
/// # #[cfg(feature = "tiktoken")] {
/// use openchatml_tokens::{EncodingError, Tiktoken};
///
/// let error = Tiktoken::from_ranks(b"IQ== 0\nIg== one\n", r"\S+|\s+", [("<|end|>", 256)]);
/// let error = error.unwrap_err();
/// assert!(matches!(error, EncodingError::Line { line: 2, .. }));
/// assert_eq!(error.to_string(), "line 2: `one` is not a rank");
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodingError {
    /// The file is not JSON, or a value in it has the wrong type.
    Json {
        /// The line, from 1.
        line: usize,
        /// The byte in the line, from 1; 0 for the end of the line.
        column: usize,
        /// The reason.
        reason: String,
    },
    /// A part of a `tokenizer.json` is not supported or invalid.
    Part {
        /// The part, as a JSON pointer.
        at: String,
        /// The reason.
        reason: String,
    },
    /// A line of a rank file is malformed.
    Line {
        /// The line, from 1.
        line: usize,
        /// The reason.
        reason: String,
    },
    /// Two tokens have the same id.
    SameId {
        /// The id.
        id: u32,
        /// The two tokens. Bytes that are not UTF-8 are replaced by U+FFFD.
        tokens: [String; 2],
    },
    /// The vocabulary has no token for some bytes: text with these bytes would have no ids.
    Bytes {
        /// The number of such bytes.
        missing: usize,
        /// The lowest such byte.
        first: u8,
    },
    /// The pattern for a rank file is not a regular expression.
    Pattern {
        /// The reason.
        reason: String,
    },
    /// The rank file is not one of those whose pattern and control tokens are known. A rank file
    /// itself contains neither.
    UnknownRanks {
        /// The SHA-256 of the file, in hexadecimal digits.
        sha256: String,
    },
}

impl fmt::Display for EncodingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json { line, column, reason } => write!(f, "{line}:{column}: {reason}"),
            Self::Part { at, reason } => write!(f, "{at}: {reason}"),
            Self::Line { line, reason } => write!(f, "line {line}: {reason}"),
            Self::SameId { id, tokens: [one, other] } => {
                write!(f, "id {id} is both {} and {}", Quoted(one), Quoted(other))
            }
            Self::Bytes { missing, first } => write!(
                f,
                "no token encodes the byte 0x{first:02X} ({missing} such bytes), so some text has no ids"
            ),
            Self::Pattern { reason } => {
                write!(f, "the pattern is not a valid regular expression: {reason}")
            }
            Self::UnknownRanks { sha256 } => write!(
                f,
                "unknown rank file: the file contains only ranks, and its pattern and control tokens are not known (SHA-256 {sha256})"
            ),
        }
    }
}

impl std::error::Error for EncodingError {}

/// The maximum length of a quoted text, in characters.
const SHOWN: usize = 40;

/// A quoted text for a message, on one line and truncated if it is long.
pub(super) struct Quoted<'t>(pub(super) &'t str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: String = self.0.chars().take(SHOWN).collect();
        let more = if shown.len() < self.0.len() { "…" } else { "" };
        write!(f, "`{}{more}`", shown.escape_debug())
    }
}
