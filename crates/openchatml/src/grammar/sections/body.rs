//! Collects the body of a message, without the line breaks at its end that belong to the next
//! token.

use super::between::{Kind, breaks};
use super::quote::Quote;
use crate::model::End;
use crate::reading::{Draft, Out};
use crate::{Control, Span};

/// A message while its body is read.
pub(super) struct Body<'a> {
    pub(super) draft: Box<Draft<'a>>,
    pub(super) kind: Kind,
    /// Whether a token opened it, so that another token must close it.
    pub(super) is_marked: bool,
    /// The maximum number of line breaks at its end that belong to the framing.
    most: u8,
    /// The places of those that are withheld.
    held: Vec<Span>,
    /// The end of the body so far, without the withheld line breaks.
    end: usize,
    /// Whether it consists of white space so far.
    blank: bool,
    /// Whether it is empty so far.
    empty: bool,
    /// The quoted code that its text ends in, as far as it was read.
    quote: Quote,
    /// The number of bytes of the kept text that were read for it.
    read: usize,
}

impl<'a> Body<'a> {
    /// Creates the body of a message that begins at byte `at`.
    pub(super) fn new(draft: Box<Draft<'a>>, kind: Kind, most: u8, at: usize) -> Self {
        Self {
            draft,
            kind,
            is_marked: false,
            most,
            held: Vec::new(),
            end: at,
            blank: true,
            empty: true,
            quote: Quote::default(),
            read: 0,
        }
    }

    /// Whether text can be added without checking for line breaks.
    pub(super) fn is_plain(&self) -> bool {
        self.most == 0
    }

    /// Returns the message, to add text that needs no check.
    pub(super) fn draft_mut(&mut self) -> &mut Draft<'a> {
        (self.blank, self.empty) = (false, false);
        &mut self.draft
    }

    /// Whether it consists of white space.
    pub(super) fn is_blank(&self) -> bool {
        self.blank
    }

    /// Whether it is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.empty
    }

    /// Whether text behind it begins a line.
    pub(super) fn begins_line(&self) -> bool {
        self.empty || !self.held.is_empty()
    }

    /// Whether a token of a section is text behind it, because it is quoted.
    pub(super) fn quotes(&mut self, control: Control) -> bool {
        self.catch_up();
        let mut quote = self.quote;
        if !self.held.is_empty() {
            quote.read("\n");
        }
        quote.quotes(control)
    }

    /// Adds a quoted token.
    pub(super) fn quoted(
        &mut self,
        control: Control,
        spelling: &str,
        span: Span,
        out: &mut Out<'a, '_>,
    ) {
        self.quote.read_token(control, "");
        self.text(spelling, span, out);
    }

    /// Whether it is text that ends inside of a quoted block.
    pub(super) fn is_in_block(&mut self) -> bool {
        if self.draft.kept_text().is_some_and(|text| !Quote::may_open_block(text)) {
            return false;
        }
        self.catch_up();
        self.quote.is_block()
    }

    /// Whether quoted tokens can be recognised: only where a call has a line of its own.
    fn is_quoting(&self) -> bool {
        self.most > 0 && matches!(self.kind, Kind::Text { .. })
    }

    /// Reads the rest of the kept text. Most texts have no tokens, so that they are never read.
    fn catch_up(&mut self) {
        if let Some(text) = self.draft.kept_text().filter(|_| self.is_quoting()) {
            self.quote.read(text.get(self.read..).unwrap_or_default());
            self.read = text.len();
        }
    }

    /// Returns the end of the body, without the withheld line breaks.
    pub(super) fn end(&self) -> usize {
        self.end
    }

    pub(super) fn text(&mut self, text: &str, span: Span, out: &mut Out<'a, '_>) {
        if text.is_empty() {
            return;
        }
        let trailing = text.bytes().rev().take_while(|byte| *byte == b'\n').count();
        if trailing < text.len() {
            self.release(self.held.len(), out);
        }
        // Line breaks beyond the maximum are content.
        let total = self.held.len() + trailing;
        let hold = total.min(usize::from(self.most));
        self.release((total - hold).min(self.held.len()), out);
        let taken = text.len() - (hold - self.held.len());
        let is_exact = span.len() == text.len();
        let place = |at: usize| if is_exact { span.start + at } else { span.end };
        if taken > 0 {
            self.push(&text[..taken], Span::new(span.start, place(taken)), out);
        }
        self.held.extend((taken..text.len()).map(|at| Span::new(place(at), place(at + 1))));
    }

    /// Adds the first `count` of the withheld line breaks to the content. A token that was dropped can
    /// be between them.
    fn release(&mut self, count: usize, out: &mut Out<'a, '_>) {
        let mut left = count;
        while left > 0 {
            let follows = |pair: &&[Span]| pair[0].end == pair[1].start;
            let len = 1 + self.held[..left].windows(2).take_while(follows).count();
            let place = Span::new(self.held[0].start, self.held[len - 1].end);
            self.held.drain(..len);
            self.push(breaks(u8::try_from(len).unwrap_or(self.most)), place, out);
            left -= len;
        }
    }

    fn push(&mut self, text: &str, span: Span, out: &mut Out<'a, '_>) {
        self.blank = self.blank && text.trim_ascii().is_empty();
        self.empty = false;
        if self.draft.kept_text().is_none() && self.is_quoting() {
            self.quote.read(text);
        }
        self.draft.push(text, span, out);
        self.end = span.end;
    }

    /// Adds withheld line breaks to the content, except the last `before` ones, which belong to the
    /// next token.
    pub(super) fn settle(&mut self, before: u8, out: &mut Out<'a, '_>) {
        let content = self.held.len().saturating_sub(before.into());
        self.release(content, out);
    }

    /// Ends the message at byte `at`, after its end token.
    pub(super) fn finish(mut self, end: End, at: usize, out: &mut Out<'a, '_>) {
        self.draft.end(end, at, out);
    }
}
