//! Reads turns that no token opens: which text begins one, and a text of the system that begins with
//! a token.

use super::between::Kind;
use super::reader::{Reader, State};
use super::{Opening, Turn};
use crate::lex::Lexeme;
use crate::model::Role;
use crate::reading::Out;
use crate::{Control, Section, Span};

impl<'a> Reader<'a> {
    /// Returns the turn that begins if text follows here, between turns.
    pub(super) fn begun_by_text(&self) -> Option<&'static Turn> {
        let bare = self.rules.turns.iter().find(|turn| turn.opening == Opening::Bare);
        match self.layout.place.last {
            _ if self.in_replies => None,
            None if bare.is_some() => bare,
            _ if self.goes_on() => self.rules.turn(Role::Assistant),
            _ => self.rules.implied(),
        }
    }

    /// Whether a token begins the text at the beginning of the document: that of a declaration.
    pub(super) fn begins_bare(&self, control: Control) -> bool {
        let turn = self.begun_by_text();
        control == Control::OpenSection(Section::Declaration)
            && turn.is_some_and(|turn| turn.opening == Opening::Bare)
    }

    /// Begins the text at the beginning of the document with a token, which is part of it.
    pub(super) fn begin_bare(&mut self, control: Control, span: Span, out: &mut Out<'a, '_>) {
        let (Some(turn), State::Outside(gap)) = (self.begun_by_text(), &mut self.state) else {
            return;
        };
        let gap = std::mem::take(gap);
        self.turn = Some(turn);
        self.forget_thoughts();
        match gap.is_empty() {
            true => self.begin_body(Kind::Said(turn.role), span.start, out),
            false => self.speak(Kind::Said(turn.role), gap, out),
        }
        let token = Lexeme::Control(control, span);
        if out.goes_on(token) {
            crate::reading::Reader::lexeme(self, token, out);
        }
    }
}
