//! The bytes of tokens, by their ranks.

use crate::hash::{Key, SHORT};

/// The length of each token, in bytes.
pub(crate) const LENGTHS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/lengths.bin"));
/// The concatenated tokens that are valid text.
const TEXTS: &str = include_str!(concat!(env!("OUT_DIR"), "/texts.txt"));
/// The tokens that are not valid text: parts of characters.
const PARTS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/parts.bin"));
/// The ranks of the tokens in [`PARTS`], four bytes each.
const RANKS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/ranks.bin"));

/// The number of tokens that are decoded together.
const BLOCK: usize = 64;
/// The size of a cell, in bytes.
const CELL: usize = SHORT + 1;
/// The last byte of a cell whose text is too long. The cell contains the position in [`TEXTS`],
/// seven bits per byte.
const LONG: u8 = SHORT as u8 + 1;
/// The cell of a token that is not valid text.
const PART: &str = "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x7F";

const _: () = assert!(TEXTS.len() < 1 << 21, "a place fits in three times seven bits");

/// The bytes of each token.
#[derive(Debug)]
pub(crate) struct Tokens {
    /// A cell for each token, so that a lookup accesses memory once. For a short text, the cell is
    /// its [`Key`]: the text, zeros, and the length.
    cells: String,
    /// The tokens that are not valid text: their ranks, and their ranges in [`PARTS`].
    parts: Vec<(u32, u32, u32)>,
}

impl Tokens {
    /// Loads all tokens.
    pub(crate) fn load() -> Self {
        let ranks = RANKS.as_chunks().0;
        let mut this = Self {
            cells: String::with_capacity(LENGTHS.len() * CELL),
            parts: Vec::with_capacity(ranks.len()),
        };
        let mut ranks = ranks.iter().map(|rank| u32::from_le_bytes(*rank)).peekable();
        let (mut text, mut part) = (0, 0);
        for (rank, length) in (0..).zip(LENGTHS) {
            let next = u32::from(*length);
            if ranks.next_if_eq(&rank).is_some() {
                this.parts.push((rank, part, part + next));
                this.cells.push_str(PART);
                part += next;
            } else {
                this.push(text, usize::from(*length));
                text += usize::from(*length);
            }
        }
        this
    }

    /// Adds the cell of a token at this position in [`TEXTS`].
    fn push(&mut self, at: usize, length: usize) {
        let fits = length <= SHORT;
        let place = |bits: u32| (at >> bits & 0x7F) as u8;
        let start = [place(0), place(7), place(14)].map(char::from);
        let before = self.cells.len();
        match fits {
            true => self.cells.push_str(&TEXTS[at..at + length]),
            false => self.cells.extend(start),
        }
        let zeros = SHORT - (self.cells.len() - before);
        self.cells.extend(std::iter::repeat_n('\0', zeros));
        self.cells.push(char::from(if fits { length as u8 } else { LONG }));
    }

    /// Returns the text of a token, if it is valid text.
    #[inline]
    pub(crate) fn text(&self, rank: u32) -> Option<&str> {
        let at = rank as usize * CELL;
        let length = usize::from(self.cell(rank)?[SHORT]);
        if length <= SHORT { self.cells.get(at..at + length) } else { self.long(rank) }
    }

    /// Returns the text of a token, if it is a long text.
    #[cold]
    fn long(&self, rank: u32) -> Option<&'static str> {
        let cell = self.cell(rank)?;
        let start = cell[..3].iter().rev().fold(0, |start, bits| start << 7 | usize::from(*bits));
        let length = usize::from(*LENGTHS.get(rank as usize)?);
        (cell[SHORT] == LONG).then(|| &TEXTS[start..start + length])
    }

    #[inline]
    fn cell(&self, rank: u32) -> Option<&[u8; CELL]> {
        self.cells.as_bytes().as_chunks().0.get(rank as usize)
    }

    /// Whether this is the key of the token.
    #[inline]
    pub(crate) fn has_key(&self, rank: u32, key: Key) -> bool {
        self.cell(rank).is_some_and(|cell| *cell == key.bytes())
    }

    /// Prefetches a token.
    #[inline]
    pub(crate) fn prefetch(&self, rank: u32) {
        prefetch_index::prefetch_index(self.cells.as_bytes().as_chunks::<CELL>().0, rank as usize);
    }

    /// Returns the bytes of a token.
    #[inline]
    pub(crate) fn bytes(&self, rank: u32) -> Option<&[u8]> {
        match self.text(rank) {
            Some(text) => Some(text.as_bytes()),
            None => self.part(rank),
        }
    }

    /// Adds the bytes of tokens, and their starts in `bytes`. Stops before an id that is not a
    /// token. Returns how many were added.
    pub(crate) fn decode(
        &self,
        ranks: &[u32],
        bytes: &mut Vec<u8>,
        starts: &mut Vec<usize>,
    ) -> usize {
        // Whole cells are copied, each over the unused end of the previous one. Only the positions
        // depend on earlier cells, so the memory accesses of many cells overlap.
        let mut block = [0; BLOCK * CELL];
        let mut done = 0;
        for ranks in ranks.chunks(BLOCK) {
            let mut at = 0;
            ranks.iter().for_each(|rank| self.prefetch(*rank));
            for rank in ranks {
                let Some(cell) = self.cell(*rank) else {
                    bytes.extend_from_slice(&block[..at]);
                    return done;
                };
                starts.push(bytes.len() + at);
                done += 1;
                let length = usize::from(cell[SHORT]);
                if length <= SHORT {
                    block[at..at + CELL].copy_from_slice(cell);
                    at += length;
                    continue;
                }
                bytes.extend_from_slice(&block[..at]);
                bytes.extend_from_slice(self.bytes(*rank).unwrap_or_default());
                at = 0;
            }
            bytes.extend_from_slice(&block[..at]);
        }
        done
    }

    /// Returns the bytes of a token that is not valid text.
    #[cold]
    fn part(&self, rank: u32) -> Option<&'static [u8]> {
        let at = self.parts.binary_search_by_key(&rank, |part| part.0).ok()?;
        let (_, start, end) = self.parts[at];
        PARTS.get(start as usize..end as usize)
    }
}
