//! The generator of documents: it makes choices, and generates text with data that can be found
//! again.

use super::words;
use crate::{Source, one_in, pick};

/// The options for generated documents.
#[derive(Clone, Copy, Debug, Default)]
pub struct GeneratorOptions {
    /// Texts contain control tokens, headers and control characters.
    pub hostile: bool,
    /// The document contains things that its grammar does not allow, or allows but rarely occur.
    pub odd: bool,
    /// The text is damaged after writing.
    pub damaged: bool,
}

impl GeneratorOptions {
    /// Options for grammatical documents with any texts.
    pub fn well_formed(source: &mut Source<'_>) -> Self {
        Self { hostile: one_in(source, 2), odd: false, damaged: false }
    }

    /// Options for any documents.
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

/// Makes choices, and generates words that can be found again: *data*.
///
/// Hidden text has its own source of randomness. The same document with another source differs only
/// in hidden text.
pub(crate) struct Generator<'b> {
    pub(crate) source: Source<'b>,
    secret: Source<'b>,
    pub(crate) generator_options: GeneratorOptions,
    /// The prefix of data in hidden text.
    hidden_prefix: char,
    data: usize,
    /// The deliberate deviations from the grammar.
    pub(crate) flaws: Vec<&'static str>,
    /// The deviations that strict reading must report.
    pub(crate) violations: Vec<&'static str>,
}

impl<'b> Generator<'b> {
    pub(crate) fn new(
        source: Source<'b>,
        secret: Source<'b>,
        generator_options: GeneratorOptions,
        hidden_prefix: char,
    ) -> Self {
        Self {
            source,
            secret,
            generator_options,
            hidden_prefix,
            data: 0,
            flaws: Vec::new(),
            violations: Vec::new(),
        }
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

    /// Decides whether to add an oddity here, once in `n` places.
    pub(crate) fn is_odd(&mut self, n: u8) -> bool {
        self.generator_options.odd && self.one_in(n)
    }

    /// Records a deviation from the grammar.
    pub(crate) fn flaw(&mut self, what: &'static str) {
        self.flaws.push(what);
    }

    /// Records a deviation that strict reading must report.
    pub(crate) fn violation(&mut self, what: &'static str) {
        self.flaws.push(what);
        self.violations.push(what);
    }

    /// Generates a word that is unique in the document.
    pub(crate) fn datum(&mut self) -> String {
        self.data += 1;
        format!("s{}x", self.data)
    }

    /// Generates a unique word for hidden text.
    pub(crate) fn hidden_datum(&mut self) -> String {
        self.data += 1;
        format!("{}{}x", self.hidden_prefix, self.data)
    }

    /// Generates a number that is unique in the document.
    pub(crate) fn number(&mut self) -> String {
        self.data += 1;
        format!("8800{:03}088", self.data)
    }

    /// Generates a text with a datum in it.
    pub(crate) fn text(&mut self, shown: Shown) -> String {
        let (datum, source) = match shown {
            Shown::User => (self.datum(), &mut self.source),
            Shown::Hidden => (self.hidden_datum(), &mut self.secret),
        };
        if self.generator_options.hostile {
            let [before, after] = [(); 2].map(|()| words::hostile(source));
            return format!("{before}{datum}{after}");
        }
        match words::benign(source) {
            words if words.is_empty() => datum,
            words if one_in(source, 2) => format!("{datum} {words}"),
            words => format!("{words} {datum}"),
        }
    }

    /// Makes a choice about hidden text, from its own source.
    pub(crate) fn secretly<T: Copy>(&mut self, items: &[T]) -> T {
        pick(&mut self.secret, items)
    }
}

/// Returns the data in a text with their positions, in order.
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

/// Returns the length of the datum at the beginning of a text.
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
