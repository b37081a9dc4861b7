//! Finds one piece of any text: the pattern, alternative by alternative.

use crate::classes::Class;

/// Returns the end of the piece at `start`, which is the start of a character. The bytes are UTF-8
/// and not empty after `start`. The time is linear in the length of the piece and of the run of
/// letters or white space that it starts with. A run that is not completely in the piece is read at
/// most once more.
pub(super) fn piece_end(bytes: &[u8], start: usize) -> usize {
    let first = class_at(bytes, start);
    if let Some(end) = word_end(bytes, start, first) {
        return end + contraction(&bytes[end..]);
    }
    match first.class {
        Class::Number => {
            let second = class_at(bytes, first.end);
            let third = class_at(bytes, second.end);
            match (second.class, third.class) {
                (Class::Number, Class::Number) => third.end,
                (Class::Number, _) => second.end,
                _ => first.end,
            }
        }
        Class::Newline => white_end(bytes, start),
        Class::Blank => {
            let is_space = bytes[start] == b' ';
            match class_at(bytes, first.end).class {
                Class::Other | Class::Mark if is_space && first.end < bytes.len() => {
                    others_end(bytes, first.end)
                }
                _ => white_end(bytes, start),
            }
        }
        _ => others_end(bytes, start),
    }
}

/// A character: its class and its end.
#[derive(Clone, Copy)]
struct Char {
    class: Class,
    end: usize,
}

/// Returns the character at a position. At the end of the text, it has no bytes.
#[inline]
fn class_at(bytes: &[u8], at: usize) -> Char {
    let low = |byte: u8| u32::from(byte & 0x3f);
    let (character, length) = match bytes.get(at..).unwrap_or_default() {
        [] => return Char { class: Class::Other, end: at },
        [one @ ..0x80, ..] => (u32::from(*one), 1),
        [one @ ..0xe0, two, ..] => (u32::from(one & 0x1f) << 6 | low(*two), 2),
        [one @ ..0xf0, two, three, ..] => {
            (u32::from(one & 0xf) << 12 | low(*two) << 6 | low(*three), 3)
        }
        [one, two, three, four, ..] => {
            let high = u32::from(one & 7) << 18 | low(*two) << 12;
            (high | low(*three) << 6 | low(*four), 4)
        }
        _ => (0, 1),
    };
    Char { class: Class::of(character), end: at + length }
}

/// Returns the end of the letters of a piece, if it is a word: the first two alternatives, without
/// the contraction after them.
fn word_end(bytes: &[u8], start: usize, first: Char) -> Option<usize> {
    match first.class {
        Class::Upper | Class::Lower | Class::Letter => match letters(bytes, start) {
            Letters::Mixed(end) | Letters::Upper(end) => Some(end),
            Letters::None => None,
        },
        Class::Other | Class::Blank => match letters(bytes, first.end) {
            Letters::Mixed(end) | Letters::Upper(end) => Some(end),
            Letters::None => None,
        },
        // It precedes a word or is one itself. The second alternative is tried before words of
        // upper-case letters.
        Class::Mark => match letters(bytes, first.end) {
            Letters::Mixed(end) => Some(end),
            _ => Some(first.end),
        },
        Class::Number | Class::Newline => None,
    }
}

/// The alternative that the letters at a position match.
enum Letters {
    /// The first alternative: upper-case and caseless letters, then at least one lower-case or
    /// caseless letter.
    Mixed(usize),
    /// Only the second alternative: upper-case letters.
    Upper(usize),
    /// None.
    None,
}

fn letters(bytes: &[u8], start: usize) -> Letters {
    let mut at = start;
    // The end of the last caseless letter.
    let mut both = None;
    loop {
        let next = class_at(bytes, at);
        match next.class {
            Class::Upper => {}
            Class::Letter | Class::Mark => both = Some(next.end),
            Class::Lower => return Letters::Mixed(lower_end(bytes, next.end)),
            _ => break,
        }
        at = next.end;
    }
    match both {
        Some(end) => Letters::Mixed(end),
        None if at > start => Letters::Upper(at),
        None => Letters::None,
    }
}

/// Returns the end of lower-case and caseless letters.
fn lower_end(bytes: &[u8], mut at: usize) -> usize {
    loop {
        let next = class_at(bytes, at);
        match next.class {
            Class::Lower | Class::Letter | Class::Mark => at = next.end,
            _ => return at,
        }
    }
}

/// Returns the length of the contraction at the beginning of these bytes: `'s`, `'t`, `'re`, `'ve`,
/// `'m`, `'ll` or `'d` in upper or lower case, or zero.
#[inline]
pub(super) fn contraction(bytes: &[u8]) -> usize {
    let [b'\'', first, rest @ ..] = bytes else { return 0 };
    match (first | 0x20, rest.first().map(|byte| byte | 0x20)) {
        (b's' | b't' | b'm' | b'd', _) => 2,
        (b'r' | b'v', Some(b'e')) | (b'l', Some(b'l')) => 3,
        // The long s equals s without case.
        _ if bytes[1..].starts_with("ſ".as_bytes()) => 3,
        _ => 0,
    }
}

/// Returns the end of characters that are not letters, numbers or white space, and of the line ends
/// and slashes after them.
fn others_end(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() {
        let next = class_at(bytes, at);
        if !matches!(next.class, Class::Other | Class::Mark) {
            break;
        }
        at = next.end;
    }
    let trailing =
        bytes[at..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n' | b'/')).count();
    at + trailing
}

/// Returns the end of a piece of white space: after its last line end if it has one; otherwise
/// before its last character, unless it has only one character or nothing follows it.
fn white_end(bytes: &[u8], start: usize) -> usize {
    let (mut at, mut last) = (start, start);
    let mut newline = None;
    while at < bytes.len() {
        let next = class_at(bytes, at);
        match next.class {
            Class::Newline => newline = Some(next.end),
            Class::Blank => {}
            _ => break,
        }
        (last, at) = (at, next.end);
    }
    match newline {
        Some(end) => end,
        None if at == bytes.len() || last == start => at,
        None => last,
    }
}
