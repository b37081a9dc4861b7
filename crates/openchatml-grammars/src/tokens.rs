//! Which control tokens are tokens, and which are spelled.

use std::collections::{BTreeSet, HashMap};

use openchatml::Control;
use openchatml::lex::{Escape, TokenTable};

use crate::options::Options;

/// So many tokens whose spellings differ in a number alone are named one by one.
const FEW: usize = 8;

/// The control tokens of a format, as the tokenizer of a model has them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tokens<'o> {
    table: &'static TokenTable,
    spelled: &'o [Control],
    /// All of the tokenizer, with their ids; none if they are not known.
    vocabulary: &'o [(String, u32)],
}

/// What a text stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Region {
    /// Reasoning and calls, where chain-of-thought markers may stand as they are.
    Hidden,
    /// What a user may see.
    Visible,
}

impl<'o> Tokens<'o> {
    pub(crate) fn new(table: &'static TokenTable, options: &'o Options) -> Self {
        Self { table, spelled: &options.spelled, vocabulary: &options.vocabulary }
    }

    /// The id of a token, where ids are known.
    pub(crate) fn id(self, control: Control) -> Option<u32> {
        let spelling = self.spelling(control);
        self.vocabulary.iter().find(|token| token.0 == spelling).map(|token| token.1)
    }

    /// The ids of all tokens that are no text, where they are known.
    pub(crate) fn ids(self) -> impl Iterator<Item = u32> {
        self.vocabulary.iter().map(|token| token.1)
    }

    pub(crate) fn has(self, control: Control) -> bool {
        self.table.spelling(control).is_some()
    }

    pub(crate) fn spelling(self, control: Control) -> &'static str {
        self.table.spelling(control).unwrap_or_default()
    }

    /// The region, or the other one where they do not differ.
    pub(crate) fn region(self, region: Region) -> Region {
        let marker = |entry: &(Control, &str)| {
            matches!(entry.0, Control::Marker(_)) && !self.is_token(entry.0)
        };
        if self.table.entries().iter().any(marker) { region } else { Region::Visible }
    }

    /// Whether it is a token of the tokenizer.
    pub(crate) fn is_token(self, control: Control) -> bool {
        let is_known = self.vocabulary.is_empty() || self.id(control).is_some();
        self.has(control) && is_known && !self.spelled.contains(&control)
    }

    /// Whether a text spells one.
    pub(crate) fn finds(self, text: &str) -> bool {
        self.table.find(text).is_some()
    }

    /// The spellings of those that are tokens.
    pub(crate) fn tokens(self) -> impl Iterator<Item = &'static str> {
        let entries = self.table.entries().iter();
        entries.filter(move |entry| self.is_token(entry.0)).map(|entry| entry.1)
    }

    /// What the tokens of the tokenizer that the format does not have begin with: their spellings, but
    /// of those that differ in a number alone, what stands before it.
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

    /// The spellings that free text cannot have as they are.
    pub(crate) fn spelled(self, region: Region) -> impl Iterator<Item = &'static str> {
        let is_text = move |control: Control| {
            matches!(control, Control::Marker(_)) && region == Region::Hidden
        };
        let entries = self.table.entries().iter();
        let spelled = entries.filter(move |entry| !self.is_token(entry.0) && !is_text(entry.0));
        spelled.map(|entry| entry.1)
    }

    /// A pattern for call ids: ASCII without white space, and without what tokens begin with.
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

    /// Whether text can spell a control token, by one more `<` in front of it.
    pub(crate) fn escapes(self) -> bool {
        self.table.escape() != Escape::None
    }

    /// The spellings around a literal block, where it can be spelled.
    pub(crate) fn literal(self) -> Option<[&'static str; 2]> {
        let both = [Control::Literal, Control::EndLiteral];
        let is_spelled = |control: &Control| self.has(*control) && !self.is_token(*control);
        (self.escapes() && both.iter().all(is_spelled)).then(|| both.map(|it| self.spelling(it)))
    }
}

/// A character of a class: those that mean something there by their numbers.
fn push_char(class: &mut String, byte: u8) {
    match byte {
        b'[' | b'\\' | b']' | b'^' | b'-' | b'/' => {
            class.push_str("\\x");
            class.push_str(&format!("{byte:02X}"));
        }
        _ => class.push(char::from(byte)),
    }
}
