//! The classes of characters that the pattern tells apart.

/// What the pattern can say of a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// None of those below.
    Other,
    /// `\p{Lu}`, `\p{Lt}`.
    Upper,
    /// `\p{Ll}`.
    Lower,
    /// `\p{Lm}`, `\p{Lo}`: letters that are both.
    Letter,
    /// `\p{M}`: in words as letters are, and elsewhere as other characters are.
    Mark,
    /// `\p{N}`.
    Number,
    /// `\s`, but not the end of a line.
    Blank,
    /// `[\r\n]`.
    Newline,
}

/// The table that is written while building. See `build/classes.rs`.
const TABLE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/classes.bin"));
/// How many characters a row has, as a power of two.
const ROW: u32 = 7;
/// Where rows begin.
const ROWS: usize = (0x11_0000 >> ROW) * 2;

impl Class {
    /// The class of a character, by its number.
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
