//! Where the header ends and the messages begin (OpenChatML 2.2 §2).
//!
//! The header is bare YAML from the first byte to the first line that begins with a control token,
//! which opens a message. Whether there is one shows in the first line that says anything: it is a key
//! with a colon, or a fence. Anything else means that there is none, and it means so at once, so
//! that a stream of model output is not held back.

use crate::lex::{Found, Mask, TokenTable};

/// A key this long without a colon is no key.
const KEY_BYTES: usize = 128;

/// Looks for the end of the header in a growing text.
#[derive(Debug, Default)]
pub(crate) struct Preamble {
    /// Where the line begins that is looked at.
    line: usize,
    /// Up to where there is no line break in it.
    searched: usize,
    /// Up to where it is white space.
    blank: usize,
    /// Whether the first line that says anything was that of a header.
    is_header: bool,
}

/// What is known so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scan {
    /// Nothing yet, but that a header is at least so many bytes long.
    More(usize),
    /// There is no header.
    None,
    /// The header ends at this byte.
    Header(usize),
}

enum Line {
    Open,
    Frame,
    Other,
}

impl Preamble {
    /// Looks at `text`, which is all that has arrived, and the `last` to arrive.
    pub(crate) fn scan(&mut self, text: &str, last: bool, starts: &[&'static TokenTable]) -> Scan {
        let bytes = text.as_bytes();
        loop {
            match begins(&bytes[self.line..], last, starts) {
                Line::Open => return Scan::More(self.line),
                Line::Frame if self.is_header => return Scan::Header(self.line),
                Line::Frame => return Scan::None,
                Line::Other => {}
            }
            // What was looked at before is not looked at again.
            let rest = memchr::memchr(b'\n', &bytes[self.searched..]);
            let end = rest.map(|at| self.searched + at);
            self.searched = end.unwrap_or(bytes.len());
            if !self.is_header {
                let line = &bytes[self.blank..end.unwrap_or(bytes.len())];
                self.blank += line.len() - line.trim_ascii_start().len();
                match first_line(line.trim_ascii_start(), end.is_some() || last) {
                    First::Blank => {}
                    First::Header => self.is_header = true,
                    First::Other => return Scan::None,
                    First::Open => return Scan::More(bytes.len()),
                }
            }
            match end {
                Some(end) => self.line = end + 1,
                None if !last => return Scan::More(bytes.len()),
                None if self.is_header => return Scan::Header(bytes.len()),
                None => return Scan::None,
            }
            self.searched = self.line;
            self.blank = self.line;
        }
    }
}

/// Whether a line begins with the token that opens a message or a sequence.
fn begins(line: &[u8], last: bool, starts: &[&'static TokenTable]) -> Line {
    if line.is_empty() && !last {
        return Line::Open;
    }
    let mut open = false;
    for controls in starts {
        match controls.at(line, Mask::ALL, last) {
            // Any of them: YAML has no line that begins like that.
            Found::Control(..) => return Line::Frame,
            Found::Prefix => open = true,
            Found::None => {}
        }
    }
    if open { Line::Open } else { Line::Other }
}

enum First {
    /// It says nothing: the next one decides.
    Blank,
    Header,
    Other,
    /// More of it is needed.
    Open,
}

/// Whether a line is the first of a header: its text, without the space before it and the line
/// break, and whether that is all of it.
fn first_line(text: &[u8], complete: bool) -> First {
    let open = |otherwise| if complete { otherwise } else { First::Open };
    match text.first() {
        None | Some(b'#') => open(First::Blank),
        Some(b'{' | b'%') => First::Header,
        Some(b'-') => match text.strip_prefix(b"---") {
            Some(rest) => {
                let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r');
                match rest.iter().take(KEY_BYTES).all(is_space) {
                    true if rest.len() > KEY_BYTES => First::Header,
                    true => open(First::Header),
                    false => First::Other,
                }
            }
            None if b"---".starts_with(text) => open(First::Other),
            None => First::Other,
        },
        Some(_) => {
            let is_key = |b: &u8| {
                b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'"' | b'\'')
            };
            let key = text.iter().take(KEY_BYTES).take_while(|byte| is_key(byte)).count();
            match (text.get(key), text.get(key + 1)) {
                (Some(b':'), Some(b' ' | b'\t' | b'\r')) if key > 0 => First::Header,
                (Some(b':'), None) if key > 0 => open(First::Header),
                (None, None) => open(First::Other),
                _ => First::Other,
            }
        }
    }
}
