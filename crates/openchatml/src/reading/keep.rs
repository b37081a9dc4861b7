//! Text that a reader keeps for the conversation.

use std::borrow::Cow;

use crate::Span;

/// Where kept text comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Keep<'a> {
    /// The whole input, from which text is borrowed.
    Whole(&'a str),
    /// Input that arrives in chunks, so text is copied.
    Copy,
}

impl<'a> Keep<'a> {
    /// Returns `text`, which is at `span`, to keep.
    #[inline]
    pub(crate) fn text(self, text: &str, span: Span) -> Cow<'a, str> {
        match self {
            // Text that was joined from parts differs from the input at its span.
            Self::Whole(input) => match input.get(span.range()) {
                Some(slice) if slice.len() == text.len() => Cow::Borrowed(slice),
                _ => Cow::Owned(text.to_owned()),
            },
            Self::Copy => Cow::Owned(text.to_owned()),
        }
    }

    /// Returns the input at `span`, if the whole input is available.
    #[inline]
    pub(crate) fn slice(self, span: Span) -> Option<&'a str> {
        match self {
            Self::Whole(input) => input.get(span.range()),
            Self::Copy => None,
        }
    }
}

/// Kept text that grows. It is borrowed while its parts are adjacent in the input.
#[derive(Debug, Default)]
pub(crate) struct Kept<'a> {
    text: Cow<'a, str>,
    span: Span,
}

impl<'a> Kept<'a> {
    /// Appends `text`, which is at `span`.
    #[inline]
    pub(crate) fn push(&mut self, text: &str, span: Span, keep: Keep<'a>) {
        if text.is_empty() {
            return;
        }
        if self.text.is_empty() {
            self.text = keep.text(text, span);
            self.span = span;
            return;
        }
        if let (Cow::Borrowed(_), Keep::Whole(input)) = (&self.text, keep)
            && self.span.end == span.start
            && span.len() == text.len()
            && let Some(joined) = input.get(self.span.start..span.end)
        {
            self.text = Cow::Borrowed(joined);
        } else {
            self.text.to_mut().push_str(text);
        }
        self.span.end = span.end;
    }

    /// Removes a line break at the end. Returns whether there was one.
    pub(crate) fn pop_line_break(&mut self) -> bool {
        let Some(len) = self.text.strip_suffix('\n').map(str::len) else { return false };
        match &mut self.text {
            Cow::Borrowed(text) => *text = &text[..len],
            Cow::Owned(text) => text.truncate(len),
        }
        self.span.end -= 1;
        true
    }

    /// Removes a line break at the beginning. Returns whether there was one.
    pub(crate) fn strip_line_break(&mut self) -> bool {
        if !self.text.starts_with('\n') {
            return false;
        }
        match &mut self.text {
            Cow::Borrowed(text) => *text = &text[1..],
            Cow::Owned(text) => drop(text.remove(0)),
        }
        self.span.start += 1;
        true
    }

    /// Removes the white space at the beginning.
    pub(crate) fn trim_start(&mut self) {
        let len = self.text.len() - self.text.trim_ascii_start().len();
        match &mut self.text {
            Cow::Borrowed(text) => *text = &text[len..],
            Cow::Owned(text) => drop(text.drain(..len)),
        }
        self.span.start = (self.span.start + len).min(self.span.end);
    }

    /// Removes and returns the text before byte `at`.
    pub(crate) fn split_front(&mut self, at: usize) -> Cow<'a, str> {
        let (front, rest) = split(self.take(), at);
        self.text = rest;
        self.span.start += at;
        front
    }

    /// Removes and returns the text from byte `at` on.
    pub(crate) fn split_back(&mut self, at: usize) -> Cow<'a, str> {
        let (rest, back) = split(self.take(), at);
        self.text = rest;
        // Replacement characters before it can be longer than the bytes that they replace.
        self.span.end = self.span.end.saturating_sub(back.len()).max(self.span.start);
        back
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Clears the text.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.text = Cow::Borrowed("");
    }

    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns the span from the first part to the last.
    pub(crate) fn span(&self) -> Span {
        self.span
    }

    /// Takes the text and leaves it empty.
    pub(crate) fn take(&mut self) -> Cow<'a, str> {
        std::mem::take(&mut self.text)
    }
}

fn split(text: Cow<'_, str>, at: usize) -> (Cow<'_, str>, Cow<'_, str>) {
    match text {
        Cow::Borrowed(text) => {
            let (front, back) = text.split_at(at);
            (Cow::Borrowed(front), Cow::Borrowed(back))
        }
        Cow::Owned(mut text) => {
            let back = text.split_off(at);
            (Cow::Owned(text), Cow::Owned(back))
        }
    }
}
