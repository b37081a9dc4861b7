//! Reads calls whose arguments are written in a syntax of their own.

use super::calls::place_in;
use super::reader::{Reader, State};
use crate::lex::Lexeme;
use crate::reading::Out;
use crate::{Code, Control, Span};

impl<'a> Reader<'a> {
    /// Reads text in the arguments of a call.
    pub(super) fn tree_text(&mut self, text: &str, span: Span, out: &mut Out<'a, '_>) {
        let State::Call(call) = &mut self.state else { return };
        let len = call.tree_text(text, span, out);
        let at = place_in(text, span, len);
        self.end_tree(at, out);
        let lexeme = Lexeme::Text(&text[len..], Span::new(at, span.end));
        if len < text.len() && out.goes_on(lexeme) {
            self.take(&text[len..], Span::new(at, span.end), out);
        }
    }

    /// Reads a token in the arguments of a call. Returns whether it was read.
    pub(super) fn tree_token(
        &mut self,
        control: Control,
        span: Span,
        out: &mut Out<'a, '_>,
    ) -> bool {
        if self.rules.quote() != Some(control) {
            return false;
        }
        let spelling = self.rules.spelling(control);
        let State::Call(call) = &mut self.state else { return false };
        if call.tree.is_none() {
            return false;
        }
        call.tree_quote(spelling, span, out);
        call.is_odd |= !call.dropped.is_empty();
        true
    }

    /// Ends complete arguments. The text behind them begins at byte `at`.
    fn end_tree(&mut self, at: usize, out: &mut Out<'a, '_>) {
        let State::Call(call) = &mut self.state else { return };
        call.is_odd |= !call.dropped.is_empty();
        let Some(tree) = call.tree.take_if(|tree| tree.is_done()) else { return };
        call.is_odd |= tree.odd().is_some();
        call.complete(self.rules);
        self.layout.since = at;
        if let Some(text) = tree.odd() {
            out.malformed(Code::ParseFrame.at(Span::at(at), text).help("the call is not run"));
        } else if !tree.is_canonical() {
            let text = "the arguments of this call are not written in the canonical way";
            let help = format!("a call is written as `{}`", self.rules.form_of_calls());
            out.tolerate(Code::ParseFrame.at(Span::at(at), text).help(help));
        }
    }
}
