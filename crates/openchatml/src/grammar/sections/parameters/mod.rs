//! Reads the parameters of a call as they arrive, and writes them as JSON.
//!
//! A raw value has no escapes, so its end depends on what follows: a closing tag ends it only before
//! the next parameter or the end of the call. A closing tag that is missing is implied by the next
//! parameter or the end of the call at the beginning of a line, and by the token that ends the call
//! if nothing else of the turn follows but calls.

mod held;
mod value;

pub(super) use self::value::{parameters, respelled};

pub(super) use self::held::Part;

use self::held::Held;
use self::value::{as_json, begin, may_be_json};
use super::between::breaks;
use super::recover::tell_token;
use super::{Piece, Rules};
use crate::declare::Types;
use crate::grammar::within_limit;
use crate::json::write_string;
use crate::reading::{Draft, Kept, Out};
use crate::rules::{Parameters, Tag};
use crate::{Control, Span};

/// The parameters of a call while they are read.
pub(super) struct Scanner {
    rules: &'static Rules,
    parameters: &'static Parameters,
    /// The text that follows the parameters, if there is one.
    end: Option<Tag>,
    held: Held,
    /// The position of the first byte that is not read.
    at: usize,
    phase: Phase,
    /// The declared tool, by its position in the options.
    tool: Option<usize>,
    /// The types that the parameter can have.
    types: Types,
    /// Whether text that is no part of the call was read last.
    is_odd: bool,
    /// Whether the arguments have a parameter.
    has_any: bool,
    /// Whether everything is written as the writer writes it.
    is_canonical: bool,
}

#[derive(Debug)]
enum Phase {
    /// Before the next parameter, or the end.
    Between,
    /// In a name, which was searched up to this position.
    Name(usize),
    /// Before the tag that opens a value.
    Gap,
    Value(Value),
}

/// A value while it is read.
#[derive(Debug)]
struct Value {
    /// The number of line breaks that can still belong to the tag before it.
    pad: u8,
    /// Its text, as long as it may turn out not to be a string.
    raw: Option<(String, Span)>,
    /// Whether it is empty so far.
    is_empty: bool,
    /// Whether its text ends in a line break.
    ends_line: bool,
    /// The position up to which no tag was found.
    search: usize,
    /// The position after the white space behind a tag that may end it.
    behind: usize,
}

/// Whether a tag is at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Match {
    /// Up to this position.
    To(usize),
    No,
    /// It depends on what follows.
    Open,
}

/// The result of reading a part.
enum Step {
    Next,
    /// More text is needed.
    Wait,
    /// The parameters are complete.
    End,
}

/// The receiver of what is read.
pub(super) struct To<'t, 'a, 'o> {
    pub(super) draft: &'t mut Draft<'a>,
    pub(super) dropped: &'t mut Kept<'a>,
    pub(super) out: &'t mut Out<'a, 'o>,
}

impl Scanner {
    /// Creates the reader of the parameters of a tool, which is named without its namespace.
    pub(super) fn new(
        rules: &'static Rules,
        parameters: &'static Parameters,
        name: &str,
        out: &Out<'_, '_>,
    ) -> Self {
        let mut pieces = rules.sections.calls.pieces.iter();
        pieces.find(|piece| matches!(piece, Piece::Parameters(_)));
        let end = pieces.next().and_then(|piece| match piece {
            Piece::Word(text) => Some(Tag::Text(text)),
            _ => None,
        });
        Self {
            rules,
            parameters,
            end,
            held: Held::default(),
            at: 0,
            phase: Phase::Between,
            tool: out.options.tools.iter().position(|tool| tool.name == name),
            types: Types::ANY,
            is_odd: false,
            has_any: false,
            is_canonical: true,
        }
    }

    /// Adds text, or a token.
    pub(super) fn push(&mut self, text: &str, span: Span, control: Option<Control>) {
        self.held.push(text, span, control);
    }

    /// Removes the last token.
    pub(super) fn pop(&mut self) {
        self.held.pop();
    }

