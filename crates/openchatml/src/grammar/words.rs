//! Finds the words of headers, eight bytes at a time.

use crate::Span;

const ONES: u64 = u64::from_le_bytes([1; 8]);
const HIGH: u64 = u64::from_le_bytes([0x80; 8]);

/// Returns the words of a text with their spans.
pub(crate) fn words(text: &str, at: usize) -> impl Iterator<Item = (&str, Span)> {
    let mut rest = text;
    let mut at = at;
    std::iter::from_fn(move || {
        let trimmed = rest.trim_ascii_start();
        at += rest.len() - trimmed.len();
        let len = word_len(trimmed.as_bytes());
        let (word, after) = trimmed.split_at(len);
        let span = Span::new(at, at + len);
        rest = after;
        at += len;
        (len > 0).then_some((word, span))
    })
}

/// Returns the number of bytes before the first white space.
fn word_len(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(chunk) = bytes[at..].first_chunk() {
        let low = not_above_space(u64::from_le_bytes(*chunk));
        if low == 0 {
            at += 8;
            continue;
        }
        // Only the lowest bit is reliable; the bits above it may be wrong.
        at += (low.trailing_zeros() / 8) as usize;
        if bytes[at].is_ascii_whitespace() {
            return at;
        }
        at += 1;
    }
    let rest = &bytes[at..];
    at + rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len())
}

/// Whether a text contains no white space and no control characters.
pub(crate) fn is_graphic(text: &str) -> bool {
    let (chunks, rest) = text.as_bytes().as_chunks();
    let is_ascii = |chunk: &[u8; 8]| {
        let chunk = u64::from_le_bytes(*chunk);
        // One more than the last graphic byte of ASCII has the high bit, too.
        (not_above_space(chunk) | chunk & HIGH | chunk.wrapping_add(ONES) & HIGH) == 0
    };
    let is_plain = chunks.iter().all(is_ascii) && rest.iter().all(u8::is_ascii_graphic);
    is_plain || !text.chars().any(|c| c.is_control() || c.is_whitespace())
}

/// Sets the high bit of each byte that is not greater than a space. It may also set the high bit of
/// bytes after such a byte.
fn not_above_space(chunk: u64) -> u64 {
    chunk.wrapping_sub(ONES * (b' ' as u64 + 1)) & !chunk & HIGH
}

#[cfg(test)]
mod tests {
    use super::{is_graphic, words};
    use crate::Span;

    #[test]
    fn eight_bytes_at_a_time_are_as_one_by_one() {
        // Each byte at each position, with other bytes before and after it.
        for byte in (0..0x80_u8).chain([0xC2]) {
            for place in 0..20 {
                let mut bytes = *b"abcdefghijklmnopqrst";
                bytes[place] = byte;
                let text = String::from_utf8_lossy(&bytes);
                let wanted: Vec<_> = text.split_ascii_whitespace().collect();
                let found: Vec<_> = words(&text, 0).collect();
                assert_eq!(found.iter().map(|it| it.0).collect::<Vec<_>>(), wanted, "{text:?}");
                let spans: Vec<&str> = found.iter().map(|it| &text[it.1.range()]).collect();
                assert_eq!(spans, wanted, "{text:?}");
                let is_bad = |c: char| c.is_control() || c.is_whitespace();
                assert_eq!(is_graphic(&text), !text.contains(is_bad), "{text:?}");
            }
        }
        assert_eq!(words("  a", 7).next(), Some(("a", Span::new(9, 10))));
    }
}
