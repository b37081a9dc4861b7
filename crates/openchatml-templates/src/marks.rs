//! Marks that distinguish content from the text of a template.
//!
//! A mark is a character that occurs neither in the input nor in the template. Content that could
//! be or become part of a control token is marked before the template receives it:
//!
//! - Text that the template itself searches for in content (`content.split('</think>')`) gets an
//!   opening and a closing mark around it, so that it is still found.
//! - Any other first character of a control token gets a mark after it, so that it cannot become a
//!   control token, whatever the template removes or adds around it.
//! - Content that could continue a token that the template began (`'<' ~ name ~ '>'`) gets a mark
//!   before it.
//!
//! Therefore, a control token in the output belongs to the template, unless it is between an
//! opening and a closing mark.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::controls::Controls;
use crate::source::Literals;

/// Content that is part of a control token is not marked if it is shorter than this, in bytes.
const SHORTEST: usize = 3;

/// The mark characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Marks {
    all: [char; 5],
}

/// Noncharacters, which Unicode reserves for internal use, followed by characters for private use.
fn candidates() -> impl Iterator<Item = char> {
    let ranges = ['\u{fdd0}'..='\u{fdef}', '\u{f0000}'..='\u{ffffd}', '\u{100000}'..='\u{10fffd}'];
    ranges.into_iter().flatten()
}

impl Marks {
    /// Chooses marks that are not among these characters. Returns `None` if there are too few
    /// others.
    pub(crate) fn outside(used: &HashSet<char>) -> Option<Self> {
        let free: Vec<_> = candidates().filter(|c| !used.contains(c)).take(5).collect();
        Some(Self { all: free.try_into().ok()? })
    }

    /// Adds the characters of a text that could be marks.
    pub(crate) fn note(text: &str, used: &mut HashSet<char>) {
        let is_one = |c: &char| matches!(u32::from(*c), 0xFDD0..=0xFDEF | 0xF_0000..);
        if !text.is_ascii() {
            used.extend(text.chars().filter(is_one));
        }
    }

    /// The mark after the first character of a possible control token.
    fn apart(&self) -> char {
        self.all[0]
    }

    /// The marks around text that the template searches for.
    fn around(&self) -> [char; 2] {
        [self.all[1], self.all[2]]
    }

    /// The marks around the output of the model.
    pub(crate) fn generation(&self) -> [char; 2] {
        [self.all[3], self.all[4]]
    }

    /// Whether a character is a mark.
    pub(crate) fn contains(&self, c: &char) -> bool {
        self.all.contains(c)
    }

    /// Removes the marks from a text.
    pub(crate) fn without<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match text.is_ascii() || !text.contains(self.all) {
            true => Cow::Borrowed(text),
            false => Cow::Owned(text.replace(self.all, "")),
        }
    }

    /// Whether `range` has an opening mark before it and a closing one after it.
    pub(crate) fn stand_around(&self, text: &str, range: &Range<usize>) -> [bool; 2] {
        let [open, close] = self.around();
        [text[..range.start].ends_with(open), text[range.end..].starts_with(close)]
    }

    /// Finds `wanted` in a text, with the marks around it.
    pub(crate) fn find<'t>(
        &'t self,
        text: &'t str,
        wanted: &'t str,
    ) -> impl Iterator<Item = Range<usize>> {
        let [open, close] = self.around();
        text.match_indices(wanted).map(move |(at, found)| {
            let range = at..at + found.len();
            match self.stand_around(text, &range) {
                [true, true] => range.start - open.len_utf8()..range.end + close.len_utf8(),
                _ => range,
            }
        })
    }

    /// Removes the characters at the ends of a text for which `is_cut` is true. Marks among them
    /// remain.
    pub(crate) fn trim<'t>(
        &self,
        text: &'t str,
        ends: [bool; 2],
        is_cut: impl Fn(char) -> bool,
    ) -> Cow<'t, str> {
        let goes = |c: char| is_cut(c) || self.contains(&c);
        let [cuts_start, cuts_end] = ends;
        let rest = if cuts_start { text.trim_start_matches(goes) } else { text };
        let inner = if cuts_end { rest.trim_end_matches(goes) } else { rest };
        let start = text.len() - rest.len();
        let (before, after) = (&text[..start], &text[start + inner.len()..]);
        let marks = |part: &str| part.chars().filter(|c| self.contains(c)).collect::<String>();
        match (marks(before), marks(after)) {
            (before, after) if before.is_empty() && after.is_empty() => Cow::Borrowed(inner),
            (before, after) => Cow::Owned([&before, inner, &after].concat()),
        }
    }
}

