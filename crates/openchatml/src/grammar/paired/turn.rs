//! Reads control tokens in the turn of the assistant.

use super::reader::{After, Reader, State};
use crate::grammar::sections::reasoning::Thought;
use crate::model::{End, Role};
use crate::reading::{Draft, Kept, Out};
use crate::{Control, Section, Span};

impl<'a> Reader<'a> {
    /// Reads a control token in a text of the assistant.
    pub(super) fn in_text(
        &mut self,
        mut draft: Box<Draft<'a>>,
        control: Control,
        span: Span,
        out: &mut Out<'a, '_>,
    ) {
        match control {
            Control::Close(Role::Assistant) => {
                let may_end = draft.message.is_answer() && !draft.message.recovered;
                self.layout.since = span.start;
                self.layout.edge = span.end;
                self.state = State::Outside(Kept::default());
                match (may_end, self.speaks_as) {
                    (true, None) => {
                        // The next token shows whether the conversation ends here.
                        draft.message.span.end = span.end;
                        self.state = State::Ended(draft, Kept::default());
                    }
                    (true, Some(_)) => self.close(draft, End::Return, span.end, out),
                    _ => self.close(draft, End::End, span.end, out),
                }
            }
            Control::CloseSection(Section::Reasoning) if self.thought == Thought::Nothing => {
                self.end_unopened(draft, span, out);
            }
            Control::OpenSection(Section::Reasoning)
            | Control::CloseSection(Section::Reasoning)
            | Control::OpenSection(Section::Calls) => {
                self.end(draft, End::End, span.start, out);
                self.in_turn(control, span, out);
            }
            Control::Open(Role::Assistant) => {
                // The turn is opened again, to continue it.
                self.end(draft, End::End, span.start, out);
                self.in_turn(control, span, out);
            }
            _ => self.stray_in_body(draft, control, span, out),
        }
    }

    /// Ends an empty section before a control token, if it is a message.
    pub(super) fn leave(
        &mut self,
        after: After,
        control: Control,
        span: Span,
        out: &mut Out<'a, '_>,
    ) {
        let at = span.start;
        if !after.says_nothing_before(control) || !out.admits(Span::at(at)) {
            return;
        }
        let draft = self.speak(at, out);
        (self.layout.since, self.layout.edge) = (at, at);
        // The token that ends the turn is part of its last message.
        let is_last = control == Control::Close(Role::Assistant);
        self.close(draft, End::End, if is_last { span.end } else { at }, out);
    }

    /// Reads a control token in the turn of the assistant, outside of texts.
    pub(super) fn in_turn(&mut self, control: Control, span: Span, out: &mut Out<'a, '_>) {
        if !out.admits(span) {
            return;
        }
        match control {
            Control::OpenSection(Section::Reasoning)
            | Control::CloseSection(Section::Reasoning) => {
                let begins = control == Control::OpenSection(Section::Reasoning);
                if self.inner == begins {
                    self.unexpected(control, span, out);
                }
                self.thought = match begins {
                    // Repeated at once, it changes nothing.
                    true if self.inner && span.start != self.behind => Thought::Twice,
                    true => self.thought.open(),
                    false => self.thought.close(),
                };
                self.layout.opened.get_or_insert(span.start);
                self.inner = begins;
                self.behind = span.end;
                self.state = State::Turn(if begins { After::Prefix } else { After::Suffix });
            }
            Control::OpenSection(Section::Calls) => {
                self.layout.opened.get_or_insert(span.start);
                self.state = State::Calls(Box::default());
            }
            Control::Open(Role::Assistant) => {
                self.layout.opened = Some(span.start);
                // Nothing about this turn is uncertain, even if the last one began without a token.
                self.orphan = false;
                self.inner = false;
                self.thought = Thought::Nothing;
                self.state = State::Turn(After::Start);
            }
            Control::Close(Role::Assistant) => {
                self.layout.edge = span.end;
                self.state = State::Outside(Kept::default());
            }
            Control::Open(_) => {
                self.unclosed_turn(span, out);
                self.outside(Kept::default(), control, span, out);
            }
            _ => self.unexpected_rest(control, span, out),
        }
    }
}
