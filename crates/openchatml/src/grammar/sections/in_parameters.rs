//! Reads calls whose arguments are parameters.

use super::Rules;
use super::call::Call;
use super::parameters::{Part, Scanner, To};
use super::reader::{Reader, State};
use crate::lex::Lexeme;
use crate::reading::Out;
use crate::rules::{ParameterAttributes, Parameters, Tag};
use crate::{Code, Control, Span};

impl Rules {
    /// Returns the form of a parameter, for help.
    pub(super) fn form_of_parameter(&self, parameters: &Parameters) -> String {
        let tag = |tag: Tag| match tag {
            Tag::Text(text) => text,
            Tag::Token(mark) => self.spelling(mark.control),
        };
        let value = parameters.value.map_or("", tag);
        if let Some(ParameterAttributes { name, kind }) = parameters.attributes {
            let (open, end) = (tag(parameters.open), tag(parameters.name_end));
            let close = tag(parameters.close);
            return format!("{open} {name}=\"KEY\" {kind}=\"string\"{end}VALUE{close}");
        }
        let name_end = parameters.typed.map_or(parameters.name_end, |[string, _]| string);
        let (open, end, close) = (tag(parameters.open), tag(name_end), tag(parameters.close));
        [open, "KEY", end, value, "VALUE", close].concat()
    }
}

/// What is reported about the arguments of a call.
pub(super) struct Told {
    /// Why they are uncertain, if they are.
    pub(super) odd: Option<&'static str>,
    /// Whether a value is a string, and its tool declares another type.
    pub(super) is_mistyped: bool,
    /// Whether they are written as the writer writes them.
    pub(super) is_canonical: bool,
}

impl Told {
    /// Reports it at the end of the arguments, which is byte `at`.
    pub(super) fn tell(self, rules: &Rules, at: usize, out: &mut Out<'_, '_>) {
        if let Some(text) = self.odd {
            out.malformed(Code::ParseFrame.at(Span::at(at), text).help("the call is not run"));
        }
        if self.is_mistyped {
            let text = "a value of this call is text, but its tool declares another type";
            let help = "the value is read as a string";
            out.tolerate(Code::CallSchema.at(Span::at(at), text).help(help));
        }
        if !self.is_canonical {
            let text = "the arguments of this call are not written in the canonical way";
            let help = format!("a call is written as `{}`", rules.form_of_calls());
            out.tolerate(Code::ParseFrame.at(Span::at(at), text).help(help));
        }
    }
}

impl<'a> Call<'a> {
    /// Reads the rest of the parameters of an incomplete call.
    pub(super) fn cut_parameters(&mut self, out: &mut Out<'a, '_>) {
        let Some(mut scanner) = self.parameters.take() else { return };
        if let Some(draft) = &mut self.draft {
            scanner.cut(&mut To { draft, dropped: &mut self.dropped, out });
        }
    }
}

impl<'a> Reader<'a> {
    fn scanner(&mut self) -> Option<&mut Scanner> {
        match &mut self.state {
            State::Call(call) => call.parameters.as_deref_mut(),
            _ => None,
        }
    }

    /// Reads text in parameters.
    pub(super) fn parameter_text(&mut self, text: &str, span: Span, out: &mut Out<'a, '_>) {
        if let Some(scanner) = self.scanner() {
            scanner.push(text, span, None);
            self.read_parameters(out);
        }
    }

    /// Reads a token in a call.
    pub(super) fn call_token(&mut self, control: Control, span: Span, out: &mut Out<'a, '_>) {
        if self.parameter_token(control, span, out) {
            return;
        }
        match &self.state {
            State::Rest(_) => self.in_rest(control, span, out),
            _ => self.in_call(control, span, out),
        }
    }

    /// Reads a token in parameters. Returns whether it was read.
    fn parameter_token(&mut self, control: Control, span: Span, out: &mut Out<'a, '_>) -> bool {
        if let State::Call(call) = &mut self.state
            && call.begins_at(control, self.rules)
        {
            self.begin_call(span.start, out);
        }
        let spelling = self.rules.spelling(control);
        if self.tree_token(control, span, out) || self.element_token(control, span, out) {
            return true;
        }
        let Some(scanner) = self.scanner().filter(|scanner| scanner.takes(control)) else {
            return false;
        };
        scanner.push(spelling, span, Some(control));
        self.read_parameters(out);
        true
    }

    /// Reads the end of a call that a token of the framing shows to be one. Returns whether the token
    /// was read, too.
    pub(super) fn settle_parameters(
        &mut self,
        control: Control,
        span: Span,
        out: &mut Out<'a, '_>,
    ) -> bool {
        let spelling = self.rules.spelling(control);
        let Some(scanner) = self.scanner().filter(|scanner| scanner.has_open_end()) else {
            return false;
        };
        scanner.push(spelling, span, Some(control));
        let is_read = self.read_parameters(out);
        if let Some(scanner) = self.scanner().filter(|_| !is_read) {
            scanner.pop();
        }
        is_read
    }

    /// Reads what the parameters hold. Returns whether they are complete. Then, the text behind them
    /// was read, too.
    fn read_parameters(&mut self, out: &mut Out<'a, '_>) -> bool {
        let State::Call(call) = &mut self.state else { return false };
        let (Some(scanner), Some(draft)) = (&mut call.parameters, &mut call.draft) else {
            return false;
        };
        let is_whole = scanner.read(&mut To { draft, dropped: &mut call.dropped, out });
        let told = Told {
            odd: scanner.odd(),
            is_mistyped: scanner.is_mistyped(),
            is_canonical: scanner.is_canonical(),
        };
        call.is_odd |= told.odd.is_some() || !call.dropped.is_empty();
        let (lacks_end, rest) = match is_whole {
            true => (scanner.lacks_end(), Some(scanner.rest())),
            false => (false, None),
        };
        if let Some((at, _)) = &rest {
            call.end_parameters(self.rules);
            if lacks_end {
                call.complete(self.rules);
            }
            self.layout.since = *at;
        }
        let Some((at, rest)) = rest else { return false };
        told.tell(self.rules, at, out);
        self.read_again(rest, out);
        true
    }

    /// Reads the text behind the parameters.
    fn read_again(&mut self, rest: Vec<Part>, out: &mut Out<'a, '_>) {
        for Part { text, span, control } in rest {
            let lexeme = match control {
                Some(control) => Lexeme::Control(control, span),
                None => Lexeme::Text(&text, span),
            };
            if !out.goes_on(lexeme) {
                return;
            }
            match control {
                Some(control) => self.control(control, span, out),
                None => self.take(&text, span, out),
            }
        }
    }
}
