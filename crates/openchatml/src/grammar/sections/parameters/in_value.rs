//! Reads a value as it arrives.

use super::value::{as_json, may_be_json};
use super::{Match, NameEnd, Phase, Scanner, Step, To, Value};
use std::ops::Range;

use crate::Span;
use crate::declare::{Types, declares};
use crate::grammar::sections::attributes::{Named, STRING, kind_of};
use crate::grammar::sections::between::breaks;
use crate::grammar::sections::calls::place_in;
use crate::grammar::sections::recover::tell_token;
use crate::json::write_string;
use crate::rules::Tag;

/// How many bytes the name of a parameter has at most that is looked for in the value of another one.
const NAME: usize = 256;

impl Scanner {
    pub(super) fn begin_value(&mut self, behind: Tag, to: &mut To<'_, '_, '_>) {
        let is_string = self.types == Types::STRING;
        self.inside.clear();
        if is_string {
            self.insert("\"", self.at, to);
        }
        self.phase = Phase::Value(Value {
            pad: behind.breaks().1,
            raw: (!is_string).then_some(self.at),
            is_blank: true,
            is_empty: true,
            ends_line: false,
            parameters: 0,
            closed: 0,
            similar: 0,
            ends_closed: false,
            search: self.at,
            behind: 0,
        });
    }

    pub(super) fn value(&mut self, to: &mut To<'_, '_, '_>) -> Step {
        if !self.skip_pad() {
            return Step::Wait;
        }
        loop {
            let Phase::Value(value) = &self.phase else { return Step::Next };
            let Some(at) = self.next_tag(value.search) else {
                let end = self.held.end();
                self.value_text(end, false, to);
                return self.wait_at(end);
            };
            if value.search < at {
                self.wait_at(at);
            }
            self.value_text(at, false, to);
            match self.closing(at, to.out.options.limits.message_bytes) {
                Match::Open => return self.wait_at(at),
                Match::No => {
                    if self.count_parameter(at, to) == Match::Open {
                        return self.wait_at(at);
                    }
                    self.wait_at(at + 1);
                }
                Match::To(behind) => {
                    self.end_value(at, behind, to);
                    return Step::Next;
                }
            }
        }
    }

    /// Counts the beginning of another parameter in the value, or its closing tag. Returns
    /// `Match::Open` if more text is needed to know whether it is one.
    fn count_parameter(&mut self, at: usize, to: &To<'_, '_, '_>) -> Match {
        let close = self.tag(&self.parameters.close, at);
        let begins = match self.tag(&self.parameters.open, at) {
            Match::To(behind) => self.names_parameter(behind, to),
            begins => begins,
        };
        let is_similar = begins == Match::No && self.is_like_opening(at);
        let opens_value =
            self.parameters.value.is_some_and(|tag| matches!(self.tag(&tag, at), Match::To(_)));
        if let Phase::Value(value) = &mut self.phase {
            match (close, begins) {
                (Match::To(_), _) if value.parameters > 0 => value.parameters -= 1,
                (Match::To(_), _) if value.similar > 0 => value.similar -= 1,
                (Match::To(_), _) => value.closed += 1,
                (_, Match::To(_)) => value.parameters += 1,
                // Behind a name, it is the one of that parameter.
                _ if opens_value => value.parameters = value.parameters.max(1),
                _ => value.similar += usize::from(is_similar),
            }
        }
        begins
    }

    /// Whether a tag like the one that opens a parameter is at a position: `<parameter>` is a tag of
    /// other languages.
    fn is_like_opening(&self, at: usize) -> bool {
        let open = self.parameters.open.text().unwrap_or_default();
        let name = open.trim_end_matches(|last: char| !last.is_ascii_alphanumeric());
        !name.is_empty() && self.held.rest(at).starts_with(name)
    }

    /// Whether the value contains a closing tag too much.
    fn is_closed_twice(&self, is_implied: bool) -> bool {
        let Phase::Value(value) = &self.phase else { return false };
        value.closed > 0 && (is_implied || value.ends_closed)
    }

