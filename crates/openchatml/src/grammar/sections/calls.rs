//! Reads tool calls.

use super::between::{Kind, quoted};
use super::call::{Call, Found, Parts, tail_of_listed};
use super::parameters::Scanner;
use super::reader::{Reader, State};
use super::reasoning::Thought;
use super::{InnerCalls, Piece, Rules};
use crate::grammar::rest::Rest;
use crate::grammar::within_limit;
use crate::lex::Lexeme;
use crate::model::{End, bare_name};
use crate::reading::{Kept, Out};
use crate::rules::CallAttributes;
use crate::{Code, Control, Dropped, Fix, Section, Span};

/// No call ends reasoning that stays open.
const CALL: Kind = Kind::Call { leaves: false };

impl Rules {
    /// Returns the form of a call, for help. If its first token is only a part of a tag, it begins with
    /// this token.
    pub(super) fn form_of_calls(&self) -> String {
        let calls = &self.sections.calls;
        let begins_inside =
            matches!(calls.pieces.first(), Some(Piece::NameBefore(_) | Piece::Attributes(_)));
        let open = if begins_inside { self.spelling(calls.item.0.control) } else { "" };
        let pieces = self.sections.calls.pieces.iter();
        let pieces = pieces.map(|piece| match piece {
            Piece::Json(text) => (*text).to_owned(),
            Piece::Name => "\"NAME\"".to_owned(),
            Piece::PlainName => "NAME".to_owned(),
            Piece::NameUpTo(token) | Piece::NameAndId { end: token, .. } => {
                format!("NAME{}", self.spelling(*token))
            }
            Piece::IdUpTo(token) => {
                format!("{}.NAME:0{}", self.sections.calls.namespace, self.spelling(*token))
            }
            Piece::Token(token) => self.spelling(*token).to_owned(),
            Piece::Arguments => "{…}".to_owned(),
            Piece::Attributes(attributes) => {
                let CallAttributes { name, index, end } = attributes;
                format!(" {name}=\"NAME\" {index}=\"1\"{}", self.spelling(*end))
            }
            Piece::Word(text) => (*text).to_owned(),
            Piece::NameBefore(text) => ["NAME", text].concat(),
            Piece::Parameters(parameters) => self.form_of_parameter(parameters),
            Piece::Tree(_) => "KEY:VALUE,…}".to_owned(),
            Piece::Elements(elements) => self.form_of_element(elements),
            Piece::Python(_) => "KEY=VALUE, …".to_owned(),
        });
        std::iter::once(open.to_owned()).chain(pieces).collect()
    }

    /// Whether a call can have this name. A namespace alone is none, and a closing tag neither. Where
    /// only text separates a name from parameters, a sentence or JSON in its place is not one.
    pub(super) fn can_be_named(&self, name: &str) -> bool {
        let calls = &self.sections.calls;
        let is_in_text = (calls.parameters().is_some() || calls.elements().is_some())
            && calls.pieces.iter().any(|piece| matches!(piece, Piece::NameBefore(_)));
        let is_other = |byte: u8| byte.is_ascii_whitespace() || matches!(byte, b'{' | b'"');
        let is_other = is_in_text && name.bytes().any(is_other);
        !bare_name(name).trim().is_empty() && !name.starts_with("</") && !is_other
    }
}

/// Returns the place of byte `at` of a text at `span`. Replacement characters are longer than what
/// they replace: between them, it is the end.
pub(super) fn place_in(text: &str, span: Span, at: usize) -> usize {
    match span.len() == text.len() {
        true => span.start + at,
        false if at == 0 => span.start,
        false => span.end,
    }
}

