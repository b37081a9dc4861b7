//! Reads malformed input and the end of the input.

use super::calls::Step;
use super::lists::Cut;
use super::reader::{After, Reader, State};
use crate::grammar::rest::Rest;
use crate::grammar::sections::between::{Kind, Place};
use crate::grammar::{
    no_stop_token, stray, stray_token, suggest_stop, token_in_message, unopened_reasoning,
};
use crate::model::{Channel, End, Role};
use crate::reading::{self, Draft, Kept, Out};
use crate::{Code, Control, Diagnostic, Dropped, Section, Span};

impl<'a> Reader<'a> {
    /// Reads a control token that is not allowed in a text.
    pub(super) fn stray_in_body(
        &mut self,
        draft: Box<Draft<'a>>,
        control: Control,
        span: Span,
        out: &mut Out<'a, '_>,
    ) {
        self.layout.keeps = false;
        if let Control::Open(_) = control {
            let stop = match self.layout.place.last {
                Some(Kind::Said(role)) => self.rules.spelling(Control::Close(role)),
                _ => self.rules.spelling(Control::Close(Role::Assistant)),
            };
            out.malformed(no_stop_token(span, stop));
            if out.state.stopped.is_some() {
                self.state = State::Body(draft);
                return;
            }
            self.cut(draft, span.start, out);
            return self.outside(Kept::default(), control, span, out);
        }
        out.malformed(token_in_message(self.rules.spelling(control), span));
        if out.state.stopped.is_some() {
            self.state = State::Body(draft);
            return;
        }
        self.cut(draft, span.start, out);
        if out.admits(span) {
            self.state = State::Rest(Rest::begin(span.start, span.end, out));
        }
    }

    fn cut(&mut self, mut draft: Box<Draft<'a>>, at: usize, out: &mut Out<'a, '_>) {
        draft.message.recovered = true;
        self.end(draft, End::Open, at, out);
        self.layout.keeps = false;
    }

    /// Reads a control token in uncertain text.
    pub(super) fn in_rest(
        &mut self,
        rest: Rest<'a>,
        control: Control,
        span: Span,
        out: &mut Out<'a, '_>,
    ) {
        let ends = match (control, self.layout.place.last) {
            (Control::Open(_), _) => true,
            (Control::Close(role), Some(Kind::Said(section))) => role == section,
            (Control::Close(Role::Assistant), _) => true,
            (Control::CloseSection(Section::Calls), _) => rest.until == Some(control),
            _ => false,
        };
        if !ends {
            // If the text is dropped or exceeds its limit, the diagnostic for the text includes the
            // token.
            if rest.is_kept() {
                let text = format!("`{}` in hidden text", self.rules.spelling(control));
                out.malformed(Code::ParseFrame.at(span, text).drops(Dropped::Text));
            }
            self.state = State::Rest(rest);
            return;
        }
        self.layout.keeps = false;
        match control {
            Control::Open(_) => rest.end(span.start, out),
            _ => rest.end_with_token(span.end, out),
        }
        (self.layout.since, self.layout.edge) = (span.start, span.start);
        match control {
            Control::CloseSection(Section::Calls) if self.layout.place.is_turn() => {
                self.behind = span.end;
                self.layout.edge = span.end;
                self.state = State::Turn(After::Calls);
            }
            Control::Open(_) => self.outside(Kept::default(), control, span, out),
            _ => {
                self.layout.edge = span.end;
                self.state = State::Outside(Kept::default());
            }
        }
    }

    /// Reports a control token that is not allowed here in a turn and is in no message.
    pub(super) fn unexpected(&mut self, control: Control, span: Span, out: &mut Out<'a, '_>) {
        let found = self.out_of_place(control, span);
        out.malformed(found.drops(Dropped::Text));
        self.layout.keeps = false;
    }

    fn out_of_place(&self, control: Control, span: Span) -> Diagnostic {
        let text = format!("`{}` is not allowed here", self.rules.spelling(control));
        Code::ParseFrame.at(span, text)
    }

