//! Handles malformed framed messages: it reports errors, keeps what is certain, and hides the rest.

use super::header::{self, Shape};
use super::reader::{Reader, Stage, context};
use crate::grammar::{GOES_ON, hidden, repeated_header, stray, stray_token};
use crate::lex::Escape;
use crate::model::{End, Role};
use crate::reading::{Out, WITHHELD, hide};
use crate::{Code, Control, Dropped, Fix, Span};

impl<'a> Reader<'a> {
    /// Handles a control token that is not allowed in a body and not escaped.
    pub(super) fn stray_in_body(&mut self, control: Control, span: Span, out: &mut Out<'a, '_>) {
        if control == Control::Message && std::mem::take(&mut self.lost_header) {
            // The end of a header that was too long, which is already reported.
            return;
        }
        let spelling = self.spelled(control);
        if control == Control::Start {
            let text = "the message has no stop token before the next message begins";
            let found = Code::StreamTruncated.at(span, text);
            out.malformed(
                found.help(format!(
                    "end the message, or escape `{spelling}` if it is meant as text"
                )),
            );
            if out.state.stopped.is_some() {
                return;
            }
            self.end_body(End::Open, span.start, out);
            self.keeps_gap = false;
            if out.admits(span) {
                self.open(span);
            }
            return;
        }
        // Models forget the tokens between two messages.
        let is_own = self.speaks_as.is_some() && self.draft.message.role == Role::Assistant;
        if control == Control::Channel && is_own && !self.is_foreign {
            let text = format!("the message has no stop token before `{spelling}`");
            let help = "it is read as the start of another message of the assistant";
            out.malformed(Code::StreamTruncated.at(span, text).help(help));
            if out.state.stopped.is_some() {
                return;
            }
            self.end_body(End::Open, span.start, out);
            self.keeps_gap = false;
            if out.admits(span) {
                self.open_orphan(control, span);
            }
            return;
        }
        let text = match spelling {
            "" => "a control token of another format inside a message".to_owned(),
            spelling => format!("`{spelling}` is not allowed in a message"),
        };
        let found = Code::ParseFrame.at(span, text);
        let found = match self.rules.controls.escape() {
            Escape::None => found.help("the text after it is hidden"),
            Escape::DoublingOrLiteral => found
                .help("the text after it is hidden; if it is meant as text, escape it with one more `<`")
                .fix(Fix::suggestion(Span::at(span.start), "<")),
        };
        // It splits a certain message. In an uncertain one, the token is dropped.
        out.malformed(match self.is_rest {
            true => found.drops(Dropped::Text),
            false => found,
        });
        self.split(span, out);
    }

    /// Makes the rest of the frame a hidden message.
    pub(super) fn split(&mut self, span: Span, out: &mut Out<'a, '_>) {
        if self.is_rest || out.state.stopped.is_some() {
            return;
        }
        let role = self.draft.message.role;
        self.end_body(End::Open, span.start, out);
        if !out.admits(span) {
            return;
        }
        if !out.options.recover.keeps() {
            self.stage = Stage::Skip(span.end);
            return;
        }
        self.begin_body(hidden(role, span, span.end), out);
        self.is_rest = true;
    }

    /// Handles a control token that is not allowed in a header.
    pub(super) fn stray_in_header(&mut self, control: Control, span: Span, out: &mut Out<'a, '_>) {
        match control {
            // The prompt already ended in this token.
            Control::Start if span.start == 0 => {
                repeated_header(span, out);
                if out.admits(span) {
                    self.open(span);
                }
            }
            Control::Start => {
                self.broken_header(span.start, span.start, out);
                if out.admits(span) {
                    self.open(span);
                }
            }
            Control::End | Control::Call | Control::Return => {
                self.broken_header(span.start, span.end, out);
                if !self.is_foreign {
                    self.end_completion(control, out);
                }
            }
            _ => {
                // The text after it is not joined with the text before it.
                self.opening.control(control, span);
                let text = format!("`{}` is not allowed in a header", self.spelled(control));
                out.malformed(Code::ParseFrame.at(span, text).drops(Dropped::Text));
            }
        }
    }

    /// Handles a header without `<|message|>`, which ends at byte `end`. Its known words are read.
    /// The other text, up to byte `stop`, is hidden.
    fn broken_header(&mut self, end: usize, stop: usize, out: &mut Out<'a, '_>) {
        self.keeps_gap = false;
        self.stage = Stage::Outside;
        let keeps = out.options.recover.keeps();
        let span = Span::new(self.opening.span.start, if keeps { end } else { stop });
        let meant = self.spelled(Control::Message);
        let found = Code::ParseHeader.at(span, format!("the header has no `{meant}`"));
        out.malformed(match keeps {
            true => found.help("its text is kept in a hidden message"),
            false => found.drops(Dropped::Text),
        });
        if out.state.stopped.is_some() {
            return;
        }
        if self.begin_rest(span, out) {
            self.draft.end(End::End, stop, out);
        }
        self.stage = Stage::Outside;
    }

    /// Handles a header that exceeds its limit: the rest is hidden text.
    pub(super) fn long_header(&mut self, end: usize, out: &mut Out<'a, '_>) {
        let most = out.options.limits.header_bytes;
        let span = Span::new(self.opening.span.start, end);
        let text = format!("the header exceeds the limit `header_bytes` of {most}");
        out.malformed(Code::Limit.at(span, text));
        self.lost_header = true;
        self.is_rest = self.begin_rest(span, out);
        self.stage = if self.is_rest { Stage::Body } else { Stage::Skip(end) };
    }

