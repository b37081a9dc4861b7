//! Sets of the places of bytes.

use wide::u8x16;

/// How many bytes a set is about.
pub(super) const BYTES: u32 = 64;

/// Where the bytes of a window are that have something in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sets {
    pub(super) upper: u64,
    pub(super) lower: u64,
    pub(super) digit: u64,
    /// U+0020.
    pub(super) space: u64,
    /// White space that does not end a line.
    pub(super) blank: u64,
    /// CR and LF.
    pub(super) newline: u64,
    /// Everything else that is ASCII.
    pub(super) other: u64,
    pub(super) slash: u64,
    pub(super) apostrophe: u64,
    /// What is not ASCII.
    pub(super) high: u64,
}

/// The places below one.
#[inline(always)]
pub(super) fn below(place: u32) -> u64 {
    if place >= BYTES { u64::MAX } else { (1 << place) - 1 }
}

impl Sets {
    /// The sets of the first bytes of a window, but for `other`.
    #[inline(always)]
    pub(super) fn of(window: &[u8; super::WINDOW]) -> Self {
        let mut sets = Self::default();
        for (chunk, shift) in window.as_chunks().0.iter().zip([0, 16, 32, 48]) {
            sets.add(u8x16::new(*chunk), shift);
        }
        sets
    }

    /// Adds the places of sixteen bytes, the first of which is at this place.
    #[inline(always)]
    fn add(&mut self, bytes: u8x16, place: u32) {
        let is = |byte| bytes.simd_eq(u8x16::splat(byte));
        let between = |first: u8, last: u8| {
            let above = bytes - u8x16::splat(first);
            above.min(u8x16::splat(last - first)).simd_eq(above)
        };
        let set = |of: u8x16| u64::from(of.to_bitmask()) << place;
        let space = is(b' ');
        self.upper |= set(between(b'A', b'Z'));
        self.lower |= set(between(b'a', b'z'));
        self.digit |= set(between(b'0', b'9'));
        self.space |= set(space);
        self.blank |= set(space | is(b'\t') | between(0x0b, 0x0c));
        self.newline |= set(is(b'\n') | is(b'\r'));
        self.slash |= set(is(b'/'));
        self.apostrophe |= set(is(b'\''));
        self.high |= set(bytes);
    }

    /// Forgets all places but the first ones.
    #[inline(always)]
    pub(super) fn keep(&mut self, places: u32) {
        let kept = below(places);
        self.upper &= kept;
        self.lower &= kept;
        self.digit &= kept;
        self.space &= kept;
        self.blank &= kept;
        self.newline &= kept;
        self.other = kept & !(self.upper | self.lower | self.digit | self.blank | self.newline);
        self.slash &= kept;
        self.apostrophe &= kept;
    }
}
