//! Which control tokens are tokens, and which are spelled.

use openchatml::lex::{Controls, Escape};
use openchatml::{Control, Marker};

/// The control tokens of a format, as the tokenizer of a model has them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tokens<'o> {
    table: &'static Controls,
    spelled: &'o [Control],
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
    pub(crate) fn new(table: &'static Controls, spelled: &'o [Control]) -> Self {
        Self { table, spelled }
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
        self.has(control) && !self.spelled.contains(&control)
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

    /// The spellings that free text cannot have as they are.
    pub(crate) fn spelled(self, region: Region) -> impl Iterator<Item = &'static str> {
        let is_text = move |control: Control| {
            matches!(control, Control::Marker(_)) && region == Region::Hidden
        };
        let entries = self.table.entries().iter();
        let spelled = entries.filter(move |entry| !self.is_token(entry.0) && !is_text(entry.0));
        spelled.map(|entry| entry.1)
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

/// The control tokens of OpenChatML 2.2 that `o200k_harmony` has no ids for.
pub(crate) const SPELLED: &[Control] = &[
    Control::Literal,
    Control::EndLiteral,
    Control::Marker(Marker::Reflect),
    Control::Marker(Marker::Introspect),
    Control::Marker(Marker::Reason),
];