impl<'a> Reader<'a> {
    /// Reads text in a call.
    pub(super) fn call(&mut self, text: &str, span: Span, out: &mut Out<'a, '_>) {
        let place = |at: usize| place_in(text, span, at);
        let mut at = 0;
        while at < text.len() && out.state.stopped.is_none() {
            let rest = &text[at..];
            let call = match &mut self.state {
                State::Call(call) if !call.has_scanner() => call,
                _ => return self.take_rest(rest, Span::new(place(at), span.end), out),
            };
            let rest = match call.room(&out.options.limits) {
                None => rest,
                Some(room) => &rest[..rest.floor_char_boundary(room)],
            };
            if rest.is_empty() {
                return self.broken_call(&text[at..], Span::new(place(at), span.end), true, out);
            }
            let found = call.next(rest, self.rules);
            let len = found.len();
            let (piece, here) = (&rest[..len], Span::new(place(at), place(at + len)));
            at += len;
            match found {
                Found::Arguments(_) => {
                    if let Some(draft) = &mut call.draft {
                        draft.push(piece, here, out);
                        self.layout.since = here.end;
                    }
                    continue;
                }
                Found::Tail(_) => continue,
                Found::Listed(_) => {
                    self.layout.edge = here.end;
                    // The bracket belongs to the last call, whatever follows.
                    out.to.close_turn(here.end);
                    self.state = State::Turn(Kept::default());
                    continue;
                }
                Found::Dropped(_) => {
                    let (piece, here) = within_limit(piece, here, call.dropped.len(), out);
                    call.drop_text(piece, here, out.keep);
                    continue;
                }
                Found::Head(_) | Found::Begins(_) | Found::Empty(_) => {}
                Found::Object(_) | Found::Wrong(_) => {}
            }
            call.keep(piece, here, out.keep);
            call.begin_again();
            match found {
                Found::Begins(_) => self.begin_call(place(at), out),
                Found::Empty(_) => self.empty_call(here.end, out),
                Found::Object(_) => self.object(out),
                Found::Wrong(_) => {
                    return self.broken_call(
                        &text[at..],
                        Span::new(place(at), span.end),
                        false,
                        out,
                    );
                }
                _ => {}
            }
        }
    }

    /// Reads the rest of a text in another state.
    fn take_rest(&mut self, text: &str, span: Span, out: &mut Out<'a, '_>) {
        let lexeme = Lexeme::Text(text, span);
        if out.goes_on(lexeme) {
            self.take(text, span, out);
        }
    }

    /// Begins the arguments of a call at byte `at`.
    pub(super) fn begin_call(&mut self, at: usize, out: &mut Out<'a, '_>) {
        let State::Call(call) = &mut self.state else { return };
        let name = call.take_name();
        let Some(name) = Call::decoded(&name, &out.options.limits) else {
            return self.broken_call("", Span::at(at), false, out);
        };
        if name.len() > out.options.limits.value_bytes {
            return self.broken_call("", Span::at(at), true, out);
        }
        if !self.rules.can_be_named(&name) {
            return self.broken_call("", Span::at(at), false, out);
        }
        if !self.rules.has_named_ids() {
            return self.start_call(&name, None, at, out);
        }
        match self.rules.named_by(&name) {
            Some(tool) => self.start_call(tool, Some(&name), at, out),
            None => self.broken_call("", Span::at(at), false, out),
        }
    }

    /// Reads a call that ends behind its name, at byte `at`.
    fn empty_call(&mut self, at: usize, out: &mut Out<'a, '_>) {
        self.layout.keeps = false;
        self.begin_call(at, out);
        let State::Call(call) = &mut self.state else { return };
        let Some(draft) = &mut call.draft else { return };
        // Elements have begun the object.
        let object = if call.elements.is_some() { "}" } else { "{}" };
        draft.insert(object, Span::at(at), out);
        (call.parameters, call.elements) = (None, None);
        call.complete(self.rules);
        let help = format!("a call is written as `{}`", self.rules.form_of_calls());
        let text = "this call has no end token";
        out.tolerate(Code::ParseFrame.at(Span::at(at), text).help(help));
        match self.rules.sections.calls.item.1 {
            Some(close) => self.in_call(close.control, Span::at(at), out),
            None => self.settle_call(at, out),
        }
        self.layout.keeps = false;
    }

