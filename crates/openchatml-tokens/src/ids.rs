//! The meaning of ids in a dialect, and the diagnostics for ids without a meaning.

use openchatml::lex::{Escape, TokenTable};
use openchatml::{Code, Control, Diagnostic, Span};

use crate::encoding::Encoding;

/// The text for bytes that are not UTF-8 and for ids that are not in the vocabulary.
pub(crate) const REPLACEMENT: &str = "\u{FFFD}";

/// The meaning of an id in a dialect.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Lexeme<'e> {
    /// A control token of the dialect.
    Control(Control),
    /// Text.
    Text(&'e str),
    /// Bytes of text.
    Bytes(&'e [u8]),
    /// A control token that the dialect does not define.
    Foreign(&'e str),
    /// Not in the vocabulary.
    Unknown,
}

/// The ids of a dialect's control tokens.
#[derive(Clone, Debug)]
pub(crate) struct Ids {
    table: &'static TokenTable,
    ids: Vec<(u32, Control)>,
    /// The lowest and the highest id of a control token: most ids are outside this range.
    range: (u32, u32),
    spelled: Vec<Control>,
    /// The tokens with an id that are parts of tokens without one, and their spellings.
    parts: Vec<(u32, &'static str)>,
}

impl Ids {
    pub(crate) fn new(table: &'static TokenTable, encoding: &impl Encoding) -> Self {
        let entries = table.entries().iter();
        let id =
            |(control, spelling): &(Control, &str)| Some((encoding.control(spelling)?, *control));
        // A token that is part of one without an id is read and written as that part of it.
        let is_part = |spelling: &str| {
            let mut all = table.entries().iter().map(|(_, other)| *other);
            all.any(|other| other.contains(spelling) && encoding.control(other).is_none())
        };
        let part = |(_, spelling): &(Control, &'static str)| {
            Some((encoding.control(spelling)?, *spelling)).filter(|_| is_part(spelling))
        };
        let parts: Vec<_> = entries.clone().filter_map(part).collect();
        let is_whole = |(id, _): &(u32, Control)| parts.iter().all(|part| part.0 != *id);
        let ids: Vec<_> = entries.clone().filter_map(id).filter(is_whole).collect();
        let mut spelled = Vec::new();
        for (control, _) in entries {
            // A token with several spellings needs an id for only one of them.
            if !ids.iter().any(|it| it.1 == *control) && !spelled.contains(control) {
                spelled.push(*control);
            }
        }
        let blocks = [Control::Literal, Control::EndLiteral];
        if !spelled.is_empty() && table.escape() != Escape::None {
            // A literal block protects spelled tokens only if its own tokens are spelled as well.
            spelled.extend(blocks.iter().filter(|block| ids.iter().any(|it| it.1 == **block)));
        }
        let of = |(id, _): &(u32, Control)| *id;
        let range = ids.iter().map(of).min().zip(ids.iter().map(of).max()).unwrap_or((1, 0));
        Self { table, ids, range, spelled, parts }
    }

    pub(crate) fn table(&self) -> &'static TokenTable {
        self.table
    }

    pub(crate) fn spelled(&self) -> &[Control] {
        &self.spelled
    }

    /// Whether a token is part of a token without an id.
    pub(crate) fn is_part(&self, id: u32) -> bool {
        self.parts.iter().any(|part| part.0 == id)
    }

    /// Splits the spelling of a token without an id at its parts that have one.
    pub(crate) fn split(&self, spelling: &'static str) -> Vec<Result<u32, &'static str>> {
        let mut pieces = Vec::new();
        let mut rest = spelling;
        loop {
            let places = self.parts.iter().filter_map(|part| Some((rest.find(part.1)?, part)));
            let Some((at, (id, part))) = places.min_by_key(|(at, _)| *at) else { break };
            pieces.extend(Some(Err(&rest[..at])).filter(|_| at > 0));
            pieces.push(Ok(*id));
            rest = &rest[at + part.len()..];
        }
        pieces.extend(Some(Err(rest)).filter(|_| !rest.is_empty()));
        pieces
    }

    pub(crate) fn id(&self, control: Control) -> Option<u32> {
        self.ids.iter().find(|entry| entry.1 == control).map(|entry| entry.0)
    }

    #[inline]
    pub(crate) fn control(&self, id: u32) -> Option<Control> {
        if id < self.range.0 || id > self.range.1 {
            return None;
        }
        self.ids.iter().find(|entry| entry.0 == id).map(|entry| entry.1)
    }
}

pub(crate) fn not_text(span: Span) -> Diagnostic {
    let text = "these ids are not UTF-8 text";
    Code::ParseUtf8.at(span, text).help("U+FFFD replaces them")
}

pub(crate) fn unknown(id: u32, span: Span) -> Diagnostic {
    let text = format!("id {id} is not in the vocabulary");
    Code::ParseToken.at(span, text).help("U+FFFD replaces it")
}

pub(crate) fn foreign(spelling: &str, span: Span) -> Diagnostic {
    let text = format!("this format does not have the control token `{spelling}`");
    Code::ParseToken.at(span, text).help("it is read as text")
}
