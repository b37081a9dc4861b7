//! The lexer: turns text into lexemes. Only this code searches for control tokens in text.
//!
//! The lexer reads a piece of text at a time (a whole document, or a chunk) and returns
//! [`Lexeme`]s. It handles escapes and literal blocks completely: a reader sees them only as text
//! between [`Control::Literal`] and [`Control::EndLiteral`].

mod completion;
mod frame;
mod fronts;
mod mask;
mod search;
mod tape;
#[cfg(test)]
pub(crate) mod tests;
mod text;
mod token_table;
mod utf8;

pub use self::completion::begins_completion;
pub(crate) use self::frame::{Frame, Piece};
pub(crate) use self::fronts::Found;
pub(crate) use self::mask::Mask;
pub(crate) use self::search::Search;
pub use self::tape::Tape;
pub(crate) use self::text::{Lexer, Mode};
pub(crate) use self::token_table::ESCAPE;
pub use self::token_table::{Escape, TokenTable};
pub use self::utf8::{Utf8Decoder, Utf8Piece};

use crate::{Control, Span};

/// The unit of every carrier: text, token ids, a JSON wire list.
///
/// ```
/// use openchatml::{Control, Span, lex::Lexeme};
///
/// // `Hi.<|end|>`
/// let lexemes = [
///     Lexeme::Text("Hi.", Span::new(0, 3)),
///     Lexeme::Control(Control::End, Span::new(3, 10)),
/// ];
/// let text = lexemes.iter().filter(|lexeme| matches!(lexeme, Lexeme::Text(..)));
/// assert_eq!(text.map(|lexeme| lexeme.span().len()).sum::<usize>(), 3);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lexeme<'t> {
    /// A control token and its place.
    Control(Control, Span),
    /// Plain text and its place. The span of escaped text begins after the escape.
    Text(&'t str, Span),
}

/// The text around the names of control tokens in most dialects.
const AROUND_NAMES: &[(&str, &str)] = &[("<|", "|>"), ("<｜", "｜>")];

/// Whether `text` looks like the spelling of a control token of any dialect.
pub(crate) fn spells_token(text: &str) -> bool {
    AROUND_NAMES.iter().any(|(open, close)| text.contains(open) && text.contains(close))
}

/// Whether `text` begins with `front`. For a few words, this is faster than `memcmp`. For an empty
/// string it is much faster: some implementations read masked memory that is not mapped, which
/// costs a hundred nanoseconds.
#[inline]
pub(crate) fn begins_with(text: &str, front: &str) -> bool {
    let (text, front) = (text.as_bytes(), front.as_bytes());
    let Some(text) = text.get(..front.len()) else { return false };
    match (text.last_chunk::<8>(), front.last_chunk::<8>()) {
        (Some(last), Some(wanted)) => {
            let (words, fronts) = (text.as_chunks::<8>().0, front.as_chunks::<8>().0);
            // Most texts that differ do so at the end.
            last == wanted && words.iter().zip(fronts).all(|(word, front)| word == front)
        }
        _ => text.iter().eq(front),
    }
}

impl Lexeme<'_> {
    /// Returns the place.
    pub fn span(&self) -> Span {
        match self {
            Self::Control(_, span) | Self::Text(_, span) => *span,
        }
    }

    /// Whether the lexeme is only white space.
    pub(crate) fn is_space(&self) -> bool {
        matches!(self, Self::Text(text, _) if text.trim_ascii().is_empty())
    }
}

#[cfg(test)]
mod words {
    use super::begins_with;

    #[test]
    fn words_at_once_are_as_bytes_one_by_one() {
        let text = "<|start|>assistant<|channel|>";
        for len in 0..=text.len() {
            let front = &text[..len];
            for end in 0..=text.len() {
                assert_eq!(begins_with(&text[..end], front), end >= len, "{end} of {front}");
            }
            for at in 0..len {
                let other: String =
                    front.char_indices().map(|(i, c)| if i == at { '\0' } else { c }).collect();
                assert!(!begins_with(text, &other), "{other:?}");
            }
        }
    }
}
