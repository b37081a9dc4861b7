//! The lexer of text, whole or in chunks.

use super::{ESCAPE, Escape, Found, Lexeme, Mask, Search, TokenTable};
use crate::{Control, Span};

/// Which control tokens count, and whether escapes do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Between messages: escapes count.
    Outside,
    /// In a body: escapes count, and literal blocks.
    Body,
    /// In a header: nothing can be escaped (SPEC 2.2 §11: values are sanitized instead).
    Header,
    /// In a literal block: nothing counts but its end.
    Literal,
}

impl Mode {
    /// The mode after a control token. Writers keep to the same rule as the lexer.
    pub(crate) fn after(self, control: Control) -> Self {
        match control {
            Control::Start => Self::Header,
            // A message that lost its beginning.
            Control::Channel | Control::Constrain if self == Self::Outside => Self::Header,
            Control::Message => Self::Body,
            Control::Literal if self == Self::Body => Self::Literal,
            Control::EndLiteral if self == Self::Literal => Self::Body,
            _ if control.ends_message() => Self::Outside,
            _ => self,
        }
    }

    /// Which of the control tokens that are `spelled` in a text count in this mode.
    pub(crate) fn counted(self, spelled: Mask) -> Mask {
        match self {
            Self::Literal if spelled.has(Control::EndLiteral) => Mask::of(&[Control::EndLiteral]),
            Self::Literal => Mask::of(&[]),
            Self::Outside | Self::Body | Self::Header => spelled,
        }
    }
}

/// Turns text into lexemes, remembering between chunks what mode it is in.
///
/// It keeps no text. Given a chunk that is not the last, it stops before an end that may still
/// become a control token, at most [`TokenTable::longest`] bytes, and the caller brings these again
/// in front of the next chunk.
#[derive(Debug)]
pub(crate) struct Lexer {
    pub(super) controls: &'static TokenTable,
    pub(super) search: Search<'static>,
    /// The control tokens that are spelled in the text.
    pub(super) spelled: Mask,
    pub(super) mode: Mode,
    pub(super) at: usize,
    /// The control token that is known to stand at the front, and its length.
    pub(super) pending: Option<(Control, usize)>,
}

impl Lexer {
    /// A lexer whose first byte is byte `at` of the input.
    pub(crate) fn new(controls: &'static TokenTable, mode: Mode, at: usize) -> Self {
        let search = controls.search();
        Self { controls, search, spelled: Mask::ALL, mode, at, pending: None }
    }

    /// Looks for these control tokens only.
    pub(crate) fn set_spelled(&mut self, spelled: Mask) {
        self.spelled = spelled;
    }

    /// Whether there is nothing to look for in text.
    pub(crate) fn is_blind(&self) -> bool {
        self.spelled.is_empty()
    }

    /// Goes on after a control token that the carrier has other means for than its spelling.
    pub(crate) fn pass(&mut self, control: Control, end: usize) {
        self.mode = self.mode.after(control);
        self.at = end;
    }

    /// No more than this many bytes are ever held back.
    pub(crate) fn longest(&self) -> usize {
        self.controls.longest()
    }

    /// The offset of the next byte that it will take.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    /// Goes on counting at byte `at`: what was given was not as long as what it stood for.
    pub(crate) fn seek(&mut self, at: usize) {
        self.at = at;
    }

    /// Takes the next lexeme from the front of `text`. `None` if nothing certain is left: the text
    /// is used up or, unless it is the `last`, what is left may become a control token.
    #[inline]
    pub(crate) fn next<'t>(&mut self, text: &mut &'t str, last: bool) -> Option<Lexeme<'t>> {
        if let Some((control, len)) = self.pending.take() {
            return Some(self.control(text, control, len));
        }
        if text.is_empty() {
            return None;
        }
        let escapes = match self.mode {
            Mode::Body | Mode::Outside => self.controls.escape() != Escape::None,
            Mode::Header | Mode::Literal => false,
        };
        self.search(text, last, self.mode.counted(self.spelled), escapes)
    }

    fn search<'t>(
        &mut self,
        text: &mut &'t str,
        last: bool,
        spelled: Mask,
        escapes: bool,
    ) -> Option<Lexeme<'t>> {
        let bytes = text.as_bytes();
        let (at, found) = self.search.next(bytes, 0, spelled, last);
        let may_be_escaped = escapes && at > 0 && bytes[at - 1] == ESCAPE;
        match found {
            Found::None => self.text(text, at),
            Found::Prefix => self.text(text, at - usize::from(may_be_escaped)),
            Found::Control(control, len) => {
                if may_be_escaped && !matches!(control, Control::Marker(_)) {
                    return self.escaped(text, at, len);
                }
                if at > 0 {
                    self.pending = Some((control, len));
                    return self.text(text, at);
                }
                Some(self.control(text, control, len))
            }
        }
    }

    /// `text` has an escape at `at - 1`, a control token of `len` bytes at `at`.
    fn escaped<'t>(&mut self, text: &mut &'t str, at: usize, len: usize) -> Option<Lexeme<'t>> {
        if at > 1 {
            return self.text(text, at - 1);
        }
        *text = &text[1..];
        self.at += 1;
        self.text(text, len)
    }

    #[inline]
    fn text<'t>(&mut self, text: &mut &'t str, len: usize) -> Option<Lexeme<'t>> {
        if len == 0 {
            return None;
        }
        let (front, rest) = text.split_at(len);
        let span = Span::new(self.at, self.at + len);
        *text = rest;
        self.at = span.end;
        Some(Lexeme::Text(front, span))
    }

    #[inline]
    fn control<'t>(&mut self, text: &mut &'t str, control: Control, len: usize) -> Lexeme<'t> {
        *text = &text[len..];
        let span = Span::new(self.at, self.at + len);
        self.at = span.end;
        self.mode = self.mode.after(control);
        Lexeme::Control(control, span)
    }
}
