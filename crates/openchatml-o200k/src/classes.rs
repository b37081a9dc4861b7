//! The character classes of the pattern.

/// The class of a character in the pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Any other character.
    Other,
    /// `\p{Lu}`, `\p{Lt}`.
    Upper,
    /// `\p{Ll}`.
    Lower,
    /// `\p{Lm}`, `\p{Lo}`: caseless letters.
    Letter,
    /// `\p{M}`: like a letter in words, and like other characters elsewhere.
    Mark,
    /// `\p{N}`.
    Number,
    /// `\s` except line ends.
    Blank,
    /// `[\r\n]`.
    Newline,
}

/// The table that the build script writes. See `build/classes.rs`.
const TABLE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/classes.bin"));
/// The number of characters of a row, as a power of two.
const ROW: u32 = 7;
/// The start of the rows.
const ROWS: usize = (0x11_0000 >> ROW) * 2;

impl Class {
    /// Returns the class of a character.
    #[inline]
    pub(crate) fn of(character: u32) -> Self {
        let entry = (character >> ROW) as usize * 2;
        let row = usize::from(u16::from_le_bytes([TABLE[entry], TABLE[entry + 1]]));
        match TABLE[ROWS + (row << ROW) + (character & ((1 << ROW) - 1)) as usize] {
            1 => Self::Upper,
            2 => Self::Lower,
            3 => Self::Letter,
            4 => Self::Mark,
            5 => Self::Number,
            6 => Self::Blank,
            7 => Self::Newline,
            _ => Self::Other,
        }
    }
}