    /// Reports such a token. The text after it can be part of the output of a tool, so it is
    /// uncertain.
    pub(super) fn unexpected_rest(&mut self, control: Control, span: Span, out: &mut Out<'a, '_>) {
        out.malformed(self.out_of_place(control, span));
        self.layout.keeps = false;
        if out.state.stopped.is_none() && out.admits(span) {
            let from = self.layout.opened.take().unwrap_or(span.start);
            self.state = State::Rest(Rest::begin(from, span.end, out));
        }
    }

    /// Ends a text as reasoning that no token opened.
    pub(super) fn end_unopened(
        &mut self,
        mut draft: Box<Draft<'a>>,
        span: Span,
        out: &mut Out<'a, '_>,
    ) {
        draft.message.channel = Some(Channel::Analysis);
        draft.message.recovered = true;
        out.malformed(unopened_reasoning(self.rules, span, draft.message.body_at));
        if out.state.stopped.is_some() {
            self.state = State::Body(draft);
            return;
        }
        self.end(draft, End::End, span.start, out);
        self.layout.place.last = Some(Kind::Reasoning);
        self.layout.keeps = false;
        self.inner = true;
        self.in_turn(Control::CloseSection(Section::Reasoning), span, out);
    }

    /// Reports that another role speaks before the turn of the assistant ends.
    pub(super) fn unclosed_turn(&mut self, span: Span, out: &mut Out<'a, '_>) {
        self.layout.keeps = false;
        let stop = self.rules.spelling(Control::Close(Role::Assistant));
        let found = Code::StreamTruncated.at(span, "the turn of the assistant has no end token");
        out.malformed(suggest_stop(found, span.start, stop));
    }

    /// Reads a control token that is not allowed between turns.
    pub(super) fn stray_outside(&mut self, control: Control, span: Span, out: &mut Out<'a, '_>) {
        let spelling = self.rules.spelling(control);
        self.layout.keeps = false;
        let found = stray_token(spelling, span, out);
        let begins = matches!(
            control,
            Control::OpenSection(Section::Reasoning)
                | Control::CloseSection(Section::Reasoning)
                | Control::OpenSection(Section::Calls)
        );
        let begins = begins && out.state.stopped.is_none() && out.options.recover.keeps();
        out.malformed(if begins { found } else { found.drops(Dropped::Text) });
        if begins {
            // The beginning of the turn is missing, so its speaker is uncertain.
            self.orphan = true;
            self.inner = control == Control::CloseSection(Section::Reasoning);
            self.bos = true;
            self.layout.opened = Some(span.start);
            self.in_turn(control, span, out);
            self.layout.keeps = false;
        }
    }

    /// Reads the text between two messages, up to byte `at`: layout or stray text.
    pub(super) fn end_gap(&mut self, gap: Kept<'a>, at: usize, out: &mut Out<'a, '_>) {
        if gap.as_str().trim_ascii().is_empty() {
            return;
        }
        self.layout.keeps = false;
        let span = gap.span();
        stray(gap, span, out);
        (self.layout.since, self.layout.edge) = (at, at);
    }

    /// Ends the input at byte `at`.
    pub(super) fn end_input(&mut self, at: usize, out: &mut Out<'a, '_>) {
        self.settle_blank(out);
        let state = std::mem::replace(&mut self.state, State::Outside(Kept::default()));
        match state {
            State::Outside(gap) => {
                self.end_gap(gap, at, out);
                self.tail(false, at, out);
            }
            State::Body(draft) => self.end_body(draft, at, out),
            State::Turn(after) => self.end_turn(after, at, out),
            // The white space was read as text or as layout.
            State::Blank(..) => {}
            State::Calls(list) => {
                let goes_on = out.options.open_prompt && matches!(list.step, Step::Arguments(_));
                if !goes_on {
                    let text = "the text ends inside a list of calls";
                    let found = Code::StreamTruncated.at(Span::at(at), text);
                    out.malformed(found.help("the call is not run"));
                }
                self.cut_calls(*list, if goes_on { Cut::Prompt } else { Cut::Off }, at, out);
            }
            State::Outputs(kept, _) => {
                self.end_outputs(kept, None, out);
                self.end_input(at, out);
            }
            State::Rest(rest) => rest.end(at, out),
            State::Ended(draft, gap) => {
                let is_last = gap.as_str().trim_ascii().is_empty();
                self.close_turn(draft, if is_last { End::Return } else { End::End }, out);
                self.end_gap(gap, at, out);
                self.tail(is_last, at, out);
            }
        }
    }

