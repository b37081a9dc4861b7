//! Ends text that can be calls: as calls, as text, or as a malformed call.

use super::super::Rules;
use super::super::between::Kind;
use super::super::call::Call;
use super::super::reader::{Reader, State};
use super::{Guarded, GuardedCall, Scanner};
use crate::grammar::python;
use crate::lex::Lexeme;
use crate::limits::Limits;
use crate::reading::{Kept, Out};
use crate::{Code, Control, Span};

impl<'a> Reader<'a> {
    /// Whether text of this kind, which is the first in its turn, can be calls.
    pub(in super::super) fn begins_guarded(&self, kind: Kind, text: &Kept<'_>) -> bool {
        let Some(guard) = self.rules.sections.calls.guard else { return false };
        let first = text.as_str().trim_ascii_start().chars().next();
        matches!(kind, Kind::Text { .. })
            && self.said.is_none()
            && first.is_some_and(|first| {
                Scanner::begin(first, 0, guard.bare, &Default::default()).is_some()
            })
    }

    /// Begins with this text.
    pub(in super::super) fn begin_guarded(&mut self, mut text: Kept<'a>, out: &mut Out<'a, '_>) {
        let span = text.span();
        self.state = State::Guarded(Box::new(Guarded::new(None, span.start)));
        self.guarded_text(&text.take(), span, out);
    }

    /// Ends the text before this token, or at the end of the input. Returns whether the token was read,
    /// too, because it closes the calls.
    pub(in super::super) fn settle_guarded(
        &mut self,
        token: Option<(Control, Span)>,
        out: &mut Out<'a, '_>,
    ) -> bool {
        // Text that is read again can begin such text again.
        while let State::Guarded(guarded) = &mut self.state {
            let is_marked = guarded.mark.is_some();
            let closes = |(control, _): &(Control, Span)| {
                is_marked && self.rules.sections.calls.closes(*control)
            };
            let close = token.filter(closes).map(|(_, span)| span);
            if is_marked && guarded.is_empty && guarded.before.is_empty() {
                self.state = State::Turn(Kept::default());
                return self.close_guarded(close, false, out);
            }
            let needs_close = self.rules.sections.calls.are_marked();
            let ends = |(control, _)| !needs_close && self.rules.frames(control);
            let ends = close.is_some() || token.map_or(!needs_close, ends);
            let scanner = std::mem::replace(&mut guarded.scanner, Scanner::Start(0));
            let whole =
                Whole { text: guarded.whole(self.rules), span: guarded.span(), from: guarded.from };
            let is_json = matches!(scanner, Scanner::Json(_));
            let calls = scanner.calls(&whole.text, &out.options.limits).filter(|_| ends);
            match calls {
                Some(calls) => {
                    self.make_calls(calls, is_json, &whole, out);
                    return self.close_guarded(close, true, out);
                }
                None if is_marked => self.break_guarded(out),
                None => self.speak_guarded(out),
            }
            if out.state.stopped.is_some() {
                break;
            }
        }
        false
    }

    /// Reads the token that closes calls, if there is one at `close`. Returns whether there is.
    fn close_guarded(
        &mut self,
        close: Option<Span>,
        has_calls: bool,
        out: &mut Out<'a, '_>,
    ) -> bool {
        let mark = self.rules.sections.calls.item.1;
        let (Some(span), Some(mark)) = (close, mark) else { return false };
        if out.state.stopped.is_some() {
            return false;
        }
        if has_calls {
            self.layout.edge = span.end;
            // The token belongs to the last call, whatever follows.
            out.to.close_turn(span.end);
        }
        self.behind(mark);
        true
    }

    /// Reads the text as content, and its tokens again.
    pub(super) fn speak_guarded(&mut self, out: &mut Out<'a, '_>) {
        let State::Guarded(guarded) =
            std::mem::replace(&mut self.state, State::Turn(Kept::default()))
        else {
            return;
        };
        let Guarded { before, text, .. } = *guarded;
        let mut texts = Vec::with_capacity(before.len() + 1);
        let mut tokens = Vec::with_capacity(before.len());
        for (text, control, span) in before {
            texts.push(text);
            tokens.push((control, span));
        }
        texts.push(text);
        let mut tokens = tokens.into_iter();
        for (index, mut text) in texts.into_iter().enumerate() {
            if index == 0 {
                self.speak(Kind::Text { apart: false }, text, out);
            } else if !text.is_empty() {
                let span = text.span();
                self.read_lexeme(Lexeme::Text(&text.take(), span), out);
            }
            if let Some((control, span)) = tokens.next() {
                self.read_lexeme(Lexeme::Control(control, span), out);
            }
        }
    }

