//! Where in text control tokens stand.

use std::sync::OnceLock;

use memchr::memmem::Finder;

use super::Mask;
use super::fronts::{Found, Fronts};
use crate::Control;

/// What the spellings of a table begin with.
#[derive(Debug)]
pub(super) struct Beginnings {
    /// Whether a byte is the first of a spelling, and whether it may follow the first.
    is_first: [bool; 256],
    is_second: [bool; 256],
    /// The first bytes, as far as there is room, and how many there are.
    firsts: [u8; 3],
    count: usize,
    /// The first two bytes, if they are the same in all spellings.
    pair: Option<[u8; 2]>,
    /// Searches for the pair. Setting it up costs as much as reading a message.
    finder: OnceLock<Finder<'static>>,
}

/// Finds the control tokens of a table in text.
#[derive(Clone, Debug)]
pub(crate) struct Search<'t> {
    fronts: &'t Fronts,
    beginnings: &'t Beginnings,
    /// Finds the two bytes that all spellings begin with, if they do.
    finder: Option<&'t Finder<'static>>,
}

impl Beginnings {
    pub(super) const fn new(entries: &[(Control, &str)]) -> Self {
        let (mut is_first, mut is_second) = ([false; 256], [false; 256]);
        let (mut firsts, mut count) = ([0; 3], 0);
        let mut pair = None;
        let mut index = 0;
        while index < entries.len() {
            let spelling = entries[index].1.as_bytes();
            let first = spelling[0] as usize;
            if !is_first[first] {
                is_first[first] = true;
                if count < firsts.len() {
                    firsts[count] = spelling[0];
                }
                count += 1;
            }
            match spelling {
                [_, second, ..] => is_second[*second as usize] = true,
                // Any byte may follow.
                _ => is_second = [true; 256],
            }
            pair = match (pair, spelling) {
                (None, [one, two, ..]) if index == 0 => Some([*one, *two]),
                (Some(pair), [one, two, ..]) if pair[0] == *one && pair[1] == *two => Some(pair),
                _ => None,
            };
            index += 1;
        }
        Self { is_first, is_second, firsts, count, pair, finder: OnceLock::new() }
    }

    /// Whether a spelling begins with this byte.
    #[inline]
    pub(super) const fn has(&self, byte: u8) -> bool {
        self.is_first[byte as usize]
    }

    /// The first place in `text` where a spelling may begin, if their first bytes are several.
    #[inline(never)]
    fn find(&self, text: &[u8]) -> Option<usize> {
        let [one, two, three] = self.firsts;
        match self.count {
            0 => None,
            2 => self.find_by(text, |rest| memchr::memchr2(one, two, rest)),
            3 => self.find_by(text, |rest| memchr::memchr3(one, two, three, rest)),
            _ => self.find_by(text, |rest| rest.iter().position(|byte| self.has(*byte))),
        }
    }

    #[inline(always)] // Most of it is the search for the first byte.
    fn find_by(&self, text: &[u8], find_first: impl Fn(&[u8]) -> Option<usize>) -> Option<usize> {
        let mut from = 0;
        loop {
            let at = from + find_first(&text[from..])?;
            match text.get(at + 1) {
                Some(second) if !self.is_second[usize::from(*second)] => from = at + 1,
                _ => return Some(at),
            }
        }
    }
}

impl<'t> Search<'t> {
    pub(super) fn new(fronts: &'t Fronts, beginnings: &'t Beginnings) -> Self {
        let setup = |pair| beginnings.finder.get_or_init(|| Finder::new(pair).into_owned());
        Self { fronts, beginnings, finder: beginnings.pair.as_ref().map(setup) }
    }

    /// The byte that all spellings begin with, if there is one.
    pub(crate) fn first(&self) -> Option<u8> {
        (self.beginnings.count == 1).then_some(self.beginnings.firsts[0])
    }

    /// The first place at or after byte `from` where a control token stands or may stand, of those
    /// that are `spelled`; the end of the text if there is none. More text may follow unless it is
    /// the `last`.
    #[inline(always)] // What its callers do with a token takes less time than a call.
    pub(crate) fn next(
        &self,
        text: &[u8],
        from: usize,
        spelled: Mask,
        last: bool,
    ) -> (usize, Found) {
        let mut from = from;
        while let Some(at) = self.candidate(&text[from..]) {
            let at = from + at;
            match self.fronts.at(&text[at..], spelled, last) {
                Found::None => from = at + 1,
                found => return (at, found),
            }
        }
        (text.len(), Found::None)
    }
    /// The first place in `text` where a spelling may begin. Where all begin with the same two bytes,
    /// such as `<|`, one of them alone, in code or in arithmetic, costs nothing.
    #[inline(always)]
    fn candidate(&self, text: &[u8]) -> Option<usize> {
        let Some(finder) = self.finder else {
            let Beginnings { firsts: [first, ..], count, .. } = self.beginnings;
            return match count {
                1 => self.beginnings.find_by(text, |rest| memchr::memchr(*first, rest)),
                _ => self.beginnings.find(text),
            };
        };
        let at = finder.find(text);
        // What follows the last byte may have yet to arrive.
        let ends = || text.last().is_some_and(|byte| self.beginnings.has(*byte));
        at.or_else(|| ends().then(|| text.len() - 1))
    }
}