    /// Whether a token can be read here. Another one interrupts the call.
    pub(super) fn takes(&self, control: Control) -> bool {
        let is = |tag: &Tag| matches!(tag, Tag::Token(mark) if mark.control == control);
        match self.phase {
            Phase::Between => is(&self.parameters.open) || control == self.close(),
            Phase::Name(_) => control != self.close(),
            Phase::Gap => self.parameters.value.as_ref().is_some_and(is),
            Phase::Value(_) => true,
        }
    }

    /// Whether the next token can show that the end of the call was read.
    pub(super) fn has_open_end(&self) -> bool {
        matches!(self.phase, Phase::Value(_)) && self.held.next_control(self.at).is_some()
    }

    /// Whether the parameters are written as the writer writes them.
    pub(super) fn is_canonical(&self) -> bool {
        self.is_canonical
    }

    /// Whether the text that ends the call is missing.
    pub(super) fn lacks_end(&self) -> bool {
        self.end.is_some() && self.held.control(self.at).is_some()
    }

    /// Takes what follows the parameters, and its place.
    pub(super) fn rest(&mut self) -> (usize, Vec<Part>) {
        (self.held.place(self.at), self.held.take(self.at))
    }

    /// The token that closes the call.
    fn close(&self) -> Control {
        self.rules.sections.calls.item.1.control
    }

    /// Reads what is held. Returns whether the parameters are complete.
    pub(super) fn read(&mut self, to: &mut To<'_, '_, '_>) -> bool {
        loop {
            let step = match self.phase {
                Phase::Between => self.between(to),
                Phase::Name(_) => self.name(to),
                Phase::Gap => self.gap(to),
                Phase::Value(_) => self.value(to),
            };
            match step {
                Step::Next => {}
                Step::Wait => {
                    self.held.drop_before(self.at);
                    return false;
                }
                Step::End => return true,
            }
        }
    }

    /// Reads what is held as the end of an incomplete call.
    pub(super) fn cut(&mut self, to: &mut To<'_, '_, '_>) {
        let end = self.held.end();
        match self.phase {
            Phase::Value(_) => {
                self.value_text(end, true, to);
                if let Phase::Value(Value { raw: Some((raw, span)), .. }) = &mut self.phase {
                    let text = format!("\"{}", escaped(raw));
                    to.draft.insert(&text, *span, to.out);
                }
            }
            _ => self.drop_text(end, to),
        }
    }

    fn between(&mut self, to: &mut To<'_, '_, '_>) -> Step {
        if self.is_odd {
            let next = self.next_tag(self.at);
            self.drop_text(next.unwrap_or(self.held.end()), to);
        } else if self.skip_space(self.at) > self.at {
            self.at = self.skip_space(self.at);
            self.is_canonical = false;
        }
        let open = self.tag(&self.parameters.open, self.at);
        if let Match::To(at) = open {
            (self.at, self.is_odd) = (at, false);
            self.phase = Phase::Name(at);
            return Step::Next;
        }
        let end = self.end_tag(self.at);
        if let Match::To(_) = end {
            let close = if self.has_any { "}" } else { "{}" };
            to.draft.insert(close, Span::at(self.held.place(self.at)), to.out);
            self.is_canonical &= !self.lacks_end();
            return Step::End;
        }
        if open == Match::Open || end == Match::Open {
            return Step::Wait;
        }
        self.is_odd = true;
        let next = self.next_tag(self.at + 1);
        self.drop_text(next.unwrap_or(self.held.end()), to);
        Step::Next
    }

    /// Drops the text up to a position, which is no part of the call.
    fn drop_text(&mut self, end: usize, to: &mut To<'_, '_, '_>) {
        let (text, span) = (self.held.slice(self.at..end), self.held.span(self.at..end));
        let (text, span) = within_limit(text, span, to.dropped.len(), to.out);
        to.dropped.push(text, span, to.out.keep);
        self.at = end;
    }

