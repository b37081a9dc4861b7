//! Reads the ends of turns and of the input.

use super::between::Kind;
use super::body::Body;
use super::reader::{Reader, State};
use super::{NoReasoning, Turn};
use crate::model::{End, Message, Role};
use crate::reading::{Draft, Kept, Out, Place};
use crate::{Code, Control, Dropped, Fix, Span};

impl<'a> Reader<'a> {
    /// Begins the message of a turn that ends at byte `at` with only white space or no text, if
    /// that is a message.
    pub(super) fn say_blank(&mut self, at: usize, is_end: bool, out: &mut Out<'a, '_>) {
        if self.say_heading(at, out) {
            return;
        }
        if self.say_empty_answer(at, is_end, out) {
            return;
        }
        let State::Turn(blank) = &mut self.state else { return };
        let mut blank = std::mem::take(blank);
        let after = self.rules.sections.reasoning.close.after;
        let role = self.turn.map_or(Role::Assistant, |turn| turn.role);
        let says = match self.said {
            _ if self.in_list => false,
            _ if self.thinks() => false,
            None => !blank.is_empty() || is_end || role != Role::Assistant || self.is_silent(),
            Some(Kind::Reasoning) => !blank.is_empty() || !self.is_short && (after > 0 || !is_end),
            Some(Kind::Reply) if self.rules.replies.said.is_some() && role == Role::User => {
                !blank.is_empty() || !self.is_short
            }
            Some(_) => false,
        };
        if !says || !out.admits(Span::at(at)) {
            return;
        }
        let kind = match role {
            Role::Assistant => Kind::Text { apart: true },
            Role::Tool => Kind::Reply,
            role => Kind::Said(role),
        };
        if blank.is_empty() {
            self.begin_body(kind, at, out);
        } else {
            let place = blank.span();
            let text = blank.take();
            self.begin_body(kind, place.start, out);
            if let State::Body(body) = &mut self.state {
                body.text(&text, place, out);
            }
        }
    }

    /// Whether a turn without a message says that it has no reasoning.
    fn is_silent(&self) -> bool {
        self.rules.sections.reasoning.none == NoReasoning::Close
            && self.layout.trail.last() == Some(self.rules.sections.reasoning.close.control)
    }

    /// Reads a token that opens or closes turns, inside a turn.
    pub(super) fn end_turn(&mut self, control: Control, span: Span, out: &mut Out<'a, '_>) {
        let Some(turn) = self.turn else { return self.end_reply(control, span, out) };
        let is_own = turn.close.is_some_and(|close| close.control == control);
        // The end of a sequence also ends the turn of the assistant.
        let is_assistant = turn.role == Role::Assistant;
        // In a completion, the token of the next turn only ends it.
        let stops = self.is_completion && is_assistant && self.rules.stops_otherwise(control);
        let ends = turn.stop() == Some(control);
        if ends {
            self.tell_unclosed_turn(turn, span, out);
        }
        let is_end = control == Control::Eos || self.rules.is_other_end(control);
        let closes = is_own || stops || ends || is_end && is_assistant;
        let opens = self.rules.opened_by(control);
        let may_stay_open = turn.close.is_none() || turn.may_stay_open;
        if closes || may_stay_open && opens.is_some() {
            return self.close_turn(control, closes, span, out);
        }
        match opens {
            Some(next) => {
                self.unclosed_turn(span, out);
                if out.state.stopped.is_none() {
                    self.turn = None;
                    self.state = State::Outside(Kept::default());
                    self.open_turn(next, span, out);
                }
            }
            None => self.stray_frame(control, span, out),
        }
    }

