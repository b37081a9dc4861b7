//! The control tokens of a dialect, and how to find one in text.

use super::Mask;
use super::candidates::{Candidates, PAIR};
use crate::Control;

/// How text that spells a control token is written as text.
///
/// ```
/// use openchatml::{Format, lex::Escape};
///
/// // Where there is no escape, some content cannot be written.
/// let escapes = |format: &Format| format.dialect().controls.escape() != Escape::None;
/// let names: Vec<_> = Format::all().filter(escapes).map(|format| format.to_string()).collect();
/// assert_eq!(names, ["openchatml-2.2", "openchatml-2.2:json"]);
/// ```
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
///
/// ```
/// use openchatml::{Control, dialects};
///
/// let controls = dialects::OPENCHATML_2_2.controls;
/// assert_eq!(controls.spelling(Control::Call), Some("<|call|>"));
/// assert_eq!(controls.control("<|im_end|>"), None);
/// assert_eq!(controls.longest(), "<|start_introspect|>".len());
/// ```
#[derive(Debug)]
pub struct Controls {
    entries: &'static [(Control, &'static str)],
    escape: Escape,
    longest: usize,
    /// The entries as they are compared.
    fronts: [Front; MOST],
    /// The first entry with a certain third byte; `MOST` is none.
    first: [u8; 256],
    /// The spelling of each control, by its number; empty where there is none.
    spellings: [&'static str; Control::COUNT],
    /// Whether all spellings begin with [`PAIR`].
    pairs: bool,
}

/// How many control tokens a dialect has at most.
const MOST: usize = 16;

/// The first bytes of a spelling as numbers: most are compared in two steps.
#[derive(Clone, Copy, Debug)]
struct Front {
    /// The first eight bytes and the next eight, and which of them count.
    words: [u64; 2],
    masks: [u64; 2],
    control: Control,
    len: usize,
    /// The next entry with the same third byte; `MOST` is none.
    next: u8,
}

