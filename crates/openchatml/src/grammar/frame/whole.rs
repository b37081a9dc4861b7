//! The fast path for whole frames. It gives the same result as reading lexeme by lexeme, for the
//! form of nearly all frames.

use super::canonical;
use super::reader::{Reader, Stage};
use crate::lex::{Frame, Lexer, begins_with};
use crate::model::{End, Message};
use crate::reading::{Out, PlainMessage};
use crate::writing::PlainOpening;
use crate::{Control, Span, grammar};

impl<'a> Reader<'a> {
    /// Reads whole frames from the front of `text`, as long as there are any.
    #[inline(never)] // The stack of its caller must be small: it is called for each chunk.
    pub(super) fn frames(&mut self, lexer: &mut Lexer, text: &mut &str, out: &mut Out<'a, '_>) {
        if self.stage == Stage::Header && lexer.offset() == 0 && out.has_room() {
            self.completion(lexer, text, out);
        }
        while self.stage == Stage::Outside && self.gap.is_empty() && lexer.is_between() {
            if !out.has_room() || out.state.is_over || out.state.has_foreign {
                return;
            }
            if !self.plain(lexer, text, out) && !self.frame(lexer, text, out) {
                return;
            }
            self.canonical_gap(lexer, text);
        }
    }

    /// Reads the frame whose beginning, up to the role, is in the prompt.
    fn completion(&mut self, lexer: &mut Lexer, text: &mut &str, out: &mut Out<'a, '_>) {
        let Some(role) = self.opening.role else { return };
        let start = self.spelled(Control::Start).len() + role.as_str().len();
        let goes_on = |it: &&PlainOpening| it.role == role && begins_with(text, &it.text[start..]);
        let Some(opening) = self.rules.openings.iter().find(goes_on) else { return };
        let len = opening.text.len() - start;
        if len > out.options.limits.header_bytes {
            return;
        }
        let Some((body, end)) = lexer.body(text, len) else { return };
        self.stage = Stage::Outside;
        self.plain_message(opening, Span::new(0, len), body, end, out);
        self.canonical_gap(lexer, text);
    }

    /// Reads a frame with a known complete opening. Returns whether it did.
    #[inline]
    fn plain(&mut self, lexer: &mut Lexer, text: &mut &str, out: &mut Out<'a, '_>) -> bool {
        let is_opening = |opening: &&PlainOpening| begins_with(text, opening.text);
        let Some(opening) = self.rules.openings.iter().find(is_opening) else { return false };
        let (at, len) = (lexer.offset(), opening.text.len());
        let is_allowed = len <= out.options.limits.header_bytes
            && self.speaks_as.is_none_or(|role| role == opening.role);
        if !is_allowed {
            return false;
        }
        let Some((body, end)) = lexer.body(text, len) else { return false };
        if !self.between(at, out) {
            return true;
        }
        self.plain_message(opening, Span::new(at, at + len), body, end, out);
        true
    }

    /// Passes on a complete message with a known opening, which is at `header`.
    #[inline(always)]
    fn plain_message(
        &mut self,
        opening: &PlainOpening,
        header: Span,
        body: (&str, Span),
        (control, token): (Control, Span),
        out: &mut Out<'a, '_>,
    ) {
        let PlainOpening { role, channel, .. } = *opening;
        let plain = PlainMessage { role, channel, end: ends(control), header, body, at: token.end };
        if body.0.len() > out.options.limits.message_bytes || !out.plain(&plain) {
            return self.message(plain.opened(), body, (control, token), out);
        }
        self.after(control, out);
    }

    /// Goes on after a complete message, which ended with this token.
    #[inline]
    fn after(&mut self, control: Control, out: &mut Out<'a, '_>) {
        self.after_call = control == Control::Call;
        self.began = true;
        self.keeps_gap = true;
        self.is_foreign = false;
        self.end_completion(control, out);
    }

    /// Reads a whole frame with any header. Returns whether there was one.
    fn frame(&mut self, lexer: &mut Lexer, text: &mut &str, out: &mut Out<'a, '_>) -> bool {
        let limits = &out.options.limits;
        let Some(frame) = lexer.frame(text, limits.header_bytes) else { return false };
        if !self.between(frame.start.start, out) {
            return true;
        }
        // In a completion, the header says whether the message is part of it.
        let is_usual = self.speaks_as.is_none();
        let read = || canonical::message(&frame, self.rules, limits, out.keep);
        match is_usual.then(read).flatten() {
            Some(message) => self.message(message, frame.body, frame.end, out),
            None => self.read_frame(&frame, out),
        }
        true
    }

    /// Ends the text before a message that begins at byte `at`. Returns whether reading continues.
    #[inline]
    fn between(&mut self, at: usize, out: &mut Out<'a, '_>) -> bool {
        self.after_call = false;
        if std::mem::take(&mut self.has_gap) && self.began {
            self.keeps_gap = true;
            return true;
        }
        self.end_gap(at, out);
        out.state.stopped.is_none()
    }

    /// Passes on a complete message. Its span is that of its header.
    #[inline]
    fn message(
        &mut self,
        mut message: Message<'a>,
        (body, place): (&str, Span),
        (control, token): (Control, Span),
        out: &mut Out<'a, '_>,
    ) {
        let end = ends(control);
        message.body_at = message.span.end;
        if body.len() > out.options.limits.message_bytes {
            self.draft.begin(message, out);
            self.draft.push(body, place, out);
            self.draft.end(end, token.end, out);
        } else {
            grammar::whole(message, (body, place), end, token.end, out);
        }
        self.after(control, out);
    }

    /// Reads a frame whose header has not been read yet.
    fn read_frame(&mut self, frame: &Frame<'_>, out: &mut Out<'a, '_>) {
        self.open(frame.start);
        let (header, span) = frame.header;
        self.header_text(header, span, out);
        let regions = [(Control::Channel, frame.channel), (Control::Constrain, frame.constrain)];
        for (control, region) in regions {
            if let Some((token, (text, span))) = region {
                self.opening.control(control, token);
                self.header_text(text, span, out);
            }
        }
        let message = self.header(frame.message, out);
        // A foreign message is always recovered.
        if !message.recovered && out.state.stopped.is_none() {
            self.stage = Stage::Outside;
            return self.message(message, frame.body, frame.end, out);
        }
        self.begin_body(message, out);
        if out.state.stopped.is_some() {
            return;
        }
        let ((body, place), (control, token)) = (frame.body, frame.end);
        self.draft.push(body, place, out);
        self.after_call = ends(control) == End::Call;
        self.keeps_gap = true;
        self.end_body(ends(control), token.end, out);
        if !self.is_foreign {
            self.end_completion(control, out);
        }
    }

    /// Consumes the text after a message if it is the canonical gap.
    #[inline(always)] // Most gaps take less time than a call.
    fn canonical_gap(&mut self, lexer: &mut Lexer, text: &mut &str) {
        let gap = self.rules.gap;
        let Some(rest) = text.get(gap.len()..).filter(|_| begins_with(text, gap)) else { return };
        if begins_with(rest, self.spelled(Control::Start)) {
            lexer.skip(text, gap);
            self.has_gap = true;
        }
    }
}

/// Returns how a message ends with this control token.
fn ends(control: Control) -> End {
    match control {
        Control::Call => End::Call,
        Control::Return => End::Return,
        _ => End::End,
    }
}
