//! Reads keys, and values that are not strings.

use super::{Bracket, EMPTY_KEY, Phase, Scanner};
use crate::Span;
use crate::grammar::sections::parameters::To;
use crate::json::{is_number, write_string};
use crate::rules::Words;

impl<'a> Scanner<'a> {
    /// Whether a byte ends the key or the value that is read.
    pub(super) fn ends_bare(&self, byte: u8) -> bool {
        match byte {
            b':' => self.phase == Phase::Key,
            byte => matches!(byte, b'{' | b'}' | b'[' | b']' | b','),
        }
    }

    /// Adds text to the key or the value that is read.
    pub(super) fn add_bare(&mut self, text: &str, span: Span, to: &mut To<'_, 'a, '_>) {
        let most = to.out.options.limits.value_bytes;
        let len = text.floor_char_boundary(most.saturating_sub(self.bare.len()));
        if len == text.len() {
            return self.bare.push(text, span, to.out.keep);
        }
        // It is no key and no number.
        let split = if span.len() == text.len() { span.start + len } else { span.end };
        self.bare.push(&text[..len], Span::new(span.start, split), to.out.keep);
        self.fail(to);
        self.drop_text(&text[len..], Span::new(split, span.end), to);
    }

    /// Reads the character at byte `at`, which ends a key or a value. Returns its length if it was
    /// read.
    pub(super) fn after_bare(&mut self, byte: u8, at: usize, to: &mut To<'_, 'a, '_>) -> usize {
        let is_blank = self.bare.as_str().trim_ascii().is_empty();
        match (self.phase, byte) {
            (Phase::Key, b':') => {
                self.key(to);
                self.begin_bare(Phase::Value, at + 1);
                1
            }
            (_, b'}' | b']') if is_blank && self.may_close() => {
                // A comma before the end is not written.
                self.is_canonical &= self.is_first && self.bare.is_empty();
                self.bare.clear();
                self.close(byte, at, to)
            }
            (Phase::Value, b'{' | b'[') if is_blank => self.open(byte, at, to),
            (Phase::Value, b',' | b'}' | b']') if !is_blank => {
                self.value(to);
                self.end_value(at);
                0
            }
            _ => {
                self.fail(to);
                0
            }
        }
    }

    /// Whether the innermost bracket can be closed where a key or a value is expected.
    fn may_close(&self) -> bool {
        self.phase == Phase::Key || self.open.last() == Some(&Bracket::List)
    }

    fn key(&mut self, to: &mut To<'_, 'a, '_>) {
        let key = self.bare.take();
        let name = key.trim_ascii();
        self.is_canonical &= name.len() == key.len();
        // A model that writes JSON means the text between the quotation marks.
        if name.starts_with('"') {
            self.odd.get_or_insert("a key of this call is in quotation marks");
        }
        if name.is_empty() {
            self.odd.get_or_insert(EMPTY_KEY);
        }
        self.separate(to);
        let mut text = String::new();
        write_string(&mut text, name);
        text.push_str(": ");
        self.insert(&text, self.bare_at, to);
    }

    fn value(&mut self, to: &mut To<'_, 'a, '_>) {
        let value = self.bare.take();
        let word = value.trim_ascii();
        self.is_canonical &= word.len() == value.len();
        self.separate_value(to);
        if matches!(word, "true" | "false" | "null") || is_number(word) {
            return self.insert(word, self.bare_at, to);
        }
        self.is_canonical = false;
        if let Some(json) = Words::json_of(word) {
            return self.insert(json, self.bare_at, to);
        }
        // It can be a string without its tokens.
        self.odd.get_or_insert("a value of this call is neither JSON nor a string in its tokens");
        let mut text = String::new();
        write_string(&mut text, word);
        self.insert(&text, self.bare_at, to);
    }
}