    pub(super) fn start_call(
        &mut self,
        name: &str,
        id: Option<&str>,
        at: usize,
        out: &mut Out<'a, '_>,
    ) {
        if !out.admits(Span::at(at)) {
            return out.leave_out(self.layout.edge);
        }
        let mut message = self.rules.message(CALL, name);
        message.call_id = id.map(|id| id.to_owned().into());
        if let State::Call(call) = &mut self.state {
            message.recovered = call.is_odd;
            if let Some(id) = call.id.take().filter(|id| !id.is_empty()) {
                message.call_id = Some(id.into());
            }
        }
        // Replies belong to the calls of one turn.
        if !matches!(self.said, Some(Kind::Call { .. })) {
            self.waiting.clear();
        }
        let tool = message.recipient.as_deref().unwrap_or_default();
        self.waiting.push(tool, message.call_id.as_deref());
        // A name with its namespace differs from what the writer writes.
        let tool = self.rules.tool(&message).to_owned();
        let written = self.rules.name(&message).to_owned();
        let draft = self.begin(CALL, &written, message, at, out);
        if let State::Call(call) = &mut self.state {
            call.draft = Some(draft);
            call.head.clear();
            let parameters = self.rules.sections.calls.parameters();
            call.parameters = parameters
                .map(|parameters| Box::new(Scanner::new(self.rules, parameters, &tool, out)));
            call.begin_tree(at, self.rules, out);
            call.begin_elements(&tool, at, self.rules, out);
        }
        self.layout.since = at;
    }

    /// Ends a call with another order of keys.
    fn object(&mut self, out: &mut Out<'a, '_>) {
        let State::Call(call) = &mut self.state else { return };
        let (text, span) = (call.head.as_str().to_owned(), call.head.span());
        let are_listed = self.rules.sections.calls.are_listed();
        let blank = match are_listed {
            true => memchr::memchr(b'{', text.as_bytes()).unwrap_or_default(),
            false => text.len() - text.trim_ascii_start().len(),
        };
        let Some(mut parts) = Call::parts(&text[blank..], self.rules, &out.options.limits) else {
            return self.broken_call("", Span::at(span.end), false, out);
        };
        let exact = span.len() == text.len();
        let place = |at: usize| if exact { span.start + blank + at } else { span.end };
        let arguments = parts.arguments;
        let is_canonical = are_listed && is_listed_so(self.rules, &text[blank..], &parts);
        self.layout.keeps &= is_canonical;
        let body = Span::new(place(arguments.start), place(arguments.end));
        if parts.is_double {
            let found = Code::DuplicateKey.at(span, "the call has a key twice");
            out.malformed(found.drops(Dropped::Duplicate).help("the call is not run"));
        } else if parts.has_others {
            let found = Code::ParseFrame.at(span, "the call has unknown keys");
            out.malformed(found.drops(Dropped::Text));
        } else if !is_canonical {
            let text = "the keys of this call are not in the order of the format";
            out.tolerate(Code::ParseFrame.at(span, text));
        }
        call.is_odd |= parts.is_double;
        call.id = parts.id.take();
        self.start_call(&parts.name, None, body.start, out);
        self.layout.keeps = is_canonical;
        self.layout.since = span.end;
        let State::Call(call) = &mut self.state else { return };
        call.complete(self.rules);
        if let Some(draft) = &mut call.draft {
            draft.push(&text[blank..][arguments.range()], body, out);
        }
        if are_listed {
            self.end_listed(span.end, out);
        }
    }

    /// Ends a call in a list at byte `at`.
    fn end_listed(&mut self, at: usize, out: &mut Out<'a, '_>) {
        let is_uncertain = self.is_uncertain();
        let mut next = Call::next_of_list(at);
        next.is_odd = is_uncertain;
        let next = State::Call(Box::new(next));
        if let State::Call(call) = std::mem::replace(&mut self.state, next) {
            self.end_whole(call, at, out);
        }
    }

    /// Whether it is uncertain if the model makes a call here.
    pub(super) fn is_uncertain(&self) -> bool {
        let thinks = self.thinks() && self.rules.sections.reasoning.calls != InnerCalls::End;
        thinks || self.thought == Thought::Twice
    }

