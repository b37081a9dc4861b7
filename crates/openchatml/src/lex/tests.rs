//! Token tables of every kind, beside a search that tries everything.

use super::{Escape, Found, Lexeme, Lexer, Mask, Mode, TokenTable};
use crate::model::Role;
use crate::{Control, dialects};

type Entries = &'static [(Control, &'static str)];

/// TokenTable that change nothing about how text is read.
const CONTROLS: &[Control] = &[
    Control::Start,
    Control::Channel,
    Control::Constrain,
    Control::Call,
    Control::Return,
    Control::End,
    Control::Bos,
    Control::Eos,
    Control::FimPrefix,
    Control::FimMiddle,
    Control::FimSuffix,
    Control::FileSeparator,
    Control::Open(Role::User),
    Control::Close(Role::User),
    Control::Open(Role::Tool),
    Control::Close(Role::Tool),
];

/// The spellings of tables, of every kind that is searched for or compared in a way of its own.
const SPELLINGS: &[&[&str]] = &[
    // Two bytes, or one, that all begin with.
    &["<|start|>", "<|end|>", "<|message|>", "<|start_introspect|>", "<|channel|>"],
    &["<s>", "</s>", "<|im_start|>", "<|im_end|>"],
    &["<<SYS>>", "<</SYS>>", "<s>", "</s>"],
    // Several first bytes.
    &["[INST]", "[/INST]", "<s>", "</s>"],
    &["]~b]", "[e~[", "]~!b[", "<x>"],
    &["Human:", "\n\nHuman:", "Assistant:", "]", "<eos>"],
    &["é", "ée", "ß", "日本", "日", "🙂"],
    // More than sixteen bytes in common.
    &[
        "<｜tool▁calls▁begin｜>",
        "<｜tool▁calls▁end｜>",
        "<｜tool▁call▁begin｜>",
        "<｜tool▁call▁end｜>",
        "<｜tool▁outputs▁begin｜>",
        "<｜tool▁output▁begin｜>",
        "<｜User｜>",
    ],
    // One begins with another one, some of them far behind the sixteenth byte.
    &["a", "ab", "abc", "b"],
    &["abcdefghijklmnopq", "abcdefghijklmnopqrs", "abcdefghijklmnopqrstuvwxyz", "q", "bcd"],
    &["<|a|>", "<|a|>|>", "<|a|", "<|"],
    // One ends as another one begins, or stands in another one.
    &["aba", "bab", "ba"],
    &["xyx", "yx", "x<y>", "<y>z", "<y>"],
    &["aa", "aaaa", "aaab"],
];

/// Keeps a table for as long as the process lives.
fn keep<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

fn table(entries: Vec<(Control, &'static str)>) -> &'static TokenTable {
    keep(TokenTable::new(keep(entries).as_slice(), Escape::None))
}

/// Tables of every kind, of artificial spellings and of the dialects.
pub(crate) fn tables() -> Vec<&'static TokenTable> {
    let of = |spellings: &&[&'static str]| {
        table(CONTROLS.iter().copied().zip(spellings.iter().copied()).collect())
    };
    let many = (0..128).map(|index| {
        let spelling: &'static str = keep(format!("<|token_of_many_{index}|>"));
        (CONTROLS[index % CONTROLS.len()], spelling)
    });
    let own = dialects::ALL.iter().map(|dialect| dialect.controls);
    let mut tables: Vec<_> = SPELLINGS.iter().map(of).collect();
    tables.push(table(many.collect()));
    tables.push(table(vec![]));
    tables.extend(own.filter(|table| table.escape() == Escape::None));
    tables
}

/// A small generator of numbers (xorshift).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits") % end
    }

    /// Text of the pieces of spellings, and of a few other characters.
    pub(crate) fn text(&mut self, table: &TokenTable) -> String {
        let mut text = String::new();
        for _ in 0..self.below(8) {
            match table.entries().len() {
                most if most > 0 && self.below(6) > 0 => {
                    let spelling = table.entries()[self.below(most)].1;
                    let at = |random: &mut Self| {
                        spelling.floor_char_boundary(random.below(spelling.len() + 1))
                    };
                    let (one, other) = (at(self), at(self));
                    let range = match self.below(4) {
                        0 => 0..spelling.len(),
                        1 => 0..one,
                        2 => one..spelling.len(),
                        _ => one.min(other)..one.max(other),
                    };
                    text.push_str(&spelling[range]);
                }
                _ => text.push_str(["<", " ", "x", "[", "é", "<|", "\u{2581}"][self.below(7)]),
            }
        }
        text
    }
}

