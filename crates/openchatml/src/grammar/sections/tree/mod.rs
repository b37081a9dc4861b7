//! Reads arguments in a syntax of their own as they arrive, and writes them as JSON.
//!
//! The end of each value is a character or a token, so that nothing depends on what follows. Text that
//! is no part of a value makes the call uncertain, and the rest of the call is dropped.

mod bare;
mod reply;
mod written;

pub(super) use self::reply::TreeReply;
pub(super) use self::written::{pieces, respelled, sorted};

use crate::grammar::sections::calls::place_in;
use crate::grammar::sections::parameters::{To, add_string};
use crate::grammar::within_limit;
use crate::reading::Kept;
use crate::{Code, Control, Span};

/// The arguments of a call while they are read.
pub(super) struct Scanner<'a> {
    quote: Control,
    /// The open brackets, from the outside to the inside.
    open: Vec<Bracket>,
    phase: Phase,
    /// The text of a key or a value so far that is not a string.
    bare: Kept<'a>,
    /// The place where this text begins.
    bare_at: usize,
    /// Whether no item of the innermost bracket was read.
    is_first: bool,
    /// The length of the arguments so far.
    len: usize,
    /// The length of the arguments before the last key that is a string.
    key_at: usize,
    /// Whether everything is written as the writer writes it.
    is_canonical: bool,
    /// Why the arguments are uncertain, if they are.
    odd: Option<&'static str>,
}

const EMPTY_KEY: &str = "a key of this call is empty";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bracket {
    Object,
    List,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Before a key or in it, or before the end of an object.
    Key,
    /// In a key that is a string.
    KeyString,
    /// After a key that is a string.
    Colon,
    /// Before a value or in it, or before the end of a list.
    Value,
    /// In a value that is a string.
    String,
    /// After a value.
    After,
    /// After the brace that closes the arguments.
    Done,
    /// After text that is no part of a value.
    Wrong,
}

impl<'a> Scanner<'a> {
    /// Creates the reader of arguments, which begin at byte `at`, after their opening brace.
    pub(super) fn new(quote: Control, at: usize, to: &mut To<'_, 'a, '_>) -> Self {
        let mut scanner = Self {
            quote,
            open: vec![Bracket::Object],
            phase: Phase::Key,
            bare: Kept::default(),
            bare_at: at,
            is_first: true,
            len: 0,
            key_at: 0,
            is_canonical: true,
            odd: None,
        };
        scanner.insert("{", at, to);
        scanner
    }

    /// Whether a token is text here.
    pub(super) fn is_text(&self, control: Control) -> bool {
        control != self.quote && matches!(self.phase, Phase::KeyString | Phase::String)
    }

