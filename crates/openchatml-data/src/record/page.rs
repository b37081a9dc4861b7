//! A part of a file to which diagnostics refer.

use std::cell::OnceCell;

use openchatml::{Lines, Location, Span};

use super::decode::{Decoded, Patch};

/// The text of a file or of one of its lines, with its position in the file.
#[derive(Debug)]
pub struct Page<'t> {
    /// The name of the file.
    pub name: &'t str,
    /// The text.
    pub text: &'t str,
    first_line: usize,
    base: usize,
    raw: &'t [u8],
    patches: &'t [Patch],
    lines: OnceCell<Lines<'t>>,
}

impl<'t> Page<'t> {
    /// Creates a page from a file, or from the part of it that begins in line `first_line`.
    pub fn new(name: &'t str, decoded: &'t Decoded<'_>, first_line: usize) -> Self {
        Self {
            name,
            text: &decoded.text,
            first_line,
            base: decoded.base,
            raw: decoded.raw,
            patches: &decoded.patches,
            lines: OnceCell::new(),
        }
    }

    /// The number of its first line.
    pub fn first_line(&self) -> usize {
        self.first_line
    }

    /// The first byte of the file that is not UTF-8.
    pub fn not_text(&self) -> Option<usize> {
        let first = self.patches.first()?;
        Some(self.base + first.after - char::REPLACEMENT_CHARACTER.len_utf8())
    }

    /// The bytes of the text, if they differ from the text.
    pub fn raw(&self) -> Option<&'t [u8]> {
        self.patches.first().map(|_| self.raw)
    }

    /// The position in the file.
    pub fn offset(&self) -> usize {
        self.base
    }

    /// Returns the line and the column in the file of a byte of the text.
    pub fn locate(&self, at: usize) -> Location {
        let lines = self.lines.get_or_init(|| Lines::new(self.text));
        let Location { line, column } = lines.locate(at);
        Location { line: line + self.first_line - 1, column }
    }

    /// Returns the span in the file of a span of the text.
    pub fn file_span(&self, span: Span) -> Span {
        Span::new(self.file_offset(span.start), self.file_offset(span.end))
    }

    fn file_offset(&self, at: usize) -> usize {
        let before = self.patches.partition_point(|patch| patch.after <= at);
        let longer = before.checked_sub(1).map_or(0, |last| self.patches[last].longer);
        self.base + at - longer
    }
}

#[cfg(test)]
mod tests {
    use openchatml::{Location, Span};

    use super::super::decode::Decoded;
    use super::Page;

    #[test]
    fn spans_refer_to_the_file() {
        // "ab\xFFcd\n\xE2\x82xy" at offset 10, line 7.
        let decoded = Decoded::new(b"ab\xFFcd\n\xE2\x82xy", 10);
        let page = Page::new("f", &decoded, 7);
        let at = decoded.text.find("xy").unwrap();
        assert_eq!(page.file_span(Span::new(at, at + 2)), Span::new(18, 20));
        assert_eq!(page.locate(at), Location { line: 8, column: 2 });
        assert_eq!(page.file_span(Span::new(2, 5)), Span::new(12, 13));
    }
}
