//! Many pieces of ASCII at once.
//!
//! Of sixty-four bytes, sets of places are made: those of upper letters, of digits, of white space.
//! Where pieces begin follows from these sets by few operations on words. The first byte is always
//! the first of a piece, so that nothing before it matters. What follows the last byte may matter:
//! the last piece is left for the bytes that come next.

use super::sets::{BYTES, Sets, below};
use super::unicode::contraction;

/// The pieces of a window.
pub(super) struct Cut {
    /// The places where pieces begin. The first place is always one.
    pub(super) starts: u64,
    /// How many bytes these are about.
    pub(super) end: u32,
    /// Whether the last piece ends there. If not, it is not known where it ends.
    pub(super) whole: bool,
}

/// Finds the pieces of a window. Of its bytes, `known` are text, from one to [`BYTES`] of them. The
/// text `ends` behind them and zeros follow, or else what follows is text too.
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

/// The places where pieces begin, if these are known of all places. Otherwise how many of the
/// bytes are to be looked at instead.
#[inline(always)]
fn starts(sets: &Sets, window: &[u8; super::WINDOW], end: u32, whole: bool) -> Result<u64, u32> {
    let Sets { letter, lower, digit, space, white, newline, other, mark, .. } = *sets;
    let blank = white & !newline;

    // Ends of lines that belong to what stands before them.
    let absorbed = newline & !newline.wrapping_add(newline & other << 1);
    let slash = mark & absorbed << 1;
    if slash != 0 {
        return Err(slash.trailing_zeros());
    }

    // White space begins where nothing white stands before it, behind ends of lines, and with the
    // last blank before something else.
    let behind = behind_newlines(blank, newline, absorbed);
    let last = blank & !(white >> 1) & below(end) >> 1;
    let whites = white & !(white << 1) & !absorbed | behind | last;

    // Other characters begin where none stands before them, and no space. One alone, without a
    // space, belongs to the letters behind it, as a blank does.
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
        // The letter before it may be of another contraction, behind which this one is a piece.
        if at <= from || length == 0 {
            continue;
        }
        if at + length > end && !whole {
            return Err(at);
        }
        from = at + length;
        starts = starts & !(below(from) & !below(at)) | bit(from) & below(end);
    }

    // White space at the end is one piece if the text ends. If it does not, only its first
    // character is known to begin a piece.
    if !whole && white & bit(end - 1) != 0 {
        let run = (white << (BYTES - end)).leading_ones();
        starts &= below(end - run + 1);
    }
    Ok(starts & below(end) | 1)
}

/// The set of one place, or of none.
#[inline(always)]
fn bit(place: u32) -> u64 {
    1_u64.checked_shl(place).unwrap_or(0)
}

/// The first blanks behind ends of lines, behind which there is no other end of a line, or before
/// which all of them are absorbed.
#[inline(always)]
fn behind_newlines(blank: u64, newline: u64, absorbed: u64) -> u64 {
    let mut behind = blank & newline << 1;
    // The last blanks of those behind which there is one.
    let mut before = blank & newline >> 1;
    while before != 0 {
        let last = before.trailing_zeros();
        before &= before - 1;
        let first = BYTES - (!blank & below(last)).leading_zeros();
        if absorbed << 1 & bit(first) == 0 {
            behind &= !bit(first);
        }
    }
    behind
}

/// Every third digit of a run of them.
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
