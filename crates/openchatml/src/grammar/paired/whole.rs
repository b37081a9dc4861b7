//! Reads whole messages at once if their shape is common. The result is the same as reading them
//! lexeme by lexeme.

use super::reader::{After, Reader, State};
use crate::grammar::sections::between::Kind;
use crate::grammar::sections::reasoning::Thought;
use crate::lex::Lexer;
use crate::model::{End, Role};
use crate::reading::{Kept, Out};
use crate::{Control, Section, Span, grammar};

/// A message of a common shape: its kind, the beginning of its text, and the token that ends it.
struct Shape {
    kind: Kind,
    /// The tokens before the text, if the message begins outside of a turn.
    opening: [Option<Control>; 2],
    from: usize,
    end: Control,
}

const ANSWER: Kind = Kind::Text { apart: false };

const END: Control = Control::Close(Role::Assistant);

impl<'a> Reader<'a> {
    /// Reads whole messages from the beginning of `text`, as long as their shape is common.
    pub(super) fn messages(&mut self, lexer: &mut Lexer, text: &mut &str, out: &mut Out<'a, '_>) {
        // Unusual states of the reader are left to the reading by lexemes.
        let is_usual = self.bos && !self.orphan && !self.spaced && self.speaks_as.is_none();
        if !is_usual || self.continues.is_some() {
            return;
        }
        while self.layout.keeps && lexer.is_between() && out.has_room() {
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
                return Some(Shape { kind: ANSWER, opening: [None; 2], from: 0, end: END });
            }
            _ => return None,
        }
        let (open @ Control::Open(role), from) = lexer.control_at(text)? else { return None };
        let opening = [Some(open), None];
        if role != Role::Assistant {
            let (kind, end) = (Kind::Said(role), Control::Close(role));
            return Some(Shape { kind, opening, from, end });
        }
        match lexer.control_at(&text[from..]) {
            None => Some(Shape { kind: ANSWER, opening, from, end: END }),
            Some((inner @ Control::OpenSection(Section::Reasoning), len)) => Some(Shape {
                kind: Kind::Reasoning,
                opening: [Some(open), Some(inner)],
                from: from + len,
                end: Control::CloseSection(Section::Reasoning),
            }),
            Some(_) => None,
        }
    }

    /// Reads a message of this shape. Returns whether there was one.
    fn whole(
        &mut self,
        shape: &Shape,
        lexer: &mut Lexer,
        text: &mut &str,
        out: &mut Out<'a, '_>,
    ) -> bool {
        let Some((body, token)) = lexer.up_to(text, shape.from, shape.end) else { return false };
        let is_empty = body.0.is_empty() && !matches!(shape.kind, Kind::Said(_));
        if is_empty || body.0.len() > out.options.limits.message_bytes {
            return false;
        }
        let start = lexer.offset();
        let rest = &text[token.end - start..];
        // The next token shows whether the conversation ends after an answer.
        let next = lexer.control_at(rest);
        if shape.kind == ANSWER && !matches!(next, Some((Control::Open(_), _))) {
            return false;
        }
        if matches!(self.state, State::Outside(_)) {
            self.layout.opened = Some(start);
            let mut at = start;
            for control in shape.opening.into_iter().flatten() {
                let span = Span::new(at, at + self.rules.spelling(control).len());
                self.layout.trail.push(control, span, out.keep);
                at = span.end;
            }
        }
        self.inner = shape.kind == Kind::Reasoning;
        self.thought = if self.inner { Thought::Opened } else { Thought::Nothing };
        let message = self.rules.message(shape.kind, "");
        let message = self.head(shape.kind, "", message, body.1.start, out);
        lexer.take(text, shape.end, token.end);
        self.layout.trail.push(shape.end, token, out.keep);
        self.layout.since = token.start;
        if self.inner {
            self.layout.edge = token.start;
            grammar::whole(message, body, End::End, token.start, out);
            self.in_turn(Control::CloseSection(Section::Reasoning), token, out);
        } else {
            self.layout.edge = token.end;
            grammar::whole(message, body, End::End, token.end, out);
            self.state = State::Outside(Kept::default());
        }
        true
    }
}