    /// Reads a control token in a call.
    pub(super) fn in_call(&mut self, control: Control, span: Span, out: &mut Out<'a, '_>) {
        let State::Call(call) = &mut self.state else { return };
        let was_odd = call.is_odd;
        if call.control(control, self.rules) {
            if call.is_odd && !was_odd {
                tell_attributes(span, out);
            }
            call.keep(self.rules.spelling(control), span, out.keep);
            return;
        }
        let state = std::mem::replace(&mut self.state, State::Turn(Kept::default()));
        let State::Call(mut call) = state else { return };
        self.tell_dropped(&mut call, out);
        let calls = &self.rules.sections.calls;
        let close = calls.item.1.filter(|close| close.control == control);
        if let Some(close) = close.filter(|_| call.is_whole(self.rules)) {
            self.end_thought(span, out);
            self.pad = close.after;
            self.end_whole(call, span.end, out);
            return;
        }
        let is_reasoning = matches!(
            control,
            Control::OpenSection(Section::Reasoning) | Control::CloseSection(Section::Reasoning)
        );
        let ends_reasoning = self.thinks() && control == Control::CloseSection(Section::Reasoning)
            || self.takes_back(control);
        let is_mention = ends_reasoning || self.thinks() && call.is_mention();
        // What follows a token in the wrong place belongs to the call.
        let is_interrupted = (is_reasoning || !is_of_calls(control)) && !is_mention;
        let text = match close.is_some() || calls.item.1.is_none() {
            true => "the call is incomplete",
            false => "the call has no end token",
        };
        let found = Code::ParseFrame.at(span, text);
        out.malformed(found.help(match is_interrupted {
            true => "the call is not run, and the text up to its end token is hidden",
            false => "the call is not run",
        }));
        if out.state.stopped.is_some() {
            self.state = State::Call(call);
            return;
        }
        self.cut_call(*call, span.start, out);
        self.in_list &= !ends_reasoning;
        if is_interrupted {
            if out.admits(span) {
                let mut rest = Rest::begin(span.start, span.start, out).up_to(calls.limit());
                rest.push(self.rules.spelling(control), span, out);
                self.state = State::Rest(rest);
            }
            return;
        }
        match close {
            Some(close) => {
                self.layout.edge = span.end;
                self.behind(close);
            }
            None => self.section(control, span, out),
        }
    }

    /// Ends a complete call at byte `at`.
    pub(super) fn end_whole(&mut self, mut call: Box<Call<'a>>, at: usize, out: &mut Out<'a, '_>) {
        self.layout.edge = at;
        if let Some(mut draft) = call.draft.take() {
            draft.message.recovered |= call.is_odd;
            let end = if call.is_odd { End::End } else { End::Call };
            draft.end(end, at, out);
        }
        let at = if call.dropped.is_empty() { at } else { at.max(call.dropped.span().end) };
        self.hide_dropped(&mut call, at, out);
    }

    /// Ends a call that has ended with its arguments. The text after it is known now.
    pub(super) fn settle_call(&mut self, at: usize, out: &mut Out<'a, '_>) {
        let ends_itself = self.rules.sections.calls.item.1.is_none();
        if matches!(&self.state, State::Call(call) if call.is_next_of_list()) {
            self.state = State::Turn(Kept::default());
            self.layout.keeps = false;
            let found =
                Code::StreamTruncated.at(Span::at(at), "missing `]` at the end of the calls");
            return out.malformed(found.fix(Fix::suggestion(Span::at(at), "]")));
        }
        if !matches!(&self.state, State::Call(call) if ends_itself && call.is_whole(self.rules)) {
            return;
        }
        let at = self.layout.since;
        let State::Call(mut call) =
            std::mem::replace(&mut self.state, State::Turn(Kept::default()))
        else {
            return;
        };
        self.tell_dropped(&mut call, out);
        self.end_thought(Span::at(at), out);
        self.end_whole(call, at, out);
    }

