//! Places in the input.

use std::ops::Range;

/// A half-open range of byte offsets in the input, or of positions in a list of token ids.
///
/// ```
/// use openchatml::Span;
///
/// let span = Span::new(3, 8);
/// assert_eq!(span.len(), 5);
/// assert_eq!(&"to the end"[span.range()], "the e");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last one.
    pub end: usize,
}

impl Span {
    /// Creates the range `start..end`. If `end` is before `start`, the span is empty at `start`.
    ///
    /// ```
    /// use openchatml::Span;
    ///
    /// assert_eq!(Span::new(3, 8).range(), 3..8);
    /// assert_eq!(Span::new(8, 3), Span::at(8));
    /// ```
    pub const fn new(start: usize, end: usize) -> Self {
        Self { start, end: if end < start { start } else { end } }
    }

    /// Creates the empty span at `at`.
    ///
    /// ```
    /// use openchatml::{Applicability, Edit, Fix, Span, apply_fixes};
    ///
    /// let comma = Edit { span: Span::at(5), replacement: ",".to_owned() };
    /// let fix = Fix::new(Applicability::Safe, vec![comma]);
    /// let (text, _) = apply_fixes("Hello world", &[fix]);
    /// assert_eq!(text, "Hello, world");
    /// ```
    pub const fn at(at: usize) -> Self {
        Self { start: at, end: at }
    }

    /// Returns the length in bytes.
    pub const fn len(self) -> usize {
        self.end.saturating_sub(self.start)
    }

    /// Whether the span is empty.
    pub const fn is_empty(self) -> bool {
        self.start >= self.end
    }

    /// Returns the smallest span that covers both spans.
    ///
    /// ```
    /// use openchatml::Span;
    ///
    /// let (role, body) = (Span::new(9, 13), Span::new(24, 30));
    /// assert_eq!(role.to(body), Span::new(9, 30));
    /// assert_eq!(body.to(role), role.to(body));
    /// ```
    pub fn to(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// Returns the span moved forward by `by` bytes.
    ///
    /// ```
    /// use openchatml::Span;
    ///
    /// let text = "one\ntwo three";
    /// let in_line = Span::new(4, 9);
    /// assert_eq!(&text[in_line.shift("one\n".len()).range()], "three");
    /// ```
    pub const fn shift(self, by: usize) -> Self {
        Self { start: self.start + by, end: self.end + by }
    }

    /// Returns the span as a range, to slice the input.
    pub const fn range(self) -> Range<usize> {
        self.start..self.end
    }
}

/// Converts byte offsets to lines and columns, for people and editors.
///
/// Creating the index reads the text once. Each lookup is a binary search, however long the lines
/// are.
///
/// ```
/// use openchatml::{Lines, Location};
///
/// let lines = Lines::new("one\ntwø three");
/// assert_eq!(lines.locate(9), Location { line: 2, column: 5 });
/// ```
#[derive(Clone, Debug)]
pub struct Lines<'a> {
    text: &'a str,
    /// The start of each line.
    starts: Vec<usize>,
    /// The number of characters before each block, so that long lines need not be counted again.
    before: Vec<usize>,
}

/// The size of a block in bytes.
const BLOCK: usize = 4096;

/// Counts the characters that begin in `bytes`: all bytes except continuation bytes.
fn characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xC0 != 0x80).count()
}

/// A place in a text as line and column.
///
/// ```
/// use openchatml::{Lines, parse};
///
/// let text = "version: 2.2\n\n<|start|>user<|message|>a<|call|>";
/// let parsed = parse(text, "openchatml-2.2".parse()?, &Default::default());
/// let found = &parsed.diagnostics[0];
/// let place = Lines::new(text).locate(found.span.start);
/// assert_eq!(format!("{}:{}", place.line, place.column), "3:26");
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters (Unicode scalar values), counted from 1.
    pub column: usize,
}

impl<'a> Lines<'a> {
    /// Indexes the lines of `text`.
    ///
    /// ```
    /// use openchatml::{Lines, Location};
    ///
    /// // A line break is `\n`, or `\r\n` with its `\r` as the last character of the line.
    /// let lines = Lines::new("one\r\ntwo");
    /// assert_eq!(lines.locate(3), Location { line: 1, column: 4 });
    /// assert_eq!(lines.locate(5), Location { line: 2, column: 1 });
    /// ```
    pub fn new(text: &'a str) -> Self {
        let breaks = memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1);
        let mut before = vec![0];
        for block in text.as_bytes().chunks_exact(BLOCK) {
            before.push(before[before.len() - 1] + characters(block));
        }
        Self { text, starts: std::iter::once(0).chain(breaks).collect(), before }
    }

    /// Returns the place of byte `offset`. An offset after the end gives the end.
    ///
    /// ```
    /// use openchatml::{Lines, Location};
    ///
    /// let lines = Lines::new("20 °C\n");
    /// assert_eq!(lines.locate(5), Location { line: 1, column: 5 }); // `°` is two bytes.
    /// assert_eq!(lines.locate(100), Location { line: 2, column: 1 });
    /// ```
    pub fn locate(&self, offset: usize) -> Location {
        let offset = offset.min(self.text.len());
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts[line - 1];
        Location {
            line,
            column: self.characters_before(offset) - self.characters_before(start) + 1,
        }
    }

    fn characters_before(&self, offset: usize) -> usize {
        let block = offset / BLOCK;
        self.before[block] + characters(&self.text.as_bytes()[block * BLOCK..offset])
    }
}