    /// Whether the arguments are complete.
    pub(super) fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }

    /// Whether they are written as the writer writes them.
    pub(super) fn is_canonical(&self) -> bool {
        self.is_canonical
    }

    /// Why the arguments are uncertain, if they are.
    pub(super) fn odd(&self) -> Option<&'static str> {
        self.odd
    }

    /// Reads text. Returns the number of bytes that belong to the arguments.
    pub(super) fn text(&mut self, text: &str, span: Span, to: &mut To<'_, 'a, '_>) -> usize {
        let mut at = 0;
        while at < text.len() && self.phase != Phase::Done {
            if to.out.state.stopped.is_some() {
                return text.len();
            }
            let place = |at: usize| place_in(text, span, at);
            let rest = &text[at..];
            let here = Span::new(place(at), span.end);
            at += match self.phase {
                Phase::KeyString | Phase::String => {
                    add_string(&mut self.len, rest, here, to);
                    rest.len()
                }
                Phase::Wrong => {
                    self.drop_text(rest, here, to);
                    rest.len()
                }
                Phase::Key | Phase::Value => {
                    let end = rest.bytes().position(|byte| self.ends_bare(byte));
                    let len = end.unwrap_or(rest.len());
                    self.add_bare(&rest[..len], Span::new(here.start, place(at + len)), to);
                    match end {
                        Some(_) if self.phase != Phase::Wrong => {
                            let byte = rest.as_bytes()[len];
                            len + self.after_bare(byte, place(at + len), to)
                        }
                        _ => len,
                    }
                }
                Phase::Colon | Phase::After => {
                    let blank = rest.len() - rest.trim_ascii_start().len();
                    self.is_canonical &= blank == 0;
                    match rest.as_bytes().get(blank) {
                        Some(byte) => blank + self.between(*byte, place(at + blank), to),
                        None => blank,
                    }
                }
                Phase::Done => 0,
            };
        }
        at
    }

    /// Reads the token around strings.
    pub(super) fn quote(&mut self, spelling: &str, span: Span, to: &mut To<'_, 'a, '_>) {
        let is_blank = self.bare.as_str().trim_ascii().is_empty();
        match self.phase {
            Phase::Key if is_blank => {
                self.is_canonical = false;
                self.separate(to);
                self.insert("\"", span.start, to);
                self.key_at = self.len;
                self.phase = Phase::KeyString;
            }
            Phase::KeyString => {
                if self.len == self.key_at {
                    self.odd.get_or_insert(EMPTY_KEY);
                }
                self.insert("\": ", span.start, to);
                self.phase = Phase::Colon;
            }
            Phase::Value if is_blank => {
                self.separate_value(to);
                self.insert("\"", span.start, to);
                self.phase = Phase::String;
            }
            Phase::String => {
                self.insert("\"", span.start, to);
                self.end_value(span.end);
            }
            Phase::Done => {}
            Phase::Key | Phase::Colon | Phase::Value | Phase::After | Phase::Wrong => {
                self.fail(to);
                self.drop_text(spelling, span, to);
            }
        }
    }

    /// Reads what is left of incomplete arguments.
    pub(super) fn cut(&mut self, to: &mut To<'_, 'a, '_>) {
        let (text, at) = (self.bare.take(), self.bare_at);
        if !matches!(self.phase, Phase::Wrong | Phase::Done) {
            self.insert(&text, at, to);
        }
    }

    /// Adds text to the arguments, which the input expresses differently at byte `at`.
    fn insert(&mut self, text: &str, at: usize, to: &mut To<'_, 'a, '_>) {
        if !text.is_empty() {
            self.len += text.len();
            to.draft.insert(text, Span::at(at), to.out);
        }
    }

    fn drop_text(&mut self, text: &str, span: Span, to: &mut To<'_, 'a, '_>) {
        if to.out.state.stopped.is_none() {
            let (text, span) = within_limit(text, span, to.dropped.len(), to.out);
            to.dropped.push(text, span, to.out.keep);
        }
    }

    /// Drops the key or the value that is read, and everything that follows.
    fn fail(&mut self, to: &mut To<'_, 'a, '_>) {
        self.phase = Phase::Wrong;
        let span = self.bare.span();
        let text = self.bare.take();
        if !text.is_empty() {
            self.drop_text(&text, span, to);
        }
    }

    /// Reads a character after a value, or after a key that is a string. Returns its length if it was
    /// read.
    fn between(&mut self, byte: u8, at: usize, to: &mut To<'_, 'a, '_>) -> usize {
        match (self.phase, byte) {
            (Phase::Colon, b':') => self.begin_bare(Phase::Value, at + 1),
            (Phase::After, b',') => {
                let phase = match self.open.last() {
                    Some(Bracket::Object) => Phase::Key,
                    _ => Phase::Value,
                };
                self.begin_bare(phase, at + 1);
            }
            (Phase::After, b'}' | b']') => return self.close(byte, at, to),
            _ => {
                self.fail(to);
                return 0;
            }
        }
        1
    }

    /// Opens a bracket.
    fn open(&mut self, byte: u8, at: usize, to: &mut To<'_, 'a, '_>) -> usize {
        let most = to.out.options.limits.json_depth;
        if self.open.len() >= most {
            let text = format!("the arguments exceed the limit `json_depth` of {most}");
            let found = Code::Limit.at(Span::new(at, at + 1), text);
            to.out.malformed(found.help("the call is not run"));
            self.fail(to);
            return 0;
        }
        self.separate_value(to);
        let (bracket, text, phase) = match byte {
            b'{' => (Bracket::Object, "{", Phase::Key),
            _ => (Bracket::List, "[", Phase::Value),
        };
        self.insert(text, at, to);
        self.open.push(bracket);
        self.is_first = true;
        self.begin_bare(phase, at + 1);
        1
    }

    /// Closes the innermost bracket.
    fn close(&mut self, byte: u8, at: usize, to: &mut To<'_, 'a, '_>) -> usize {
        let text = match (self.open.last(), byte) {
            (Some(Bracket::Object), b'}') => "}",
            (Some(Bracket::List), b']') => "]",
            _ => {
                self.fail(to);
                return 0;
            }
        };
        self.insert(text, at, to);
        self.open.pop();
        self.end_value(at + 1);
        if self.open.is_empty() {
            self.phase = Phase::Done;
        }
        1
    }

    fn end_value(&mut self, at: usize) {
        self.is_first = false;
        self.begin_bare(Phase::After, at);
    }

    /// Begins a key or a value at byte `at`.
    fn begin_bare(&mut self, phase: Phase, at: usize) {
        self.phase = phase;
        self.bare.clear();
        self.bare_at = at;
    }

    /// Writes the comma before an item.
    fn separate(&mut self, to: &mut To<'_, 'a, '_>) {
        self.is_canonical &= self.bare.is_empty();
        self.bare.clear();
        if !self.is_first {
            self.insert(", ", self.bare_at, to);
        }
    }

    /// Writes the comma before a value of a list.
    fn separate_value(&mut self, to: &mut To<'_, 'a, '_>) {
        match self.open.last() {
            Some(Bracket::List) => self.separate(to),
            _ => {
                self.is_canonical &= self.bare.is_empty();
                self.bare.clear();
            }
        }
    }
}