/// How many bytes of a spelling its front covers.
const FRONT: usize = 16;

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
    ///
    /// # Panics
    ///
    /// There are more than 16 entries, or a spelling has less than three bytes or does not begin
    /// with `<`. In a `static`, as here, that is an error at compile time.
    ///
    /// ```
    /// use openchatml::Control;
    /// use openchatml::lex::{Controls, Escape};
    ///
    /// static TAGS: Controls =
    ///     Controls::new(&[(Control::Start, "<turn>"), (Control::End, "</turn>")], Escape::None);
    /// assert_eq!(TAGS.find("Hello.</turn>"), Some((6, Control::End, 7)));
    /// ```
    #[expect(clippy::cast_possible_truncation, reason = "there are at most `MOST` entries")]
    pub const fn new(entries: &'static [(Control, &'static str)], escape: Escape) -> Self {
        assert!(entries.len() <= MOST, "more control tokens than the table holds");
        let mut longest = 0;
        let none = Front {
            words: [0; 2],
            masks: [0; 2],
            control: Control::Start,
            len: 0,
            next: MOST as u8,
        };
        let mut fronts = [none; MOST];
        let mut first = [MOST as u8; 256];
        let mut spellings = [""; Control::COUNT];
        let mut pairs = true;
        // From the end, so that each chain is in the order of the table.
        let mut index = entries.len();
        while index > 0 {
            index -= 1;
            let (control, spelling) = (entries[index].0, entries[index].1.as_bytes());
            assert!(spelling[0] == b'<' && spelling.len() > 2, "a spelling begins with `<`");
            check(entries, index);
            if spelling.len() > longest {
                longest = spelling.len();
            }
            let front = &mut fronts[index];
            front.control = control;
            front.len = spelling.len();
            front.next = first[spelling[2] as usize];
            let mut at = 0;
            while at < spelling.len() && at < FRONT {
                front.words[at / 8] |= (spelling[at] as u64) << (8 * (at % 8));
                front.masks[at / 8] |= 0xFF << (8 * (at % 8));
                at += 1;
            }
            pairs &= spelling[1] == PAIR[1];
            spellings[control.index()] = entries[index].1;
            first[spelling[2] as usize] = index as u8;
        }
        Self { entries, escape, longest, fronts, first, spellings, pairs }
    }

    /// The meanings and spellings, in the order of the specification.
    ///
    /// ```
    /// use openchatml::dialects;
    ///
    /// let entries = dialects::IM.controls.entries();
    /// let spellings: Vec<_> = entries.iter().map(|(_, spelling)| *spelling).collect();
    /// assert_eq!(spellings, ["<|im_start|>", "<|im_end|>"]);
    /// ```
    pub fn entries(&self) -> &'static [(Control, &'static str)] {
        self.entries
    }

    /// How text that spells one of them is written.
    ///
    /// ```
    /// use openchatml::{dialects, lex::Escape};
    ///
    /// assert_eq!(dialects::OPENCHATML_2_2.controls.escape(), Escape::DoublingOrLiteral);
    /// assert_eq!(dialects::OPENCHATML_2_0.controls.escape(), Escape::None);
    /// ```
    pub fn escape(&self) -> Escape {
        self.escape
    }

    /// The length of the longest spelling, in bytes: no more than this is ever held back.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// How `control` is spelled, if the dialect has it.
    ///
    /// ```
    /// use openchatml::{Control, dialects};
    ///
    /// assert_eq!(dialects::CHATML.controls.spelling(Control::End), Some("<|end_message|>"));
    /// assert_eq!(dialects::CHATML.controls.spelling(Control::Channel), None);
    /// ```
    #[inline]
    pub fn spelling(&self, control: Control) -> Option<&'static str> {
        let spelling = self.spellings[control.index()];
        (!spelling.is_empty()).then_some(spelling)
    }

    /// The control token that is spelled exactly like this.
    ///
    /// ```
    /// use openchatml::{Control, dialects};
    ///
    /// let controls = dialects::IM.controls;
    /// assert_eq!(controls.control("<|im_end|>"), Some(Control::End));
    /// assert_eq!(controls.control("<|im_end|>\n"), None);
    /// ```
    pub fn control(&self, spelling: &str) -> Option<Control> {
        self.entries.iter().find(|entry| entry.1 == spelling).map(|entry| entry.0)
    }

    /// Where in text one of them may begin.
    pub(crate) fn candidates(&self) -> Candidates {
        Candidates::new(self.pairs)
    }

    /// What stands at the front of `text`, whose first byte is `<`.
    #[inline]
    pub(crate) fn at(&self, text: &[u8]) -> Found {
        let Some((front, rest)) = text.split_first_chunk::<FRONT>() else {
            return self.at_end(text);
        };
        let front = u128::from_le_bytes(*front);
        #[expect(clippy::cast_possible_truncation, reason = "the halves of it")]
        let words = [front as u64, (front >> 64) as u64];
        let mut index = usize::from(self.first[usize::from(text[2])]);
        while let Some(entry) = self.fronts.get(index) {
            index = usize::from(entry.next);
            if words[0] & entry.masks[0] != entry.words[0]
                || words[1] & entry.masks[1] != entry.words[1]
            {
                continue;
            }
            if entry.len <= FRONT {
                return Found::Control(entry.control, entry.len);
            }
            match self.at_long(entry, rest) {
                // Another spelling may begin with the same bytes.
                Found::None => {}
                found => return found,
            }
        }
        Found::None
    }

    /// The same for a carrier that spells only some control tokens.
    #[inline]
    pub(crate) fn at_masked(&self, text: &[u8], spelled: Mask) -> Found {
        match self.at(text) {
            Found::Control(control, _) if !spelled.has(control) => Found::None,
            found => found,
        }
    }

    /// The same where the front of `entry` stands, and then `rest`.
    #[inline(never)]
    fn at_long(&self, entry: &Front, rest: &[u8]) -> Found {
        let wanted = &self.spellings[entry.control.index()].as_bytes()[FRONT..];
        if rest.starts_with(wanted) {
            Found::Control(entry.control, entry.len)
        } else if wanted.starts_with(rest) {
            Found::Prefix
        } else {
            Found::None
        }
    }

    /// The same near the end of the text.
    #[inline(never)]
    fn at_end(&self, text: &[u8]) -> Found {
        let mut partial = false;
        for (control, spelling) in self.entries {
            // Most text that begins with the first byte of a token goes on otherwise.
            if let (Some(byte), Some(wanted)) = (text.get(1), spelling.as_bytes().get(1))
                && byte != wanted
            {
                continue;
            }
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

    /// The control token that `text` begins with, and its length in bytes.
    pub(crate) fn front(&self, text: &str) -> Option<(Control, usize)> {
        match text.starts_with('<').then(|| self.at(text.as_bytes()))? {
            Found::Control(control, len) => Some((control, len)),
            Found::Prefix | Found::None => None,
        }
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
}

/// What the search relies on: a spelling has one `<`, and is not the beginning of another.
const fn check(entries: &[(Control, &str)], index: usize) {
    let spelling = entries[index].1.as_bytes();
    let mut at = 1;
    while at < spelling.len() {
        assert!(spelling[at] != b'<', "a spelling has no second `<`");
        at += 1;
    }
    let mut other = 0;
    while other < entries.len() {
        let longer = entries[other].1.as_bytes();
        let mut same = 0;
        while same < spelling.len() && same < longer.len() && spelling[same] == longer[same] {
            same += 1;
        }
        let is_apart = same < spelling.len();
        assert!(other == index || is_apart, "a spelling is like the beginning of another");
        other += 1;
    }
}
