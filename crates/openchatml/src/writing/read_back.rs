//! Reads back the output, for dialects in which control tokens and text can combine.

use std::ops::Range;

use super::SinkError;
use super::escape::Markers;
use crate::lex::{Found, Mask, TokenTable};
use crate::{Control, Span};

/// Reads the output of a sink in the same way as the lexer, for token tables that are not
/// [separable](TokenTable::is_separable): a token can begin with another token, and the end of a
/// text together with the next token can spell a third one.
#[derive(Debug)]
pub(super) struct ReadBack {
    controls: &'static TokenTable,
    /// The control tokens that are spelled in the output.
    spelled: Mask,
    /// The end of the output, from the first place on that later output can still change.
    tail: String,
    /// The control tokens in the tail: start, control and length.
    tokens: Vec<(usize, Control, usize)>,
    /// How the spelling of a marker in text is handled.
    markers: Markers,
}

impl ReadBack {
    pub(super) fn new(controls: &'static TokenTable, spelled: Mask) -> Self {
        let (tail, tokens, markers) = (String::new(), Vec::new(), Markers::Text);
        Self { controls, spelled, tail, tokens, markers }
    }

    /// Reads text of the output.
    pub(super) fn text(&mut self, text: &str, markers: Markers) -> Result<(), SinkError> {
        let start = self.tail.len();
        self.markers = markers;
        self.tail.push_str(text);
        self.read(false, start..self.tail.len())
    }

    /// Reads a spelled control token of the output.
    pub(super) fn control(&mut self, control: Control, spelling: &str) -> Result<(), SinkError> {
        let start = self.tail.len();
        self.tokens.push((start, control, spelling.len()));
        self.tail.push_str(spelling);
        self.read(false, start..start)
    }

    /// Ends the text: the output ends, or a token follows that is not spelled.
    pub(super) fn end(&mut self) -> Result<(), SinkError> {
        self.read(true, self.tail.len()..self.tail.len())
    }

    /// Reads the output as far as it is decided. `new` is the range of the new text.
    fn read(&mut self, last: bool, new: Range<usize>) -> Result<(), SinkError> {
        let (bytes, search) = (self.tail.as_bytes(), self.controls.search());
        let (mut from, mut taken) = (0, 0);
        loop {
            let (at, found) = search.next(bytes, from, self.spelled, last);
            match found {
                Found::None => break,
                Found::Prefix => {
                    let next = self.tokens.get(taken);
                    if next.is_none_or(|token| token.0 > at)
                        && let Some((_, len)) = self.token_at(at)
                    {
                        // It is a token, whether it is the beginning of a longer one or not.
                        let is_alone = next.is_none_or(|token| token.0 >= at + len);
                        return Err(self.refuse(at..at + len, new, is_alone));
                    }
                    self.tail.drain(..at);
                    self.tokens.drain(..taken);
                    self.tokens.iter_mut().for_each(|token| token.0 -= at);
                    return Ok(());
                }
                Found::Control(control, len) => {
                    from = at + len;
                    match self.tokens.get(taken).filter(|token| token.0 < from) {
                        Some(token) if *token == (at, control, len) => taken += 1,
                        None if self.is_text(control) => {}
                        wanted => {
                            let is_alone = wanted.is_none();
                            return Err(self.refuse(at..from, new, is_alone));
                        }
                    }
                }
            }
        }
        self.tail.clear();
        self.tokens.clear();
        Ok(())
    }

    /// Returns the control token at this place in the tail, and its length.
    fn token_at(&self, at: usize) -> Option<(Control, usize)> {
        match self.controls.at(&self.tail.as_bytes()[at..], self.spelled, true) {
            Found::Control(control, len) if !self.is_text(control) => Some((control, len)),
            _ => None,
        }
    }

    fn is_text(&self, control: Control) -> bool {
        self.markers == Markers::Text && matches!(control, Control::Marker(_))
    }

    /// Refuses the text at a place in the tail.
    #[cold]
    fn refuse(&self, place: Range<usize>, new: Range<usize>, is_alone: bool) -> SinkError {
        let mut spellings = self.controls.entries().iter().map(|entry| entry.1);
        let spelling = spellings.find(|it| *it == &self.tail[place.clone()]).unwrap_or_default();
        let reason = match is_alone {
            true => "this dialect cannot escape",
            false => "a control token and the text next to it would be read as",
        };
        let in_new = |at: usize| at.clamp(new.start, new.end) - new.start;
        let span = Span::new(in_new(place.start), in_new(place.end));
        let before = new.start.saturating_sub(place.start);
        SinkError { before, ..SinkError::new(span, spelling, reason) }
    }
}
