//! The control tokens between two messages.

use super::Keep;
use crate::model::Raw;
use crate::{Control, Span};

/// The control tokens since the last message, and their spans in the input.
#[derive(Debug, Default)]
pub(crate) struct Trail {
    tokens: Vec<(Control, Span)>,
    last: Option<(Control, Span)>,
}

impl Trail {
    /// Adds a control token. If layouts are not kept, only the last token is recorded.
    #[inline]
    pub(crate) fn push(&mut self, control: Control, span: Span, keep: Keep<'_>) {
        self.last = Some((control, span));
        if let Keep::Whole(_) = keep {
            self.tokens.push((control, span));
        }
    }

    /// The last control token since the last message.
    pub(crate) fn last(&self) -> Option<Control> {
        self.last.map(|(control, _)| control)
    }

    /// Drops the tokens before byte `at`, where the body of a message begins.
    #[inline]
    pub(crate) fn clear_before(&mut self, at: usize) {
        if self.last.is_some_and(|(_, span)| span.start >= at) {
            self.tokens.retain(|(_, span)| span.start >= at);
        } else {
            self.last = None;
            self.tokens.clear();
        }
    }

    /// The input at `span`, if it is available.
    pub(crate) fn raw<'a>(&self, span: Span, keep: Keep<'a>) -> Option<Raw<'a>> {
        let text = keep.slice(span)?;
        let inside = |it: &&(Control, Span)| it.1.start >= span.start && it.1.end <= span.end;
        let place = |(control, at): &(Control, Span)| {
            (*control, at.start - span.start..at.end - span.start)
        };
        Some(Raw::new(text.into(), self.tokens.iter().filter(inside).map(place).collect()))
    }
}