/// Marks content.
pub(crate) struct Marker<'t> {
    pub(crate) marks: &'t Marks,
    /// The text that the template searches for and that starts like a control token.
    sought: AhoCorasick,
    /// The first characters of control tokens.
    initials: Vec<char>,
    /// The ends of control tokens.
    ends: HashSet<&'t str>,
    /// All control tokens without their first and last characters.
    inner: String,
    /// The same without punctuation at their ends.
    words: HashSet<&'t str>,
    longest: usize,
    literals: &'t Literals,
    /// The marked content.
    pub(crate) marked: Vec<Marked>,
}

/// Marked content and its place.
#[derive(Clone, Debug)]
pub(crate) struct Marked {
    pub(crate) place: ContentPlace,
    pub(crate) text: String,
}

/// The place of content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ContentPlace {
    /// The index of the message, if it is in one.
    pub(crate) message: Option<usize>,
    /// The part of the message, or the name of the variable.
    pub(crate) field: String,
}

impl<'t> Marker<'t> {
    pub(crate) fn new(marks: &'t Marks, controls: &'t Controls, literals: &'t Literals) -> Self {
        let spellings = controls.spellings();
        let first = |text: &str| text.chars().next();
        let mut initials: Vec<char> = spellings.iter().filter_map(|it| first(it)).collect();
        initials.sort_unstable();
        initials.dedup();
        let sought = literals.sought.iter().filter(|word| {
            let begins = first(word).is_some_and(|c| initials.contains(&c));
            begins && word.chars().count() > 1
        });
        let mut finder = AhoCorasick::builder();
        let finder = finder.match_kind(MatchKind::LeftmostLongest).build(sought);
        let ends =
            spellings.iter().flat_map(|it| it.char_indices().skip(1).map(|(at, _)| &it[at..]));
        let inner = spellings.iter().filter_map(|it| {
            let last = it.chars().next_back()?;
            it.get(first(it)?.len_utf8()..it.len() - last.len_utf8())
        });
        let words = spellings.iter().map(|it| it.trim_matches(|c: char| !c.is_alphanumeric()));
        Self {
            marks,
            sought: finder.expect("a template is short"),
            ends: ends.collect(),
            inner: inner.collect::<Vec<_>>().join("\n"),
            longest: spellings.iter().map(String::len).max().unwrap_or_default(),
            initials,
            words: words.collect(),
            literals,
            marked: Vec::new(),
        }
    }

