//! What can be wrong with a file that an encoding is read from.

use std::fmt;

/// What is wrong with a file that an encoding is read from, and where.
///
/// ```
/// # #[cfg(feature = "tiktoken")] {
/// use openchatml_tokens::{EncodingError, Tiktoken};
///
/// let error = Tiktoken::from_ranks(b"IQ== 0\nIg== one\n", r"\S+|\s+", [("<|end|>", 256)]);
/// let error = error.unwrap_err();
/// assert!(matches!(error, EncodingError::Line { line: 2, .. }));
/// assert_eq!(error.to_string(), "line 2: `one` is no rank");
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodingError {
    /// The file is no JSON, or a value in it is not what the format has there.
    Json {
        /// The line, from 1.
        line: usize,
        /// The byte of the line, from 1; 0 where it ends.
        column: usize,
        /// What is wrong.
        reason: String,
    },
    /// A part of a `tokenizer.json` cannot be used.
    Part {
        /// The part, as a JSON pointer.
        at: String,
        /// Why it cannot be used.
        reason: String,
    },
    /// A line of a rank file is none.
    Line {
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// Two tokens have the same id.
    SameId {
        /// The id.
        id: u32,
        /// The tokens; what is not UTF-8 in them is U+FFFD.
        tokens: [String; 2],
    },
    /// There are bytes of text that no token stands for: text with them would have no ids.
    Bytes {
        /// How many such bytes there are.
        missing: usize,
        /// The lowest of them.
        first: u8,
    },
    /// The pattern that goes with a rank file is no regular expression.
    Pattern {
        /// What is wrong.
        reason: String,
    },
    /// A rank file says neither how text is split nor which control tokens there are, and this one
    /// is none of those whose pattern and control tokens are known.
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
                "no token stands for the byte 0x{first:02X} ({missing} such bytes), so there is \
                 text that has no ids"
            ),
            Self::Pattern { reason } => write!(f, "the pattern is no regular expression: {reason}"),
            Self::UnknownRanks { sha256 } => write!(
                f,
                "the file has ranks alone, and is none of those whose pattern and control tokens \
                 are known (its SHA-256 is {sha256})"
            ),
        }
    }
}

impl std::error::Error for EncodingError {}

/// How much of a quoted text is shown, in characters.
const SHOWN: usize = 40;

/// Text in a message: quoted, of one line, and not too long.
pub(super) struct Quoted<'t>(pub(super) &'t str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: String = self.0.chars().take(SHOWN).collect();
        let more = if shown.len() < self.0.len() { "…" } else { "" };
        write!(f, "`{}{more}`", shown.escape_debug())
    }
}
