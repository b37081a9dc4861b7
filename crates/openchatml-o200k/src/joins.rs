//! Finds places at which a long piece can be split so that each part is encoded separately.
//!
//! If no token crosses the border between two characters, no merge does. The parts before and after
//! the border are then encoded independently. Only few pairs of characters that are not ASCII occur
//! inside tokens, so that Chinese sentences, for example, are split into short parts that occur
//! again.
//!
//! The pairs are stored in a bit set of two kinds:
//!
//! - by a hash of two characters: whether they are adjacent in a token,
//! - by the last byte of a character and the first byte of the next one: whether these are adjacent
//!   in a token that does not contain both characters completely.
//!
//! A bit that is set for another pair prevents a split, which is never wrong.

/// The number of hashes of two characters, as a power of two.
const PAIRS: u32 = 19;
/// The size of the set, in bytes.
#[allow(dead_code, reason = "used while building, and by tests")]
pub(crate) const BYTES: usize = ((1 << PAIRS) + (1 << 16)) / 8;

/// Computes the bits of a token.
#[allow(dead_code, reason = "used while building, and by tests")]
pub(crate) fn of_token(token: &[u8], mut set: impl FnMut(usize)) {
    let mut before: &[u8] = &[];
    let mut rest = token;
    while let Some(first) = rest.first() {
        // A byte whose character begins in another token counts as a character.
        let (character, following) = rest.split_at(length(*first).min(rest.len()));
        if !before.is_empty() {
            if !(is_whole(before) && is_whole(character)) {
                set(of_bytes(before, character));
            } else if !(before.is_ascii() && character.is_ascii()) {
                set(of_characters(before, character));
            }
        }
        (before, rest) = (character, following);
    }
}

/// Returns the end of the first part of a text, by the set of all tokens.
pub(crate) fn part(bits: &[u8], text: &[u8]) -> usize {
    let has = |bit: usize| bits.get(bit / 8).is_none_or(|byte| byte >> (bit % 8) & 1 != 0);
    let character = |at: usize| text.get(at..at + text.get(at).map_or(0, |first| length(*first)));
    let Some(mut before) = character(0) else { return text.len() };
    let mut at = before.len();
    while at < text.len() {
        let Some(next) = character(at) else { return text.len() };
        let joined = before.is_ascii() && next.is_ascii()
            || has(of_characters(before, next))
            || has(of_bytes(before, next));
        if !joined {
            break;
        }
        (before, at) = (next, at + next.len());
    }
    at
}

/// Returns the length of the character that starts with this byte, or one.
#[inline]
fn length(first: u8) -> usize {
    match first {
        ..0xc0 => 1,
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        _ => 4,
    }
}

/// Whether this is a complete character.
#[allow(dead_code, reason = "used while building, and by tests")]
fn is_whole(character: &[u8]) -> bool {
    std::str::from_utf8(character).is_ok()
}

/// Returns the bit of two characters.
#[inline]
fn of_characters(before: &[u8], next: &[u8]) -> usize {
    let bytes = before.iter().chain(next);
    let both = bytes.fold(0, |both: u64, byte| both << 8 | u64::from(*byte));
    (both.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - PAIRS)) as usize
}

/// Returns the bit of two adjacent bytes of two characters.
#[inline]
fn of_bytes(before: &[u8], next: &[u8]) -> usize {
    let last = before.last().copied().unwrap_or_default();
    let first = next.first().copied().unwrap_or_default();
    (1 << PAIRS) + usize::from(u16::from_be_bytes([last, first]))
}
