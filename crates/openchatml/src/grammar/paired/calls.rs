//! Reads lists of calls, `[{"name": arguments}, …]`, as they arrive.

use std::borrow::Cow;

use crate::Span;
use crate::grammar::brackets::Brackets;
use crate::reading::{Draft, Keep, Kept};

/// A list of calls while it is read.
#[derive(Debug, Default)]
pub(super) struct List<'a> {
    pub(super) step: Step,
    /// The text since the last call: the beginning of the next one.
    pub(super) head: Kept<'a>,
    name: Kept<'a>,
    /// Whether it contains a call.
    pub(super) has_calls: bool,
    /// The call that is not complete: its arguments are read, or its end is expected.
    pub(super) call: Option<Box<Draft<'a>>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Step {
    /// Before the `[`.
    #[default]
    Open,
    /// Before the first `{`, or the `]` of an empty list.
    First,
    /// Before the next `{`.
    Next,
    /// Before the quotation mark that begins a name.
    Quote,
    Name,
    /// Before the `:`.
    Colon,
    /// After the `:`, before one optional space.
    Space,
    Arguments(Brackets),
    /// After a call: before a `,` or the `]`.
    After,
    /// After the `]`.
    Closed,
}

/// Returns the number of bytes of `text` that are arguments, and whether the `}` after them ends
/// the call.
pub(super) fn arguments(brackets: &mut Brackets, text: &str) -> (usize, bool) {
    let bytes = text.as_bytes();
    let mut at = brackets.idle(bytes);
    while let Some(byte) = bytes.get(at) {
        if *byte == b'}' && brackets.are_closed() {
            return (at, true);
        }
        brackets.step(*byte);
        at += 1;
        at += brackets.idle(&bytes[at..]);
    }
    (bytes.len(), false)
}

/// Whether the text is read back as arguments of one complete call.
pub(super) fn are_whole(text: &str) -> bool {
    let mut brackets = Brackets::default();
    arguments(&mut brackets, text) == (text.len(), false) && brackets.are_closed()
}

/// Whether the text has a comma outside of brackets. What follows it is another key of the object
/// of the call, which other readers take for another call.
pub(super) fn have_more(text: &str) -> bool {
    let mut brackets = Brackets::default();
    text.bytes().any(|byte| {
        let ends = byte == b',' && brackets.are_closed();
        brackets.step(byte);
        ends
    })
}

/// Whether the text is read back as incomplete arguments, which do not end before the end of the
/// text.
pub(super) fn are_open(text: &str) -> bool {
    arguments(&mut Brackets::default(), text) == (text.len(), false)
}

/// The meaning of the next bytes of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// This number of bytes belongs to the list.
    More(usize),
    /// After this number of bytes, a call begins.
    Call(usize),
    /// After this number of bytes, the call before is complete, and another one follows.
    Another(usize),
    /// After this number of bytes, the list is malformed.
    Wrong(usize),
    /// After this number of bytes, the name exceeds its limit.
    Long(usize),
}

impl<'a> List<'a> {
    /// Reads text outside of arguments. `text` begins at byte `at`.
    pub(super) fn head(&mut self, text: &str, at: usize, keep: Keep<'a>, limit: usize) -> Head {
        for (index, byte) in text.bytes().enumerate() {
            let next = match (self.step, byte) {
                (Step::Name, b'"') => Step::Colon,
                (Step::Name, _) => {
                    let len = memchr::memchr(b'"', &text.as_bytes()[index..]);
                    let len = len.unwrap_or(text.len() - index);
                    let room = limit.saturating_sub(self.name.len()).min(len);
                    let end = text.floor_char_boundary(index + room);
                    let span = Span::new(at + index, at + end);
                    self.name.push(&text[index..end], span, keep);
                    return if room < len { Head::Long(end) } else { Head::More(end) };
                }
                (Step::Space, b' ') => {
                    self.step = Step::Arguments(Brackets::default());
                    return Head::Call(index + 1);
                }
                (Step::Space, _) => {
                    self.step = Step::Arguments(Brackets::default());
                    return Head::Call(index);
                }
                (step, b' ' | b'\n' | b'\r' | b'\t') => step,
                (Step::Open, b'[') => Step::First,
                (Step::First, b']') | (Step::After, b']') => Step::Closed,
                (Step::First | Step::Next, b'{') => Step::Quote,
                (Step::Quote, b'"') => Step::Name,
                (Step::Colon, b':') => Step::Space,
                (Step::After, b',') => {
                    self.step = Step::Next;
                    return Head::Another(index);
                }
                _ => return Head::Wrong(index),
            };
            self.step = next;
        }
        Head::More(text.len())
    }

    /// Takes the name of the call that begins.
    pub(super) fn take_name(&mut self) -> Cow<'a, str> {
        self.head.clear();
        self.name.take()
    }
}