    /// Whether the name of another parameter is at a position, behind the tag that opens a parameter.
    /// A text can mention parameters, so that a tag that is no token counts only if the line break
    /// follows with which it is written or, if it is written without one, if the tool declares the
    /// parameter.
    fn names_parameter(&self, at: usize, to: &To<'_, '_, '_>) -> Match {
        // Its end can be long. A longer search would make the cost quadratic.
        let found = self.find_name_end(at..at + 2 * NAME);
        let name = self.held.slice(at..found.end());
        let is_name =
            name.len() <= NAME && !name.contains(['<', '\n']) && self.held.is_text(at..found.end());
        let (end, behind) = match found {
            _ if !is_name => return Match::No,
            NameEnd::Open { .. } => return Match::Open,
            NameEnd::At { end, behind, .. } => (end, behind),
        };
        if matches!(&self.parameters.open, Tag::Token(mark) if !self.rules.is_word(mark.control)) {
            return Match::To(end);
        }
        let name = match self.parameters.attributes {
            Some(form) => Named::read(form, name).name.unwrap_or_default(),
            None => name.into(),
        };
        let is_declared = self.tool(to).and_then(|tool| declares(tool, &name));
        let is_broken = self.parameters.name_end.breaks().1 > 0;
        match (is_declared, self.held.rest(behind).bytes().next()) {
            (Some(false), _) => Match::No,
            (_, None) if is_broken => Match::Open,
            // The line break before the closing tag.
            (_, Some(b'\n')) if is_broken => match self.tag(&self.parameters.close, behind + 1) {
                Match::No => Match::To(end),
                Match::To(_) => Match::No,
                Match::Open => Match::Open,
            },
            (Some(true), _) if !is_broken => Match::To(end),
            _ => Match::No,
        }
    }

    /// Continues the search for the end of the value at this position.
    pub(super) fn wait_at(&mut self, at: usize) -> Step {
        if let Phase::Value(value) = &mut self.phase
            && value.search != at
        {
            (value.search, value.behind) = (at, 0);
        }
        Step::Wait
    }

    /// Reads the line breaks that belong to the tag before the value. Returns whether it begins.
    pub(super) fn skip_pad(&mut self) -> bool {
        let Phase::Value(value) = &mut self.phase else { return true };
        while value.pad > 0 {
            match self.held.rest(self.at).as_bytes().first() {
                None => return false,
                Some(b'\n') => {
                    self.at += 1;
                    value.pad -= 1;
                    value.raw = value.raw.map(|_| self.at);
                }
                Some(_) => {
                    self.is_canonical = false;
                    value.pad = 0;
                }
            }
        }
        value.search = value.search.max(self.at);
        true
    }

    /// Reports the tokens up to a position, which are text. Words are no tokens there.
    pub(super) fn tell(&self, end: usize, to: &mut To<'_, '_, '_>) {
        for (control, span) in self.held.controls(self.at..end) {
            if !self.rules.is_word(control) {
                tell_token(self.rules, control, span, false, to.out);
            }
        }
    }

    /// Adds the text up to a position to the value. The last line breaks can belong to the next tag,
    /// unless this is `all` of the text.
    pub(super) fn value_text(&mut self, end: usize, all: bool, to: &mut To<'_, '_, '_>) {
        let text = self.held.slice(self.at..end);
        let breaks = text.bytes().rev().take_while(|byte| *byte == b'\n').count();
        let most = if all { 0 } else { self.parameters.close.breaks().0.into() };
        let end = end - breaks.min(most);
        if end == self.at {
            return;
        }
        self.tell(end, to);
        self.look_inside(end, to);
        let (from, text) = (self.at, self.held.slice(self.at..end));
        self.at = end;
        let Phase::Value(value) = &mut self.phase else { return };
        value.is_empty = false;
        value.ends_line = text.ends_with('\n');
        let trimmed = text.trim_ascii_end();
        if !trimmed.is_empty() {
            let close = match &self.parameters.close {
                Tag::Token(mark) => self.rules.spelling(mark.control),
                close @ Tag::Text(_) => close.text().unwrap_or_default(),
            };
            value.ends_closed = trimmed.ends_with(close);
        }
        let Some(raw) = value.raw else { return self.string(from..end, to) };
        // Its first byte that is no white space decides, and is looked for once.
        let first = text.trim_ascii_start().as_bytes().first().filter(|_| value.is_blank);
        value.is_blank &= first.is_none();
        let is_long = end - raw > to.out.options.limits.message_bytes;
        if is_long || first.is_some_and(|first| !may_be_json(*first, self.types)) {
            value.raw = None;
            self.begin_string(raw, to);
        }
    }

    /// Searches the text up to a position for signs that the value has no end.
    fn look_inside(&mut self, end: usize, to: &To<'_, '_, '_>) {
        let limits = &to.out.options.limits;
        for (text, control) in self.held.texts(self.at..end) {
            match control {
                Some(control) => self.inside.token(control, limits),
                None => self.inside.text(text, limits),
            }
        }
    }