    pub(super) fn close_turn(
        &mut self,
        control: Control,
        closes: bool,
        span: Span,
        out: &mut Out<'a, '_>,
    ) {
        self.say_blank(span.start, true, out);
        let at = if closes { span.end } else { span.start };
        let is_blank = self.said.is_none() && matches!(self.state, State::Turn(_));
        if is_blank && self.thinks() && out.admits(Span::at(span.start)) {
            self.begin_marked(Kind::Reasoning, span.start, out);
        }
        match std::mem::replace(&mut self.state, State::Outside(Kept::default())) {
            State::Body(body) => self.end_last(body, span, at, out),
            State::Call(mut call) => {
                self.tell_dropped(&mut call, out);
                self.unclosed_call(span, out);
                if out.state.stopped.is_some() {
                    self.state = State::Call(call);
                    return;
                }
                self.cut_call(*call, span.start, out);
                self.end_completion(true, out);
            }
            State::Rest(rest) => {
                match closes {
                    true => rest.end_with_token(at, out),
                    false => rest.end(at, out),
                }
                self.layout.keeps = false;
                (self.layout.since, self.layout.edge) = (at, at);
                self.end_completion(true, out);
            }
            State::Turn(_) => {
                self.unclosed_list(span, out);
                match closes {
                    true if self.said.is_some() && out.state.messages == self.before => {
                        let text = "this token ends a turn of which nothing is left";
                        out.report(Code::ParseFrame.at(span, text).drops(Dropped::Text));
                    }
                    true => {
                        // An empty section at the end belongs to the last message.
                        self.layout.opened = self.layout.opened.filter(|_| self.said.is_none());
                        out.to.close_turn(at);
                    }
                    false => {}
                }
                self.end_completion(true, out);
                self.layout.edge = self.layout.edge.max(at);
            }
            State::Outside(_)
            | State::Header(..)
            | State::Reply(_)
            | State::Guarded(_)
            | State::Unopened(_) => {}
        }
        self.inside = None;
        self.in_list = false;
        let stop = self.turn.filter(|_| closes).and_then(Turn::stop);
        self.awaited = stop.filter(|stop| *stop != control);
        self.turn = None;
        self.state = State::Outside(Kept::default());
        if !closes && let Some(turn) = self.rules.opened_by(control) {
            self.open_turn(turn, span, out);
        }
    }

    /// Ends the last body of a turn at byte `at`. `span` is the token that ends the turn.
    fn end_last(&mut self, body: Body<'a>, span: Span, at: usize, out: &mut Out<'a, '_>) {
        let before = self.turn.and_then(|turn| turn.close).map_or(0, |close| close.before);
        self.tell_unclosed_answer(&body, span, out);
        // The turn ends a text, too.
        let is_cut = body.is_marked && !matches!(body.kind, Kind::Text { .. });
        if is_cut {
            self.unclosed_section(body.kind, span, out);
        }
        let is_own = !body.draft.message.foreign;
        let end = if is_cut { End::Open } else { End::End };
        self.end_cut(body, before, end, at, out);
        self.end_completion(is_own, out);
    }

    /// Reports a list of calls without its end token. The calls in it are complete.
    fn unclosed_list(&mut self, span: Span, out: &mut Out<'a, '_>) {
        let Some((_, close)) = self.rules.sections.calls.list.filter(|_| self.in_list) else {
            return;
        };
        let close = self.rules.spelling(close.control);
        let text = format!("missing `{close}` at the end of the calls");
        self.layout.keeps = false;
        let fix = Fix::suggestion(Span::at(span.start), close);
        out.malformed(Code::StreamTruncated.at(span, text).fix(fix));
    }

    fn end_completion(&self, is_own: bool, out: &mut Out<'a, '_>) {
        let is_assistant = self.turn.is_some_and(|turn| turn.role == Role::Assistant);
        if is_own && (is_assistant || !self.is_completion) {
            out.stop_token();
        }
    }

    /// Reads a token of the framing in a reply that is in no turn.
    fn end_reply(&mut self, control: Control, span: Span, out: &mut Out<'a, '_>) {
        match std::mem::replace(&mut self.state, State::Outside(Kept::default())) {
            State::Body(body) => {
                self.unclosed_section(body.kind, span, out);
                self.end_cut(body, 0, End::Open, span.start, out);
            }
            State::Rest(rest) => {
                rest.end(span.start, out);
                (self.layout.since, self.layout.edge) = (span.start, span.start);
            }
            State::Reply(reply) => self.cut_reply(*reply, span, out),
            _ => {}
        }
        if out.state.stopped.is_none() {
            self.outside(control, span, out);
        }
    }