/// A text or a control token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Text(String),
    Control(Control),
}

/// Adds a text to the last one.
pub(crate) fn push_text(pieces: &mut Vec<Piece>, text: &str) {
    match pieces.last_mut() {
        Some(Piece::Text(last)) => last.push_str(text),
        _ if text.is_empty() => {}
        _ => pieces.push(Piece::Text(text.to_owned())),
    }
}

/// What `text` is in a dialect with this table: the longest spelling at the first place where there
/// is one.
pub(crate) fn naive(table: &TokenTable, text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let here = table.entries().iter().filter(|(_, spelling)| rest.starts_with(spelling));
        match here.max_by_key(|(_, spelling)| spelling.len()) {
            Some((control, spelling)) => {
                pieces.push(Piece::Control(*control));
                rest = &rest[spelling.len()..];
            }
            None => {
                push_text(&mut pieces, &rest[..c.len_utf8()]);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    pieces
}

/// What the lexer gives for text that arrives in chunks.
pub(crate) fn lexed(table: &'static TokenTable, chunks: &[&str]) -> Vec<Piece> {
    let mut lexer = Lexer::new(table, Mode::Outside, 0);
    let (mut pieces, mut carry, mut end) = (Vec::new(), String::new(), 0);
    for (index, chunk) in chunks.iter().enumerate() {
        let last = index + 1 == chunks.len();
        carry.push_str(chunk);
        let mut rest = carry.as_str();
        while let Some(lexeme) = lexer.next(&mut rest, last) {
            let span = lexeme.span();
            assert_eq!(span.start, end, "no byte is left out");
            end = span.end;
            match lexeme {
                Lexeme::Text(text, _) => push_text(&mut pieces, text),
                Lexeme::Control(control, _) => pieces.push(Piece::Control(control)),
            }
        }
        assert!(rest.len() < table.longest().max(1), "no more is held back than a token");
        carry = rest.to_owned();
    }
    assert_eq!(carry, "");
    pieces
}

/// How often random text is tried with each table.
const CASES: u64 = 400;

#[test]
fn the_longest_token_counts_however_text_arrives() {
    for table in tables() {
        for seed in 0..CASES {
            let mut random = Random::new(seed);
            let text = random.text(table);
            let wanted = naive(table, &text);
            assert_eq!(lexed(table, &[&text]), wanted, "{text:?} {table:?}");
            let bytewise: Vec<_> = text.split_inclusive(|_: char| true).collect();
            for size in 1..=bytewise.len() {
                let chunks: Vec<_> = bytewise.chunks(size).map(<[_]>::concat).collect();
                let chunks: Vec<_> = chunks.iter().map(String::as_str).collect();
                assert_eq!(lexed(table, &chunks), wanted, "{chunks:?} {table:?}");
            }
            for (cut, _) in text.char_indices() {
                let halves = [&text[..cut], &text[cut..]];
                assert_eq!(lexed(table, &halves), wanted, "{halves:?} {table:?}");
            }
        }
    }
}

#[test]
fn the_first_token_is_found_in_text() {
    for table in tables() {
        for seed in 0..CASES {
            let text = Random::new(seed).text(table);
            let pieces = naive(table, &text);
            let wanted = pieces.iter().find_map(|piece| match piece {
                Piece::Control(control) => Some(*control),
                Piece::Text(_) => None,
            });
            let found = table.find(&text);
            assert_eq!(found.map(|it| it.1), wanted, "{text:?} {table:?}");
            let front = table.front(&text).map(|(control, len)| (0, control, len));
            assert_eq!(front, found.filter(|it| it.0 == 0), "{text:?} {table:?}");
            if let Some((at, control, len)) = found {
                let entry = (control, &text[at..at + len]);
                assert!(table.entries().contains(&entry), "{entry:?} {table:?}");
                let before = matches!(pieces.first(), Some(Piece::Text(text)) if text.len() == at);
                assert!(before || at == 0, "{text:?} {table:?}");
            }
        }
    }
}

/// A carrier that spells some tokens finds these, and no longer ones that it does not spell.
#[test]
fn only_what_is_spelled_is_found() {
    for full in tables().into_iter().filter(|table| table.entries().len() > 1) {
        for seed in 0..CASES {
            let mut random = Random::new(seed);
            let (text, control) = (random.text(full), full.entries()[random.below(2)].0);
            let own: Vec<_> =
                full.entries().iter().filter(|entry| entry.0 == control).copied().collect();
            let few = TokenTable::new(keep(own).as_slice(), Escape::None);
            let spelled = Mask::of(&[control]);
            let found = full.search().next(text.as_bytes(), 0, spelled, true);
            let found = match found {
                (at, Found::Control(control, len)) => Some((at, control, len)),
                _ => None,
            };
            assert_eq!(found, few.find(&text), "{text:?} {control:?} {full:?}");
        }
    }
}

#[test]
fn what_may_go_on_is_awaited() {
    let table = table(vec![(Control::Start, "<a>"), (Control::End, "<a>b"), (Control::Call, "c")]);
    let at = |text: &str, last| table.at(text.as_bytes(), Mask::ALL, last);
    assert_eq!(at("<a>", false), Found::Prefix);
    assert_eq!(at("<a>", true), Found::Control(Control::Start, 3));
    assert_eq!(at("<a>c", false), Found::Control(Control::Start, 3));
    assert_eq!(at("<a>b", false), Found::Control(Control::End, 4));
    assert_eq!(at("<a", true), Found::None);
    assert_eq!(at("c", false), Found::Control(Control::Call, 1));
    // The tokens that are not spelled are not awaited.
    let spelled = Mask::of(&[Control::Start]);
    assert_eq!(table.at(b"<a>", spelled, false), Found::Control(Control::Start, 3));
}

#[test]
fn a_meaning_may_have_two_spellings() {
    let entries = vec![(Control::Start, "[A]"), (Control::End, "</s>"), (Control::Start, "<A>")];
    let table = table(entries);
    assert_eq!(table.spelling(Control::Start), Some("[A]"));
    for spelling in ["[A]", "<A>"] {
        assert_eq!(table.control(spelling), Some(Control::Start));
        assert_eq!(lexed(table, &[spelling]), [Piece::Control(Control::Start)]);
        assert!(table.has(Control::Start, spelling) && !table.has(Control::End, spelling));
    }
}

/// What can be read in two ways, or not be escaped, is no table.
#[test]
fn tables_that_cannot_be_read_are_refused() {
    let (start, end) = (Control::Start, Control::End);
    let blocks = [(Control::Literal, "<l>"), (Control::EndLiteral, "</l>")];
    let with = |entries: &[(Control, &'static str)]| [entries, &blocks].concat();
    let tables: [(Vec<(Control, &str)>, Escape); 8] = [
        (vec![(start, "<a>"), (end, "<a>")], Escape::None),
        (vec![(start, "<a>"), (end, "<b>"), (start, "<a>")], Escape::None),
        (vec![(start, "")], Escape::None),
        (vec![(start, "<a>"); 129], Escape::None),
        (vec![(start, "<a>")], Escape::DoublingOrLiteral),
        (with(&[(start, "[a]")]), Escape::DoublingOrLiteral),
        (with(&[(start, "<<a>")]), Escape::DoublingOrLiteral),
        (with(&[(start, "<l>>")]), Escape::None),
    ];
    for (entries, escape) in tables {
        let entries: Entries = keep(entries);
        let made = std::panic::catch_unwind(|| TokenTable::new(entries, escape));
        assert!(made.is_err(), "{entries:?}");
    }
    let entries: Entries = keep(with(&[(start, "<a>")]));
    assert!(TokenTable::new(entries, Escape::DoublingOrLiteral).is_separable());
}

#[test]
fn tokens_that_may_run_into_each_other_are_known() {
    let is_separable = |spellings: &[&'static str]| {
        table(CONTROLS.iter().copied().zip(spellings.iter().copied()).collect()).is_separable()
    };
    assert!(is_separable(&["<|a|>", "<|b|>"]));
    assert!(is_separable(&["[INST]", "[/INST]", "<s>", "<<SYS>>"]));
    assert!(!is_separable(&["a", "ab"]), "one begins with another one");
    assert!(!is_separable(&["[a[", "b"]), "one ends as it begins");
    assert!(!is_separable(&["<a>[", "[b]"]), "one ends as another one begins");
    assert!(!is_separable(&["<a>", "[<a>]"]), "one stands in another one");
}