    fn read_lexeme(&mut self, lexeme: Lexeme<'_>, out: &mut Out<'a, '_>) {
        if out.goes_on(lexeme) {
            crate::reading::Reader::lexeme(self, lexeme, out);
        }
    }

    /// Makes the text the beginning of a malformed call.
    pub(super) fn break_guarded(&mut self, out: &Out<'a, '_>) {
        let State::Guarded(guarded) =
            std::mem::replace(&mut self.state, State::Turn(Kept::default()))
        else {
            return;
        };
        let mut call = Call::new(guarded.from);
        for (mut text, control, span) in guarded.before {
            let place = text.span();
            call.keep(&text.take(), place, out.keep);
            call.keep(self.rules.spelling(control), span, out.keep);
        }
        let mut text = guarded.text;
        let place = text.span();
        call.keep(&text.take(), place, out.keep);
        self.state = State::Call(Box::new(call));
    }

    /// Adds the calls of the whole text.
    fn make_calls(
        &mut self,
        calls: Vec<GuardedCall>,
        is_json: bool,
        whole: &Whole,
        out: &mut Out<'a, '_>,
    ) {
        let is_canonical = self.tell_spelling(&calls, is_json, whole, out);
        let last = calls.len().saturating_sub(1);
        for (index, call) in calls.into_iter().enumerate() {
            if out.state.stopped.is_some() {
                return;
            }
            let end = if index == last { whole.text.trim_ascii_end().len() } else { call.end };
            let (place, end) = (whole.place(call.place), whole.at(end));
            let written = &whole.text[call.place.range()];
            let json = call.json.or_else(|| self.rules.python_read_back(written));
            let mut begun = Call::new(whole.from);
            begun.is_odd = self.is_uncertain();
            self.state = State::Call(Box::new(begun));
            self.layout.keeps &= is_canonical;
            self.start_call(&call.name, None, place.start, out);
            let state = std::mem::replace(&mut self.state, State::Turn(Kept::default()));
            let State::Call(mut read) = state else { return };
            if let Some(draft) = &mut read.draft {
                match json {
                    Some(json) => draft.insert(&json, place, out),
                    None => draft.push(written, place, out),
                }
            }
            self.layout.since = place.end;
            self.layout.keeps = is_canonical;
            self.end_whole(read, end, out);
        }
    }

    /// Reports a form of calls that is not written. Returns whether the text around the arguments
    /// can be kept as layout.
    fn tell_spelling(
        &self,
        calls: &[GuardedCall],
        is_json: bool,
        whole: &Whole,
        out: &mut Out<'a, '_>,
    ) -> bool {
        let has_json = self.rules.sections.calls.has_json();
        let is_canonical = match is_json && has_json {
            true => calls.iter().all(|call| call.is_plain),
            false => !is_json && self.rules.spells(calls, &whole.text),
        };
        if !is_canonical {
            let text = "this call is not written in the canonical way";
            let help = format!("a call is written as `{}`", self.rules.form_of_calls());
            out.tolerate(Code::ParseFrame.at(whole.span, text).help(help));
        }
        is_canonical || is_json && has_json
    }
}

impl Rules {
    /// Returns arguments as they are read back from the syntax of Python. `None` if calls have another
    /// syntax, or if the arguments cannot be written.
    pub(in super::super) fn python_read_back(&self, json: &str) -> Option<String> {
        python::respelled(json, self.sections.calls.python()?, &Limits::default())
    }

    /// Whether calls in the syntax of Python are written as this text.
    fn spells(&self, calls: &[GuardedCall], text: &str) -> bool {
        let calls_form = &self.sections.calls;
        let (Some(array), Some(literals)) = (calls_form.array, calls_form.python()) else {
            return false;
        };
        let mut written = array.open.to_owned();
        for (index, call) in calls.iter().enumerate() {
            written.push_str(if index == 0 { "" } else { array.between });
            written.push_str(&call.name);
            let json = call.json.as_deref().unwrap_or_default();
            let arguments = python::arguments(json, literals, &Limits::default());
            written.push('(');
            written.push_str(&arguments.unwrap_or_default());
            written.push_str(if index + 1 == calls.len() { array.close } else { ")" });
        }
        written == text
    }
}

/// The whole text of calls.
struct Whole {
    text: String,
    span: Span,
    from: usize,
}

impl Whole {
    /// Returns the place of byte `at` of the text. Replacement characters are longer than what they
    /// replace: then it is one end of the text.
    fn at(&self, at: usize) -> usize {
        match self.span.len() == self.text.len() {
            true => self.span.start + at,
            false if at == 0 => self.span.start,
            false => self.span.end,
        }
    }

    fn place(&self, place: Span) -> Span {
        Span::new(self.at(place.start), self.at(place.end))
    }
}