    fn end_body(&mut self, mut draft: Box<Draft<'a>>, at: usize, out: &mut Out<'a, '_>) {
        // The template leaves the last turn of the assistant open.
        let is_whole = self.layout.place.is_turn() && self.speaks_as.is_none();
        if !is_whole && !out.options.open_prompt {
            let text = "the text ends inside a message";
            let found = Code::StreamTruncated.at(Span::at(at), text);
            let stop = match self.layout.place.last {
                Some(Kind::Said(role)) => role,
                _ => Role::Assistant,
            };
            let stop = self.rules.spelling(Control::Close(stop));
            out.malformed(suggest_stop(found, at, stop));
        }
        self.layout.since = at;
        draft.end(if is_whole { End::End } else { End::Open }, at, out);
    }

    fn end_turn(&mut self, after: After, at: usize, out: &mut Out<'a, '_>) {
        match after {
            After::Start => {
                if !out.options.open_prompt {
                    let text = "the text ends where the assistant's message must begin";
                    out.malformed(Code::StreamTruncated.at(Span::at(at), text));
                }
                let draft = self.begin(Kind::Prompt, at, out);
                self.end(draft, End::Prompt, at, out);
            }
            After::Prefix | After::Suffix => {
                let draft = self.speak(at, out);
                self.end_body(draft, at, out);
            }
            After::Calls | After::Replies | After::Text => self.tail(false, at, out),
        }
    }

    /// Keeps the layout after the last message, up to the end at byte `at`.
    fn tail(&mut self, returns: bool, at: usize, out: &mut Out<'a, '_>) {
        if self.layout.place == Place::START {
            let raw = self.layout.raw(at, out.keep).filter(|_| self.layout.keeps);
            if let Some(raw) = raw.filter(|raw| !raw.is_empty()) {
                out.to.layout(reading::Place::Lead, raw, self.rules.form);
            }
        } else if let Some(raw) = self.layout.tail(returns, at, out.keep) {
            out.to.layout(reading::Place::Tail, raw, self.rules.form);
        }
    }

    /// Ends the reading after a stop. The incomplete message keeps what was read of it.
    pub(super) fn stop(&mut self, at: usize, out: &mut Out<'a, '_>) {
        let state = std::mem::replace(&mut self.state, State::Outside(Kept::default()));
        match state {
            State::Body(mut draft) => {
                draft.message.recovered = true;
                draft.end(End::Open, at, out);
            }
            State::Calls(mut list) => match list.call.take() {
                Some(mut call) => {
                    call.message.recovered = true;
                    call.end(End::Open, at, out);
                    if !list.head.is_empty() {
                        out.leave_out(list.head.span().start);
                    }
                }
                None => out.leave_out(self.layout.opened.unwrap_or(self.layout.edge)),
            },
            State::Outputs(kept, _) => out.leave_out(kept.span().start),
            State::Rest(rest) => rest.end(at, out),
            State::Ended(draft, gap) => {
                self.close_turn(draft, End::End, out);
                if !gap.as_str().trim_ascii().is_empty() {
                    out.leave_out(gap.span().start);
                }
            }
            State::Outside(gap) if !gap.as_str().trim_ascii().is_empty() => {
                out.leave_out(gap.span().start);
            }
            State::Turn(_) | State::Blank(..) => {
                if let Some(at) = self.layout.opened {
                    out.leave_out(at);
                }
            }
            State::Outside(_) => {}
        }
    }
}