    /// Notes the signs that the value at its end has no closing tag.
    fn check_end(&mut self, is_implied: bool) {
        if self.inside.has_call(is_implied) {
            self.odd.get_or_insert("another call begins in a value of this call");
        }
        if matches!(&self.phase, Phase::Value(value) if value.parameters > 0) {
            self.odd.get_or_insert("another parameter begins in a value of this call");
        }
        if self.is_closed_twice(is_implied) {
            self.odd.get_or_insert("a value of this call contains a closing tag");
        }
        if self.inside.has_cut_tag(is_implied) {
            self.odd.get_or_insert("a closing tag in this call is incomplete");
        }
    }

    /// Adds the text from this position on as the beginning of a string.
    pub(super) fn begin_string(&mut self, raw: usize, to: &mut To<'_, '_, '_>) {
        if self.types == Types::JSON {
            self.odd.get_or_insert("a value of this call is said to be JSON, but is not");
        }
        self.is_mistyped |= !self.types.has(Types::STRING) && self.types != Types::JSON;
        self.insert("\"", raw, to);
        self.string(raw..self.at, to);
    }

    /// Adds the text of a range to a string.
    fn string(&mut self, range: Range<usize>, to: &mut To<'_, '_, '_>) {
        for (text, span) in self.held.pieces(range) {
            add_string(&mut self.len, text, span, to);
        }
    }

    /// Ends the value. Its closing tag is at `at`, and the rest of the call is at `next`.
    pub(super) fn end_value(&mut self, at: usize, next: usize, to: &mut To<'_, '_, '_>) {
        let close = self.parameters.close;
        let closed = self.tag(&close, at);
        self.check_end(!matches!(closed, Match::To(_)));
        self.is_canonical &= match closed {
            Match::To(behind) => {
                let (before, _) = close.breaks();
                self.held.slice(self.at..at) == breaks(before)
                    && self.is_breaks(behind..next, close)
            }
            _ => false,
        };
        let mut kind = STRING;
        if let Some(raw) = self.raw() {
            let (text, words) = (self.held.slice(raw..self.at), self.parameters.words);
            match as_json(text, self.types, words, &to.out.options.limits) {
                Some(json) => {
                    kind = kind_of(json);
                    self.is_canonical &= words.of(json) == text && !json.starts_with('"');
                    let json = json.to_owned();
                    self.insert(&json, raw, to);
                }
                None => {
                    self.begin_string(raw, to);
                    self.insert("\"", at, to);
                }
            }
        } else {
            self.insert("\"", at, to);
        }
        if self.parameters.attributes.is_some() {
            self.is_canonical &= self.kind == Some(kind);
        }
        (self.at, self.phase) = (next, Phase::Between);
    }
}

/// Adds text to a string of arguments that have `len` bytes so far. The text beyond the limit has its
/// exact place, so that this does not depend on how much of the text has arrived.
pub(in crate::grammar::sections) fn add_string(
    len: &mut usize,
    text: &str,
    span: Span,
    to: &mut To<'_, '_, '_>,
) {
    let json = escaped(text);
    let room = to.out.options.limits.message_bytes.saturating_sub(*len);
    *len += json.len();
    if json.len() == text.len() {
        return to.draft.push(text, span, to.out);
    }
    let fits = if json.len() <= room { text.len() } else { fitting(text, room) };
    let (kept, beyond) = json.split_at(escaped(&text[..fits]).len());
    to.draft.insert(kept, span, to.out);
    to.draft.insert(beyond, Span::at(place_in(text, span, fits)), to.out);
    // Text that is dropped ends here.
    to.draft.insert("", Span::at(span.end), to.out);
}

/// Returns the length of the longest beginning of a text that has at most `room` bytes in a JSON
/// string.
fn fitting(text: &str, room: usize) -> usize {
    let mut room = room;
    let beyond = text.char_indices().find(|(at, c)| {
        let len = escaped(&text[*at..at + c.len_utf8()]).len();
        let fits = len <= room;
        room = room.saturating_sub(len);
        !fits
    });
    beyond.map_or(text.len(), |(at, _)| at)
}

/// Returns text as it is written in a JSON string.
fn escaped(text: &str) -> String {
    let mut json = String::new();
    write_string(&mut json, text);
    json.pop();
    json.remove(0);
    json
}
