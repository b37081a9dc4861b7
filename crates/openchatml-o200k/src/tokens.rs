//! The bytes of tokens, by their ranks.

/// How many bytes each token has.
pub(crate) const LENGTHS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/lengths.bin"));
/// The tokens that are text, one after another.
const TEXTS: &str = include_str!(concat!(env!("OUT_DIR"), "/texts.txt"));
/// The tokens that are no text: parts of characters.
const PARTS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/parts.bin"));
/// The ranks of these, four bytes each.
const RANKS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/ranks.bin"));

/// Where the bytes of each token are.
#[derive(Debug)]
pub(crate) struct Tokens {
    /// Where each token begins in [`TEXTS`], and where the last one ends. Those that are no text
    /// are empty there.
    starts: Vec<u32>,
    /// The tokens that are no text: their ranks, and where they begin and end in [`PARTS`].
    parts: Vec<(u32, u32, u32)>,
}

impl Tokens {
    /// Finds out where all tokens are.
    pub(crate) fn load() -> Self {
        let ranks = RANKS.as_chunks().0;
        let mut this = Self {
            starts: Vec::with_capacity(LENGTHS.len() + 1),
            parts: Vec::with_capacity(ranks.len()),
        };
        let mut ranks = ranks.iter().map(|rank| u32::from_le_bytes(*rank)).peekable();
        let (mut text, mut part) = (0, 0);
        for (rank, length) in (0..).zip(LENGTHS) {
            this.starts.push(text);
            if ranks.next_if_eq(&rank).is_some() {
                this.parts.push((rank, part, part + u32::from(*length)));
                part += u32::from(*length);
            } else {
                text += u32::from(*length);
            }
        }
        this.starts.push(text);
        this
    }

    /// The token as text, if it is text.
    #[inline]
    pub(crate) fn text(&self, rank: u32) -> Option<&'static str> {
        let [start, end] = self.starts.get(rank as usize..)?.first_chunk()?;
        TEXTS.get(*start as usize..*end as usize).filter(|text| !text.is_empty())
    }

    /// Says that the text of a token is asked for soon.
    #[inline]
    pub(crate) fn prefetch(&self, rank: u32) {
        if let Some(start) = self.starts.get(rank as usize) {
            prefetch_index::prefetch_index(TEXTS.as_bytes(), *start as usize);
        }
    }

    /// The bytes of a token.
    #[inline]
    pub(crate) fn bytes(&self, rank: u32) -> Option<&'static [u8]> {
        match self.text(rank) {
            Some(text) => Some(text.as_bytes()),
            None => self.part(rank),
        }
    }

    /// The bytes of a token that is no text.
    #[cold]
    fn part(&self, rank: u32) -> Option<&'static [u8]> {
        let at = self.parts.binary_search_by_key(&rank, |part| part.0).ok()?;
        let (_, start, end) = self.parts[at];
        PARTS.get(start as usize..end as usize)
    }
}