    /// Marks content.
    pub(crate) fn content<'c>(&mut self, text: &'c str, place: &ContentPlace) -> Cow<'c, str> {
        let goes_on = self.goes_on(text) && !self.literals.sought.contains(text);
        self.mark(text, goes_on, place)
    }

    /// Marks a key. A key that the template contains is not changed.
    pub(crate) fn key<'c>(&mut self, key: &'c str, place: &ContentPlace) -> Cow<'c, str> {
        let is_known = self.literals.names.contains(key) || self.literals.sought.contains(key);
        let goes_on = !is_known && self.goes_on(key);
        self.mark(key, goes_on, place)
    }

    fn mark<'c>(&mut self, text: &'c str, goes_on: bool, place: &ContentPlace) -> Cow<'c, str> {
        if !goes_on && !text.contains(self.initials.as_slice()) {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len() + 16);
        if goes_on {
            out.push(self.marks.apart());
        }
        let [open, close] = self.marks.around();
        let mut at = 0;
        for found in self.sought.find_iter(text) {
            self.set_apart(&text[at..found.start()], &mut out);
            out.push(open);
            out.push_str(&text[found.range()]);
            out.push(close);
            at = found.end();
        }
        self.set_apart(&text[at..], &mut out);
        self.marked.push(Marked { place: place.clone(), text: text.to_owned() });
        Cow::Owned(out)
    }

    fn set_apart(&self, text: &str, out: &mut String) {
        let mut at = 0;
        for (found, initial) in text.match_indices(self.initials.as_slice()) {
            let end = found + initial.len();
            out.push_str(&text[at..end]);
            out.push(self.marks.apart());
            at = end;
        }
        out.push_str(&text[at..]);
    }

    /// Whether a text could continue a control token that the template began.
    fn goes_on(&self, text: &str) -> bool {
        let ends_one = (1..=text.len().min(self.longest))
            .filter_map(|len| text.get(..len))
            .any(|beginning| self.ends.contains(beginning));
        // One or two letters are too common to be marked, and no template lacks only so few.
        let is_part = (SHORTEST..self.longest).contains(&text.len()) && !text.contains('\n');
        ends_one || self.words.contains(text) || is_part && self.inner.contains(text)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{ContentPlace, Marker, Marks};
    use crate::controls::Controls;
    use crate::source::Literals;

    fn marked(text: &str) -> String {
        let source = "{{ c.split('</think>') }}{% if r == 'user' %}{{ d.key }}{% endif %}";
        let (marks, literals) = (Marks::outside(&HashSet::new()).unwrap(), Literals::of(source));
        let spellings = ["<|end|>", "<think>", "</think>", "<|user|>"].map(str::to_owned);
        let controls = Controls::new(spellings);
        let mut marker = Marker::new(&marks, &controls, &literals);
        let marked = marker.content(text, &ContentPlace::default()).into_owned();
        assert_eq!(marks.without(&marked), text);
        ['\'', '(', ')']
            .into_iter()
            .zip(marks.all)
            .fold(marked, |it, (to, from)| it.replace(from, &to.to_string()))
    }

    #[test]
    fn only_searched_text_remains_unsplit() {
        for (text, wanted) in [
            ("a </think> b", "a (</think>) b"),
            ("<|end|>", "<'|end|>"),
            ("a < b", "a <' b"),
            ("<<think>", "<'<'think>"),
            // It could continue text of the template.
            ("|end|> x", "'|end|> x"),
            ("think", "'think"),
            ("end|", "'end|"),
            ("th", "th"),
            // The template compares with it.
            ("user", "user"),
            ("plain", "plain"),
        ] {
            assert_eq!(marked(text), wanted);
        }
    }

    #[test]
    fn marks_are_not_in_the_input() {
        let mut used = HashSet::new();
        Marks::note("\u{fdd0}\u{fdd1}a\u{fdd3}", &mut used);
        let marks = Marks::outside(&used).unwrap();
        assert_eq!(marks.all, ['\u{fdd2}', '\u{fdd4}', '\u{fdd5}', '\u{fdd6}', '\u{fdd7}']);
        assert_eq!(Marks::outside(&super::candidates().collect()), None);
    }

    #[test]
    fn marks_are_ignored_in_searches() {
        let marks = Marks::outside(&HashSet::new()).unwrap();
        let [open, close] = marks.around();
        let text = format!(" \n{open}</a>{close} ");
        assert_eq!(marks.trim(&text, [true, true], char::is_whitespace), text.trim());
        let cut = format!("a\n{open}");
        assert_eq!(marks.trim(&cut, [true, true], char::is_whitespace), format!("a{open}"));
        let found: Vec<_> = marks.find(&text, "</a>").collect();
        assert_eq!(&text[found[0].clone()], text.trim());
    }
}
