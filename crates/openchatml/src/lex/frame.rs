//! Reads a whole frame at once, if it is complete and has no special cases.

use super::{ESCAPE, Escape, Found, Lexer, Mask, Mode, begins_with};
use crate::{Control, Span};

/// The pieces of a message whose only control tokens are those of its frame: no escape, no literal
/// block, no marker, no misplaced token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'t> {
    /// `<|start|>`.
    pub(crate) start: Span,
    pub(crate) header: Piece<'t>,
    /// The text after `<|channel|>`, and the token.
    pub(crate) channel: Option<(Span, Piece<'t>)>,
    /// The text after `<|constrain|>`, and the token.
    pub(crate) constrain: Option<(Span, Piece<'t>)>,
    /// `<|message|>`.
    pub(crate) message: Span,
    pub(crate) body: Piece<'t>,
    /// The token that ends it.
    pub(crate) end: (Control, Span),
}

/// Text and its place.
pub(crate) type Piece<'t> = (&'t str, Span);

impl Lexer {
    /// Whether a message can begin at the front of the rest, and every spelling of a control token
    /// is one.
    pub(crate) fn is_between(&self) -> bool {
        self.mode == Mode::Outside
            && self.pending.is_none()
            && self.spelled == Mask::ALL
            && self.controls.is_separable()
    }

    /// Reads a whole frame from the front of `text`, with the same result as lexeme by lexeme.
    /// Returns `None` and reads nothing if there is no complete simple frame, or if its header is
    /// longer than `most` bytes. The lexer must be [between](Self::is_between) messages.
    pub(crate) fn frame<'t>(&mut self, text: &mut &'t str, most: usize) -> Option<Frame<'t>> {
        let all = *text;
        let at = self.at;
        let piece = |from: usize, to: usize| (&all[from..to], Span::new(at + from, at + to));
        let token = |from: usize, to: usize| Span::new(at + from, at + to);
        let start = self.controls.spelling(Control::Start)?;
        if !begins_with(all, start) {
            return None;
        }
        let (mut from, mut opened) = (start.len(), None);
        let (mut header, mut channel, mut constrain) = (None, None, None);
        let message = loop {
            let (found, control, len) = self.find(all, from)?;
            let text = piece(from, found);
            match opened {
                None => header = Some(text),
                Some((Control::Channel, span)) => channel = Some((span, text)),
                Some((_, span)) => constrain = Some((span, text)),
            }
            let span = token(found, found + len);
            from = found + len;
            match control {
                Control::Message if from <= most => break span,
                Control::Channel if opened.is_none() => opened = Some((control, span)),
                Control::Constrain if constrain.is_none() => opened = Some((control, span)),
                _ => return None,
            }
        };
        let (body, end) = self.body(text, from)?;
        let frame = Frame {
            start: token(0, start.len()),
            header: header?,
            channel,
            constrain,
            message,
            body,
            end,
        };
        Some(frame)
    }

    /// Reads the body of a frame, which begins at byte `from` of `text`, and the control token that
    /// ends it. Returns `None` and reads nothing if the body has special cases.
    #[inline(always)] // Most bodies take less time than a call.
    pub(crate) fn body<'t>(
        &mut self,
        text: &mut &'t str,
        from: usize,
    ) -> Option<(Piece<'t>, (Control, Span))> {
        let (found, control, len) = self.find(text, from)?;
        let escaped = found > from && text.as_bytes()[found - 1] == ESCAPE;
        if !control.ends_message() || escaped && self.controls.escape() != Escape::None {
            return None;
        }
        let body = (&text[from..found], Span::new(self.at + from, self.at + found));
        let end = (control, Span::new(self.at + found, self.at + found + len));
        *text = &text[found + len..];
        self.at = end.1.end;
        self.mode = Mode::Outside;
        Some((body, end))
    }

    /// Returns the control token at the front of `text`, and its length.
    #[inline]
    pub(crate) fn control_at(&self, text: &str) -> Option<(Control, usize)> {
        self.controls.front(text)
    }

    /// Returns the text between byte `from` of `text` and the control token `end`, if that token is
    /// the next one, in a dialect without escapes. Reads nothing.
    #[inline]
    pub(crate) fn up_to<'t>(
        &self,
        text: &'t str,
        from: usize,
        end: Control,
    ) -> Option<(Piece<'t>, Span)> {
        let (found, control, len) = self.find(text, from)?;
        let piece = (&text[from..found], Span::new(self.at + from, self.at + found));
        let is_it = control == end && self.controls.escape() == Escape::None;
        is_it.then_some((piece, Span::new(piece.1.end, piece.1.end + len)))
    }

    /// Reads everything up to the end of the control token that ends at byte `end` of the input.
    #[inline]
    pub(crate) fn take(&mut self, text: &mut &str, control: Control, end: usize) {
        *text = &text[end - self.at..];
        self.pass(control, end);
    }

    /// Reads `text`, which must be plain text at the front of the rest.
    pub(crate) fn skip(&mut self, rest: &mut &str, text: &str) {
        *rest = &rest[text.len()..];
        self.at += text.len();
    }

    /// Returns the first complete control token at or after byte `from`, or `None`.
    #[inline]
    fn find(&self, text: &str, from: usize) -> Option<(usize, Control, usize)> {
        match self.search.next(text.as_bytes(), from, Mask::ALL, false) {
            (at, Found::Control(control, len)) => Some((at, control, len)),
            (_, Found::Prefix | Found::None) => None,
        }
    }
}
