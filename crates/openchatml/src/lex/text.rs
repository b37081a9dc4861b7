//! The lexer for text, whole or in chunks.

use super::{ESCAPE, Escape, Found, Lexeme, Mask, Search, TokenTable};
use crate::{Control, Span};

/// The mode of the lexer: which control tokens it recognizes, and whether there are escapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Between messages, with escapes.
    Outside,
    /// In a body, with escapes and literal blocks.
    Body,
    /// In a header, without escapes (SPEC 2.2 §11: values are sanitized instead).
    Header,
    /// In a literal block: only its end is recognized.
    Literal,
}

impl Mode {
    /// Returns the mode after a control token. Writers and the lexer use the same rule.
    pub(crate) fn after(self, control: Control) -> Self {
        match control {
            Control::Start => Self::Header,
            // A message without its start token.
            Control::Channel | Control::Constrain if self == Self::Outside => Self::Header,
            Control::Message => Self::Body,
            Control::Literal if self == Self::Body => Self::Literal,
            Control::EndLiteral if self == Self::Literal => Self::Body,
            _ if control.ends_message() => Self::Outside,
            _ => self,
        }
    }

    /// Returns the control tokens among those `spelled` in a text that this mode recognizes.
    pub(crate) fn counted(self, spelled: Mask) -> Mask {
        match self {
            Self::Literal if spelled.has(Control::EndLiteral) => Mask::of(&[Control::EndLiteral]),
            Self::Literal => Mask::of(&[]),
            Self::Outside | Self::Body | Self::Header => spelled,
        }
    }
}

/// Turns text into lexemes, and remembers the mode between chunks.
///
/// It stores no text. In a chunk that is not the last, it stops before an end that can still become
/// a control token (at most [`TokenTable::longest`] bytes). The caller passes these bytes again
/// before the next chunk.
#[derive(Debug)]
pub(crate) struct Lexer {
    pub(super) controls: &'static TokenTable,
    pub(super) search: Search<'static>,
    /// The control tokens that are spelled in the text.
    pub(super) spelled: Mask,
    pub(super) mode: Mode,
    pub(super) at: usize,
    /// The control token at the front, if already known, and its length.
    pub(super) pending: Option<(Control, usize)>,
}

impl Lexer {
    /// Creates a lexer whose first byte is byte `at` of the input.
    pub(crate) fn new(controls: &'static TokenTable, mode: Mode, at: usize) -> Self {
        let search = controls.search();
        Self { controls, search, spelled: Mask::ALL, mode, at, pending: None }
    }

    /// Sets the control tokens to search for.
    pub(crate) fn set_spelled(&mut self, spelled: Mask) {
        self.spelled = spelled;
    }

    /// Whether there is nothing to search for in text.
    pub(crate) fn is_blind(&self) -> bool {
        self.spelled.is_empty()
    }

    /// Continues after a control token that the carrier does not spell.
    pub(crate) fn pass(&mut self, control: Control, end: usize) {
        self.mode = self.mode.after(control);
        self.at = end;
    }

    /// Returns the maximum number of bytes that are held back.
    pub(crate) fn longest(&self) -> usize {
        self.controls.longest()
    }

    /// Returns the offset of the next byte.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    /// Sets the offset of the next byte, because the given text had another length than its place.
    pub(crate) fn seek(&mut self, at: usize) {
        self.at = at;
    }

    /// Returns the next lexeme at the front of `text`, or `None` if nothing certain is left: the
    /// text is used up, or (unless it is the `last`) its rest can become a control token.
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

    /// Handles an escape at `at - 1` before a control token of `len` bytes at `at`.
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
