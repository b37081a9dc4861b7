//! Reads the section of a text for the user, in formats in which a text has tokens of its own.

use super::between::Kind;
use super::body::Body;
use super::reader::{Reader, State};
use super::reasoning::Thought;
use super::{Rules, Turn};
use crate::model::{End, Role};
use crate::reading::{Kept, Out};
use crate::{Code, Control, Section, Span};

/// The section of a text in a turn of the assistant.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Answer {
    /// Whether a prompt has opened it, so that its token was not read.
    is_prompted: bool,
    /// The place of its end, if it is closed and empty.
    empty: Option<usize>,
    /// The place of its end, if it is closed, and it is uncertain whether its text is reasoning.
    held: Option<usize>,
}

impl Answer {
    /// Whether it is closed, and it is uncertain whether its text is reasoning.
    pub(super) fn is_held(self) -> bool {
        self.held.is_some()
    }
}

impl Rules {
    /// Returns the spelling of the token that closes a text.
    fn end_of_answer(&self) -> &'static str {
        self.sections.answer.map_or("", |(_, close)| self.spelling(close.control))
    }
}

impl<'a> Reader<'a> {
    /// Whether the section of a text is open, and its message has not begun.
    pub(super) fn answers(&self) -> bool {
        self.inside == Some(Section::Answer)
    }

    /// Continues after a prompt that does not end in reasoning: it has opened the section of a text.
    pub(super) fn continue_answer(&mut self) {
        if self.rules.sections.answer.is_some() {
            self.inside = Some(Section::Answer);
            self.answer.is_prompted = true;
        }
    }

    /// Whether the section of a text can begin here.
    pub(super) fn may_answer(&self) -> bool {
        self.rules.sections.answer.is_some() && !self.in_list && !self.answers()
    }

    /// Leaves an empty section of a text at a token that cannot be in it.
    pub(super) fn leave_answer(&mut self, control: Control, span: Span, out: &mut Out<'a, '_>) {
        let leaves = matches!(
            control,
            Control::OpenSection(Section::Reasoning | Section::Calls | Section::Call)
        ) || self.answer.is_prompted
            && control == Control::OpenSection(Section::Answer);
        if !self.answers() || !leaves {
            return;
        }
        // After a prompt, it is unknown whether it is open.
        if !self.answer.is_prompted {
            self.tell_open_answer(span, out);
        }
        (self.inside, self.answer.is_prompted) = (None, false);
    }

    /// Opens the section of a text. If reasoning is open, it ends there: at once if it is empty, and
    /// otherwise only if no end token of reasoning follows.
    pub(super) fn open_answer(&mut self, span: Span, out: &mut Out<'a, '_>) {
        let Some((open, _)) = self.rules.sections.answer else { return };
        self.thought = match self.thinks() {
            false if self.thought.is_uncertain() => self.thought,
            true if self.said == Some(Kind::Reasoning) => Thought::Interrupted,
            _ => Thought::Closed,
        };
        if self.thinks() {
            let close = self.rules.spelling(self.rules.sections.reasoning.close.control);
            let text = format!("missing `{close}` between the reasoning and the text");
            self.layout.keeps = false;
            out.tolerate(Code::ParseFrame.at(span, text));
        }
        self.inside = Some(Section::Answer);
        self.answer = Answer::default();
        self.behind(open);
    }

    /// Closes a section of a text that is empty or uncertain.
    pub(super) fn close_answer(&mut self, span: Span) {
        let Some((_, close)) = self.rules.sections.answer else { return };
        let text = match &mut self.state {
            State::Turn(text) if self.thought.is_uncertain() => std::mem::take(text),
            _ => Kept::default(),
        };
        self.open_at(span);
        self.inside = None;
        self.answer = match text.as_str().trim_ascii().is_empty() {
            true => Answer { empty: Some(span.start), ..Answer::default() },
            false => Answer { held: Some(span.end), ..Answer::default() },
        };
        self.behind(close);
        self.state = State::Turn(text);
    }

