//! A whole frame at once, where it is all there and nothing about it is unusual.

use super::{ESCAPE, Escape, Found, Lexer, Mask, Mode, begins_with};
use crate::{Control, Span};

/// The pieces of a framed message that has no control token but those that frame it: no escape, no
/// literal block, no marker, nothing out of its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'t> {
    /// `<|start|>`.
    pub(crate) start: Span,
    pub(crate) header: Piece<'t>,
    /// What follows `<|channel|>`, and the token.
    pub(crate) channel: Option<(Span, Piece<'t>)>,
    /// What follows `<|constrain|>`, and the token.
    pub(crate) constrain: Option<(Span, Piece<'t>)>,
    /// `<|message|>`.
    pub(crate) message: Span,
    pub(crate) body: Piece<'t>,
    /// The token that ends it.
    pub(crate) end: (Control, Span),
}

/// Text, and where it stands.
pub(crate) type Piece<'t> = (&'t str, Span);

impl Lexer {
    /// Whether a message may begin at the front of what is left, and a control token is one wherever
    /// its spelling stands.
    pub(crate) fn is_between(&self) -> bool {
        self.mode == Mode::Outside
            && self.pending.is_none()
            && self.spelled == Mask::ALL
            && self.controls.is_separable()
    }

    /// Takes a whole frame from the front of `text`, the same that it would give lexeme by lexeme.
    /// `None`, with nothing taken, if there is no such frame, or more to it, or its header is longer
    /// than `most` bytes. The lexer must be [between](Self::is_between) messages.
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

    /// Takes a whole frame whose body begins at byte `from` of `text`: the body, and the control
    /// token that ends it. `None`, with nothing taken, if there is more to it.
    #[inline]
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

    /// The control token at the front of `text`, and its length.
    #[inline]
    pub(crate) fn control_at(&self, text: &str) -> Option<(Control, usize)> {
        self.controls.front(text)
    }

    /// The text between byte `from` of `text` and the control token `end`, if that is the next, in
    /// a dialect without escapes. Nothing is taken.
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

    /// Takes all up to the end of the control token that ends at byte `end` of the input.
    #[inline]
    pub(crate) fn take(&mut self, text: &mut &str, control: Control, end: usize) {
        *text = &text[end - self.at..];
        self.pass(control, end);
    }

    /// Takes `text`, which is known to be text, from the front of what is left.
    pub(crate) fn skip(&mut self, rest: &mut &str, text: &str) {
        *rest = &rest[text.len()..];
        self.at += text.len();
    }

    /// The first control token at or after byte `from`. `None` where there is none, or where it is
    /// cut off.
    #[inline]
    fn find(&self, text: &str, from: usize) -> Option<(usize, Control, usize)> {
        match self.search.next(text.as_bytes(), from, Mask::ALL, false) {
            (at, Found::Control(control, len)) => Some((at, control, len)),
            (_, Found::Prefix | Found::None) => None,
        }
    }
}
