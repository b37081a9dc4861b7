//! The control tokens of a dialect, and how to find one in text.

use crate::Control;

/// How text that spells a control token is written as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escape {
    /// There is no way: such text is refused.
    None,
    /// By one more `<` in front of it, or in a literal block (OpenChatML 2.2 §3).
    DoublingOrLiteral,
}

/// The control tokens of a dialect with their spellings.
///
/// Every spelling begins with `<` and contains no other `<`, so a control token can begin only
/// where a `<` stands, and two of them cannot overlap.
#[derive(Debug)]
pub struct Controls {
    entries: &'static [(Control, &'static str)],
    escape: Escape,
    longest: usize,
    /// For each entry the eight bytes after its first two, and which of them count: most of the
    /// text that begins like a control token is told apart by one comparison of numbers.
    fronts: [(u64, u64); MOST],
    /// The first entry with a certain third byte, and after each entry the next one with the same;
    /// `MOST` is none.
    first: [u8; 256],
    next: [u8; MOST],
    /// The spelling of each control, by its number; empty where there is none.
    spellings: [&'static str; Control::COUNT],
}

/// How many control tokens a dialect has at most.
const MOST: usize = 16;

/// How many bytes of a spelling its front covers, with the two before it.
const FRONT_END: usize = 10;

/// What stands at a `<`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// This control token, so many bytes long.
    Control(Control, usize),
    /// The text ends before that can be said.
    Prefix,
    /// No control token.
    None,
}

impl Controls {
    /// A table of `(meaning, spelling)` in the order of the specification.
    #[expect(clippy::cast_possible_truncation, reason = "there are at most `MOST` entries")]
    pub const fn new(entries: &'static [(Control, &'static str)], escape: Escape) -> Self {
        assert!(entries.len() <= MOST, "more control tokens than the table holds");
        let mut longest = 0;
        let mut fronts = [(0, 0); MOST];
        let mut first = [MOST as u8; 256];
        let mut next = [MOST as u8; MOST];
        let mut spellings = [""; Control::COUNT];
        // From the end, so that each chain is in the order of the table.
        let mut index = entries.len();
        while index > 0 {
            index -= 1;
            let spelling = entries[index].1.as_bytes();
            assert!(spelling[0] == b'<' && spelling.len() > 2, "a spelling begins with `<`");
            if spelling.len() > longest {
                longest = spelling.len();
            }
            let mut at = 2;
            while at < spelling.len() && at < FRONT_END {
                let shift = 8 * (at - 2);
                fronts[index].0 |= (spelling[at] as u64) << shift;
                fronts[index].1 |= 0xFF << shift;
                at += 1;
            }
            spellings[entries[index].0.index()] = entries[index].1;
            next[index] = first[spelling[2] as usize];
            first[spelling[2] as usize] = index as u8;
        }
        Self { entries, escape, longest, fronts, first, next, spellings }
    }

    /// The meanings and spellings, in the order of the specification.
    pub fn entries(&self) -> &'static [(Control, &'static str)] {
        self.entries
    }

    /// How text that spells one of them is written.
    pub fn escape(&self) -> Escape {
        self.escape
    }

    /// The length of the longest spelling, in bytes: no more than this is ever held back.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// How `control` is spelled, if the dialect has it.
    #[inline]
    pub fn spelling(&self, control: Control) -> Option<&'static str> {
        let spelling = self.spellings[control.index()];
        (!spelling.is_empty()).then_some(spelling)
    }

    /// The control token that is spelled exactly like this.
    pub fn control(&self, spelling: &str) -> Option<Control> {
        self.entries.iter().find(|entry| entry.1 == spelling).map(|entry| entry.0)
    }

    /// What stands at the front of `text`, whose first byte is `<`.
    #[inline]
    pub(crate) fn at(&self, text: &[u8]) -> Found {
        let Some((front, _)) = text.get(2..).and_then(<[u8]>::split_first_chunk::<8>) else {
            return self.at_end(text);
        };
        let front = u64::from_le_bytes(*front);
        let mut index = usize::from(self.first[usize::from(text[2])]);
        while let Some((control, spelling)) = self.entries.get(index) {
            let (wanted, mask) = self.fronts[index];
            index = usize::from(self.next[index]);
            if front & mask != wanted || text[1] != spelling.as_bytes()[1] {
                continue;
            }
            if spelling.len() <= FRONT_END {
                return Found::Control(*control, spelling.len());
            }
            // A few bytes, compared one by one: that is quicker than a call.
            let rest = &spelling.as_bytes()[FRONT_END..];
            let found = &text[FRONT_END..];
            if rest.iter().zip(found).any(|(wanted, found)| wanted != found) {
                continue;
            }
            // No spelling is the beginning of another, so none can be complete after this one.
            return match found.len() >= rest.len() {
                true => Found::Control(*control, spelling.len()),
                false => Found::Prefix,
            };
        }
        Found::None
    }

    /// The same near the end of the text.
    fn at_end(&self, text: &[u8]) -> Found {
        let mut partial = false;
        for (control, spelling) in self.entries {
            if text.starts_with(spelling.as_bytes()) {
                return Found::Control(*control, spelling.len());
            }
            partial |= spelling.as_bytes().starts_with(text);
        }
        if partial { Found::Prefix } else { Found::None }
    }

    /// The first control token in `text`: where it begins, which one, and its length.
    ///
    /// ```
    /// use openchatml::{Control, dialects};
    ///
    /// let controls = dialects::OPENCHATML_2_2.controls;
    /// assert_eq!(controls.find("a < b <|end|>"), Some((6, Control::End, 7)));
    /// assert_eq!(controls.find("<|im_end|>"), None);
    /// ```
    pub fn find(&self, text: &str) -> Option<(usize, Control, usize)> {
        memchr::memchr_iter(b'<', text.as_bytes()).find_map(|at| {
            match self.at(&text.as_bytes()[at..]) {
                Found::Control(control, len) => Some((at, control, len)),
                Found::Prefix | Found::None => None,
            }
        })
    }

    /// Whether `text` begins, after white space, with a token that opens a message or a sequence.
    pub(crate) fn opens(&self, text: &str) -> bool {
        let text = text.trim_ascii_start();
        text.starts_with('<')
            && matches!(self.at(text.as_bytes()), Found::Control(Control::Start | Control::Bos, _))
    }

    /// Whether `text` is, after white space, a part of a control token.
    pub(crate) fn may_open(&self, text: &str) -> bool {
        let text = text.trim_ascii_start();
        text.starts_with('<') && self.at(text.as_bytes()) == Found::Prefix
    }

    /// Where the end of `text` begins that could become a control token when more text follows.
    /// With `runs`, the `<` directly before it count too, since they decide about escapes.
    pub(crate) fn open_end(&self, text: &str, runs: bool) -> usize {
        let bytes = text.as_bytes();
        let tail = bytes.len().saturating_sub(self.longest);
        let mut start = match memchr::memrchr(b'<', &bytes[tail..]) {
            Some(at) if self.at(&bytes[tail + at..]) == Found::Prefix => tail + at,
            _ => return bytes.len(),
        };
        while runs && start > 0 && bytes[start - 1] == b'<' {
            start -= 1;
        }
        start
    }
}
