//! Reads the lists in a turn of the assistant: calls, and the replies of tools.

use std::borrow::Cow;

use super::calls::{self, Head, List, Step};
use super::outputs::{self, Found, Outputs};
use super::reader::{After, Reader, State};
use crate::grammar::rest::Rest;
use crate::grammar::sections::between::{Kind, Place};
use crate::lex::Lexeme;
use crate::model::End;
use crate::reading::{Draft, Kept, Out};
use crate::{Code, Control, Diagnostic, Dropped, Section, Span};

/// Why a list of calls ends although it is incomplete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// Its end token is inside a call.
    Closed,
    /// The text ends, or something else follows.
    Off,
    /// The text ends, and the model continues there.
    Prompt,
}

impl<'a> Reader<'a> {
    /// Reads text in a list of calls.
    pub(super) fn calls(&mut self, text: &str, span: Span, out: &mut Out<'a, '_>) {
        let mut at = 0;
        while at < text.len() && out.state.stopped.is_none() {
            let State::Calls(list) = &mut self.state else { break };
            let rest = Lexeme::Text(&text[at..], Span::new(span.start + at, span.end));
            if list.call.is_none() && !out.goes_on(rest) {
                return;
            }
            let place =
                |at: usize| if span.len() == text.len() { span.start + at } else { span.end };
            if let Step::Arguments(brackets) = &mut list.step {
                let (len, ends) = calls::arguments(brackets, &text[at..]);
                let Some(call) = &mut list.call else { break };
                let body = Span::new(place(at), place(at + len));
                call.push(&text[at..at + len], body, out);
                at += len;
                if ends {
                    self.layout.since = place(at);
                    self.layout.edge = place(at + 1);
                    list.step = Step::After;
                    at += 1;
                }
                continue;
            }
            let limit = out.options.limits.value_bytes;
            let room = out.options.limits.header_bytes.saturating_sub(list.head.len());
            let end = text.floor_char_boundary(at.saturating_add(room));
            let head = (at < end).then(|| list.head(&text[at..end], place(at), out.keep, limit));
            let len = match head {
                Some(Head::More(len) | Head::Call(len) | Head::Another(len)) => len,
                Some(Head::Wrong(len) | Head::Long(len)) => len,
                None => 0,
            };
            list.head.push(&text[at..at + len], Span::new(place(at), place(at + len)), out.keep);
            at += len;
            match head {
                Some(Head::Call(_)) => self.begin_call(place(at), out),
                Some(Head::Another(_)) => {
                    if let Some(call) = list.call.take() {
                        call_ends(call, place(at), out);
                    }
                    let comma = Span::new(place(at), place(at + 1));
                    list.head.clear();
                    list.head.push(",", comma, out.keep);
                    at += 1;
                }
                Some(Head::More(_)) => {}
                broken => {
                    let limit = match broken {
                        None => Some(("header_bytes", out.options.limits.header_bytes)),
                        Some(Head::Long(_)) => Some(("value_bytes", limit)),
                        _ => None,
                    };
                    let rest = Span::new(place(at), span.end);
                    return self.broken_calls(limit, &text[at..], rest, out);
                }
            }
        }
    }

    fn begin_call(&mut self, at: usize, out: &mut Out<'a, '_>) {
        let State::Calls(mut list) = std::mem::replace(&mut self.state, State::Turn(After::Text))
        else {
            return;
        };
        if !out.admits(Span::at(at)) {
            out.leave_out(self.layout.edge);
            return;
        }
        let name = list.take_name();
        // Replies belong to the calls of one list. An empty list has none.
        if !std::mem::replace(&mut list.has_calls, true) {
            self.waiting.clear();
        }
        let kind = Kind::Call { leaves: self.rules.ends_reasoning(&name) };
        let call = self.rules.message(kind, &name);
        if let Some(recipient) = call.recipient.as_deref() {
            self.waiting.push_back(recipient.to_owned());
        }
        // A name with its namespace differs from what the writer writes.
        let written = self.rules.tool(&call).to_owned();
        let call = self.head(kind, &written, call, at, out);
        list.call = Some(self.draft(call, out));
        self.state = State::Calls(list);
    }

