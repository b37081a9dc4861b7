//! Reads the text of elements.

use super::{Content, Phase, Scanner};
use crate::declare::Types;
use crate::grammar::sections::calls::place_in;
use crate::grammar::sections::parameters::{To, add_string, as_json, may_be_json};
use crate::grammar::sections::recover::tell_token;
use crate::rules::Words;
use crate::{Control, Span};

impl<'a> Scanner<'a> {
    /// Whether the innermost element can contain elements.
    pub(super) fn may_contain(&self) -> bool {
        self.phase == Phase::Between || self.is_unknown() && self.is_blank
    }

    fn is_unknown(&self) -> bool {
        self.open.last().is_some_and(|element| matches!(element.content, Content::Unknown))
    }

    /// Reads text of a value. Returns the number of bytes that were read.
    pub(super) fn value_text(&mut self, text: &str, span: Span, to: &mut To<'_, 'a, '_>) -> usize {
        if !self.is_unknown() {
            add_string(&mut self.len, text, span, to);
            return text.len();
        }
        let most = to.out.options.limits.message_bytes;
        let len = text.floor_char_boundary(most.saturating_sub(self.raw.len()));
        let (kept, place) = (&text[..len], Span::new(span.start, place_in(text, span, len)));
        self.raw.push(kept, place, to.out.keep);
        // The first byte that is no white space decides, and is looked for once.
        let first = kept.trim_ascii_start().as_bytes().first().filter(|_| self.is_blank);
        self.is_blank &= first.is_none();
        let types = self.open.last().map_or(Types::ANY, |element| element.types);
        if len < text.len() || first.is_some_and(|first| !may_be_json(*first, types)) {
            self.begin_string(to);
        }
        len
    }

    /// Reads a token that is text of a value.
    pub(super) fn value_token(&mut self, control: Control, span: Span, to: &mut To<'_, 'a, '_>) {
        tell_token(self.rules, control, span, false, to.out);
        self.text(self.rules.spelling(control), span, to);
    }

    /// Begins a string with the text so far.
    pub(super) fn begin_string(&mut self, to: &mut To<'_, 'a, '_>) {
        let Some(element) = self.open.last_mut() else { return };
        element.content = Content::String;
        let types = element.types;
        self.write_string(types, to);
    }

    fn write_string(&mut self, types: Types, to: &mut To<'_, 'a, '_>) {
        self.is_mistyped |= !types.has(Types::STRING);
        let span = if self.raw.is_empty() { self.tag } else { self.raw.span() };
        let raw = self.raw.take();
        self.insert("\"", span.start, to);
        if !raw.is_empty() {
            add_string(&mut self.len, &raw, span, to);
        }
    }

    /// Writes the value of an element that has ended, if it may be no string.
    pub(super) fn leaf(&mut self, types: Types, to: &mut To<'_, 'a, '_>) {
        let at = if self.raw.is_empty() { self.tag.start } else { self.raw.span().start };
        let json = as_json(self.raw.as_str(), types, Words::Json, &to.out.options.limits);
        let json = json.map(str::to_owned).or_else(|| self.empty(types).map(str::to_owned));
        let Some(json) = json else {
            self.write_string(types, to);
            return self.insert("\"", self.tag.start, to);
        };
        // The writer expands lists and objects, and writes no member that is `null`.
        let parent = self.open.last().map(|element| &element.content);
        let is_member = matches!(parent, Some(Content::Object(_)));
        let is_other = json.starts_with(['{', '[']) || is_member && json == "null";
        self.is_canonical &= self.raw.is_empty() || !is_other && json == self.raw.as_str();
        self.raw.clear();
        self.insert(&json, at, to);
    }

    /// Returns the value of an element without content, if its tool declares a list or an object.
    fn empty(&self, types: Types) -> Option<&'static str> {
        if !self.is_blank || types.has(Types::STRING) {
            None
        } else if types.has(Types::ARRAY) {
            Some("[]")
        } else {
            types.has(Types::OBJECT).then_some("{}")
        }
    }
}