    /// Handles the end of the input inside a header: text that is not header is hidden.
    pub(super) fn cut_header(&mut self, at: usize, out: &mut Out<'a, '_>) {
        let span = Span::new(self.opening.span.start, at);
        // Other errors of an incomplete header are not reported.
        let context = context(Shape::Broken, self.rules, out);
        let mut message = header::read(&mut self.opening, out.keep, &context).message;
        let mut rest = self.opening.take_rest();
        message.span = span;
        if rest.is_empty() {
            if !message.recovered {
                self.check_authority(&mut message, out);
            }
            self.begin(message, out);
            return self.draft.end(End::Prompt, at, out);
        }
        hide(&mut message);
        message.body_at = rest.span().start;
        self.begin(message, out);
        let place = rest.span();
        self.draft.push(&rest.take(), place, out);
        self.draft.end(End::Open, at, out);
    }

    /// Ends the current message because reading has stopped.
    pub(super) fn stop(&mut self, at: usize, out: &mut Out<'a, '_>) {
        match self.stage {
            Stage::Body => {
                self.draft.message.recovered = true;
                self.draft.end(End::Open, at, out);
            }
            Stage::Header => out.leave_out(self.opening.span.start),
            Stage::Skip(from) => out.leave_out(from),
            Stage::Outside | Stage::Completion(_) => {}
        }
        self.stage = Stage::Outside;
    }

    /// Begins a hidden message with the text of a header that is not header, if the policy says so.
    fn begin_rest(&mut self, span: Span, out: &mut Out<'a, '_>) -> bool {
        let mut message = self.head(Shape::Broken, None, out);
        hide(&mut message);
        let mut rest = self.opening.take_rest();
        message.span = span;
        message.body_at = rest.span().start;
        if !out.options.recover.keeps() {
            self.is_foreign = message.foreign;
            return false;
        }
        self.begin(message, out);
        let at = rest.span();
        self.draft.push(&rest.take(), at, out);
        true
    }

    /// Handles a control token in dropped input.
    pub(super) fn skip(&mut self, control: Control, span: Span, out: &mut Out<'a, '_>) {
        let Stage::Skip(from) = self.stage else { return };
        if !control.ends_message() && control != Control::Start {
            return;
        }
        if control == Control::Start {
            self.end_skip(from, span.start, out);
            self.open(span);
            return;
        }
        self.end_skip(from, span.end, out);
        self.stage = Stage::Outside;
        if !self.is_foreign {
            self.end_completion(control, out);
        }
    }

    /// Ends the dropped input at byte `end`.
    pub(super) fn end_skip(&mut self, from: usize, end: usize, out: &mut Out<'a, '_>) {
        self.keeps_gap = false;
        if from < end {
            let text = "this text will be dropped";
            out.report(Code::ParseFrame.at(Span::new(from, end), text).drops(Dropped::Text));
        }
    }

    /// Handles a control token that is not allowed between messages.
    pub(super) fn stray_outside(&mut self, control: Control, span: Span, out: &mut Out<'a, '_>) {
        let spelling = self.spelled(control);
        let found = stray_token(spelling, span, out);
        self.keeps_gap = false;
        if !matches!(control, Control::Message | Control::Channel | Control::Constrain) {
            return out.malformed(found.drops(Dropped::Text));
        }
        let is_certain = self.speaks_as.is_some() && control != Control::Message;
        let help = match is_certain {
            _ if out.state.is_over => WITHHELD,
            true => "it is read as the start of another message of the assistant",
            false => {
                "the text after it is read as a hidden message; \
                 to read a completion, give the role with which its prompt ends"
            }
        };
        out.malformed(found.help(help));
        if out.state.stopped.is_some() {
            return;
        }
        self.began = true;
        if !out.options.recover.keeps() && !is_certain {
            self.stage = Stage::Skip(span.end);
            return;
        }
        if control == Control::Message {
            self.begin_body(hidden(Role::Assistant, span, span.end), out);
            self.is_rest = true;
        } else {
            self.open_orphan(control, span);
        }
    }

    /// Begins a message of the assistant at a token of its header.
    fn open_orphan(&mut self, control: Control, span: Span) {
        self.opening.begin(Some(Role::Assistant), Span::at(span.start));
        self.opening.is_orphan = true;
        self.opening.control(control, span);
        self.stage = Stage::Header;
    }

    /// Handles text outside of messages.
    pub(super) fn stray(&mut self, end: usize, out: &mut Out<'a, '_>) {
        let text = std::mem::take(&mut self.gap).into_text();
        let span = Span::new(text.span().start, end);
        stray(text, span, out);
    }

    /// Reports that the input ends too early, at byte `at`.
    pub(super) fn truncated(&mut self, text: &str, at: usize, out: &mut Out<'a, '_>) {
        let at = Span::at(at);
        if out.state.is_over && self.stage == Stage::Header {
            return out.malformed(Code::CompletionRole.at(at, GOES_ON));
        }
        let help = match (self.speaks_as, self.stage) {
            (Some(_), Stage::Body) => {
                "the rest is missing, or the server left out the stop token: vLLM keeps it with \
                 `include_stop_str_in_output`"
            }
            _ => "the rest is missing; send or read the complete text",
        };
        let found = Code::StreamTruncated.at(at, text).help(help);
        let is_call = self.stage == Stage::Body && self.draft.message.is_call();
        let end = self.spelled(if is_call { Control::Call } else { Control::End });
        let found = match self.stage {
            Stage::Body if self.draft.in_literal() => {
                let close = self.spelled(Control::EndLiteral);
                found.fix(Fix::suggestion(at, format!("{close}{end}")))
            }
            Stage::Body => found.fix(Fix::suggestion(at, end)),
            _ => found,
        };
        out.malformed(found);
    }
}
