//! Text that was read as layout.

use std::borrow::Cow;
use std::ops::Range;

use crate::Control;

/// The original text between the bodies of messages, with the positions of its control tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Raw<'a> {
    text: Cow<'a, str>,
    /// The control tokens in order, and the span of each in the text.
    tokens: Vec<(Control, Range<usize>)>,
}

/// A piece of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RawPiece<'r> {
    Control(Control),
    Text(&'r str),
}

impl<'a> Raw<'a> {
    /// Creates a text with control tokens at the given spans.
    pub(crate) fn new(text: Cow<'a, str>, tokens: Vec<(Control, Range<usize>)>) -> Self {
        Self { text, tokens }
    }

    /// The whole text, including its control tokens.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Whether it contains no control token.
    pub(crate) fn is_text(&self) -> bool {
        self.tokens.is_empty()
    }

    pub(crate) fn tokens(&self) -> &[(Control, Range<usize>)] {
        &self.tokens
    }

    /// Whether it contains this control token.
    pub(crate) fn has(&self, control: Control) -> bool {
        self.tokens.iter().any(|(it, _)| *it == control)
    }

    /// The end of the last control token of this kind.
    pub(crate) fn end_of_last(&self, control: Control) -> Option<usize> {
        self.tokens.iter().rev().find(|(it, _)| *it == control).map(|(_, range)| range.end)
    }

    pub(crate) fn clear(&mut self) {
        self.text.to_mut().clear();
        self.tokens.clear();
    }

    pub(crate) fn push_text(&mut self, text: &str) {
        self.text.to_mut().push_str(text);
    }

    /// Appends a control token and its spelling.
    pub(crate) fn push_control(&mut self, control: Control, spelling: &str) {
        let start = self.text.len();
        self.text.to_mut().push_str(spelling);
        self.tokens.push((control, start..self.text.len()));
    }

    pub(crate) fn append(&mut self, other: &Raw<'_>) {
        let start = self.text.len();
        self.text.to_mut().push_str(&other.text);
        let moved = |(control, range): &(Control, Range<usize>)| {
            (*control, start + range.start..start + range.end)
        };
        self.tokens.extend(other.tokens.iter().map(moved));
    }

    /// Truncates the text. The cut must not be inside a control token.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.text.to_mut().truncate(len);
        self.tokens.retain(|(_, range)| range.end <= len);
    }

    /// Returns the text without the first occurrence of `part` between control tokens.
    pub(crate) fn without(self, part: &str) -> Self {
        let is_apart = |at: usize| {
            self.tokens.iter().all(|(_, it)| it.end <= at || at + part.len() <= it.start)
        };
        let Some((at, _)) = self.text.match_indices(part).find(|(at, _)| is_apart(*at)) else {
            return self;
        };
        let Self { text, mut tokens } = self;
        let mut text = text.into_owned();
        text.replace_range(at..at + part.len(), "");
        for (_, range) in tokens.iter_mut().filter(|(_, range)| range.start > at) {
            *range = range.start - part.len()..range.end - part.len();
        }
        Self { text: text.into(), tokens }
    }

    /// The pieces of the text.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = RawPiece<'_>> {
        self.pieces_in(0..self.text.len())
    }

    /// The pieces of a part of the text. The part must not begin or end inside a control token.
    pub(crate) fn pieces_in(&self, part: Range<usize>) -> impl Iterator<Item = RawPiece<'_>> {
        let mut at = part.start;
        let first = self.tokens.partition_point(|(_, range)| range.start < part.start);
        let mut tokens = self.tokens[first..].iter();
        let mut next: Option<(Control, Range<usize>)> = None;
        std::iter::from_fn(move || {
            if let Some((control, range)) = next.take() {
                at = range.end;
                return Some(RawPiece::Control(control));
            }
            let token = tokens.next().filter(|(_, range)| range.end <= part.end).cloned();
            let end = token.as_ref().map_or(part.end, |(_, range)| range.start);
            let text = &self.text[at..end.max(at)];
            match token {
                Some((control, range)) if text.is_empty() => {
                    at = range.end;
                    return Some(RawPiece::Control(control));
                }
                token => next = token,
            }
            at = end.max(at);
            (!text.is_empty()).then_some(RawPiece::Text(text))
        })
    }

    /// The text as a rest that can be compared piece by piece.
    pub(crate) fn rest(&self) -> RawRest<'_> {
        RawRest::new(&self.text, &self.tokens, 0)
    }

    pub(crate) fn borrowed(&self) -> Raw<'_> {
        Raw { text: Cow::Borrowed(&self.text), tokens: self.tokens.clone() }
    }

    pub(crate) fn into_owned(self) -> Raw<'static> {
        Raw { text: Cow::Owned(self.text.into_owned()), tokens: self.tokens }
    }
}

