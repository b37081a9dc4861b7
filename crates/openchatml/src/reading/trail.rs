//! The control tokens between two messages.

use std::ops::Range;

use super::Keep;
use crate::model::{Raw, RawRest};
use crate::{Control, Span};

/// The control tokens since the last message, and their spans in the input.
#[derive(Debug, Default)]
pub(crate) struct Trail {
    tokens: Vec<(Control, Range<usize>)>,
    last: Option<(Control, Span)>,
}

impl Trail {
    /// Adds a control token. If layouts are not kept, only the last token is recorded. Tokens of
    /// withheld text are read after the token that decides about it.
    #[inline]
    pub(crate) fn push(&mut self, control: Control, span: Span, keep: Keep<'_>) {
        if self.last.is_none_or(|(_, last)| last.start <= span.start) {
            self.last = Some((control, span));
        }
        if let Keep::Whole(_) = keep {
            let before = |(_, it): &(Control, Range<usize>)| it.start <= span.start;
            let at = self.tokens.iter().rposition(before).map_or(0, |at| at + 1);
            self.tokens.insert(at, (control, span.range()));
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
        let inside = |it: &&(Control, Range<usize>)| it.1.end <= span.end;
        let place = |(control, at): &(Control, Range<usize>)| {
            (*control, at.start - span.start..at.end - span.start)
        };
        let tokens = self.since(span.start).iter().take_while(inside).map(place).collect();
        Some(Raw::new(text.into(), tokens))
    }

    /// The same as a rest that can be compared piece by piece.
    #[inline]
    pub(crate) fn rest<'r>(&'r self, span: Span, keep: Keep<'r>) -> Option<RawRest<'r>> {
        let tokens = self.since(span.start);
        // Only the last token can be behind the text.
        let tokens = match tokens.split_last() {
            Some(((_, last), before)) if last.end > span.end => before,
            _ => tokens,
        };
        Some(RawRest::new(keep.slice(span)?, tokens, span.start))
    }

    /// The tokens from byte `at` on.
    #[inline]
    fn since(&self, at: usize) -> &[(Control, Range<usize>)] {
        let first = self.tokens.iter().position(|(_, span)| span.start >= at);
        &self.tokens[first.unwrap_or(self.tokens.len())..]
    }
}

#[cfg(test)]
mod tests {
    use super::Trail;
    use crate::model::RawPiece;
    use crate::reading::Keep;
    use crate::{Control, Span};

    #[test]
    fn tokens_stay_in_the_order_of_the_text() {
        let (text, mut trail) = ("(e)(s)", Trail::default());
        for (control, at) in [(Control::Start, 3), (Control::End, 0)] {
            trail.push(control, Span::new(at, at + 3), Keep::Whole(text));
        }
        assert_eq!(trail.last(), Some(Control::Start));
        let mut rest = trail.rest(Span::new(0, 6), Keep::Whole(text)).unwrap();
        let in_order = [Control::End, Control::Start];
        assert!(in_order.into_iter().all(|control| rest.take(RawPiece::Control(control))));
    }

    #[test]
    fn a_token_behind_the_text_is_no_part_of_it() {
        let (text, mut trail) = ("a(e)", Trail::default());
        trail.push(Control::End, Span::new(1, 4), Keep::Whole(text));
        for (end, is_inside) in [(1, false), (4, true)] {
            let mut rest = trail.rest(Span::new(1, end), Keep::Whole(text)).unwrap();
            assert_eq!(rest.take(RawPiece::Control(Control::End)), is_inside, "up to {end}");
        }
    }
}
