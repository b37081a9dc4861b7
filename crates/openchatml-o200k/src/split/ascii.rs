//! Finds many pieces of ASCII at once.
//!
//! The positions of sixty-four bytes are put into sets: upper-case letters, digits, white space,
//! and so on. A few operations on these words find the starts of pieces. The first byte always
//! starts a piece, so earlier text does not matter. Text after the last byte can matter, so the
//! last piece is left for the next window.

use super::sets::{BYTES, Sets, below};
use super::unicode::contraction;

/// The pieces of a window.
pub(super) struct Cut {
    /// The starts of pieces. The first position is always one.
    pub(super) starts: u64,
    /// The number of bytes that were examined.
    pub(super) end: u32,
    /// Whether the last piece ends there. If not, its end is unknown.
    pub(super) whole: bool,
}

/// Finds the pieces of a window. `known` of its bytes, from one to [`BYTES`], are text. If `ends`
/// is set, the text ends after them and zeros follow; otherwise text follows.
#[inline]
pub(super) fn cut(window: &[u8; super::WINDOW], known: u32, ends: bool) -> Cut {
    let mut sets = Sets::of(window);
    let (mut end, mut whole) = (known, ends);
    if sets.high & below(known) != 0 {
        (end, whole) = (sets.high.trailing_zeros(), false);
    }
    loop {
        if end == 0 {
            return Cut { starts: 1, end, whole };
        }
        sets.keep(end);
        match starts(&sets, window, end, whole) {
            Ok(starts) => return Cut { starts, end, whole },
            Err(unsure) => (end, whole) = (unsure, false),
        }
    }
}

/// Returns the starts of pieces, if they are known for all positions. Otherwise returns the number
/// of bytes to examine instead.
#[inline(always)]
fn starts(sets: &Sets, window: &[u8; super::WINDOW], end: u32, whole: bool) -> Result<u64, u32> {
    let Sets { letter, lower, digit, space, white, newline, other, mark, .. } = *sets;
    let blank = white & !newline;

    // Line ends that belong to the piece before them.
    let absorbed = newline & !newline.wrapping_add(newline & other << 1);
    let slash = mark & absorbed << 1;
    if slash != 0 {
        return Err(slash.trailing_zeros());
    }

    // White space starts a piece if no white space precedes it, after line ends, and at the last
    // blank before other text.
    let after_newline = after_newlines(blank, newline, absorbed);
    let last = blank & !(white >> 1) & below(end) >> 1;
    let whites = white & !(white << 1) & !absorbed | after_newline | last;

    // Other characters start a piece if no such character and no space precedes them. A single one
    // without a space belongs to the letters after it, like a blank.
    let others = other & !(other << 1) & !(space << 1);
    let prefix = blank | others & !(other >> 1);
    let small = letter & lower;
    let letters = letter & (!(letter << 1 | prefix << 1) | small << 1 & !lower);

    let digits = threes(digit);
    let mut starts = whites | others | letters | digits | 1;

    let mut apostrophes = mark & letter << 1;
    let mut from = 0;
    while apostrophes != 0 {
        let at = apostrophes.trailing_zeros();
        apostrophes &= apostrophes - 1;
        let length = contraction(&window[at as usize..at as usize + 4]) as u32;
        // The letter before it may belong to another contraction, after which this one is a piece
        // of its own.
        if at <= from || length == 0 {
            continue;
        }
        if at + length > end && !whole {
            return Err(at);
        }
        from = at + length;
        starts = starts & !(below(from) & !below(at)) | bit(from) & below(end);
    }

    // White space at the end is one piece if the text ends. Otherwise only its first character is
    // known to start a piece.
    if !whole && white & bit(end - 1) != 0 {
        let run = (white << (BYTES - end)).leading_ones();
        starts &= below(end - run + 1);
    }
    Ok(starts & below(end) | 1)
}

/// Returns the set of one position, or an empty set.
#[inline(always)]
fn bit(place: u32) -> u64 {
    1_u64.checked_shl(place).unwrap_or(0)
}

/// Returns the first blanks after line ends, if no other line end follows, or if all line ends
/// before them are absorbed.
#[inline(always)]
fn after_newlines(blank: u64, newline: u64, absorbed: u64) -> u64 {
    let mut after_newline = blank & newline << 1;
    // The last blanks of runs that a line end follows.
    let mut before = blank & newline >> 1;
    while before != 0 {
        let last = before.trailing_zeros();
        before &= before - 1;
        let first = BYTES - (!blank & below(last)).leading_zeros();
        if absorbed << 1 & bit(first) == 0 {
            after_newline &= !bit(first);
        }
    }
    after_newline
}

/// Returns every third digit of each run of digits.
#[inline(always)]
fn threes(digit: u64) -> u64 {
    let mut starts = digit & !(digit << 1);
    let third = digit & digit << 1 & digit << 2 & digit << 3;
    let mut more = starts << 3 & third;
    while more != 0 {
        starts |= more;
        more = more << 3 & third;
    }
    starts
}
