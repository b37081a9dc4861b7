//! The arguments of a call, and what follows them.

use super::super::{Piece, Rules};
use super::{Call, Found, Step, is_space};
use crate::grammar::brackets::Brackets;

/// What follows the arguments of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    /// The end of the call.
    Nothing,
    /// The rest of the object that they are in.
    Object,
    /// A line that begins with this byte.
    Line(u8),
}

impl After {
    fn of(piece: Option<&Piece>) -> Self {
        match piece {
            None => Self::Nothing,
            Some(Piece::Word(text)) => {
                Self::Line(text.trim_ascii().as_bytes().first().copied().unwrap_or(b'\n'))
            }
            Some(_) => Self::Object,
        }
    }

    /// Whether a byte behind closed arguments ends them.
    fn ends(self, byte: u8) -> bool {
        match self {
            Self::Nothing => false,
            Self::Object => matches!(byte, b'}' | b','),
            Self::Line(first) => byte == b'\n' || byte == first,
        }
    }

    /// Returns the number of bytes at the front that change nothing.
    fn idle(self, brackets: Brackets, bytes: &[u8]) -> usize {
        let idle = brackets.idle_before_comma(bytes);
        match self {
            Self::Line(first) if brackets.are_closed() => {
                memchr::memchr2(b'\n', first, &bytes[..idle]).unwrap_or(idle)
            }
            _ => idle,
        }
    }
}

impl Call<'_> {
    pub(super) fn arguments(&mut self, text: &str, rules: &Rules) -> Found {
        let ends_itself = self.ends_itself(rules);
        let Step::Arguments(brackets) = &mut self.step else { return Found::Wrong(0) };
        let after = After::of(rules.sections.calls.pieces.get(self.piece + 1));
        let bytes = text.as_bytes();
        let mut at = 0;
        loop {
            at += after.idle(*brackets, &bytes[at..]);
            let Some(byte) = bytes.get(at) else { return Found::Arguments(at) };
            if brackets.are_closed() && after.ends(*byte) {
                if *byte == b',' && after == After::Object {
                    self.step = Step::Other(Brackets::default());
                    self.is_odd = true;
                } else {
                    self.step = Step::Tail;
                    self.piece += 1;
                }
                return Found::Arguments(at);
            }
            brackets.step(*byte);
            at += 1;
            if ends_itself && brackets.are_closed() {
                self.step = Step::Tail;
                self.piece += 1;
                return Found::Arguments(at);
            }
        }
    }

    pub(super) fn tail(&mut self, text: &str, rules: &Rules) -> Found {
        for (at, byte) in text.bytes().enumerate() {
            if is_space(byte) {
                continue;
            }
            match rules.sections.calls.pieces.get(self.piece) {
                Some(Piece::Json(wanted) | Piece::Word(wanted)) if self.matches(wanted, byte) => {}
                _ if at > 0 => return Found::Tail(at),
                None => {
                    self.step = Step::Rest;
                    return Found::Dropped(text.len());
                }
                Some(_) => {
                    return Found::Dropped(text.chars().next().map_or(0, char::len_utf8));
                }
            }
        }
        Found::Tail(text.len())
    }

    /// Reads unknown keys, up to the brace that ends the call.
    pub(super) fn others(&mut self, text: &str) -> Found {
        let Step::Other(brackets) = &mut self.step else { return Found::Wrong(0) };
        for (at, byte) in text.bytes().enumerate() {
            if byte == b'}' && brackets.are_closed() {
                self.step = Step::Tail;
                self.piece += 1;
                return Found::Dropped(at);
            }
            brackets.step(byte);
        }
        Found::Dropped(text.len())
    }
}
