//! Reads reasoning with a missing or a doubled token, where it is uncertain what is reasoning.

use super::Rules;
use super::between::Kind;
use super::reader::{Reader, State};
use crate::grammar::unopened_reasoning;
use crate::model::{Channel, End};
use crate::reading::{Kept, Out};
use crate::{Code, Control, Section, Span};

/// What the tokens of a turn say about its reasoning so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::grammar) enum Thought {
    /// There was no token of reasoning.
    #[default]
    Nothing,
    /// A token opened it.
    Opened,
    /// A token ended it, or says that there is none.
    Closed,
    /// A call ended it without its end token.
    Interrupted,
    /// A token opened it a second time before its end. It is then unknown which of the following
    /// end tokens is the right one.
    Twice,
}

impl Thought {
    /// Whether an end token of reasoning can still follow, so that text is kept until the turn ends.
    pub(in crate::grammar) fn is_uncertain(self) -> bool {
        matches!(self, Self::Interrupted | Self::Twice)
    }

    pub(in crate::grammar) fn open(self) -> Self {
        if self == Self::Twice { self } else { Self::Opened }
    }

    pub(in crate::grammar) fn close(self) -> Self {
        if self == Self::Twice { self } else { Self::Closed }
    }
}

impl Rules {
    /// Whether text can be the line breaks of the token that closes reasoning.
    pub(super) fn may_be_of_close(&self, text: &str) -> bool {
        let most = usize::from(self.sections.reasoning.close.before);
        text.len() <= most && text.bytes().all(|byte| byte == b'\n')
    }
}

impl<'a> Reader<'a> {
    /// Reads a token that opens reasoning inside of reasoning. Models repeat the token that the
    /// prompt ended with, which changes nothing.
    pub(super) fn think_again(&mut self) {
        let is_first = self.thought == Thought::Nothing
            && match &self.state {
                State::Body(body) => body.is_blank(),
                _ => true,
            };
        self.thought = if is_first { Thought::Opened } else { Thought::Twice };
    }

    /// Forgets what the turn before said of its reasoning and answer.
    pub(super) fn forget_thoughts(&mut self) {
        (self.thought, self.spoken, self.answer) = Default::default();
    }

    /// Begins the message of text that was kept because it was uncertain whether it is reasoning.
    /// `control` is the token after it. After a call that has ended reasoning, only the end of the turn
    /// shows that it is an answer. If the input ends first, the end of the reasoning can be missing.
    pub(super) fn settle_uncertain(&mut self, control: Option<Control>, out: &mut Out<'a, '_>) {
        if !self.thought.is_uncertain() || self.thinks() || self.in_list {
            return;
        }
        let is_in_answer = self.answers() || self.answer.is_held();
        let is_reasoning = match (control, self.thought) {
            (Some(control), Thought::Interrupted) => !self.rules.frames(control),
            (Some(control), _) => control == Control::CloseSection(Section::Reasoning),
            (None, thought) => thought == Thought::Interrupted && !is_in_answer,
        };
        let stays = control.is_some_and(|control| {
            // It ends together with the call before it, or it can still be an answer.
            self.takes_back(control)
                || self.answers() && control == Control::CloseSection(Section::Answer)
        });
        let State::Turn(text) = &mut self.state else { return };
        if stays || text.as_str().trim_ascii().is_empty() {
            return;
        }
        let mut text = std::mem::take(text);
        if is_reasoning {
            self.speak(Kind::Reasoning, text, out);
            if let State::Body(body) = &mut self.state {
                body.draft.message.recovered = true;
            }
            return;
        }
        if !self.answers() && self.has_layout_before_text() {
            text.trim_start();
        }
        self.speak_uncertain(text, out);
    }

    /// Whether a token ends the reasoning that a call has ended: that call was a part of it, and so was
    /// everything after it.
    pub(super) fn takes_back(&self, control: Control) -> bool {
        control == Control::CloseSection(Section::Reasoning)
            && self.thought == Thought::Interrupted
            && self.spoken.is_some()
    }

    /// Whether a token ends reasoning that no token opened, after texts or calls of its turn.
    pub(super) fn ends_unopened(&self, control: Control) -> bool {
        let is_first = control == Control::CloseSection(Section::Reasoning)
            && self.thought == Thought::Nothing
            && self.spoken.is_some();
        match &self.state {
            State::Body(body) => match body.kind {
                Kind::Text { .. } => is_first || self.takes_back(control),
                Kind::Reasoning => self.takes_back(control),
                _ => false,
            },
            // A list is open if one of its calls has ended the reasoning.
            State::Turn(_) => is_first && !self.in_list || self.takes_back(control),
            _ => false,
        }
    }

    /// Ends the texts and calls of a turn as reasoning. Templates write the token that opens it into
    /// the prompt, and then often not into a transcript.
    pub(super) fn end_unopened(&mut self, span: Span, out: &mut Out<'a, '_>) {
        let Some((from, before)) = self.spoken.take() else { return };
        let found = match self.thought {
            Thought::Interrupted => {
                let spelling = self.rules.spelling(self.rules.sections.reasoning.close.control);
                let text = format!("`{spelling}` ends reasoning that a call has ended");
                Code::ParseFrame.at(span, text).help("the call is not run")
            }
            _ => unopened_reasoning(self.rules, span, from).help("the text before it is read as reasoning; if the prompt ended inside of reasoning, use `in_reasoning`, in the command `--in-reasoning`"),
        };
        out.malformed(found);
        if let State::Body(body) = &mut self.state {
            body.draft.message.channel = Some(Channel::Analysis);
            body.draft.message.recovered = true;
            body.kind = Kind::Reasoning;
        }
        out.hide_last(out.state.messages - before);
        if out.state.stopped.is_some() {
            return;
        }
        if let State::Turn(text) = &mut self.state
            && !text.as_str().trim_ascii().is_empty()
        {
            let text = std::mem::take(text);
            self.speak(Kind::Reasoning, text, out);
            if let State::Body(body) = &mut self.state {
                body.draft.message.recovered = true;
            }
        }
        let close = self.rules.sections.reasoning.close;
        if let State::Body(body) = std::mem::replace(&mut self.state, State::Turn(Kept::default()))
        {
            self.end_body(body, close.before, End::End, span.end, out);
        }
        self.layout.edge = span.end;
        self.layout.keeps = false;
        self.layout.place.last = Some(Kind::Reasoning);
        self.said = self.layout.place.last;
        (self.thought, self.in_list, self.inside) = (Thought::Closed, false, None);
        self.behind(close);
    }
}
