//! Finds the end of the header and the start of the messages (OpenChatML 2.2 §2).
//!
//! The header is YAML from the first byte to the first line that begins with a control token that
//! opens a message. The first line that is not blank shows whether there is a header: it is a key
//! with a colon, or a fence. For any other line there is no header. This is known at once, so that
//! a stream of model output is not held back.

use crate::lex::{Found, Mask, TokenTable};

/// A key without a colon cannot be longer than this.
const KEY_BYTES: usize = 128;

/// Searches the end of the header in a growing text.
#[derive(Debug, Default)]
pub(crate) struct Preamble {
    /// The start of the current line.
    line: usize,
    /// The end of the part without a line break.
    searched: usize,
    /// The end of the white space at the beginning.
    blank: usize,
    /// Whether the first line that is not blank belongs to a header.
    is_header: bool,
}

/// The result so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scan {
    /// Unknown; a header is at least this number of bytes long.
    More(usize),
    /// There is no header.
    None,
    /// The end of the header.
    Header(usize),
}

enum Line {
    Open,
    Frame,
    Other,
}

impl Preamble {
    /// Scans `text`, which is everything that has arrived. `last` says whether it is complete.
    pub(crate) fn scan(&mut self, text: &str, last: bool, starts: &[&'static TokenTable]) -> Scan {
        let bytes = text.as_bytes();
        loop {
            match begins(&bytes[self.line..], last, starts) {
                Line::Open => return Scan::More(self.line),
                Line::Frame if self.is_header => return Scan::Header(self.line),
                Line::Frame => return Scan::None,
                Line::Other => {}
            }
            // The text that was scanned before is skipped.
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
            // Any token: no line of YAML begins with one.
            Found::Control(..) => return Line::Frame,
            Found::Prefix => open = true,
            Found::None => {}
        }
    }
    if open { Line::Open } else { Line::Other }
}

enum First {
    /// A blank line: the next one decides.
    Blank,
    Header,
    Other,
    /// More of the line is needed.
    Open,
}

/// Returns whether a line is the first line of a header. `text` is the line without white space at
/// its beginning and without its line break. `complete` says whether it is complete.
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
