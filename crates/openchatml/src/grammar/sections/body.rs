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
    /// The number of them that are withheld.
    held: u8,
    /// The span of the withheld line breaks.
    place: Span,
    /// The end of the body so far, without the withheld line breaks.
    end: usize,
    /// Whether it consists of white space so far.
    blank: bool,
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
            held: 0,
            place: Span::at(at),
            end: at,
            blank: true,
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
        self.blank = false;
        &mut self.draft
    }

    /// Whether it consists of white space.
    pub(super) fn is_blank(&self) -> bool {
        self.blank
    }

    /// Whether a token of a section is text behind it, because it is quoted.
    pub(super) fn quotes(&mut self, control: Control) -> bool {
        self.catch_up();
        let mut quote = self.quote;
        if self.held > 0 {
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
            self.release(self.held, out);
        }
        // Line breaks beyond the maximum are content.
        let total = usize::from(self.held) + trailing;
        let hold = total.min(usize::from(self.most));
        let early = (total - hold).min(usize::from(self.held));
        self.release(u8::try_from(early).unwrap_or(self.held), out);
        let taken = text.len() - (hold - usize::from(self.held));
        let split = if span.len() == text.len() { span.start + taken } else { span.end };
        if taken > 0 {
            self.push(&text[..taken], Span::new(span.start, split), out);
        }
        if self.held == 0 {
            self.place.start = split;
        }
        self.place.end = span.end;
        self.held = u8::try_from(hold).unwrap_or(self.most);
    }

    /// Adds the first `count` of the withheld line breaks to the content.
    fn release(&mut self, count: u8, out: &mut Out<'a, '_>) {
        if count == 0 {
            return;
        }
        let exact = self.place.len() == usize::from(self.held);
        let split = if exact { self.place.start + usize::from(count) } else { self.place.end };
        self.push(breaks(count), Span::new(self.place.start, split), out);
        self.held -= count;
        self.place.start = split;
    }

    fn push(&mut self, text: &str, span: Span, out: &mut Out<'a, '_>) {
        self.blank = self.blank && text.trim_ascii().is_empty();
        if self.draft.kept_text().is_none() && self.is_quoting() {
            self.quote.read(text);
        }
        self.draft.push(text, span, out);
        self.end = span.end;
    }

    /// Adds withheld line breaks to the content, except the last `before` ones, which belong to the
    /// next token.
    pub(super) fn settle(&mut self, before: u8, out: &mut Out<'a, '_>) {
        let content = self.held.saturating_sub(before);
        self.release(content, out);
    }

    /// Ends the message at byte `at`, after its end token.
    pub(super) fn finish(mut self, end: End, at: usize, out: &mut Out<'a, '_>) {
        self.draft.end(end, at, out);
    }
}
