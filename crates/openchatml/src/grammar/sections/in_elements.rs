//! Reads calls whose arguments are nested elements.

use super::Rules;
use super::call::Call;
use super::elements::Scanner;
use super::in_parameters::Told;
use super::parameters::To;
use super::reader::{Reader, State};
use crate::reading::Out;
use crate::rules::Elements;
use crate::{Control, Section, Span};

impl Rules {
    /// Returns the form of an element, for help.
    pub(super) fn form_of_element(&self, elements: &Elements) -> String {
        let Elements { open, close, end, .. } = *elements;
        let (open, close) = (self.spelling(open), self.spelling(close));
        [open, "KEY", end, "VALUE", close, "KEY", end].concat()
    }
}

impl<'a> Call<'a> {
    /// Begins arguments that are elements, at byte `at`.
    pub(super) fn begin_elements(
        &mut self,
        tool: &str,
        at: usize,
        rules: &'static Rules,
        out: &mut Out<'a, '_>,
    ) {
        let (Some(form), Some(draft)) = (rules.sections.calls.elements(), &mut self.draft) else {
            return;
        };
        let mut to = To { draft, dropped: &mut self.dropped, out };
        self.elements = Some(Box::new(Scanner::new(rules, form, tool, at, &mut to)));
    }

    /// Reads the rest of the elements of an incomplete call.
    pub(super) fn cut_elements(&mut self, out: &mut Out<'a, '_>) {
        let Some(mut elements) = self.elements.take() else { return };
        if let Some(draft) = &mut self.draft {
            elements.cut(&mut To { draft, dropped: &mut self.dropped, out });
        }
    }
}

impl<'a> Reader<'a> {
    /// Reads text in elements.
    pub(super) fn element_text(&mut self, text: &str, span: Span, out: &mut Out<'a, '_>) {
        let State::Call(call) = &mut self.state else { return };
        let (Some(elements), Some(draft)) = (&mut call.elements, &mut call.draft) else { return };
        elements.text(text, span, &mut To { draft, dropped: &mut call.dropped, out });
    }

    /// Reads a token in elements. Returns whether it was read.
    pub(super) fn element_token(
        &mut self,
        control: Control,
        span: Span,
        out: &mut Out<'a, '_>,
    ) -> bool {
        let thinks = self.thinks();
        let State::Call(call) = &mut self.state else { return false };
        let (Some(elements), Some(draft)) = (&mut call.elements, &mut call.draft) else {
            return false;
        };
        // Reasoning ends at its end token, whatever it has begun.
        if thinks && elements.is_wrong() && control == Control::CloseSection(Section::Reasoning) {
            return false;
        }
        let is_read =
            elements.token(control, span, &mut To { draft, dropped: &mut call.dropped, out });
        if !is_read {
            self.end_elements(span.start, out);
        }
        is_read
    }

    /// Ends complete arguments at byte `at`.
    fn end_elements(&mut self, at: usize, out: &mut Out<'a, '_>) {
        let State::Call(call) = &mut self.state else { return };
        let Some(elements) = call.elements.take_if(|elements| elements.is_done()) else { return };
        call.is_odd |= elements.odd().is_some();
        call.complete(self.rules);
        self.layout.since = at;
        let told = Told {
            odd: elements.odd(),
            is_mistyped: elements.is_mistyped(),
            is_canonical: elements.is_canonical(),
        };
        told.tell(self.rules, at, out);
    }
}
