//! Reads calls without the token that opens them.
//!
//! Models forget this token, and spell a call as text. Such a text is a call if it begins a line, if it
//! names a tool that is known, and if the token that closes calls follows. Text that can still be a
//! call is withheld.

use super::between::Kind;
use super::body::Body;
use super::call::Call;
use super::calls::place_in;
use super::reader::{Reader, State};
use super::{Piece, Rules};
use crate::diagnostic::quote;
use crate::model::{End, Message, Tool};
use crate::reading::{Kept, Out};
use crate::{Code, Control, Fix, Section, Span};

/// Text that can be a call.
pub(super) struct Unopened<'a> {
    /// The text before it, if that is a message.
    body: Option<Body<'a>>,
    text: Kept<'a>,
    /// Whether it has the name of a tool.
    is_named: bool,
}

/// How a text compares with the beginning of a call.
enum Match {
    Complete,
    Possible,
    /// It differs at this byte.
    Differs(usize),
}

impl Rules {
    /// Returns the text before the name of a call, and the text behind it, if models forget the token
    /// before them.
    fn unopened(&self) -> Option<(&'static str, &'static str)> {
        let calls = &self.sections.calls;
        match calls.pieces {
            [Piece::Word(before), Piece::NameBefore(behind), ..] if calls.unopened => {
                Some((before, behind.trim_ascii_end()))
            }
            _ => None,
        }
    }
}

/// Compares a text with the beginning of a call of one of these tools.
fn begin(text: &str, (before, behind): (&str, &str), tools: &[Tool<'_>]) -> Match {
    let mut most = same(before, text);
    if most < before.len() {
        return Match::of(most, text);
    }
    for tool in tools {
        let mut len = before.len();
        for part in [&*tool.name, behind] {
            let found = same(part, &text[len..]);
            len += found;
            if found < part.len() {
                break;
            }
        }
        if len == before.len() + tool.name.len() + behind.len() {
            return Match::Complete;
        }
        most = most.max(len);
    }
    Match::of(most, text)
}

/// Returns the number of bytes of the characters that both texts begin with.
fn same(one: &str, other: &str) -> usize {
    let pairs = one.chars().zip(other.chars()).take_while(|(one, other)| one == other);
    pairs.map(|(char, _)| char.len_utf8()).sum()
}

impl Match {
    /// The match of a text whose first `len` bytes are those of a call.
    fn of(len: usize, text: &str) -> Self {
        if len == text.len() { Self::Possible } else { Self::Differs(len) }
    }
}

impl<'a> Unopened<'a> {
    pub(super) fn message(&self) -> Option<&Message<'a>> {
        self.body.as_ref().map(|body| &body.draft.message)
    }
}

impl<'a> Reader<'a> {
    /// Whether texts are searched for calls without the token that opens them.
    fn is_watched(&self, kind: Kind, out: &Out<'a, '_>) -> bool {
        matches!(kind, Kind::Text { .. })
            && !out.options.tools.is_empty()
            && self.rules.unopened().is_some()
    }

    /// Begins a message with this text, which can contain calls or be one.
    pub(super) fn speak_or_call(&mut self, kind: Kind, mut text: Kept<'a>, out: &mut Out<'a, '_>) {
        let form = self.rules.unopened().filter(|_| self.is_watched(kind, out));
        let can_be_call = form.is_some_and(|form| {
            let text = text.as_str().trim_ascii_start();
            !matches!(begin(text, form, &out.options.tools), Match::Differs(_))
        });
        if !can_be_call {
            let span = self.begin_spoken(kind, &text, out);
            return self.body_text(&text.take(), span, out);
        }
        let span = text.span();
        let own = Unopened { body: None, text: Kept::default(), is_named: false };
        self.state = State::Unopened(Box::new(own));
        self.unopened_text(&text.take(), span, out);
    }

