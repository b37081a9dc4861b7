//! Finds the control token at a place in text: the longest match.

use std::fmt;

use super::Mask;
use crate::Control;

/// The spellings of a token table, prepared for comparison.
///
/// One byte of the text selects a few entries. These are compared word by word.
pub(super) struct Fronts {
    entries: &'static [(Control, &'static str)],
    fronts: [Front; MOST],
    /// The position of the byte that distinguishes most entries. All spellings are longer.
    key: usize,
    /// The first entry for each value of this byte.
    first: [u8; 256],
}

/// The maximum number of spellings in a table.
pub(super) const MOST: usize = 128;

/// The number that means no entry.
const NONE: u8 = u8::MAX;

/// The number of bytes of a spelling that its front covers.
const FRONT: usize = 16;

/// The first bytes of a spelling as numbers, so that most comparisons take two steps.
#[derive(Clone, Copy)]
struct Front {
    /// The first and the next eight bytes, each with a mask.
    words: [u64; 2],
    masks: [u64; 2],
    control: Control,
    len: usize,
    /// The next entry with the same key byte. An entry follows those that begin with its spelling,
    /// so the first match is the longest.
    next: u8,
}

/// The result at a place in text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// This control token, and its length in bytes.
    Control(Control, usize),
    /// Undecided, because the text ends too early.
    Prefix,
    /// No control token.
    None,
}

impl Fronts {
    pub(super) const fn new(entries: &'static [(Control, &'static str)]) -> Self {
        assert!(entries.len() <= MOST, "more control tokens than the table holds");
        let key = key(entries);
        let fronts = [Front::new(Control::Start, ""); MOST];
        let mut all = Self { entries, fronts, key, first: [NONE; 256] };
        // In reverse, so that each chain has the order of the table.
        let mut index = entries.len();
        while index > 0 {
            index -= 1;
            all.insert(index);
        }
        all
    }

    #[expect(clippy::cast_possible_truncation, reason = "there are at most `MOST` entries")]
    const fn insert(&mut self, index: usize) {
        let (control, spelling) = self.entries[index];
        self.fronts[index] = Front::new(control, spelling);
        let first = &mut self.first[spelling.as_bytes()[self.key] as usize];
        let (mut before, mut other) = (NONE, *first);
        while other != NONE {
            if extends(self.entries[other as usize].1, spelling) {
                before = other;
            }
            other = self.fronts[other as usize].next;
        }
        if before == NONE {
            self.fronts[index].next = *first;
            *first = index as u8;
        } else {
            self.fronts[index].next = self.fronts[before as usize].next;
            self.fronts[before as usize].next = index as u8;
        }
    }

    /// Returns the longest control token at the front of `text`, of those that are `spelled`.
    /// `last` says whether the text is complete.
    #[inline(always)] // A search does little else.
    pub(super) fn at(&self, text: &[u8], spelled: Mask, last: bool) -> Found {
        let Some((front, rest)) = text.split_first_chunk::<FRONT>() else {
            return self.at_end(text, spelled, last);
        };
        let mut index = usize::from(self.first[usize::from(front[self.key % FRONT])]);
        let front = u128::from_le_bytes(*front);
        #[expect(clippy::cast_possible_truncation, reason = "the halves of it")]
        let words = [front as u64, (front >> 64) as u64];
        while let Some(entry) = self.fronts.get(index) {
            let is_front = words[0] & entry.masks[0] == entry.words[0]
                && words[1] & entry.masks[1] == entry.words[1];
            if is_front && (spelled == Mask::ALL || spelled.has(entry.control)) {
                if entry.len <= FRONT {
                    return Found::Control(entry.control, entry.len);
                }
                match self.at_long(index, rest, last) {
                    Found::None => {}
                    found => return found,
                }
            }
            index = usize::from(entry.next);
        }
        Found::None
    }

    /// Compares the rest of the entry `index` after its front has matched.
    #[inline(never)]
    fn at_long(&self, index: usize, rest: &[u8], last: bool) -> Found {
        let (control, spelling) = self.entries[index];
        let wanted = &spelling.as_bytes()[FRONT..];
        if rest.starts_with(wanted) {
            Found::Control(control, spelling.len())
        } else if !last && wanted.starts_with(rest) {
            Found::Prefix
        } else {
            Found::None
        }
    }

    /// Like [`at`](Self::at), near the end of the text.
    #[inline(never)]
    fn at_end(&self, text: &[u8], spelled: Mask, last: bool) -> Found {
        let mut found = Found::None;
        let mut longest = 0;
        for (control, spelling) in self.entries {
            let spelling = spelling.as_bytes();
            // Most text that begins like a token differs here.
            let is_other = text.get(self.key).is_some_and(|byte| *byte != spelling[self.key]);
            if is_other || !spelled.has(*control) {
                continue;
            }
            if !last && spelling.len() > text.len() && spelling.starts_with(text) {
                return Found::Prefix;
            }
            if spelling.len() > longest && text.starts_with(spelling) {
                longest = spelling.len();
                found = Found::Control(*control, longest);
            }
        }
        found
    }
}

impl fmt::Debug for Fronts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.entries.iter().copied()).finish()
    }
}

impl Front {
    const fn new(control: Control, spelling: &str) -> Self {
        let spelling = spelling.as_bytes();
        let (mut words, mut masks) = ([0; 2], [0; 2]);
        let mut at = 0;
        while at < spelling.len() && at < FRONT {
            words[at / 8] |= (spelling[at] as u64) << (8 * (at % 8));
            masks[at / 8] |= 0xFF << (8 * (at % 8));
            at += 1;
        }
        Self { words, masks, control, len: spelling.len(), next: NONE }
    }
}

/// Returns the position of the byte that distinguishes most spellings, among the positions that all
/// spellings have.
const fn key(entries: &[(Control, &str)]) -> usize {
    let (mut best, mut fewest) = (0, usize::MAX);
    let mut at = 0;
    while at < FRONT {
        // The number of pairs of entries with the same byte there.
        let mut alike = 0;
        let mut with = [0; 256];
        let mut index = 0;
        while index < entries.len() {
            let spelling = entries[index].1.as_bytes();
            assert!(!spelling.is_empty(), "a spelling is empty");
            if at >= spelling.len() {
                return best;
            }
            alike += with[spelling[at] as usize];
            with[spelling[at] as usize] += 1;
            index += 1;
        }
        if alike < fewest {
            (best, fewest) = (at, alike);
        }
        at += 1;
    }
    best
}

/// Whether `text` begins with `front`.
const fn extends(text: &str, front: &str) -> bool {
    let (text, front) = (text.as_bytes(), front.as_bytes());
    let mut same = 0;
    while same < text.len() && same < front.len() && text[same] == front[same] {
        same += 1;
    }
    same == front.len()
}
