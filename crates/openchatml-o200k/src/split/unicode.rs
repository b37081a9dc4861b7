//! One piece of any text: the pattern, alternative by alternative.

use crate::classes::Class;

/// Where the piece ends that begins at `start`, which is the start of a character. The bytes are
/// UTF-8, and there is at least one more of them. Time is linear in what the piece and the run of
/// letters or of white space it begins with have: a run that was read once and is not in the piece
/// is read once more at most.
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

/// A character: its class, and where it ends.
#[derive(Clone, Copy)]
struct Char {
    class: Class,
    end: usize,
}

/// The character at a place. At the end of the text it is one of no bytes.
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

/// Where the letters of a piece end, if it is a word: the first two alternatives, without the
/// contraction after them.
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
        // It stands before a word, or is one. The second is tried before words of upper letters.
        Class::Mark => match letters(bytes, first.end) {
            Letters::Mixed(end) => Some(end),
            _ => Some(first.end),
        },
        Class::Number | Class::Newline => None,
    }
}

/// What letters at a place match.
enum Letters {
    /// The first alternative: upper letters and those that are both, then one at least that is
    /// lower or both.
    Mixed(usize),
    /// Only the second: nothing but upper letters.
    Upper(usize),
    /// None.
    None,
}

fn letters(bytes: &[u8], start: usize) -> Letters {
    let mut at = start;
    // Behind the last letter that is both.
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

/// Where letters that are lower or both end.
fn lower_end(bytes: &[u8], mut at: usize) -> usize {
    loop {
        let next = class_at(bytes, at);
        match next.class {
            Class::Lower | Class::Letter | Class::Mark => at = next.end,
            _ => return at,
        }
    }
}

/// How long the contraction is that these bytes begin with: `'s`, `'t`, `'re`, `'ve`, `'m`, `'ll`,
/// `'d`, in either case, or nothing.
#[inline]
pub(super) fn contraction(bytes: &[u8]) -> usize {
    let [b'\'', first, rest @ ..] = bytes else { return 0 };
    match (first | 0x20, rest.first().map(|byte| byte | 0x20)) {
        (b's' | b't' | b'm' | b'd', _) => 2,
        (b'r' | b'v', Some(b'e')) | (b'l', Some(b'l')) => 3,
        // The long s is an s in another case.
        _ if bytes[1..].starts_with("ſ".as_bytes()) => 3,
        _ => 0,
    }
}

/// Where characters end that are no letters, numbers or white space, and the ends of lines and
/// slashes behind them.
fn others_end(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() {
        let next = class_at(bytes, at);
        if !matches!(next.class, Class::Other | Class::Mark) {
            break;
        }
        at = next.end;
    }
    let behind = bytes[at..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n' | b'/')).count();
    at + behind
}

/// Where white space ends as a piece: behind its last end of a line if it has one, and otherwise
/// before its last character, unless that is all there is, or nothing stands behind it.
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