    /// Ends reasoning without an end token, after a complete call in it. If the end token follows
    /// nevertheless, the call was a part of the reasoning.
    fn end_thought(&mut self, span: Span, out: &mut Out<'a, '_>) {
        if !self.thinks() || self.rules.sections.reasoning.calls != InnerCalls::End {
            return;
        }
        let close = self.rules.spelling(self.rules.sections.reasoning.close.control);
        let text = format!("missing `{close}` between the reasoning and the call");
        self.layout.keeps = false;
        out.tolerate(Code::ParseFrame.at(span, text));
        (self.inside, self.thought) = (None, Thought::Interrupted);
    }

    /// Reports that a turn ends inside a call.
    pub(super) fn unclosed_call(&self, span: Span, out: &mut Out<'a, '_>) {
        let found = Code::StreamTruncated.at(span, "the turn ends inside a call");
        out.malformed(found.help("the call is not run"));
    }

    /// Reports the text in a call that is not a part of it.
    pub(super) fn tell_dropped(&mut self, call: &mut Call<'a>, out: &mut Out<'a, '_>) {
        call.cut_parameters(out);
        call.cut_tree(out);
        call.cut_elements(out);
        call.trim_dropped();
        if call.dropped.is_empty() {
            return;
        }
        self.layout.keeps = false;
        let found = Code::ParseFrame.at(call.dropped.span(), "this text is not part of the call");
        out.malformed(match out.options.recover.keeps() {
            true => found.help("it is kept in a hidden message after the call"),
            false => found.drops(Dropped::Text),
        });
    }

    /// Keeps this text as a hidden message, if the policy says so.
    fn hide_dropped(&mut self, call: &mut Call<'a>, at: usize, out: &mut Out<'a, '_>) {
        let span = call.dropped.span();
        let keeps = out.options.recover.keeps() && out.state.stopped.is_none();
        if call.dropped.is_empty() || !keeps || !out.admits(span) {
            return;
        }
        let mut rest = Rest::begin(span.start, span.start, out);
        rest.push(&call.dropped.take(), span, out);
        rest.end(span.end, out);
        (self.layout.since, self.layout.edge) = (at, at);
    }

    /// Ends an incomplete call at byte `at`. It must not be run.
    pub(super) fn cut_call(&mut self, mut call: Call<'a>, at: usize, out: &mut Out<'a, '_>) {
        self.layout.keeps = false;
        self.layout.edge = at;
        self.state = State::Turn(Kept::default());
        if let Some(mut draft) = call.draft.take() {
            draft.message.recovered = true;
            draft.end(End::Open, at, out);
            return self.hide_dropped(&mut call, at, out);
        }
        let span = if call.head.is_empty() { Span::at(at) } else { call.head.span() };
        let from = self.layout.opened.take().unwrap_or(call.from);
        let mut rest = Rest::begin(from, span.start, out);
        rest.push(&call.head.take(), span, out);
        rest.end(at, out);
        // It is what the turn says, although it is hidden.
        self.said = Some(Kind::Call { leaves: false });
        self.layout.place.last = self.said;
        (self.layout.since, self.layout.edge) = (at, at);
        self.hide_dropped(&mut call, at, out);
    }

    /// Whether an incomplete call can be continued. The end of a parameter depends on what follows, and
    /// the JSON of other arguments differs from their text, so calls with these cannot. Without an end
    /// token, a call with its arguments is complete.
    pub(super) fn can_be_open(&self, call: &Call<'_>) -> bool {
        let calls = &self.rules.sections.calls;
        calls.has_json() && calls.item.1.is_some() && call.is_in_arguments()
    }

    /// Ends the input inside a call.
    pub(super) fn end_call_open(&mut self, mut call: Call<'a>, at: usize, out: &mut Out<'a, '_>) {
        self.tell_dropped(&mut call, out);
        let is_open = self.can_be_open(&call) && !call.is_odd;
        match call.draft.take() {
            Some(mut draft) if is_open => {
                draft.message.recovered |= !out.options.open_prompt;
                self.layout.since = at;
                draft.end(End::Open, at, out);
            }
            draft => {
                call.draft = draft;
                self.cut_call(call, at, out);
            }
        }
    }