    fn name(&mut self, to: &mut To<'_, '_, '_>) -> Step {
        let Phase::Name(searched) = self.phase else { return Step::Wait };
        let most = to.out.options.limits.value_bytes;
        let found = self.find_name_end(searched);
        let len = found.map_or(self.held.end(), |(end, _)| end) - self.at;
        if len > most {
            // It is no name.
            let rest = self.held.rest(self.at);
            let end = self.at + (most + 1..).find(|at| rest.is_char_boundary(*at)).unwrap_or(len);
            (self.phase, self.is_odd) = (Phase::Between, true);
            self.drop_text(end, to);
            return Step::Next;
        }
        let Some((end, behind)) = found else {
            // The text can end in the beginning of the tag.
            let kept = self.parameters.name_end.text().map_or(0, |text| text.len() - 1);
            let from = self.held.end().saturating_sub(kept).max(self.at);
            self.phase = Phase::Name(from);
            return Step::Wait;
        };
        self.tell(end, to);
        let name = self.held.slice(self.at..end);
        let mut text = String::new();
        begin(&mut text, name, !self.has_any);
        let tool = self.tool.and_then(|at| to.out.options.tools.get(at));
        self.types = Types::of(tool, name);
        to.draft.insert(&text, self.held.span(self.at..end), to.out);
        (self.has_any, self.at) = (true, behind);
        match self.parameters.value {
            Some(_) => self.phase = Phase::Gap,
            None => self.begin_value(self.parameters.name_end, to),
        }
        Step::Next
    }

    /// Returns the end of a name, and the position after the tag there.
    fn find_name_end(&self, from: usize) -> Option<(usize, usize)> {
        let mut from = from;
        loop {
            let at = match self.parameters.name_end.text() {
                Some(text) => self.held.find(text, from)?,
                None => self.held.next_control(from)?,
            };
            if let Match::To(behind) = self.tag(&self.parameters.name_end, at) {
                return Some((at, behind));
            }
            from = at + 1;
        }
    }

    fn gap(&mut self, to: &mut To<'_, '_, '_>) -> Step {
        let Some(tag) = self.parameters.value else { return Step::Wait };
        let at = self.skip_space(self.at);
        match self.tag(&tag, at) {
            Match::To(behind) => {
                self.is_canonical &= self.is_breaks(self.at..at, self.parameters.name_end);
                self.at = behind;
                self.begin_value(tag, to);
                Step::Next
            }
            Match::Open => Step::Wait,
            Match::No => {
                let next = self.held.next_control(at).unwrap_or(self.held.end());
                self.drop_text(next, to);
                Step::Next
            }
        }
    }

    fn begin_value(&mut self, behind: Tag, to: &mut To<'_, '_, '_>) {
        let is_string = self.types == Types::STRING;
        if is_string {
            to.draft.insert("\"", Span::at(self.held.place(self.at)), to.out);
        }
        self.phase = Phase::Value(Value {
            pad: behind.breaks().1,
            raw: (!is_string).then(|| (String::new(), Span::at(self.held.place(self.at)))),
            is_empty: true,
            ends_line: false,
            search: self.at,
            behind: 0,
        });
    }

    /// Skips white space, and returns the position behind it.
    fn skip_space(&self, at: usize) -> usize {
        let rest = self.held.rest(at);
        at + (rest.len() - rest.trim_ascii_start().len())
    }

    /// Whether a range is the line breaks after a tag.
    fn is_breaks(&self, range: std::ops::Range<usize>, tag: Tag) -> bool {
        self.held.slice(range) == breaks(tag.breaks().1)
    }

    /// Returns the first position from this one on at which a tag can begin.
    fn next_tag(&self, from: usize) -> Option<usize> {
        let texts = [Some(&self.parameters.close), self.end.as_ref()].into_iter().flatten();
        let first = texts.filter_map(Tag::text).find_map(|text| text.chars().next());
        let text = first.and_then(|first| self.held.find(first.encode_utf8(&mut [0; 4]), from));
        let token = self.held.next_control(from);
        text.into_iter().chain(token).min()
    }

