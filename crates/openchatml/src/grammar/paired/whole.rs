//! Whole messages, the short way: the same as lexeme by lexeme, for the shapes that nearly all have.

use super::behind::After;
use super::place::Kind;
use super::reader::{Reader, State};
use crate::lex::Lexer;
use crate::model::{Channel, End, Message, Role};
use crate::reading::{Kept, Out};
use crate::{Control, Section, grammar};

/// A message up to its text: what it is, where that begins, and what ends it.
struct Shape {
    kind: Kind<'static>,
    from: usize,
    end: Control,
}

const END: Control = Control::Close(Role::Assistant);

impl<'a> Reader<'a> {
    /// Takes whole messages from the front of `text`, as long as there are any.
    pub(super) fn messages(&mut self, lexer: &mut Lexer, text: &mut &str, out: &mut Out<'a, '_>) {
        // What is unusual shows later, too, once it is there: it is looked at lexeme by lexeme.
        let is_usual = self.bos && !self.orphan && !self.spaced && self.speaks_as.is_none();
        if !is_usual || self.continues.is_some() {
            return;
        }
        while self.keeps && lexer.is_between() && out.has_room() {
            let Some(shape) = self.shape(lexer, text) else { return };
            if !self.whole(&shape, lexer, text, out) {
                return;
            }
        }
    }

    fn shape(&self, lexer: &Lexer, text: &str) -> Option<Shape> {
        match &self.state {
            State::Outside(gap) if gap.is_empty() => {}
            State::Turn(After::Suffix) => {
                return Some(Shape { kind: Kind::Outer, from: 0, end: END });
            }
            _ => return None,
        }
        let (Control::Open(role), from) = lexer.control_at(text)? else { return None };
        if role != Role::Assistant {
            return Some(Shape { kind: Kind::Section(role), from, end: Control::Close(role) });
        }
        match lexer.control_at(&text[from..]) {
            None => Some(Shape { kind: Kind::Outer, from, end: END }),
            Some((Control::OpenSection(Section::Reasoning), len)) => Some(Shape {
                kind: Kind::Inner,
                from: from + len,
                end: Control::CloseSection(Section::Reasoning),
            }),
            Some(_) => None,
        }
    }

    /// Takes a message of this shape. Whether there was one.
    fn whole(
        &mut self,
        shape: &Shape,
        lexer: &mut Lexer,
        text: &mut &str,
        out: &mut Out<'a, '_>,
    ) -> bool {
        let Some((body, token)) = lexer.up_to(text, shape.from, shape.end) else { return false };
        let (role, channel) = match shape.kind {
            Kind::Section(role) => (role, None),
            Kind::Inner => (Role::Assistant, Some(Channel::Analysis)),
            _ => (Role::Assistant, Some(Channel::Final)),
        };
        let is_empty = body.0.is_empty() && role == Role::Assistant;
        if is_empty || body.0.len() > out.options.limits.message_bytes {
            return false;
        }
        let start = lexer.offset();
        let rest = &text[token.end - start..];
        // Whether an answer is the end of all shows in what follows.
        let next = lexer.control_at(rest);
        if shape.kind == Kind::Outer && !matches!(next, Some((Control::Open(_), _))) {
            return false;
        }
        if matches!(self.state, State::Outside(_)) {
            self.opened = Some(start);
        }
        let mut message = Message::new(role, "");
        message.channel = channel;
        self.inner = shape.kind == Kind::Inner;
        let message = self.head(shape.kind, message, body.1.start, out);
        lexer.take(text, shape.end, token.end);
        self.since = token.start;
        if self.inner {
            self.edge = token.start;
            grammar::whole(message, body, End::End, token.start, out);
            self.in_turn(Control::CloseSection(Section::Reasoning), token, out);
        } else {
            self.edge = token.end;
            grammar::whole(message, body, End::End, token.end, out);
            self.state = State::Outside(Kept::default());
        }
        true
    }
}
