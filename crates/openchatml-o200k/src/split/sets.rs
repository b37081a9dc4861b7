//! Sets of byte positions.

use wide::i8x16;

/// The number of bytes that a set covers.
pub(super) const BYTES: u32 = 64;

/// The positions of the bytes of a window, by their kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sets {
    pub(super) letter: u64,
    /// Lower-case letters, and some other bytes.
    pub(super) lower: u64,
    pub(super) digit: u64,
    /// U+0020.
    pub(super) space: u64,
    /// White space.
    pub(super) white: u64,
    /// CR and LF.
    pub(super) newline: u64,
    /// All other ASCII characters.
    pub(super) other: u64,
    /// Slashes and apostrophes.
    pub(super) mark: u64,
    /// Bytes that are not ASCII.
    pub(super) high: u64,
}

/// Returns the positions below one.
#[inline(always)]
pub(super) fn below(place: u32) -> u64 {
    if place >= BYTES { u64::MAX } else { (1 << place) - 1 }
}

impl Sets {
    /// Returns the sets of the first bytes of a window, without `other`.
    #[inline(always)]
    pub(super) fn of(window: &[u8; super::WINDOW]) -> Self {
        let mut sets = Self::default();
        for (chunk, shift) in window.as_chunks::<16>().0.iter().zip([0, 16, 32, 48]) {
            sets.add(i8x16::new(chunk.map(|byte| byte as i8)), shift);
        }
        sets
    }

    /// Adds the positions of sixteen bytes, starting at this one.
    #[inline(always)]
    fn add(&mut self, bytes: i8x16, place: u32) {
        let is = |byte: u8| bytes.simd_eq(i8x16::splat(byte as i8));
        // The range is shifted so that its last value is the highest number. One comparison then
        // tests the range.
        let between = |bytes: i8x16, first: u8, last: u8| {
            let moved = bytes + i8x16::splat((0x7f - last) as i8);
            moved.simd_gt(i8x16::splat((0x7e - (last - first)) as i8))
        };
        let set = |of: i8x16| u64::from(of.to_bitmask()) << place;
        let space = is(b' ');
        self.letter |= set(between(bytes | i8x16::splat(0x20), b'a', b'z'));
        // The bit that distinguishes lower-case from upper-case letters, shifted to the highest
        // place.
        self.lower |= set(bytes + bytes + (bytes + bytes));
        self.digit |= set(between(bytes, b'0', b'9'));
        self.space |= set(space);
        self.white |= set(space | between(bytes, b'\t', b'\r'));
        self.newline |= set(is(b'\n') | is(b'\r'));
        self.mark |= set(is(b'/') | is(b'\''));
        self.high |= set(bytes);
    }

    /// Removes all positions except the first ones.
    #[inline(always)]
    pub(super) fn keep(&mut self, places: u32) {
        let kept = below(places);
        self.letter &= kept;
        self.digit &= kept;
        self.space &= kept;
        self.white &= kept;
        self.newline &= kept;
        self.mark &= kept;
        self.other = kept & !(self.letter | self.digit | self.white);
    }
}