    /// Whether this tag is at a position.
    fn tag(&self, tag: &Tag, at: usize) -> Match {
        if at == self.held.end() {
            return Match::Open;
        }
        match tag {
            Tag::Token(mark) => match self.held.control(at) {
                Some((control, end)) if control == mark.control => Match::To(end),
                _ => Match::No,
            },
            Tag::Text(_) => {
                let text = tag.text().unwrap_or_default().as_bytes();
                let rest = self.held.rest(at).as_bytes();
                let len = rest.len().min(text.len());
                match rest[..len] == text[..len] && self.held.is_text(at..at + len) {
                    true if len == text.len() => Match::To(at + len),
                    true => Match::Open,
                    false => Match::No,
                }
            }
        }
    }

    /// Whether the end of the call is at a position.
    fn end_tag(&self, at: usize) -> Match {
        match self.held.control(at) {
            Some((control, _)) if control == self.close() => Match::To(at),
            _ if at == self.held.end() => Match::Open,
            _ => self.end.map_or(Match::No, |end| self.tag(&end, at)),
        }
    }

    fn value(&mut self, to: &mut To<'_, '_, '_>) -> Step {
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
                    self.wait_at(at + 1);
                }
                Match::To(behind) => {
                    self.end_value(at, behind, to);
                    return Step::Next;
                }
            }
        }
    }

    /// Continues the search for the end of the value at this position.
    fn wait_at(&mut self, at: usize) -> Step {
        if let Phase::Value(value) = &mut self.phase
            && value.search != at
        {
            (value.search, value.behind) = (at, 0);
        }
        Step::Wait
    }

    /// Reads the line breaks that belong to the tag before the value. Returns whether it begins.
    fn skip_pad(&mut self) -> bool {
        let Phase::Value(value) = &mut self.phase else { return true };
        while value.pad > 0 {
            match self.held.rest(self.at).as_bytes().first() {
                None => return false,
                Some(b'\n') => {
                    self.at += 1;
                    value.pad -= 1;
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

    /// Whether the value ends at the tag at this position: the position behind its closing tag and
    /// the white space there, or of the tag that implies it.
    fn closing(&mut self, at: usize, most: usize) -> Match {
        let Phase::Value(value) = &self.phase else { return Match::No };
        let is_line = at > self.at || value.is_empty || value.ends_line;
        let token = self.held.control(at).map(|(control, _)| control);
        let (behind, follows): (_, fn(&Self, usize) -> Match) = match self
            .tag(&self.parameters.close, at)
        {
            Match::Open => return Match::Open,
            Match::To(behind) => (behind, Self::goes_on),
            Match::No if token == Some(self.close()) => (at + self.token_len(at), Self::is_over),
            Match::No if !is_line => return Match::No,
            Match::No => match (self.tag(&self.parameters.open, at), self.end_tag(at)) {
                (Match::To(_), _) => return Match::To(at),
                (_, Match::To(_)) => (at + self.end_len(), Self::is_closed),
                (Match::No, Match::No) => return Match::No,
                _ => return Match::Open,
            },
        };
        let from = behind.max(value.behind);
        let next = self.skip_space(from);
        if let Phase::Value(value) = &mut self.phase {
            value.behind = next;
        }
        match follows(self, next) {
            _ if next - behind > most => Match::No,
            Match::To(_) if self.tag(&self.parameters.close, at) == Match::To(behind) => {
                Match::To(next)
            }
            Match::To(_) => Match::To(at),
            other => other,
        }
    }

    fn token_len(&self, at: usize) -> usize {
        self.held.control(at).map_or(0, |(_, end)| end - at)
    }

    fn end_len(&self) -> usize {
        self.end.and_then(|end| end.text()).map_or(0, str::len)
    }

    /// Whether the next parameter or the end of the call is at a position.
    fn goes_on(&self, at: usize) -> Match {
        match (self.tag(&self.parameters.open, at), self.end_tag(at)) {
            (Match::No, end) => end,
            (Match::Open, Match::No) => Match::Open,
            (_, Match::To(at)) | (Match::To(at), _) => Match::To(at),
            (Match::Open, Match::Open) => Match::Open,
        }
    }

    /// Whether the token that ends the call is at a position.
    fn is_closed(&self, at: usize) -> Match {
        match self.held.control(at) {
            Some((control, _)) if control == self.close() => Match::To(at),
            _ if at == self.held.end() => Match::Open,
            _ => Match::No,
        }
    }

    /// Whether the turn ends at a position, or goes on with another call.
    fn is_over(&self, at: usize) -> Match {
        let calls = &self.rules.sections.calls;
        let ends_list = |control| calls.list.is_some_and(|(_, close)| close.control == control);
        match self.held.control(at) {
            Some((control, _))
                if control == calls.item.0.control
                    || ends_list(control)
                    || self.rules.frames(control) =>
            {
                Match::To(at)
            }
            _ if at == self.held.end() => Match::Open,
            _ => Match::No,
        }
    }

    /// Reports the tokens up to a position, which are text.
    fn tell(&self, end: usize, to: &mut To<'_, '_, '_>) {
        for (control, span) in self.held.controls(self.at..end) {
            tell_token(self.rules, control, span, false, to.out);
        }
    }

    /// Adds the text up to a position to the value. The last line breaks can belong to the next tag,
    /// unless this is `all` of the text.
    fn value_text(&mut self, end: usize, all: bool, to: &mut To<'_, '_, '_>) {
        let text = self.held.slice(self.at..end);
        let breaks = text.bytes().rev().take_while(|byte| *byte == b'\n').count();
        let most = if all { 0 } else { self.parameters.close.breaks().0.into() };
        let end = end - breaks.min(most);
        if end == self.at {
            return;
        }
        self.tell(end, to);
        let (text, span) = (self.held.slice(self.at..end), self.held.span(self.at..end));
        self.at = end;
        let Phase::Value(value) = &mut self.phase else { return };
        value.is_empty = false;
        value.ends_line = text.ends_with('\n');
        let Some((raw, place)) = &mut value.raw else {
            return insert_escaped("", text, span, to);
        };
        raw.push_str(text);
        place.end = span.end;
        let first = raw.trim_ascii_start().as_bytes().first();
        let is_long = raw.len() > to.out.options.limits.message_bytes;
        if is_long || first.is_some_and(|first| !may_be_json(*first, self.types)) {
            let (raw, place) = (std::mem::take(raw), *place);
            value.raw = None;
            insert_escaped("\"", &raw, place, to);
        }
    }

    /// Ends the value. Its closing tag is at `at`, and the rest of the call is at `next`.
    fn end_value(&mut self, at: usize, next: usize, to: &mut To<'_, '_, '_>) {
        let close = self.parameters.close;
        let place = Span::at(self.held.place(at));
        self.is_canonical &= match self.tag(&close, at) {
            Match::To(behind) => {
                let (before, _) = close.breaks();
                self.held.slice(self.at..at) == breaks(before)
                    && self.is_breaks(behind..next, close)
            }
            _ => false,
        };
        self.at = next;
        let phase = std::mem::replace(&mut self.phase, Phase::Between);
        let Phase::Value(Value { raw: Some((raw, span)), .. }) = phase else {
            return to.draft.insert("\"", place, to.out);
        };
        let words = self.parameters.words;
        match as_json(&raw, self.types, words, &to.out.options.limits) {
            Some(json) => {
                self.is_canonical &= words.of(json) == raw;
                to.draft.insert(json, span, to.out);
            }
            None => {
                insert_escaped("\"", &raw, span, to);
                to.draft.insert("\"", place, to.out);
            }
        }
    }
}

/// Adds text of a string, after a text of JSON.
fn insert_escaped(before: &str, text: &str, span: Span, to: &mut To<'_, '_, '_>) {
    let escaped = escaped(text);
    if before.is_empty() && escaped.len() == text.len() {
        return to.draft.push(text, span, to.out);
    }
    to.draft.insert(&[before, &escaped].concat(), span, to.out);
}

/// Returns text as it is written in a JSON string.
fn escaped(text: &str) -> String {
    let mut json = String::new();
    write_string(&mut json, text);
    json.pop();
    json.remove(0);
    json
}