impl<'a> From<Cow<'a, str>> for Raw<'a> {
    fn from(text: Cow<'a, str>) -> Self {
        Self { text, tokens: Vec::new() }
    }
}

/// The rest of a text that is compared piece by piece.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawRest<'r> {
    text: &'r str,
    tokens: &'r [(Control, Range<usize>)],
    /// The position of the text that the spans of the tokens are relative to.
    start: usize,
    at: usize,
}

impl<'r> RawRest<'r> {
    /// Creates a rest of `text`, which begins at byte `start` of the text that the spans of the
    /// tokens are relative to.
    pub(crate) fn new(text: &'r str, tokens: &'r [(Control, Range<usize>)], start: usize) -> Self {
        Self { text, tokens, start, at: 0 }
    }

    /// Removes a piece from the front. Returns false if the text does not begin with it.
    #[inline(always)]
    pub(crate) fn take(&mut self, piece: RawPiece<'_>) -> bool {
        match piece {
            RawPiece::Control(control) => match self.tokens.split_first() {
                Some(((first, range), rest))
                    if *first == control && range.start == self.start + self.at =>
                {
                    (self.tokens, self.at) = (rest, range.end - self.start);
                    true
                }
                _ => false,
            },
            RawPiece::Text(text) => {
                let end = self.at + text.len();
                let is_text =
                    self.tokens.first().is_none_or(|(_, range)| range.start >= self.start + end);
                let is_next = is_text && self.text[self.at..].starts_with(text);
                self.at = if is_next { end } else { self.at };
                is_next
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.at == self.text.len()
    }

    /// The byte at which the rest begins.
    pub(crate) fn at(&self) -> usize {
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::{Raw, RawPiece};
    use crate::Control;

    #[test]
    fn pieces_are_control_tokens_and_the_text_between_them() {
        let mut raw = Raw::default();
        raw.push_control(Control::End, "(e)");
        raw.push_control(Control::Start, "(s)");
        raw.push_text("a(e)");
        raw.push_control(Control::Message, "(m)");
        let (end, start, message) = (Control::End, Control::Start, Control::Message);
        let [end, start, message] = [end, start, message].map(RawPiece::Control);
        let all = [end, start, RawPiece::Text("a(e)"), message];
        assert_eq!(raw.pieces().collect::<Vec<_>>(), all);
        let part: Vec<_> = raw.pieces_in(3..8).collect();
        assert_eq!(part, [start, RawPiece::Text("a(")]);
        assert_eq!(raw.end_of_last(Control::Start), Some(6));
        assert!(raw.has(Control::Message) && !raw.has(Control::Call));
        let mut rest = raw.rest();
        // A control token is not equal to text with the same spelling.
        assert!(!rest.take(RawPiece::Text("(e)")));
        assert!(!rest.take(start) && rest.take(end) && rest.take(start));
        // Text that is spelled like a control token is not a control token.
        assert!(rest.take(RawPiece::Text("a")) && !rest.take(end));
        assert!(rest.take(RawPiece::Text("(e)")) && rest.take(message) && rest.is_empty());
        let left = raw.clone().without("a").without("(s)").without("(e)");
        assert_eq!(left.pieces().collect::<Vec<_>>(), [end, start, message]);
        let mut twice = raw.clone();
        twice.append(&raw);
        assert_eq!(twice.pieces().collect::<Vec<_>>(), [all, all].concat());
    }
}
