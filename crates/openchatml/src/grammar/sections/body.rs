//! The body of a message, with the line breaks at its end that may belong to the token behind it.

use super::between::{Kind, breaks};
use crate::Span;
use crate::model::End;
use crate::reading::{Draft, Out};

/// A message whose body is being read.
pub(super) struct Body<'a> {
    pub(super) draft: Box<Draft<'a>>,
    pub(super) kind: Kind<'static>,
    /// Whether a token opened it, and another one has to close it.
    pub(super) is_marked: bool,
    /// How many line breaks at its end may belong to the framing.
    most: u8,
    /// How many of them are held back.
    held: u8,
    /// Where they stand.
    place: Span,
    /// Where the body ends so far, without them.
    end: usize,
    /// Whether it is nothing but white space so far.
    blank: bool,
}

impl<'a> Body<'a> {
    /// The body of a message that begins at byte `at`.
    pub(super) fn new(draft: Box<Draft<'a>>, kind: Kind<'static>, most: u8, at: usize) -> Self {
        Self {
            draft,
            kind,
            is_marked: false,
            most,
            held: 0,
            place: Span::at(at),
            end: at,
            blank: true,
        }
    }

    /// Whether any text is just more of it.
    pub(super) fn is_plain(&self) -> bool {
        self.most == 0
    }

    /// The message, to which text is just added.
    pub(super) fn draft_mut(&mut self) -> &mut Draft<'a> {
        self.blank = false;
        &mut self.draft
    }

    /// Whether it is nothing but white space.
    pub(super) fn is_blank(&self) -> bool {
        self.blank
    }

    /// Where the body ends, without what is held back.
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
        // What of the line breaks so far cannot belong to the framing is content.
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

    /// Gives on `count` of the line breaks that are held back, the first ones.
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
        self.draft.push(text, span, out);
        self.end = span.end;
    }

    /// What of the line breaks that are held back is not before a token that has so many before it is
    /// content after all.
    pub(super) fn settle(&mut self, before: u8, out: &mut Out<'a, '_>) {
        let content = self.held.saturating_sub(before);
        self.release(content, out);
    }

    /// Ends the message at byte `at`, with what closes it.
    pub(super) fn finish(mut self, end: End, at: usize, out: &mut Out<'a, '_>) {
        self.draft.end(end, at, out);
    }
}
