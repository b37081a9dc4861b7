//! The text between messages.

use super::{Keep, Kept};
use crate::model::Raw;
use crate::{Control, Span};
use std::ops::Range;

/// The text between two messages or around them, with the control tokens in it.
#[derive(Debug, Default)]
pub(crate) struct Gap<'a> {
    /// The whole text, including its control tokens.
    text: Kept<'a>,
    tokens: Vec<(Control, Range<usize>)>,
}

impl<'a> Gap<'a> {
    pub(crate) fn push(&mut self, text: &str, span: Span, keep: Keep<'a>) {
        self.text.push(text, span, keep);
    }

    /// Appends a control token and its spelling.
    pub(crate) fn push_control(
        &mut self,
        control: Control,
        spelling: &str,
        span: Span,
        keep: Keep<'a>,
    ) {
        let start = self.text.len();
        self.text.push(spelling, span, keep);
        self.tokens.push((control, start..self.text.len()));
    }

    pub(crate) fn as_str(&self) -> &str {
        self.text.as_str()
    }

    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(crate) fn span(&self) -> Span {
        self.text.span()
    }

    /// Whether it is equal to the given text.
    pub(crate) fn is(&self, raw: &Raw<'_>) -> bool {
        raw.as_str() == self.as_str() && raw.tokens() == self.tokens
    }

    /// Whether it consists of white space and a subsequence of these control tokens.
    pub(crate) fn is_blank(&self, allowed: &[Control]) -> bool {
        let (mut at, mut allowed) = (0, allowed.iter());
        for (control, range) in &self.tokens {
            let is_blank = self.as_str()[at..range.start].trim_ascii().is_empty();
            if !is_blank || !allowed.any(|it| it == control) {
                return false;
            }
            at = range.end;
        }
        self.as_str()[at..].trim_ascii().is_empty()
    }

    /// The text before the first control token of this kind.
    pub(crate) fn before(&self, control: Control) -> Option<&str> {
        let token = self.tokens.iter().find(|(it, _)| *it == control);
        token.map(|(_, range)| &self.as_str()[..range.start])
    }

    /// The text after the last control token of this kind.
    pub(crate) fn after(&self, control: Control) -> Option<&str> {
        let token = self.tokens.iter().rev().find(|(it, _)| *it == control);
        token.map(|(_, range)| &self.as_str()[range.end..])
    }

    /// Removes and returns the text up to and including the first control token of this kind.
    pub(crate) fn split_front(&mut self, control: Control) -> Option<Raw<'a>> {
        let index = self.tokens.iter().position(|(it, _)| *it == control)?;
        let at = self.tokens[index].1.end;
        let front: Vec<_> = self.tokens.drain(..=index).collect();
        for (_, range) in &mut self.tokens {
            *range = range.start - at..range.end - at;
        }
        Some(Raw::new(self.text.split_front(at), front))
    }

    /// Removes and returns the last control token of this kind and the text after it.
    pub(crate) fn split_back(&mut self, control: Control) -> Option<Raw<'a>> {
        let index = self.tokens.iter().rposition(|(it, _)| *it == control)?;
        let at = self.tokens[index].1.start;
        let moved =
            |(control, range): (Control, Range<usize>)| (control, range.start - at..range.end - at);
        let back = self.tokens.drain(index..).map(moved).collect();
        Some(Raw::new(self.text.split_back(at), back))
    }

    /// Removes the line break at the beginning, if there is one.
    pub(crate) fn strip_line_break(&mut self) -> bool {
        let has_line_break = self.text.strip_line_break();
        if has_line_break {
            for (_, range) in &mut self.tokens {
                *range = range.start - 1..range.end - 1;
            }
        }
        has_line_break
    }

    /// Removes the line break at the end, if there is one.
    pub(crate) fn pop_line_break(&mut self) -> bool {
        self.text.pop_line_break()
    }

    #[inline]
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.tokens.clear();
    }

    /// Removes and returns the whole text.
    pub(crate) fn take(&mut self) -> Raw<'a> {
        Raw::new(self.text.take(), std::mem::take(&mut self.tokens))
    }

    /// The whole text, with control tokens as text.
    pub(crate) fn into_text(self) -> Kept<'a> {
        self.text
    }
}
