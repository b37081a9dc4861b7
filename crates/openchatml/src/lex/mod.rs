//! From text to lexemes: the only code that looks for control tokens in text.
//!
//! The lexer takes a piece of text at a time, a whole document or a chunk that just arrived, and
//! gives [`Lexeme`]s. Escapes and literal blocks are its business alone; a reader never sees them
//! as anything but text between [`Control::Literal`] and [`Control::EndLiteral`].

mod candidates;
mod controls;
mod frame;
mod mask;
mod tape;
mod text;
mod utf8;

pub(crate) use self::candidates::Candidates;
pub(crate) use self::controls::Found;
pub use self::controls::{Controls, Escape};
pub(crate) use self::frame::Frame;
pub(crate) use self::mask::Mask;
pub use self::tape::Tape;
pub(crate) use self::text::{Lexer, Mode};
pub(crate) use self::utf8::{Piece, Utf8};

use crate::{Control, Span};

/// What every carrier of a conversation is made of: text, token ids, a JSON wire list.
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
    /// A control token, and where it stands.
    Control(Control, Span),
    /// Text that is nothing but text, and where it stands. The span of escaped text begins after
    /// the escape.
    Text(&'t str, Span),
}

/// Whether `text` looks like it spells a control token, of whatever dialect.
pub(crate) fn spells_token(text: &str) -> bool {
    text.contains("<|") && text.contains("|>")
}

impl Lexeme<'_> {
    /// Where it stands.
    pub fn span(&self) -> Span {
        match self {
            Self::Control(_, span) | Self::Text(_, span) => *span,
        }
    }

    /// Whether it is nothing but white space.
    pub(crate) fn is_space(&self) -> bool {
        matches!(self, Self::Text(text, _) if text.trim_ascii().is_empty())
    }
}
