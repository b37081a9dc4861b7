//! What every generator writes with: choices, data that can be found again, and text.

use super::words;
use crate::{Source, one_in, pick};

/// How documents are generated.
#[derive(Clone, Copy, Debug, Default)]
pub struct Knobs {
    /// Contents spell control tokens, headers and control characters.
    pub hostile: bool,
    /// The document has things in it that its grammar does not allow, or allows and nobody expects.
    pub odd: bool,
    /// The text is damaged after it was written.
    pub damaged: bool,
}

impl Knobs {
    /// Grammatical documents with contents of every kind.
    pub fn well_formed(source: &mut Source<'_>) -> Self {
        Self { hostile: one_in(source, 2), odd: false, damaged: false }
    }

    /// Documents of every kind.
    pub fn any(source: &mut Source<'_>) -> Self {
        let [hostile, odd, damaged] = [2, 2, 4].map(|n| one_in(source, n));
        Self { hostile, odd, damaged }
    }
}

/// Whether a user may see a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// It is meant for the user.
    User,
    /// It is hidden from the user.
    Hidden,
}

/// Draws choices, and makes words that can be found again: *data*.
///
/// Hidden text is drawn from a source of its own. The same document with another source of hidden
/// text differs in hidden text only.
pub(crate) struct Pen<'b> {
    pub(crate) source: Source<'b>,
    secret: Source<'b>,
    pub(crate) knobs: Knobs,
    /// What the data of hidden text begin with.
    veil: char,
    data: usize,
    /// Deviations from the grammar that were written on purpose.
    pub(crate) flaws: Vec<&'static str>,
    /// Those of them that strict reading must find.
    pub(crate) violations: Vec<&'static str>,
}

impl<'b> Pen<'b> {
    pub(crate) fn new(source: Source<'b>, secret: Source<'b>, knobs: Knobs, veil: char) -> Self {
        Self { source, secret, knobs, veil, data: 0, flaws: Vec::new(), violations: Vec::new() }
    }

    pub(crate) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        pick(&mut self.source, items)
    }

    pub(crate) fn one_in(&mut self, n: u8) -> bool {
        one_in(&mut self.source, n)
    }

    pub(crate) fn upto(&mut self, most: usize) -> usize {
        self.source.int_in_range(0..=most).unwrap_or(0)
    }

    /// Whether something odd happens here, of `n` places where it may.
    pub(crate) fn is_odd(&mut self, n: u8) -> bool {
        self.knobs.odd && self.one_in(n)
    }

    /// Notes a deviation from the grammar.
    pub(crate) fn flaw(&mut self, what: &'static str) {
        self.flaws.push(what);
    }

    /// Notes a deviation that strict reading must find.
    pub(crate) fn violation(&mut self, what: &'static str) {
        self.flaws.push(what);
        self.violations.push(what);
    }

    /// A word that stands nowhere else in the document.
    pub(crate) fn datum(&mut self) -> String {
        self.data += 1;
        format!("s{}x", self.data)
    }

    /// The same for hidden text.
    pub(crate) fn hidden_datum(&mut self) -> String {
        self.data += 1;
        format!("{}{}x", self.veil, self.data)
    }

    /// A number that stands nowhere else in the document.
    pub(crate) fn number(&mut self) -> String {
        self.data += 1;
        format!("8800{:03}088", self.data)
    }

    /// What somebody says, with a datum in it.
    pub(crate) fn text(&mut self, shown: Shown) -> String {
        let (datum, source) = match shown {
            Shown::User => (self.datum(), &mut self.source),
            Shown::Hidden => (self.hidden_datum(), &mut self.secret),
        };
        if self.knobs.hostile {
            let [before, after] = [(); 2].map(|()| words::hostile(source));
            return format!("{before}{datum}{after}");
        }
        match words::benign(source) {
            words if words.is_empty() => datum,
            words if one_in(source, 2) => format!("{datum} {words}"),
            words => format!("{words} {datum}"),
        }
    }

    /// A choice about hidden text, from its source.
    pub(crate) fn secretly<T: Copy>(&mut self, items: &[T]) -> T {
        pick(&mut self.secret, items)
    }
}

/// The data in a text, in its order, with the bytes where they stand.
pub fn data(text: &str) -> Vec<(usize, &str)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match datum_len(&bytes[at..]) {
            Some(len) => {
                found.push((at, &text[at..at + len]));
                at += len;
            }
            None => at += 1,
        }
    }
    found
}

/// How long the datum is that a text begins with.
fn datum_len(bytes: &[u8]) -> Option<usize> {
    let digits = |bytes: &[u8]| bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    match bytes.first()? {
        b's' | b't' => {
            let count = digits(&bytes[1..]);
            (count > 0 && bytes.get(1 + count) == Some(&b'x')).then_some(count + 2)
        }
        b'8' => {
            let number = bytes.get(..10)?;
            let is_one = number.starts_with(b"8800") && number.ends_with(b"088");
            (is_one && digits(number) == 10).then_some(10)
        }
        _ => None,
    }
}
