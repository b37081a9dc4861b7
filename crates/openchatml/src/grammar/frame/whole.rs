//! Whole frames, the short way: the same as lexeme by lexeme, for the shape that nearly all have.

use super::Speaker;
use super::reader::{Reader, Stage};
use crate::lex::{Frame, Lexeme, Lexer};
use crate::model::{Body, Channel, End, Message};
use crate::read::Out;
use crate::{Control, Span};

impl<'a> Reader<'a> {
    /// Takes whole frames from the front of `text`, as long as there are any.
    pub(super) fn frames(&mut self, lexer: &mut Lexer, text: &mut &str, out: &mut Out<'a, '_>) {
        while self.stage == Stage::Outside && self.gap.is_empty() {
            let Some(frame) = lexer.frame(text, out.options.limits.header_bytes) else { return };
            if !out.goes_on(Lexeme::Control(Control::Start, frame.start)) {
                continue;
            }
            self.frame(&frame, out);
            self.canonical_gap(lexer, text);
        }
    }

    fn frame(&mut self, frame: &Frame<'_>, out: &mut Out<'a, '_>) {
        self.end_gap(frame.start.start, out);
        self.after_call = false;
        if out.state.stopped.is_some() {
            return;
        }
        let (control, end) = frame.end;
        let ends = match control {
            Control::Call => End::Call,
            Control::Return => End::Return,
            _ => End::End,
        };
        self.after_call = ends == End::Call;
        if self.plain(frame, ends, out) {
            return;
        }
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
        self.end_header(frame.message, out);
        if out.state.stopped.is_some() {
            return;
        }
        let (body, span) = frame.body;
        self.draft.push(body, span, out);
        self.keeps_gap = true;
        self.end_body(ends, end.end, out);
    }

    /// Takes a frame whose header is a role and at most a channel, in the canonical way. Whether it
    /// was one.
    fn plain(&mut self, frame: &Frame<'_>, end: End, out: &mut Out<'a, '_>) -> bool {
        let (body, place) = frame.body;
        let is_plain = frame.constrain.is_none()
            && self.speaks_as.is_none()
            && body.len() <= out.options.limits.message_bytes;
        let Some(Speaker::Role(role)) = (self.rules.speaker)(frame.header.0) else { return false };
        let channel = frame.channel.map(|(_, (word, _))| Channel::from_word(word));
        if !is_plain || channel == Some(None) {
            return false;
        }
        let mut message = Message::new(role, "");
        message.channel = channel.flatten();
        message.span = Span::new(frame.start.start, frame.message.end);
        message.body_at = frame.message.end;
        out.to.start(&message);
        if !body.is_empty() {
            out.to.text(&message, body);
        }
        if out.to.keeps_bodies() {
            message.body = Body::from(out.keep.text(body, place));
        }
        message.end = end;
        message.span.end = frame.end.1.end;
        self.began = true;
        self.keeps_gap = true;
        out.end(message);
        true
    }

    /// Takes the space after a message if it is the canonical one.
    fn canonical_gap(&mut self, lexer: &mut Lexer, text: &mut &str) {
        let gap = self.rules.gap;
        let Some(rest) = text.strip_prefix(gap) else { return };
        if rest.starts_with(self.spelled(Control::Start)) {
            lexer.skip(text, gap);
            self.has_gap = true;
        }
    }
}
