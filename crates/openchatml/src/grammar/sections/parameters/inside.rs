//! Searches the text of a value for signs that the value has no end: the beginning of another call,
//! and a closing tag that is cut off.
//!
//! A value without its closing tag contains everything up to a later tag. Such a call must not be run.

use crate::Control;
use crate::grammar::sections::Rules;
use crate::grammar::sections::call::{Call, Found};
use crate::limits::Limits;
use crate::rules::{CallPiece, Parameters, Tag};

/// What the text of a value contains, as far as it was read.
pub(super) struct Inside {
    rules: &'static Rules,
    /// The closing tag of values without its last character.
    cut: &'static str,
    /// The tag that opens a parameter.
    open: Tag,
    /// The beginning of a call at the end of the text.
    begun: Option<Begun>,
    /// Whether a call with a parameter has begun, and was not closed.
    has_call: bool,
    /// How many bytes of the cut closing tag are at the end of the text. White space can follow it.
    matched: usize,
    /// Whether a cut closing tag precedes another tag.
    has_cut: bool,
}

/// The beginning of a call.
struct Begun {
    call: Box<Call<'static>>,
    /// Whether it has the token that opens calls.
    is_opened: bool,
    /// How many more bytes its beginning can have.
    room: usize,
    /// How many bytes of a parameter follow its name, if that is complete.
    opened: Option<usize>,
}

impl Inside {
    pub(super) fn new(rules: &'static Rules, form: &Parameters) -> Self {
        let close = match form.close {
            Tag::Token(mark) => rules.spelling(mark.control),
            Tag::Text(_) => form.close.text().unwrap_or_default(),
        };
        let last = close.chars().next_back().map_or(0, char::len_utf8);
        let cut = &close[..close.len() - last];
        let open = form.open;
        Self { rules, cut, open, begun: None, has_call: false, matched: 0, has_cut: false }
    }

    /// Begins another value.
    pub(super) fn clear(&mut self) {
        *self = Self { begun: None, has_call: false, matched: 0, has_cut: false, ..*self };
    }

    /// Whether a call begins in the value. `is_implied` says that a later tag implies the end of the
    /// value. Then a call without parameters counts, too.
    pub(super) fn has_call(&self, is_implied: bool) -> bool {
        let is_begun = |begun: &Begun| begun.is_opened || begun.call.is_behind_word();
        self.has_call || is_implied && self.begun.as_ref().is_some_and(is_begun)
    }

    /// Whether the value contains a closing tag without its last character.
    pub(super) fn has_cut_tag(&self, is_implied: bool) -> bool {
        self.has_cut || is_implied && self.is_cut()
    }

    fn is_cut(&self) -> bool {
        !self.cut.is_empty() && self.matched == self.cut.len()
    }

    /// Reads text of the value.
    pub(super) fn text(&mut self, text: &str, limits: &Limits) {
        self.read_close(text.as_bytes());
        self.read_call(text, limits);
    }

    /// Searches text for the beginning of a call.
    fn read_call(&mut self, text: &str, limits: &Limits) {
        let mut at = 0;
        while at < text.len() {
            let Some(begun) = &mut self.begun else {
                let Some(next) = self.next_word(&text[at..]) else { return };
                at += next;
                self.begin(false, limits);
                continue;
            };
            let (len, goes_on) = begun.text(&text[at..], self.rules, self.open);
            at += len;
            self.has_call |= begun.has_parameter(self.open);
            if self.has_call || !goes_on {
                let cut = begun.cut_tag(self.open);
                self.begun = None;
                // What was the beginning of a tag can be the beginning of a call.
                if !self.has_call && !cut.is_empty() {
                    self.read_call(cut, limits);
                }
            }
        }
    }

    /// Reads a token that is text of the value.
    pub(super) fn token(&mut self, control: Control, limits: &Limits) {
        (self.has_cut, self.matched) = (self.has_cut || self.is_cut(), 0);
        let calls = &self.rules.sections.calls;
        if control == calls.item.0.control {
            return self.begin(true, limits);
        }
        if calls.closes(control) {
            // The call in the value is complete.
            (self.has_call, self.begun) = (false, None);
            return;
        }
        let is_open = matches!(self.open, Tag::Token(mark) if mark.control == control);
        let Some(begun) = &mut self.begun else { return };
        let is_behind_name = begun.opened == Some(0) || begun.call.begins_at(control, self.rules);
        if is_open && is_behind_name && begun.call.can_be_named(self.rules) {
            self.has_call = true;
            self.begun = None;
        } else if is_behind_name || !begun.call.control(control, self.rules) {
            self.begun = None;
        }
    }

    fn begin(&mut self, is_opened: bool, limits: &Limits) {
        let call = Box::new(Call::new(0));
        self.begun =
            Some(Begun { call, is_opened, room: limits.header_bytes.max(1), opened: None });
    }

    /// Returns the position at which a call without its token can begin.
    fn next_word(&self, text: &str) -> Option<usize> {
        match self.rules.sections.calls.pieces.first() {
            Some(CallPiece::Word(word)) => {
                let (word, text) = (word.as_bytes(), text.as_bytes());
                // The end of the text can cut the word.
                memchr::memchr_iter(*word.first()?, text).find(|at| {
                    let len = word.len().min(text.len() - at);
                    text[*at..*at + len] == word[..len]
                })
            }
            _ => None,
        }
    }

    /// Searches text for the cut closing tag.
    fn read_close(&mut self, text: &[u8]) {
        let cut = self.cut.as_bytes();
        let Some(first) = cut.first() else { return };
        let mut at = 0;
        while let Some(byte) = text.get(at) {
            if self.matched == 0 {
                let Some(next) = memchr::memchr(*first, &text[at..]) else { return };
                self.matched = 1;
                at += next + 1;
            } else if cut.get(self.matched) == Some(byte) {
                self.matched += 1;
                at += 1;
            } else if self.is_cut() && byte.is_ascii_whitespace() {
                at += 1;
            } else {
                self.has_cut |= self.is_cut() && byte == first;
                self.matched = 0;
            }
        }
    }
}

impl Begun {
    /// Reads the beginning of a text. Returns the number of bytes that were read, and whether they can
    /// belong to a call.
    fn text(&mut self, text: &str, rules: &Rules, open: Tag) -> (usize, bool) {
        let Some(matched) = &mut self.opened else {
            let len = text.floor_char_boundary(self.room);
            self.room -= len;
            let found = self.call.next(&text[..len], rules);
            let begins = matches!(found, Found::Begins(_)) && self.call.can_be_named(rules);
            self.opened = begins.then_some(0);
            return (found.len(), begins || matches!(found, Found::Head(1..)));
        };
        let open = open.text().unwrap_or_default().as_bytes();
        let same = text.bytes().zip(&open[*matched..]).take_while(|(one, other)| one == *other);
        let same = same.count();
        *matched += same;
        (same, same == text.len())
    }

    /// Returns what was read of the text that opens a parameter.
    fn cut_tag(&self, open: Tag) -> &'static str {
        let open = open.text().unwrap_or_default();
        open.get(..self.opened.unwrap_or(0)).unwrap_or_default()
    }

    /// Whether the text that opens a parameter was read.
    fn has_parameter(&self, open: Tag) -> bool {
        open.text().is_some_and(|open| self.opened == Some(open.len()))
    }
}