    /// Reads the text of a message, which can contain calls.
    pub(super) fn body_text(&mut self, text: &str, span: Span, out: &mut Out<'a, '_>) {
        let State::Body(body) = &mut self.state else { return };
        let kind = body.kind;
        let form = self.rules.unopened().filter(|_| self.is_watched(kind, out));
        let State::Body(body) = &mut self.state else { return };
        let Some(form) = form else { return body.text(text, span, out) };
        let first = form.0.bytes().next().unwrap_or_default();
        let mut from = 0;
        for at in memchr::memchr_iter(first, text.as_bytes()) {
            let begins_line = match at.checked_sub(1) {
                Some(last) => text.as_bytes()[last] == b'\n',
                None => body.begins_line(),
            };
            let rest = &text[at..];
            if !begins_line || matches!(begin(rest, form, &out.options.tools), Match::Differs(_)) {
                continue;
            }
            let place = |at| place_in(text, span, at);
            body.text(&text[from..at], Span::new(place(from), place(at)), out);
            from = at;
            if body.quotes(Control::OpenSection(Section::Call)) {
                continue;
            }
            let state = std::mem::replace(&mut self.state, State::Turn(Kept::default()));
            let State::Body(body) = state else { return };
            let own = Unopened { body: Some(body), text: Kept::default(), is_named: false };
            self.state = State::Unopened(Box::new(own));
            return self.unopened_text(rest, Span::new(place(at), span.end), out);
        }
        body.text(&text[from..], Span::new(place_in(text, span, from), span.end), out);
    }

    /// Reads text that can be a call.
    pub(super) fn unopened_text(&mut self, text: &str, span: Span, out: &mut Out<'a, '_>) {
        let Some(form) = self.rules.unopened() else { return };
        let State::Unopened(unopened) = &mut self.state else { return };
        let before = unopened.text.len();
        let most = out.options.limits.message_bytes.saturating_sub(before);
        let mut len = text.floor_char_boundary(most);
        let mut is_over = len < text.len();
        unopened.text.push(
            &text[..len],
            Span::new(span.start, place_in(text, span, len)),
            out.keep,
        );
        if !unopened.is_named {
            let whole = unopened.text.as_str();
            let own = whole.trim_ascii_start();
            match begin(own, form, &out.options.tools) {
                Match::Complete => unopened.is_named = true,
                Match::Possible => {}
                Match::Differs(at) => {
                    let at = whole.len() - own.len() + at;
                    len = at.saturating_sub(before);
                    unopened.text.split_back(at);
                    is_over = true;
                }
            }
        }
        if is_over {
            self.speak_unopened(out);
            let place = place_in(text, span, len);
            self.take_more(&text[len..], Span::new(place, span.end), out);
        }
    }

    fn take_more(&mut self, text: &str, span: Span, out: &mut Out<'a, '_>) {
        if !text.is_empty() && out.state.stopped.is_none() {
            self.take(text, span, out);
        }
    }

    /// Reads the withheld text as text.
    fn speak_unopened(&mut self, out: &mut Out<'a, '_>) {
        let state = std::mem::replace(&mut self.state, State::Turn(Kept::default()));
        let State::Unopened(unopened) = state else { return };
        let Unopened { body, mut text, .. } = *unopened;
        match body {
            Some(mut body) => {
                let span = text.span();
                body.text(&text.take(), span, out);
                self.state = State::Body(body);
            }
            None => self.speak(Kind::Text { apart: false }, text, out),
        }
    }

    /// Ends the reading after a stop.
    pub(super) fn stop_unopened(
        &mut self,
        unopened: Unopened<'a>,
        at: usize,
        out: &mut Out<'a, '_>,
    ) {
        out.leave_out(unopened.text.span().start);
        if let Some(body) = unopened.body {
            self.state = State::Body(body);
            self.stop(at, out);
        }
    }

    /// Decides what the withheld text is, at this token or at the end of the input.
    pub(super) fn settle_unopened(&mut self, control: Option<Control>, out: &mut Out<'a, '_>) {
        let State::Unopened(unopened) = &self.state else { return };
        let closes = |control| self.rules.sections.calls.closes(control);
        if !unopened.is_named || !control.is_some_and(closes) {
            return self.speak_unopened(out);
        }
        let state = std::mem::replace(&mut self.state, State::Turn(Kept::default()));
        let State::Unopened(unopened) = state else { return };
        let Unopened { body, mut text, .. } = *unopened;
        let calls = &self.rules.sections.calls;
        if let Some(mut body) = body {
            body.settle(calls.lead, out);
            let at = body.end();
            self.end_body(body, calls.lead, End::End, at, out);
        }
        let span = text.span();
        let text = text.take();
        let own = text.trim_ascii_start();
        let start = place_in(&text, span, text.len() - own.len());
        if !out.admits(Span::at(start)) {
            return;
        }
        let open = self.rules.spelling(calls.item.0.control);
        let found = format!("missing {} before this call", quote(open));
        let fix = Fix::suggestion(Span::at(start), format!("{open}\n"));
        out.tolerate(Code::ParseFrame.at(Span::at(start), found).fix(fix));
        self.layout.keeps = false;
        self.layout.opened.get_or_insert(start);
        self.state = State::Call(Box::new(Call::new(start)));
        self.take(own, Span::new(start, span.end), out);
    }
}