    /// Reads a control token in a list of calls.
    pub(super) fn in_calls(
        &mut self,
        mut list: Box<List<'a>>,
        control: Control,
        span: Span,
        out: &mut Out<'a, '_>,
    ) {
        if control == Control::CloseSection(Section::Calls) && list.step == Step::Closed {
            match list.call.take() {
                Some(call) => {
                    self.layout.edge = span.end;
                    call_ends(call, span.end, out);
                }
                None => {
                    let place = Span::new(self.layout.opened.unwrap_or(span.start), span.end);
                    match self.layout.keeps {
                        // The empty list is kept as layout.
                        true => out.tolerate(no_calls(place)),
                        false => out.malformed(no_calls(place).drops(Dropped::Text)),
                    }
                }
            }
            self.behind = span.end;
            self.state = State::Turn(After::Calls);
            return;
        }
        let text = match control {
            Control::CloseSection(Section::Calls) => "the list of calls ends inside a call",
            _ => "the list of calls has no end token",
        };
        let found = match control {
            Control::CloseSection(Section::Calls) => Code::ParseFrame.at(span, text),
            _ => Code::StreamTruncated.at(span, text),
        };
        out.malformed(found.help("the call is not run"));
        if out.state.stopped.is_some() {
            self.state = State::Calls(list);
            return;
        }
        let is_closed = control == Control::CloseSection(Section::Calls);
        self.cut_calls(*list, if is_closed { Cut::Closed } else { Cut::Off }, span.start, out);
        if is_closed {
            self.behind = span.end;
            self.layout.edge = span.end;
            self.state = State::Turn(After::Calls);
            return;
        }
        self.in_turn(control, span, out);
    }

    /// Ends an incomplete list of calls at byte `at`.
    pub(super) fn cut_calls(
        &mut self,
        mut list: List<'a>,
        cut: Cut,
        at: usize,
        out: &mut Out<'a, '_>,
    ) {
        self.layout.keeps = false;
        let is_open = matches!(list.step, Step::Arguments(_));
        if let Some(mut call) = list.call.take() {
            if is_open {
                self.layout.since = at;
            }
            call.message.recovered = !(is_open && cut == Cut::Prompt);
            self.layout.edge = at;
            // The list has its end token, even if the arguments are incomplete.
            call.end(if cut == Cut::Closed { End::End } else { End::Open }, at, out);
        }
        if !list.head.is_empty() && list.step != Step::Closed {
            let span = list.head.span();
            let from = self.layout.opened.take().unwrap_or(span.start);
            let mut rest = Rest::begin(from, span.start, out);
            rest.push(&list.head.take(), span, out);
            rest.end(at, out);
            (self.layout.since, self.layout.edge) = (at, at);
        } else if !list.has_calls {
            let span = Span::new(self.layout.opened.take().unwrap_or(self.layout.edge), at);
            out.malformed(no_calls(span).drops(Dropped::Text));
        }
    }

    /// Reports that a list of calls is malformed or exceeds a limit at `text`, and hides the text
    /// after that.
    fn broken_calls(
        &mut self,
        limit: Option<(&str, usize)>,
        text: &str,
        span: Span,
        out: &mut Out<'a, '_>,
    ) {
        let State::Calls(mut list) = std::mem::replace(&mut self.state, State::Turn(After::Text))
        else {
            return;
        };
        let first = text.chars().next().map_or(0, char::len_utf8);
        let place = match span.len() == text.len() {
            true => Span::new(span.start, span.start + first),
            false => span,
        };
        let found = match limit {
            None => Code::ParseFrame.at(place, "malformed list of calls"),
            Some((limit, most)) => {
                let text =
                    format!("the beginning of this call exceeds the limit `{limit}` of {most}");
                Code::Limit.at(place, text)
            }
        };
        out.malformed(
            found.help("write it as `[{\"name\": {…}}, …]`; the text after this is hidden"),
        );
        if out.state.stopped.is_some() {
            self.state = State::Calls(list);
            return;
        }
        self.layout.keeps = false;
        // The turn continues after the list, even if the list is its beginning.
        self.layout.place =
            Place { last: Some(Kind::Prompt), in_reasoning: self.inner, ..Place::START };
        if let Some(mut call) = list.call.take() {
            call.message.recovered = true;
            call.end(End::Open, span.start, out);
        }
        let head = list.head.span();
        let begins = if list.head.is_empty() { span } else { head };
        if !out.admits(begins) {
            return;
        }
        let from = self.layout.opened.take().unwrap_or(begins.start);
        let mut rest =
            Rest::begin(from, begins.start, out).up_to(Control::CloseSection(Section::Calls));
        rest.push(&list.head.take(), head, out);
        rest.push(text, span, out);
        self.state = State::Rest(rest);
    }

