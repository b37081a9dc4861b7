//! The text of a call that is not decided yet.

use std::collections::VecDeque;
use std::ops::Range;

use crate::{Control, Span};

/// Text and tokens that were read, and whose meaning depends on what follows. Positions count all
/// bytes that were ever held, so that they stay valid when the beginning is dropped.
#[derive(Debug, Default)]
pub(super) struct Held {
    text: String,
    /// The position of the first byte of the text.
    start: usize,
    parts: VecDeque<Place>,
    /// The place in the input after the last byte.
    edge: usize,
}

/// A token or text that was taken.
pub(in crate::grammar::sections) struct Part {
    pub(in crate::grammar::sections) text: String,
    pub(in crate::grammar::sections) span: Span,
    pub(in crate::grammar::sections) control: Option<Control>,
}

/// A token, or text at one place of the input.
#[derive(Clone, Copy, Debug)]
struct Place {
    at: usize,
    len: usize,
    span: Span,
    control: Option<Control>,
}

impl Place {
    fn end(&self) -> usize {
        self.at + self.len
    }

    /// Whether the text equals the input at its span, so that each byte has a place.
    fn is_exact(&self) -> bool {
        self.span.len() == self.len
    }
}

impl Held {
    pub(super) fn push(&mut self, text: &str, span: Span, control: Option<Control>) {
        let part = Place { at: self.end(), len: text.len(), span, control };
        self.text.push_str(text);
        self.edge = span.end;
        match self.parts.back_mut() {
            Some(last) if control.is_none() && joins(last, &part) => {
                (last.len, last.span.end) = (last.len + part.len, span.end);
            }
            _ => self.parts.push_back(part),
        }
    }

    /// Removes the last token.
    pub(super) fn pop(&mut self) {
        if let Some(part) = self.parts.pop_back() {
            self.text.truncate(part.at - self.start);
            self.edge = part.span.start;
        }
    }

    /// The position after the last byte.
    pub(super) fn end(&self) -> usize {
        self.start + self.text.len()
    }

    pub(super) fn slice(&self, range: Range<usize>) -> &str {
        self.text.get(range.start - self.start..range.end - self.start).unwrap_or_default()
    }

    /// The text from this position on.
    pub(super) fn rest(&self, at: usize) -> &str {
        self.slice(at..self.end())
    }

    /// Drops everything before this position.
    pub(super) fn drop_before(&mut self, at: usize) {
        if at == self.start {
            return;
        }
        self.text.drain(..at - self.start);
        self.start = at;
        while self.parts.front().is_some_and(|part| part.end() <= at) {
            self.parts.pop_front();
        }
        if let Some(part) = self.parts.front_mut().filter(|part| part.at < at) {
            let gone = at - part.at;
            if part.is_exact() {
                part.span.start += gone;
            }
            (part.at, part.len) = (at, part.len - gone);
        }
    }

    /// Returns the position of a text, at this position or after it.
    pub(super) fn find(&self, text: &str, from: usize) -> Option<usize> {
        self.find_in(text, from..self.end())
    }

    /// Returns the first position of a text in a range.
    pub(super) fn find_in(&self, text: &str, range: Range<usize>) -> Option<usize> {
        let end = range.end.min(self.end()) - self.start;
        let rest = self.text.as_bytes().get(range.start - self.start..end).unwrap_or_default();
        memchr::memmem::find(rest, text.as_bytes()).map(|at| range.start + at)
    }

    /// The index of the first part that ends after this position.
    fn part_at(&self, at: usize) -> usize {
        self.parts.partition_point(|part| part.end() <= at)
    }

    /// Returns the token at this position, and the position after it.
    pub(super) fn control(&self, at: usize) -> Option<(Control, usize)> {
        let part = self.parts.get(self.part_at(at)).filter(|part| part.at == at)?;
        Some((part.control?, part.end()))
    }

    /// Returns the position of the first token from this position on.
    pub(super) fn next_control(&self, from: usize) -> Option<usize> {
        let mut parts = self.parts.range(self.part_at(from)..);
        parts.find(|part| part.control.is_some() && part.at >= from).map(|part| part.at)
    }

    /// Whether a range is text without tokens.
    pub(super) fn is_text(&self, range: Range<usize>) -> bool {
        self.next_control(range.start).is_none_or(|at| at >= range.end)
            && self
                .parts
                .get(self.part_at(range.start))
                .is_none_or(|part| part.control.is_none() || part.at >= range.end)
    }

    /// Returns the tokens in a range, and their places.
    pub(super) fn controls(&self, range: Range<usize>) -> impl Iterator<Item = (Control, Span)> {
        let parts = self.parts.range(self.part_at(range.start)..);
        let parts = parts.take_while(move |part| part.at < range.end);
        parts.filter_map(|part| Some((part.control?, part.span)))
    }

    /// Returns the place of a position in the input.
    pub(super) fn place(&self, at: usize) -> usize {
        match self.parts.get(self.part_at(at)) {
            Some(part) if part.at >= at => part.span.start,
            Some(part) if part.is_exact() => part.span.start + (at - part.at),
            Some(part) => part.span.end,
            None => self.edge,
        }
    }

    /// Returns the text in a range, in pieces that each have a place.
    pub(super) fn pieces(&self, range: Range<usize>) -> impl Iterator<Item = (&str, Span)> {
        let parts = self.parts.range(self.part_at(range.start)..);
        let parts = parts.take_while(move |part| part.at < range.end);
        parts.map(move |part| {
            let (at, end) = (part.at.max(range.start), part.end().min(range.end));
            let span = match part.is_exact() {
                true => {
                    Span::new(part.span.start + (at - part.at), part.span.end - (part.end() - end))
                }
                false => part.span,
            };
            (self.slice(at..end), span)
        })
    }

    /// Returns the texts and tokens in a range, which does not divide a token.
    pub(super) fn texts(
        &self,
        range: Range<usize>,
    ) -> impl Iterator<Item = (&str, Option<Control>)> {
        let parts = self.parts.range(self.part_at(range.start)..);
        let parts = parts.take_while(move |part| part.at < range.end);
        parts.map(move |part| {
            let (at, end) = (part.at.max(range.start), part.end().min(range.end));
            (self.slice(at..end), part.control)
        })
    }

    /// Takes everything from this position on.
    pub(super) fn take(&mut self, at: usize) -> Vec<Part> {
        self.drop_before(at);
        let mut taken = Vec::with_capacity(self.parts.len());
        for part in std::mem::take(&mut self.parts) {
            let text = self.slice(part.at..part.end()).to_owned();
            taken.push(Part { text, span: part.span, control: part.control });
        }
        self.start = self.end();
        self.text.clear();
        taken
    }
}

fn joins(last: &Place, next: &Place) -> bool {
    let follows = last.span.end == next.span.start;
    last.control.is_none() && follows && last.is_exact() && next.is_exact()
}
