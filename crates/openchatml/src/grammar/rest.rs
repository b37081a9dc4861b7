//! Uncertain text, which is hidden or dropped.

use super::hidden;
use crate::model::{End, Message, Role};
use crate::reading::{Draft, Out};
use crate::{Code, Control, Dropped, Span};

/// Uncertain text: a hidden message, or dropped.
pub(crate) struct Rest<'a> {
    draft: Option<Box<Draft<'a>>>,
    from: usize,
    to: usize,
    /// The token of a section that ends it.
    pub(crate) until: Option<Control>,
}

impl<'a> Rest<'a> {
    /// Begins uncertain text at byte `from`, as a hidden message if the policy says so. Its body
    /// begins at `body_at`.
    pub(crate) fn begin(from: usize, body_at: usize, out: &mut Out<'a, '_>) -> Self {
        let keeps = out.options.recover.keeps();
        let message = hidden(Role::Assistant, Span::at(from), body_at);
        let draft = keeps.then(|| Box::new(Draft::started(message, out)));
        Self { draft, from, to: body_at, until: None }
    }

    /// Lets this token of a section end the text.
    pub(crate) fn up_to(mut self, control: Control) -> Self {
        self.until = Some(control);
        self
    }

    pub(crate) fn message(&self) -> Option<&Message<'a>> {
        self.draft.as_ref().map(|draft| &draft.message)
    }

    /// Whether the text is kept, and within the limit of a message.
    pub(crate) fn is_kept(&self) -> bool {
        self.draft.as_ref().is_some_and(|draft| !draft.is_full())
    }

    pub(crate) fn push(&mut self, text: &str, span: Span, out: &mut Out<'a, '_>) {
        self.to = self.to.max(span.end);
        if let Some(draft) = &mut self.draft {
            draft.push(text, span, out);
        }
    }

    /// Ends the text at byte `at`, after the token that ends it. If the text is dropped, its
    /// diagnostic includes the token.
    pub(crate) fn end_with_token(mut self, at: usize, out: &mut Out<'a, '_>) {
        self.to = at;
        self.end(at, out);
    }

    /// Ends the text at byte `at`.
    pub(crate) fn end(mut self, at: usize, out: &mut Out<'a, '_>) {
        match self.draft.take() {
            Some(mut draft) => draft.end(End::End, at, out),
            None if self.from < self.to => {
                let found =
                    Code::ParseFrame.at(Span::new(self.from, self.to), "this text will be dropped");
                out.report(found.drops(Dropped::Text));
            }
            None => {}
        }
    }
}