    /// Reads text in a list of replies.
    pub(super) fn outputs(&mut self, text: &str, span: Span, out: &mut Out<'a, '_>) {
        let State::Outputs(kept, scan) = &mut self.state else { return };
        kept.push(text, span, out.keep);
        let most = out.options.limits.message_bytes;
        let waiting = self.waiting.len();
        let end = scan.next(kept.as_str()).filter(|end| *end <= most);
        let found = end
            .and_then(|end| outputs::values(&kept.as_str()[..end], waiting, &out.options.limits));
        match found {
            Some(found) => {
                let kept = std::mem::take(kept);
                self.replies(kept, &found, None, out);
            }
            None if kept.len() > most => self.long_outputs(out),
            None => {}
        }
    }

    /// Ends a list of replies before a control token or at the end of the input. The token that
    /// ends the turn, at byte `stop`, also ends a reply without an end.
    pub(super) fn end_outputs(
        &mut self,
        kept: Kept<'a>,
        stop: Option<usize>,
        out: &mut Out<'a, '_>,
    ) {
        let found = outputs::guess(kept.as_str());
        let stop = stop.filter(|_| found.found == Found::Open);
        self.replies(kept, &found, stop, out);
    }

    /// Reads a list of replies that exceeds the limit as one reply, up to the next control token.
    fn long_outputs(&mut self, out: &mut Out<'a, '_>) {
        let State::Outputs(mut kept, _) =
            std::mem::replace(&mut self.state, State::Turn(After::Text))
        else {
            return;
        };
        let span = kept.span();
        let mut rest = Rest::begin(span.start, span.start, out);
        self.layout.keeps = false;
        rest.push(&kept.take(), span, out);
        self.state = State::Rest(rest);
    }

    fn replies(
        &mut self,
        mut kept: Kept<'a>,
        found: &Outputs,
        stop: Option<usize>,
        out: &mut Out<'a, '_>,
    ) {
        let span = kept.span();
        let text = kept.take();
        let is_exact = span.len() == text.len();
        let place = |at: usize| if is_exact { span.start + at } else { span.end };
        let are_named = found.are_paired(self.waiting.len());
        self.report(found, Span::new(span.start, place(found.end)), out);
        let last = found.bodies.len().saturating_sub(1);
        for (index, body) in found.bodies.iter().enumerate() {
            let at = Span::new(place(body.start), place(body.end));
            if !out.admits(at) {
                return out.leave_out(self.layout.edge);
            }
            let mut reply = self.rules.message(Kind::Reply, "");
            if are_named {
                reply.name = self.waiting.pop_front().map(Cow::Owned);
            }
            let reply = self.head(Kind::Reply, "", reply, at.start, out);
            let mut draft = self.draft(reply, out);
            draft.push(&text[body.range()], at, out);
            let end = if index == last { place(found.end) } else { at.end };
            (self.layout.since, self.layout.edge, self.behind) = (at.end, end, end);
            let open = found.found == Found::Open;
            draft.message.recovered |= open;
            let all = stop.unwrap_or(end);
            draft.end(if open { End::Open } else { End::End }, all, out);
        }
        if !are_named {
            self.waiting.clear();
        }
        self.state = State::Turn(After::Replies);
        let rest = &text[found.end..];
        if !rest.is_empty() {
            let rest_at = if is_exact { Span::new(place(found.end), span.end) } else { span };
            if out.goes_on(Lexeme::Text(rest, rest_at)) {
                self.turn(After::Replies, rest, rest_at, out);
            }
        }
    }

    /// Reports how a list of replies was read, unless it was read exactly.
    fn report(&self, found: &Outputs, span: Span, out: &mut Out<'a, '_>) {
        let text = match found.found {
            Found::Values | Found::Text => return,
            Found::OtherCount => "the number of replies differs from the number of calls",
            Found::Guess => "the end of the tool reply is uncertain",
            Found::Open => {
                let text = "the text ends inside a list of replies";
                return out.malformed(Code::StreamTruncated.at(span, text));
            }
        };
        let found = Code::ParseFrame.at(span, text);
        out.tolerate(found.help("write one JSON value as reply for each call"));
    }
}

/// Returns the diagnostic for an empty list of calls.
fn no_calls(place: Span) -> Diagnostic {
    Code::ParseFrame.at(place, "empty list of calls")
}

/// Ends a complete call at byte `at`.
fn call_ends<'a>(mut call: Box<Draft<'a>>, at: usize, out: &mut Out<'a, '_>) {
    call.end(End::Call, at, out);
}
