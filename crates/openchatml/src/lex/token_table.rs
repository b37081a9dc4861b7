//! The control tokens of a dialect, and their search in text.

use std::fmt;

use super::Mask;
use super::completion::begins_completion;
use super::fronts::{Found, Fronts};
use super::search::{Beginnings, Search};
use crate::{Control, Span};

/// How text is escaped that spells a control token.
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
    /// Not at all: such text is refused.
    None,
    /// With one more `<` before it, or in a literal block (OpenChatML 2.2 §3).
    DoublingOrLiteral,
}

/// The escape before a control token ([`Escape::DoublingOrLiteral`]).
pub(crate) const ESCAPE: u8 = b'<';

/// The token table of a dialect: each control token, its meaning and its spelling.
///
/// A spelling can begin with any character, and with another spelling: the longest match is used. A
/// meaning can have several spellings: all are read, and the first one is written.
///
/// ```
/// use openchatml::{Control, dialects};
///
/// let controls = dialects::OPENCHATML_2_2.controls;
/// assert_eq!(controls.spelling(Control::Call), Some("<|call|>"));
/// assert_eq!(controls.control("<|im_end|>"), None);
/// assert_eq!(controls.longest(), "<|start_introspect|>".len());
/// ```
pub struct TokenTable {
    entries: &'static [(Control, &'static str)],
    escape: Escape,
    longest: usize,
    beginnings: Beginnings,
    fronts: Fronts,
    /// The spelling of each control by its number, or empty.
    spellings: [&'static str; Control::COUNT],
    is_separable: bool,
}

impl TokenTable {
    /// Creates a table of `(meaning, spelling)` pairs, in the order of the specification.
    ///
    /// # Panics
    ///
    /// The table has more than 128 entries, a spelling is empty or a duplicate, or the spellings do
    /// not suit the escape. In a `static`, as here, this is a compile error.
    ///
    /// ```
    /// use openchatml::Control;
    /// use openchatml::lex::{Escape, TokenTable};
    ///
    /// static TAGS: TokenTable =
    ///     TokenTable::new(&[(Control::Start, "[TURN]"), (Control::End, "</s>")], Escape::None);
    /// assert_eq!(TAGS.find("Hello.</s>"), Some((6, Control::End, 4)));
    /// ```
    pub const fn new(entries: &'static [(Control, &'static str)], escape: Escape) -> Self {
        let fronts = Fronts::new(entries);
        let beginnings = Beginnings::new(entries);
        let is_separable = is_separable(entries, &beginnings);
        let mut spellings = [""; Control::COUNT];
        let mut longest = 0;
        // In reverse, so that the first spelling of a control is kept.
        let mut index = entries.len();
        while index > 0 {
            index -= 1;
            let (control, spelling) = entries[index];
            spellings[control.index()] = spelling;
            if spelling.len() > longest {
                longest = spelling.len();
            }
        }
        let has_blocks = !spellings[Control::Literal.index()].is_empty();
        assert!(is_separable || !has_blocks, "a literal block needs spellings that do not overlap");
        if let Escape::DoublingOrLiteral = escape {
            check_escape(entries);
            assert!(has_blocks, "the escape needs literal blocks");
        }
        Self { entries, escape, longest, beginnings, fronts, spellings, is_separable }
    }

    /// Returns the meanings and spellings, in the order of the specification.
    ///
    /// ```
    /// use openchatml::dialects;
    ///
    /// let entries = dialects::CHATML.controls.entries();
    /// let spellings: Vec<_> = entries.iter().map(|(_, spelling)| *spelling).collect();
    /// assert_eq!(spellings, ["<|im_start|>", "<|im_end|>"]);
    /// ```
    pub fn entries(&self) -> &'static [(Control, &'static str)] {
        self.entries
    }

    /// Returns how text is escaped that spells a control token.
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

    /// Returns the length of the longest spelling in bytes, which is the maximum that is held back.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// Returns the spelling of `control`, if the dialect has it.
    ///
    /// ```
    /// use openchatml::{Control, dialects};
    ///
    /// assert_eq!(dialects::CHATML_WIRE.controls.spelling(Control::End), Some("<|end_message|>"));
    /// assert_eq!(dialects::CHATML_WIRE.controls.spelling(Control::Channel), None);
    /// ```
    #[inline]
    pub fn spelling(&self, control: Control) -> Option<&'static str> {
        let spelling = self.spellings[control.index()];
        (!spelling.is_empty()).then_some(spelling)
    }

    /// Returns the control token with exactly this spelling.
    ///
    /// ```
    /// use openchatml::{Control, dialects};
    ///
    /// let controls = dialects::CHATML.controls;
    /// assert_eq!(controls.control("<|im_end|>"), Some(Control::End));
    /// assert_eq!(controls.control("<|im_end|>\n"), None);
    /// ```
    pub fn control(&self, spelling: &str) -> Option<Control> {
        self.entries.iter().find(|entry| entry.1 == spelling).map(|entry| entry.0)
    }

    /// Finds the first control token in `text`: its start, the token, and its length.
    ///
    /// ```
    /// use openchatml::{Control, dialects};
    ///
    /// let controls = dialects::OPENCHATML_2_2.controls;
    /// assert_eq!(controls.find("a < b <|end|>"), Some((6, Control::End, 7)));
    /// assert_eq!(controls.find("<|im_end|>"), None);
    /// ```
    pub fn find(&self, text: &str) -> Option<(usize, Control, usize)> {
        match self.search().next(text.as_bytes(), 0, Mask::ALL, true) {
            (at, Found::Control(control, len)) => Some((at, control, len)),
            (_, Found::Prefix | Found::None) => None,
        }
    }

    /// Returns the control token at the beginning of `text`, and its length in bytes.
    #[inline]
    pub(crate) fn front(&self, text: &str) -> Option<(Control, usize)> {
        let first = *text.as_bytes().first()?;
        if !self.begins_with(first) {
            return None;
        }
        match self.at(text.as_bytes(), Mask::ALL, true) {
            Found::Control(control, len) => Some((control, len)),
            Found::Prefix | Found::None => None,
        }
    }

    /// Returns the first control token of a text that is a raw completion: it continues a prompt
    /// that ends in the header or in the turn of the assistant.
    pub(crate) fn completion(&self, text: &str) -> Option<(Control, Span)> {
        let (at, control, len) = self.find(text)?;
        let is_completion = begins_completion(&text.as_bytes()[..at], Some(control));
        (is_completion == Some(true)).then_some((control, Span::new(at, at + len)))
    }

    /// Returns the search for these tokens.
    pub(crate) fn search(&self) -> Search<'_> {
        Search::new(&self.fronts, &self.beginnings)
    }

    /// Whether a spelling begins with this byte.
    #[inline]
    pub(crate) fn begins_with(&self, byte: u8) -> bool {
        self.beginnings.has(byte)
    }

    /// Returns the longest control token at the front of `text`, of those that are `spelled`.
    /// `last` says whether the text is complete.
    #[inline]
    pub(crate) fn at(&self, text: &[u8], spelled: Mask, last: bool) -> Found {
        self.fronts.at(text, spelled, last)
    }

    /// Whether `text` begins, after white space, with a token that opens a message or a sequence.
    pub(crate) fn opens(&self, text: &str) -> bool {
        let front = self.front(text.trim_ascii_start());
        matches!(front, Some((Control::Start | Control::Bos, _)))
    }

    /// Whether `text` is, after white space, a part of a control token.
    pub(crate) fn may_open(&self, text: &str) -> bool {
        let text = text.trim_ascii_start().as_bytes();
        !text.is_empty() && self.at(text, Mask::ALL, false) == Found::Prefix
    }

    /// Whether `text` contains a spelling of `control`.
    pub(crate) fn has(&self, control: Control, text: &str) -> bool {
        self.entries.iter().any(|(it, spelling)| *it == control && text.contains(spelling))
    }

    /// Whether tokens are always distinct from the text around them: no spelling begins with
    /// another one, and no spelling ends with the beginning of another one.
    #[inline]
    pub(crate) fn is_separable(&self) -> bool {
        self.is_separable
    }
}

