//! Completions in formats with sections: reasoning, then an answer or calls.

use openchatml::Value;
use openchatml::dialects::{CallPiece, Mark, NoReasoning, Sections};
use openchatml::harmony::Namespace;

use crate::completion::{Builder, Callee};
use crate::error::GrammarError;
use crate::options::{Calls, Choice, Presence};
use crate::shape::Shape;
use crate::tokens::Region;
use crate::unenforced::{Requirement, Unenforced};

impl Builder<'_> {
    /// Creates the turn of the assistant, up to its end token.
    pub(crate) fn sections(
        &mut self,
        sections: &Sections,
        namespaces: &[Namespace<'_>],
    ) -> Result<Shape, GrammarError> {
        self.check_before()?;
        let callees = self.typed_callees(namespaces)?;
        self.ends.push(sections.close);
        let mut last = Vec::new();
        if matches!(self.options.choice, Choice::Auto | Choice::None) {
            last.push(self.text_answer(sections)?);
        }
        if !callees.is_empty() {
            last.extend(self.section_calls(sections, &callees));
        }
        Ok(self.reasoning(sections).then(Shape::either(last)))
    }

    /// Returns the tools that take JSON.
    fn typed_callees(
        &mut self,
        namespaces: &[Namespace<'_>],
    ) -> Result<Vec<(Callee, usize)>, GrammarError> {
        let mut typed = Vec::new();
        for callee in self.callees(namespaces)? {
            match callee.arguments {
                Some(part) => typed.push((callee, part)),
                None => self.unenforced.push(Unenforced::new(&callee.recipient, Requirement::Text)),
            }
        }
        match &self.options.choice {
            Choice::Named(_) | Choice::Required if typed.is_empty() => Err(GrammarError::NoCall),
            _ => Ok(typed),
        }
    }

    /// Creates the reasoning at the beginning of a completion.
    fn reasoning(&self, sections: &Sections) -> Shape {
        let reasoning = &sections.reasoning;
        let body = Shape::Free(Region::Hidden, Some(reasoning.close.control))
            .then(breaks(reasoning.close.after));
        if self.options.in_reasoning {
            return body;
        }
        let thinks = marked(Mark { before: 0, ..reasoning.open }).then(body);
        let mut ways = Vec::new();
        match self.options.reasoning {
            Presence::Required => return thinks,
            Presence::Allowed if self.options.before != Some(0) => ways.push(thinks),
            Presence::Allowed | Presence::Forbidden => {}
        }
        if reasoning.none == NoReasoning::Close {
            ways.push(Shape::Control(reasoning.close.control));
        }
        match ways.is_empty() {
            true => Shape::Sequence(Vec::new()),
            false => Shape::optional(Shape::either(ways)),
        }
    }

    fn text_answer(&mut self, sections: &Sections) -> Result<Shape, GrammarError> {
        let end = self.end(sections.close);
        Ok(match (self.answer()?, end) {
            (None, end) => Shape::Free(Region::Visible, end),
            (Some(json), Some(end)) => Shape::Json(json).then(Shape::Control(end)),
            (Some(json), None) => Shape::Json(json),
        })
    }

    /// Returns the alternatives for the calls at the end of a turn, with and without text before
    /// them.
    fn section_calls(&mut self, sections: &Sections, callees: &[(Callee, usize)]) -> Vec<Shape> {
        let calls = &sections.calls;
        let ways: Vec<_> =
            callees.iter().map(|(callee, part)| call(sections, callee, *part)).collect();
        let call = Shape::either(ways);
        // The part after the token that opens the first call.
        let mut rest = match calls.list {
            Some((open, _)) => breaks(open.after).then(marked(Mark { before: 0, ..calls.item.0 })),
            None => breaks(calls.item.0.after),
        };
        rest = rest.then(call.clone());
        if self.options.calls == Calls::Many {
            let next = marked(calls.item.0).then(call);
            rest = rest.then(Shape::Repeat(Box::new(next), 0, None));
        }
        if let Some((_, close)) = calls.list {
            rest = rest.then(marked(close));
        }
        if let Some(end) = self.end(sections.close) {
            rest = rest.then(Shape::Control(end));
        }
        let first = calls.list.map_or(calls.item.0, |(open, _)| open).control;
        let with_text = Shape::Free(Region::Visible, Some(first)).then(rest.clone());
        let without = Shape::Control(first).then(rest);
        let is_told_apart = self.options.answer.is_none() || self.options.choice != Choice::Auto;
        match self.options.preambles {
            Presence::Allowed if !is_told_apart => {
                self.unenforced.push(Unenforced::new("final", Requirement::Preamble));
                vec![without]
            }
            Presence::Required => vec![with_text],
            Presence::Forbidden => vec![without],
            Presence::Allowed => vec![without, with_text],
        }
    }
}

/// Creates a call after the token that opens it.
fn call(sections: &Sections, callee: &Callee, arguments: usize) -> Shape {
    let calls = &sections.calls;
    let name = calls.tool(&callee.recipient);
    let mut shape = Shape::Sequence(Vec::new());
    for piece in calls.pieces {
        shape = match piece {
            CallPiece::Json(text) => shape.then(Shape::text(text)),
            CallPiece::Name => shape.then(Shape::text(&Value::from(name.to_owned()).to_json())),
            CallPiece::NameUpTo(control) | CallPiece::NameAndId { end: control, .. } => {
                shape.then(Shape::text(name)).then(Shape::Control(*control))
            }
            CallPiece::Token(control) => shape.then(Shape::Control(*control)),
            CallPiece::Word(text) => shape.then(Shape::text(text)),
            CallPiece::NameBefore(text) => shape.then(Shape::text(name)).then(Shape::text(text)),
            CallPiece::IdUpTo(control) => shape
                .then(Shape::text(&format!("{}.{name}:", calls.namespace)))
                .then(Shape::Repeat(Box::new(digit()), 1, None))
                .then(Shape::Control(*control)),
            CallPiece::Arguments => shape.then(Shape::Json(arguments)),
            _ => shape,
        };
    }
    match calls.item.1 {
        Some(close) => shape.then(marked(close)),
        None => shape,
    }
}

/// Creates a digit of the number of a call.
fn digit() -> Shape {
    Shape::either(('0'..='9').map(|digit| Shape::text(digit.encode_utf8(&mut [0; 4]))).collect())
}

/// Creates a token with the line breaks around it.
fn marked(mark: Mark) -> Shape {
    breaks(mark.before).then(Shape::Control(mark.control)).then(breaks(mark.after))
}

fn breaks(count: u8) -> Shape {
    match count {
        0 => Shape::Sequence(Vec::new()),
        count => Shape::text(&"\n".repeat(count.into())),
    }
}