    /// Begins the message of a text that was kept because it was uncertain whether it is reasoning.
    pub(super) fn speak_uncertain(&mut self, text: Kept<'a>, out: &mut Out<'a, '_>) {
        let closed = self.answer.held.take();
        if closed.is_none() && !self.answers() {
            self.tell_bare(text.span(), out);
        }
        self.speak(Kind::Text { apart: false }, text, out);
        let Some(at) = closed else { return };
        if let State::Body(body) = std::mem::replace(&mut self.state, State::Turn(Kept::default()))
        {
            self.end_body(body, 0, End::End, at, out);
        }
    }

    /// Reports text of the assistant outside of the section for it.
    pub(super) fn tell_bare(&self, span: Span, out: &mut Out<'a, '_>) {
        let Some((open, _)) = self.rules.sections.answer else { return };
        let open = self.rules.spelling(open.control);
        let text = format!("missing `{open}` before this text");
        out.tolerate(Code::ParseFrame.at(Span::at(span.start), text));
    }

    /// Reports a text without its end token, at the token at `span`.
    pub(super) fn tell_unclosed_answer(&self, body: &Body<'a>, span: Span, out: &mut Out<'a, '_>) {
        if body.is_marked && matches!(body.kind, Kind::Text { .. }) {
            self.tell_open_answer(span, out);
        }
    }

    fn tell_open_answer(&self, span: Span, out: &mut Out<'a, '_>) {
        let text = format!("missing `{}` at the end of the text", self.rules.end_of_answer());
        out.tolerate(Code::ParseFrame.at(Span::at(span.start), text));
    }

    /// Begins the message of a turn of the assistant that ends at byte `at` without a text, if the
    /// section of a text shows that there is one. Returns whether the format has such sections.
    pub(super) fn say_empty_answer(
        &mut self,
        at: usize,
        is_end: bool,
        out: &mut Out<'a, '_>,
    ) -> bool {
        let is_turn = matches!(self.state, State::Turn(_));
        let is_own = self.turn.is_none_or(|turn| turn.role == Role::Assistant);
        if self.rules.sections.answer.is_none() || !is_turn || !is_own {
            return false;
        }
        let says = match (self.answers(), self.said) {
            _ if self.in_list || self.thinks() => false,
            (true, None) => is_end || !self.answer.is_prompted,
            (true, Some(Kind::Reasoning)) => !is_end,
            (true, Some(_)) => false,
            (false, said) => is_end && said.is_none(),
        };
        let empty = self.answer.empty.take();
        if says && out.admits(Span::at(at)) {
            self.state = State::Turn(Kept::default());
            let at = empty.unwrap_or(at);
            match self.answers() {
                true => self.begin_marked(Kind::Text { apart: true }, at, out),
                false => self.begin_body(Kind::Text { apart: true }, at, out),
            }
        }
        true
    }

    /// Reads the token after the one that closes a turn. Returns whether it is this one.
    pub(super) fn ends_awaited(
        &mut self,
        control: Control,
        span: Span,
        out: &mut Out<'a, '_>,
    ) -> bool {
        if self.awaited != Some(control) {
            return false;
        }
        self.awaited = None;
        self.end_gap(out);
        self.layout.edge = span.end;
        // The token belongs to the last message, whatever follows.
        out.to.close_turn(span.end);
        true
    }

    /// Reports that this token is missing at `span`. A server removes it from a completion.
    pub(super) fn lacks_awaited(&mut self, span: Span, out: &mut Out<'a, '_>) {
        let Some(stop) = self.awaited.take().filter(|_| !self.is_completion) else { return };
        let text = format!("missing `{}` at the end of the turn", self.rules.spelling(stop));
        out.tolerate(Code::ParseFrame.at(Span::at(span.start), text));
    }

    /// Reports that the token that closes a turn is missing before the one after it.
    pub(super) fn tell_unclosed_turn(&self, turn: &Turn, span: Span, out: &mut Out<'a, '_>) {
        let close = turn.close.map_or("", |close| self.rules.spelling(close.control));
        let text = format!("missing `{close}` at the end of the turn");
        out.tolerate(Code::ParseFrame.at(Span::at(span.start), text));
    }
}
