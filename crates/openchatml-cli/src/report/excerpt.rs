//! Excerpts: the lines of a diagnostic, cut to the width of a screen.

use std::ops::Range;

use openchatml::Span;

use crate::visible::sign;

/// The number of characters before the place if a line is cut.
const BEFORE: usize = 48;

/// The maximum number of characters of a line.
pub(super) const WIDE: usize = 128;

/// The maximum number of lines.
const LINES: usize = 5;

/// An excerpt of a text.
#[derive(Debug)]
pub(crate) struct Excerpt {
    /// The lines, with escaped control characters.
    pub(crate) text: String,
    /// The requested places in the excerpt.
    pub(crate) marks: Vec<Range<usize>>,
    /// The position of the excerpt in the text.
    pub(crate) start: usize,
    /// Whether the excerpt contains all of the places.
    pub(crate) is_whole: bool,
}

impl Excerpt {
    /// Returns the excerpt of `text` around these places, which are sorted by their start.
    pub(crate) fn new(text: &str, places: &[Span]) -> Self {
        let first = places.iter().map(|place| place.start).min().unwrap_or(0).min(text.len());
        let last = places.iter().map(|place| place.end).max().unwrap_or(0).min(text.len());
        let (start, is_cut) = beginning(text, before_the_end(text, first));
        let offsets = places.iter().flat_map(|place| [place.start, place.end]).collect();
        let mut cutter = Cutter { out: String::new(), found: Vec::new(), offsets };
        if is_cut {
            cutter.out.push('…');
        }
        let shown = cutter.lines(text, start, last);
        let end = cutter.out.len();
        let mut marks = Vec::new();
        for place in places {
            let [from, to] = [place.start, place.end].map(|at| cutter.find(at).unwrap_or(end));
            marks.push(from..to.max(from));
        }
        Self { text: cutter.out, marks, start, is_whole: shown >= last }
    }
}

/// Returns `at`, or the end of the line before if `at` is an empty last line.
fn before_the_end(text: &str, at: usize) -> usize {
    let at = text.floor_char_boundary(at);
    if at == text.len() && text.ends_with('\n') { at - 1 } else { at }
}

/// Returns the beginning of the line that contains `at`, or the place where it is cut, and whether
/// it is cut.
fn beginning(text: &str, at: usize) -> (usize, bool) {
    let (mut start, mut cut) = (at, at);
    for (back, (index, c)) in text[..at].char_indices().rev().enumerate() {
        if c == '\n' {
            return (start, false);
        }
        if back == WIDE - BEFORE {
            return (cut, true);
        }
        start = index;
        if back < BEFORE {
            cut = index;
        }
    }
    (start, false)
}

struct Cutter {
    out: String,
    /// The requested places in the text and in the excerpt.
    found: Vec<(usize, usize)>,
    offsets: Vec<usize>,
}

impl Cutter {
    /// Appends lines from `at` to the end of the line that contains `last`. Returns the position in
    /// the text after them.
    fn lines(&mut self, text: &str, mut at: usize, last: usize) -> usize {
        for _ in 0..LINES {
            at = self.line(text, at, last);
            if at >= last || !text[at..].starts_with('\n') {
                return at;
            }
            self.note(at);
            self.out.push('\n');
            at += 1;
            self.note(at);
            if at > last || at == text.len() {
                return at;
            }
        }
        at
    }

    /// Appends one line, or the part that fits.
    fn line(&mut self, text: &str, start: usize, last: usize) -> usize {
        for (wide, (index, c)) in text[start..].char_indices().enumerate() {
            let at = start + index;
            self.note(at);
            let is_break = c == '\n' || text[at..].starts_with("\r\n");
            if is_break {
                return at + usize::from(c == '\r');
            }
            if wide >= WIDE {
                self.out.push('…');
                // The rest of the line is dropped, unless it contains a place.
                let asked = text.as_bytes().get(at..last).unwrap_or_default();
                return memchr::memchr(b'\n', asked).map_or(at, |end| at + end);
            }
            self.out.push(sign(c));
        }
        self.note(text.len());
        text.len()
    }

    fn note(&mut self, at: usize) {
        if self.offsets.contains(&at) {
            self.found.push((at, self.out.len()));
        }
    }

    fn find(&self, at: usize) -> Option<usize> {
        self.found.iter().find(|found| found.0 >= at).map(|found| found.1)
    }
}

#[cfg(test)]
mod tests {
    use openchatml::Span;

    use super::Excerpt;

    fn shown(text: &str, start: usize, end: usize) -> (String, String) {
        let excerpt = Excerpt::new(text, &[Span::new(start, end)]);
        let mark = excerpt.text[excerpt.marks[0].clone()].to_owned();
        (excerpt.text, mark)
    }

    #[test]
    fn a_short_line_is_shown_completely() {
        assert_eq!(shown("one\ntwo three\nfour", 8, 13), ("two three".into(), "three".into()));
        assert_eq!(shown("one\r\ntwo", 1, 3), ("one".into(), "ne".into()));
        assert_eq!(shown("a\u{1b}b", 1, 2), ("a␛b".into(), "␛".into()));
        assert_eq!(shown("", 0, 0), (String::new(), String::new()));
    }

    #[test]
    fn the_end_of_a_text_is_shown_with_its_last_line() {
        let excerpt = Excerpt::new("one\ntwo\n", &[Span::at(8)]);
        assert_eq!((excerpt.text.as_str(), excerpt.start), ("two\n", 4));
        assert_eq!(excerpt.marks.first(), Some(&(4..4)));
        assert_eq!(shown("one\ntwo", 7, 7).0, "two");
    }

    #[test]
    fn long_lines_are_cut() {
        let text = "x".repeat(10_000_000);
        let (shown, mark) = shown(&text, 5_000_000, 5_000_003);
        assert!(shown.chars().count() < 135, "{shown}");
        assert!(shown.starts_with('…') && shown.ends_with('…'));
        assert_eq!(mark, "xxx");
    }

    #[test]
    fn many_lines_are_cut() {
        let text = "line\n".repeat(1000);
        let excerpt = Excerpt::new(&text, &[Span::new(0, 5000)]);
        assert!(excerpt.text.lines().count() <= 5);
        assert!(!excerpt.is_whole);
        assert_eq!(shown("ab\ncd\nef", 1, 7), ("ab\ncd\nef".into(), "b\ncd\ne".into()));
    }
}