impl fmt::Debug for TokenTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = f.debug_struct("TokenTable");
        table.field("entries", &self.fronts).field("escape", &self.escape);
        table.finish_non_exhaustive()
    }
}

/// Whether no spelling contains another one, or the beginning of another one.
const fn is_separable(entries: &[(Control, &str)], beginnings: &Beginnings) -> bool {
    let mut is_separable = true;
    let mut index = 0;
    while index < entries.len() {
        let spelling = entries[index].1;
        let mut other = 0;
        while other < entries.len() {
            let shares = other != index && overlap(spelling, 0, entries[other].1);
            assert!(!shares || spelling.len() != entries[other].1.len(), "a spelling occurs twice");
            is_separable &= !shares;
            other += 1;
        }
        let mut at = 1;
        while at < spelling.len() {
            // Nearly all of them end here.
            if beginnings.has(spelling.as_bytes()[at]) {
                let mut other = 0;
                while other < entries.len() {
                    is_separable &= !overlap(spelling, at, entries[other].1);
                    other += 1;
                }
            }
            at += 1;
        }
        index += 1;
    }
    is_separable
}

/// Whether the end of `spelling` from byte `at` on begins with `other`, or `other` begins with it.
const fn overlap(spelling: &str, at: usize, other: &str) -> bool {
    let (spelling, other) = (spelling.as_bytes(), other.as_bytes());
    let mut same = 0;
    while at + same < spelling.len() && same < other.len() && spelling[at + same] == other[same] {
        same += 1;
    }
    at + same == spelling.len() || same == other.len()
}

/// Checks what the doubling of the first byte requires: all spellings share it, and it occurs
/// nowhere else in them.
const fn check_escape(entries: &[(Control, &str)]) {
    let mut index = 0;
    while index < entries.len() {
        let spelling = entries[index].1.as_bytes();
        let mut at = 0;
        while at < spelling.len() {
            assert!(
                (at == 0) == (spelling[at] == ESCAPE),
                "the escape needs one `<`, at the front"
            );
            at += 1;
        }
        index += 1;
    }
}
