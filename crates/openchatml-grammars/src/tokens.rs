//! The control tokens that are tokens of the tokenizer, and those that are spelled.

use std::collections::{BTreeSet, HashMap};

use openchatml::Control;
use openchatml::lex::{Escape, TokenTable};

use crate::options::Options;

/// Up to this many tokens whose spellings differ only in a number are listed one by one.
const FEW: usize = 8;

/// The control tokens of a format, as the tokenizer of a model has them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tokens<'o> {
    table: &'static TokenTable,
    spelled: &'o [Control],
    /// The special tokens of the tokenizer with their ids. Empty if they are unknown.
    vocabulary: &'o [(String, u32)],
}

/// The region that contains a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Region {
    /// Reasoning and calls, where chain-of-thought markers need no escape.
    Hidden,
    /// Text that a user may see.
    Visible,
}

impl<'o> Tokens<'o> {
    pub(crate) fn new(table: &'static TokenTable, options: &'o Options) -> Self {
        Self { table, spelled: &options.spelled, vocabulary: &options.vocabulary }
    }

    /// Returns the id of a token, if ids are known.
    pub(crate) fn id(self, control: Control) -> Option<u32> {
        let spelling = self.spelling(control);
        self.vocabulary.iter().find(|token| token.0 == spelling).map(|token| token.1)
    }

    /// Returns the ids of all special tokens, if they are known.
    pub(crate) fn ids(self) -> impl Iterator<Item = u32> {
        self.vocabulary.iter().map(|token| token.1)
    }

    pub(crate) fn has(self, control: Control) -> bool {
        self.table.spelling(control).is_some()
    }

    pub(crate) fn spelling(self, control: Control) -> &'static str {
        self.table.spelling(control).unwrap_or_default()
    }

    /// Returns the region, or a common region if the format does not distinguish them.
    pub(crate) fn region(self, region: Region) -> Region {
        let marker = |entry: &(Control, &str)| {
            matches!(entry.0, Control::Marker(_)) && !self.is_token(entry.0)
        };
        if self.table.entries().iter().any(marker) { region } else { Region::Visible }
    }

    /// Whether the control token is a token of the tokenizer.
    pub(crate) fn is_token(self, control: Control) -> bool {
        let is_known = self.vocabulary.is_empty() || self.id(control).is_some();
        self.has(control) && is_known && !self.spelled.contains(&control)
    }

    /// Whether a text spells a control token.
    pub(crate) fn finds(self, text: &str) -> bool {
        self.table.find(text).is_some()
    }

    /// Returns the spellings of the control tokens that are tokens of the tokenizer.
    pub(crate) fn tokens(self) -> impl Iterator<Item = &'static str> {
        let entries = self.table.entries().iter();
        entries.filter(move |entry| self.is_token(entry.0)).map(|entry| entry.1)
    }

    /// Returns prefixes of the tokens of the tokenizer that the format does not define: their
    /// spellings, or the common part before the number for tokens that differ only in a number.
    pub(crate) fn others(self) -> BTreeSet<&'o str> {
        let is_of_format = |spelling: &str| self.table.control(spelling).is_some();
        let spellings = self.vocabulary.iter().map(|token| token.0.as_str());
        let others: Vec<_> = spellings.filter(|it| !it.is_empty() && !is_of_format(it)).collect();
        let before_number = |spelling: &'o str| {
            let at = spelling.find(|c: char| c.is_ascii_digit());
            &spelling[..at.unwrap_or(spelling.len())]
        };
        let mut alike: HashMap<&str, usize> = HashMap::new();
        others.iter().for_each(|it| *alike.entry(before_number(it)).or_default() += 1);
        let shorten = |it| {
            let before = before_number(it);
            if alike[before] > FEW && before.len() > 2 { before } else { it }
        };
        others.into_iter().map(shorten).collect()
    }

    /// Returns the spellings that free text must escape.
    pub(crate) fn spelled(self, region: Region) -> impl Iterator<Item = &'static str> {
        let is_text = move |control: Control| {
            matches!(control, Control::Marker(_)) && region == Region::Hidden
        };
        let entries = self.table.entries().iter();
        let spelled = entries.filter(move |entry| !self.is_token(entry.0) && !is_text(entry.0));
        spelled.map(|entry| entry.1)
    }

    /// Returns a pattern for call ids: ASCII without white space and without prefixes of tokens.
    pub(crate) fn call_id(self) -> String {
        let own = self.table.entries().iter().map(|entry| entry.1);
        let all = self.vocabulary.iter().map(|token| token.0.as_str()).chain(own);
        let firsts: BTreeSet<u8> = all.filter_map(|spelling| spelling.bytes().next()).collect();
        let mut ranges: Vec<(u8, u8)> = Vec::new();
        for byte in (b'!'..=b'~').filter(|byte| !firsts.contains(byte)) {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == byte => *last = byte,
                _ => ranges.push((byte, byte)),
            }
        }
        let mut class = String::new();
        for (first, last) in ranges {
            push_char(&mut class, first);
            if first < last {
                class.push('-');
                push_char(&mut class, last);
            }
        }
        format!("[{class}]{{1,64}}")
    }

    /// Whether text can contain the spelling of a control token with an additional `<` before it.
    pub(crate) fn escapes(self) -> bool {
        self.table.escape() != Escape::None
    }

    /// Returns the spellings around a literal block, if it can be spelled.
    pub(crate) fn literal(self) -> Option<[&'static str; 2]> {
        let both = [Control::Literal, Control::EndLiteral];
        let is_spelled = |control: &Control| self.has(*control) && !self.is_token(*control);
        (self.escapes() && both.iter().all(is_spelled)).then(|| both.map(|it| self.spelling(it)))
    }
}

/// Adds a character to a class. Characters with a meaning there are written as numbers.
fn push_char(class: &mut String, byte: u8) {
    match byte {
        b'[' | b'\\' | b']' | b'^' | b'-' | b'/' => {
            class.push_str("\\x");
            class.push_str(&format!("{byte:02X}"));
        }
        _ => class.push(char::from(byte)),
    }
}
