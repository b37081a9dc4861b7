//! Finds the tags of parameters, and what they end.

use std::ops::Range;

use super::{Match, NameEnd, Phase, Scanner};
use crate::Control;
use crate::declare::Types;
use crate::grammar::sections::between::breaks;
use crate::rules::{Parameters, Tag};

impl Scanner {
    /// The token that closes the call.
    pub(super) fn close(&self) -> Control {
        self.rules.sections.calls.limit()
    }

    /// Skips white space, and returns the position behind it.
    pub(super) fn skip_space(&self, at: usize) -> usize {
        let rest = self.held.rest(at);
        at + (rest.len() - rest.trim_ascii_start().len())
    }

    /// Whether a range is the line breaks after a tag.
    pub(super) fn is_breaks(&self, range: std::ops::Range<usize>, tag: Tag) -> bool {
        self.held.slice(range) == breaks(tag.breaks().1)
    }

    /// Returns the first position from this one on at which a tag can begin.
    pub(super) fn next_tag(&self, from: usize) -> Option<usize> {
        let texts = [Some(&self.parameters.close), self.end.as_ref()].into_iter().flatten();
        let first = texts.filter_map(Tag::text).find_map(|text| text.chars().next());
        let text = first.and_then(|first| self.held.find(first.encode_utf8(&mut [0; 4]), from));
        let token = self.held.next_control(from);
        text.into_iter().chain(token).min()
    }

    /// Whether this tag is at a position.
    pub(super) fn tag(&self, tag: &Tag, at: usize) -> Match {
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
    pub(super) fn end_tag(&self, at: usize) -> Match {
        match self.held.control(at) {
            Some((control, _)) if control == self.close() => Match::To(at),
            _ if at == self.held.end() => Match::Open,
            _ => self.end.map_or(Match::No, |end| self.tag(&end, at)),
        }
    }

    /// Whether the value ends at the tag at this position: the position behind its closing tag and
    /// the white space there, or of the tag that implies it.
    pub(super) fn closing(&mut self, at: usize, most: usize) -> Match {
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

    /// Returns the end of a name, searched in a range.
    pub(super) fn find_name_end(&self, range: Range<usize>) -> NameEnd {
        let end = self.held.end();
        let Parameters { name_end, typed, .. } = self.parameters;
        let typed = typed.map(|[string, json]| [(string, Types::STRING), (json, Types::JSON)]);
        let typed = typed.iter().flatten().map(|(tag, types)| (*tag, Some(*types)));
        let tags = || typed.clone().chain([(*name_end, None)]);
        let Range { start: mut from, end: until } = range;
        loop {
            let by_byte = typed.clone().next().is_some();
            let at = match self.find_first(name_end, by_byte, from..until) {
                Some(at) => at,
                None => {
                    // The text can end in the beginning of the tag.
                    let kept = name_end.text().map_or(0, |text| text.len() - 1);
                    return NameEnd::Open { end, searched: end.saturating_sub(kept) };
                }
            };
            let mut is_open = false;
            for (tag, types) in tags() {
                match self.tag(&tag, at) {
                    Match::To(behind) => return NameEnd::At { end: at, behind, types },
                    Match::Open => is_open = true,
                    Match::No => {}
                }
            }
            if is_open {
                return NameEnd::Open { end: at, searched: at };
            }
            from = at + 1;
        }
    }

    /// Returns the first position in a range at which a name can end.
    fn find_first(&self, name_end: &Tag, by_byte: bool, range: Range<usize>) -> Option<usize> {
        match name_end.text() {
            Some(text) if by_byte => self.held.find_in(text.get(..1)?, range),
            Some(text) => self.held.find_in(text, range),
            None => self.held.next_control(range.start),
        }
    }

    /// Returns the beginning of the text in a name that is no part of it: further attributes in a tag
    /// that does not say the type. They begin behind the quotation mark that ends the name.
    pub(super) fn odd_in_name(&self, end: usize, types: Option<Types>) -> Option<usize> {
        let first = self.parameters.name_end.text().and_then(|text| text.get(..1));
        let first = first.filter(|_| types.is_none())?;
        self.held.find(first, self.at).filter(|at| *at < end)
    }

    pub(super) fn token_len(&self, at: usize) -> usize {
        self.held.control(at).map_or(0, |(_, end)| end - at)
    }

    pub(super) fn end_len(&self) -> usize {
        self.end.and_then(|end| end.text()).map_or(0, str::len)
    }

    /// Whether the next parameter or the end of the call is at a position.
    pub(super) fn goes_on(&self, at: usize) -> Match {
        match (self.tag(&self.parameters.open, at), self.end_tag(at)) {
            (Match::No, end) => end,
            (Match::Open, Match::No) => Match::Open,
            (_, Match::To(at)) | (Match::To(at), _) => Match::To(at),
            (Match::Open, Match::Open) => Match::Open,
        }
    }

    /// Whether the token that ends the call is at a position.
    pub(super) fn is_closed(&self, at: usize) -> Match {
        match self.held.control(at) {
            Some((control, _)) if control == self.close() => Match::To(at),
            _ if at == self.held.end() => Match::Open,
            _ => Match::No,
        }
    }

    /// Whether the turn ends at a position, or goes on with another call.
    pub(super) fn is_over(&self, at: usize) -> Match {
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
}