    /// Ends the input.
    pub(super) fn end_input(&mut self, at: usize, out: &mut Out<'a, '_>) {
        if !matches!(self.state, State::Header(..)) {
            self.settle_at_end(at, out);
        }
        // Withheld text can end in a header, too.
        if let State::Header(span, _) = &self.state {
            let span = *span;
            return self.end_in_header(span, at, out);
        }
        self.say_blank(at, false, out);
        match std::mem::replace(&mut self.state, State::Outside(Kept::default())) {
            State::Body(body) => {
                let is_open = self.turn.is_none_or(|turn| turn.close.is_some())
                    || !matches!(body.kind, Kind::Said(_));
                if is_open {
                    let section = body.is_marked.then(|| self.closes(body.kind));
                    self.truncated("the text ends inside a message", section, at, out);
                }
                let end = if is_open { End::Open } else { End::End };
                self.end_body(body, 0, end, at, out);
                if is_open {
                    return;
                }
            }
            State::Call(call) => {
                let text = "the text ends inside a call";
                match self.can_be_open(&call) {
                    true => self.truncated(text, None, at, out),
                    false => out.malformed(Code::StreamTruncated.at(Span::at(at), text)),
                }
                self.end_call_open(*call, at, out);
                return;
            }
            State::Rest(rest) => {
                rest.end(at, out);
                return;
            }
            State::Reply(reply) => return self.end_reply_open(*reply, at, out),
            State::Turn(_) if self.thinks() => {
                let section = Some(self.closes(Kind::Reasoning));
                self.truncated("the text ends inside a message", section, at, out);
                self.begin_body(Kind::Reasoning, at, out);
                self.end_open(at, out);
                return;
            }
            State::Turn(_) if self.said.is_none() && self.layout.opened.is_some() => {
                return self.end_prompt(at, out);
            }
            State::Turn(_) => {
                let is_closed = self.turn.is_some_and(|turn| turn.close.is_none());
                let is_over = is_closed || self.is_completion && !self.in_list;
                if !is_over {
                    self.truncated("the text ends inside a turn", None, at, out);
                }
            }
            State::Outside(gap) => {
                self.state = State::Outside(gap);
                self.end_gap(out);
            }
            State::Header(..) | State::Guarded(_) | State::Unopened(_) => {}
        }
        self.keep_tail(at, out);
    }

    /// Decides what is uncertain until the input ends.
    fn settle_at_end(&mut self, at: usize, out: &mut Out<'a, '_>) {
        self.settle_reply(at, out);
        self.settle_call(at, out);
        self.settle_guarded(None, out);
        self.settle_unopened(None, out);
        self.settle_uncertain(None, out);
    }

    /// Ends the input at the beginning of the assistant's turn, where any message can follow.
    fn end_prompt(&mut self, at: usize, out: &mut Out<'a, '_>) {
        self.truncated("the text ends where the assistant's message must begin", None, at, out);
        let message = Message::new(Role::Assistant, "");
        let mut draft = self.begin(Kind::Prompt, "", message, at, out);
        self.layout.since = at;
        draft.end(End::Prompt, at, out);
    }

    fn end_open(&mut self, at: usize, out: &mut Out<'a, '_>) {
        let state = std::mem::replace(&mut self.state, State::Outside(Kept::default()));
        if let State::Body(body) = state {
            self.end_body(body, 0, End::Open, at, out);
        }
    }

    fn end_in_header(&mut self, span: Span, at: usize, out: &mut Out<'a, '_>) {
        let State::Header(_, header) = &mut self.state else { return };
        let word = header.as_str().trim_ascii();
        let Some(turn) = self.rules.titled(self.opener, word) else {
            return self.cut_header(span, at, out);
        };
        self.state = State::Outside(Kept::default());
        if !out.options.open_prompt {
            out.malformed(Code::StreamTruncated.at(Span::at(at), "the text ends inside a header"));
        }
        let role = turn.role;
        let kind = match role {
            Role::Assistant => Kind::Prompt,
            Role::Tool => Kind::Reply,
            role => Kind::Said(role),
        };
        let mut message = Message::new(role, "");
        if kind == Kind::Reply {
            message = self.rules.message(kind, "");
            self.name_reply(&mut message);
        }
        let name = self.rules.name(&message).to_owned();
        self.layout.opened = Some(span.start);
        let mut draft: Box<Draft<'a>> = self.begin(kind, &name, message, at, out);
        self.layout.since = at;
        draft.end(if kind == Kind::Prompt { End::Prompt } else { End::Open }, at, out);
    }

    /// Keeps the text after the last message, if it is not the canonical layout.
    fn keep_tail(&mut self, at: usize, out: &mut Out<'a, '_>) {
        if self.is_completion {
            return;
        }
        self.lacks_awaited(Span::at(at), out);
        if let Some(raw) = self.layout.tail(true, at, out.keep) {
            out.to.layout(Place::Tail, raw, self.rules.form);
        }
    }
}
