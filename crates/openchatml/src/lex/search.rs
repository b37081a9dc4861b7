//! Searches for control tokens in text.

use std::sync::OnceLock;

use memchr::memmem::Finder;

use super::Mask;
use super::fronts::{Found, Fronts};
use crate::Control;

/// How the spellings of a table begin.
#[derive(Debug)]
pub(super) struct Beginnings {
    /// For each byte, whether it is the first byte of a spelling, and whether it can be the second.
    is_first: [bool; 256],
    is_second: [bool; 256],
    /// The first bytes, as far as they fit, and their number.
    firsts: [u8; 3],
    count: usize,
    /// The first two bytes, if all spellings share them.
    pair: Option<[u8; 2]>,
    /// The search for these two bytes. Creating it costs as much as reading a message.
    finder: OnceLock<Finder<'static>>,
}

/// Finds the control tokens of a table in text.
#[derive(Clone, Debug)]
pub(crate) struct Search<'t> {
    fronts: &'t Fronts,
    beginnings: &'t Beginnings,
    /// The search for the first two bytes, if all spellings share them.
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
                // Any byte can follow.
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

    /// Returns the first place in `text` where a spelling can begin, if there are several first
    /// bytes.
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

    /// Returns the first byte of all spellings, if they share it.
    pub(crate) fn first(&self) -> Option<u8> {
        (self.beginnings.count == 1).then_some(self.beginnings.firsts[0])
    }

    /// Returns the first place at or after byte `from` with a control token, or where one can
    /// begin, of those that are `spelled`. Returns the end of the text if there is none. `last`
    /// says whether the text is complete.
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
    /// Returns the first place in `text` where a spelling can begin. If all spellings share two
    /// bytes, such as `<|`, a single one of them (in code or arithmetic) costs nothing.
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
        // The byte after the last one may not have arrived yet.
        let ends = || text.last().is_some_and(|byte| self.beginnings.has(*byte));
        at.or_else(|| ends().then(|| text.len() - 1))
    }
}
