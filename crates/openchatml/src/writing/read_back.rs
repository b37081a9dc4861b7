//! Reads back what is written, where control tokens and text can run into each other.

use std::ops::Range;

use super::SinkError;
use super::escape::Markers;
use crate::lex::{Found, Mask, TokenTable};
use crate::{Control, Span};

/// Reads what a sink writes as the lexer will read it, for token tables that are not
/// [separable](TokenTable::is_separable): a token may begin with another one, and the end of a text
/// may spell a third one together with the token that follows it.
#[derive(Debug)]
pub(super) struct ReadBack {
    controls: &'static TokenTable,
    /// The control tokens that are written as their spelling.
    spelled: Mask,
    /// The end of what was written, from the place on where what follows decides how it is read.
    tail: String,
    /// The control tokens in it: where each begins, and its length.
    tokens: Vec<(usize, Control, usize)>,
    /// What the spelling of a marker is in the text of it.
    markers: Markers,
}

impl ReadBack {
    pub(super) fn new(controls: &'static TokenTable, spelled: Mask) -> Self {
        let (tail, tokens, markers) = (String::new(), Vec::new(), Markers::Text);
        Self { controls, spelled, tail, tokens, markers }
    }

    /// Takes text that is written.
    pub(super) fn text(&mut self, text: &str, markers: Markers) -> Result<(), SinkError> {
        let start = self.tail.len();
        self.markers = markers;
        self.tail.push_str(text);
        self.read(false, start..self.tail.len())
    }

    /// Takes a control token that is written as its spelling.
    pub(super) fn control(&mut self, control: Control, spelling: &str) -> Result<(), SinkError> {
        let start = self.tail.len();
        self.tokens.push((start, control, spelling.len()));
        self.tail.push_str(spelling);
        self.read(false, start..start)
    }

    /// Nothing that is read as text follows: the end, or a token that is not spelled.
    pub(super) fn end(&mut self) -> Result<(), SinkError> {
        self.read(true, self.tail.len()..self.tail.len())
    }

    /// Reads what was written, as far as it is decided. The text that is `new` stands there.
    fn read(&mut self, last: bool, new: Range<usize>) -> Result<(), SinkError> {
        let (bytes, search) = (self.tail.as_bytes(), self.controls.search());
        let (mut from, mut taken) = (0, 0);
        loop {
            let (at, found) = search.next(bytes, from, self.spelled, last);
            match found {
                Found::None => break,
                Found::Prefix => {
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

    fn is_text(&self, control: Control) -> bool {
        self.markers == Markers::Text && matches!(control, Control::Marker(_))
    }

    /// Refuses what stands at a place in the tail.
    #[cold]
    fn refuse(&self, place: Range<usize>, new: Range<usize>, is_alone: bool) -> SinkError {
        let mut spellings = self.controls.entries().iter().map(|entry| entry.1);
        let spelling = spellings.find(|it| *it == &self.tail[place.clone()]).unwrap_or_default();
        let reason = match is_alone {
            true => "this dialect has no escape for the text",
            false => "a control token and the text beside it would be read as",
        };
        let in_new = |at: usize| at.clamp(new.start, new.end) - new.start;
        let span = Span::new(in_new(place.start), in_new(place.end));
        let before = new.start.saturating_sub(place.start);
        SinkError { before, ..SinkError::new(span, spelling, reason) }
    }
}