    /// Reports that a call is malformed or exceeds a limit at `text`, and hides the text after
    /// that.
    pub(super) fn broken_call(
        &mut self,
        text: &str,
        span: Span,
        is_long: bool,
        out: &mut Out<'a, '_>,
    ) {
        let State::Call(mut call) =
            std::mem::replace(&mut self.state, State::Turn(Kept::default()))
        else {
            return;
        };
        let place = first_char(text, span);
        let found = match is_long {
            false => Code::ParseFrame.at(place, "malformed call"),
            true => Code::Limit.at(place, "the beginning of this call exceeds its limit"),
        };
        let form = self.rules.form_of_calls();
        let help = format!(
            "a call is written as `{form}`; the text after this is hidden, and the call is not run"
        );
        out.malformed(found.help(help));
        if out.state.stopped.is_some() {
            self.state = State::Call(call);
            return;
        }
        self.layout.keeps = false;
        let head = if call.head.is_empty() { Span::at(span.start) } else { call.head.span() };
        let from = self.layout.opened.take().unwrap_or(call.from);
        let mut rest = Rest::begin(from, head.start, out).up_to(self.rules.sections.calls.limit());
        rest.push(&call.head.take(), head, out);
        rest.push(text, span, out);
        self.state = State::Rest(rest);
    }

    /// Reads text in a list of calls, outside of calls.
    pub(super) fn stray_in_list(&mut self, out: &mut Out<'a, '_>) {
        let State::Turn(blank) = &mut self.state else { return };
        let (span, text) = (blank.span(), blank.take());
        let shown = text.trim_ascii_start();
        let exact = span.len() == text.len();
        let start = if exact { span.end - shown.len() } else { span.start };
        // A dropped token can be in the white space.
        let place = match exact {
            true => first_char(shown, Span::new(start, span.end)),
            false => Span::at(span.start),
        };
        let found = Code::ParseFrame.at(place, "text is not allowed between calls");
        out.malformed(found.help("the text is hidden"));
        if out.state.stopped.is_some() {
            return;
        }
        self.layout.keeps = false;
        let mut rest =
            Rest::begin(self.layout.opened.take().unwrap_or(span.start), span.start, out)
                .up_to(Control::CloseSection(Section::Calls));
        rest.push(&text, span, out);
        self.state = State::Rest(rest);
    }
}

/// Reports attributes of a call that are not understood.
fn tell_attributes(span: Span, out: &mut Out<'_, '_>) {
    let found = Code::ParseFrame.at(span, "the call has unknown or malformed attributes");
    out.malformed(found.help("the call is not run"));
}

/// Whether a call in a list is spelled as it is written.
fn is_listed_so(rules: &Rules, text: &str, parts: &Parts) -> bool {
    let mut written = String::new();
    for piece in rules.sections.calls.pieces {
        match piece {
            Piece::Json(json) => written.push_str(json),
            Piece::Name => written.push_str(&quoted(&parts.name)),
            _ => {}
        }
    }
    written.push_str(text.get(parts.arguments.range()).unwrap_or_default());
    written.push_str(&tail_of_listed(parts.id.as_deref()));
    written == text
}

/// Returns the span of the first character of `text`, which is at `span`. If the text was repaired,
/// it is the whole span.
fn first_char(text: &str, span: Span) -> Span {
    match text.chars().next() {
        Some(first) if span.len() == text.len() => {
            Span::new(span.start, span.start + first.len_utf8())
        }
        _ => span,
    }
}

/// Whether a token can follow a call that is cut off: one of calls or of replies.
fn is_of_calls(control: Control) -> bool {
    matches!(
        control,
        Control::OpenSection(Section::Calls | Section::Call | Section::Replies | Section::Reply)
            | Control::CloseSection(Section::Calls | Section::Call)
    )
}
