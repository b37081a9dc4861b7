//! Whole frames, the short way: the same as lexeme by lexeme, for the shape that nearly all have.

use super::reader::{Reader, Stage};
use crate::Control;
use crate::lex::{Frame, Lexeme, Lexer};
use crate::model::End;
use crate::read::Out;

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
        let (control, span) = frame.end;
        let end = match control {
            Control::Call => End::Call,
            Control::Return => End::Return,
            _ => End::End,
        };
        self.after_call = end == End::Call;
        self.keeps_gap = true;
        self.end_body(end, span.end, out);
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
