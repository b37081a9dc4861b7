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
}

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
    pub const fn new(entries: &'static [(Control, &'static str)], escape: Escape) -> Self {
        let mut longest = 0;
        let mut index = 0;
        while index < entries.len() {
            let spelling = entries[index].1.as_bytes();
            assert!(spelling[0] == b'<' && spelling.len() > 2, "a spelling begins with `<`");
            if spelling.len() > longest {
                longest = spelling.len();
            }
            index += 1;
        }
        Self { entries, escape, longest }
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
    pub fn spelling(&self, control: Control) -> Option<&'static str> {
        self.entries.iter().find(|entry| entry.0 == control).map(|entry| entry.1)
    }

    /// The control token that is spelled exactly like this.
    pub fn control(&self, spelling: &str) -> Option<Control> {
        self.entries.iter().find(|entry| entry.1 == spelling).map(|entry| entry.0)
    }

    /// What stands at the front of `text`, whose first byte is `<`.
    #[inline]
    pub(crate) fn at(&self, text: &[u8]) -> Found {
        let mut partial = false;
        for (control, spelling) in self.entries {
            let spelling = spelling.as_bytes();
            match (text.get(1), text.get(2)) {
                (Some(second), Some(third)) => {
                    if *second != spelling[1] || *third != spelling[2] {
                        continue;
                    }
                    if text.len() >= spelling.len() {
                        if text[..spelling.len()] == *spelling {
                            return Found::Control(*control, spelling.len());
                        }
                        continue;
                    }
                }
                (Some(second), None) if *second != spelling[1] => continue,
                _ => {}
            }
            partial |= spelling.starts_with(text);
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
