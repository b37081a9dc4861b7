//! Reads malformed input, and handles a stop of the reading.

use super::between::Kind;
use super::body::Body;
use super::reader::{Reader, State};
use super::{Mark, Rules};
use crate::diagnostic::{did_you_mean, quote};
use crate::grammar::rest::Rest;
use crate::grammar::{hidden, no_stop_token, stray, stray_token, token_in_message};
use crate::model::{End, Message, Role};
use crate::reading::{Draft, Kept, Out, hide};
use crate::{Code, Control, Dropped, Fix, Section, Span};

impl<'a> Reader<'a> {
    fn is_stopped(out: &Out<'a, '_>) -> bool {
        out.state.stopped.is_some()
    }

    /// Ends the text between turns. Reports it unless it is white space.
    pub(super) fn end_gap(&mut self, out: &mut Out<'a, '_>) {
        let State::Outside(gap) = &mut self.state else { return };
        let gap = std::mem::take(gap);
        if gap.as_str().trim_ascii().is_empty() {
            return;
        }
        self.layout.keeps = false;
        let span = gap.span();
        if stray(gap, span, out) {
            (self.layout.since, self.layout.edge) = (span.end, span.end);
        }
    }

    /// Reports a control token that is not allowed between turns.
    pub(super) fn stray_token(&mut self, control: Control, span: Span, out: &mut Out<'a, '_>) {
        self.end_gap(out);
        let spelling = self.rules.spelling(control);
        out.malformed(stray_token(spelling, span, out).drops(Dropped::Text));
        self.layout.keeps = false;
    }

    /// Reports a control token that is read as text.
    pub(super) fn tell_text(&mut self, control: Control, span: Span, out: &mut Out<'a, '_>) {
        // System messages show how calls are written.
        if self.turn.is_none_or(|turn| matches!(turn.role, Role::System | Role::Developer)) {
            return;
        }
        let is_quoted =
            if let State::Body(body) = &mut self.state { body.quotes(control) } else { false };
        tell_token(self.rules, control, span, is_quoted, out);
    }

    /// Reports a token of a section that is not allowed here in the turn of the assistant. The text
    /// after it is hidden, unless the token closes a section that is not open.
    pub(super) fn stray_section(&mut self, control: Control, span: Span, out: &mut Out<'a, '_>) {
        let spelling = self.rules.spelling(control);
        let found = Code::ParseFrame.at(span, format!("`{spelling}` is not allowed here"));
        self.layout.keeps = false;
        let unknown = Control::CloseSection(Section::Unknown);
        let closes = control != unknown
            && matches!(
                control,
                Control::CloseSection(_) | Control::Arguments | Control::CallId | Control::Message
            );
        // The list of replies is read without this token.
        let is_list = control == Control::OpenSection(Section::Replies);
        let opens_again = control == Control::OpenSection(Section::Reasoning);
        let is_mere = self.rules.quote() == Some(control)
            || matches!(control, Control::OpenSection(Section::Declaration | Section::Thinking));
        if opens_again {
            self.think_again();
        }
        let opens_again = opens_again || control == Control::OpenSection(Section::Answer);
        if closes || opens_again || is_list || is_mere {
            out.malformed(found.drops(Dropped::Text));
            return;
        }
        out.malformed(found.help("the text after it is hidden"));
        if Self::is_stopped(out) {
            return;
        }
        if let State::Body(body) = std::mem::replace(&mut self.state, State::Turn(Kept::default()))
        {
            self.end_cut(body, 0, End::Open, span.start, out);
        }
        if out.admits(span) {
            let from = self.layout.opened.take().unwrap_or(span.start);
            self.state = State::Rest(Rest::begin(from, span.end, out));
        }
    }

    /// Reports a token of the framing that is not allowed in a turn. The text after it is hidden.
    pub(super) fn stray_frame(&mut self, control: Control, span: Span, out: &mut Out<'a, '_>) {
        out.malformed(token_in_message(self.rules.spelling(control), span));
        self.layout.keeps = false;
        if Self::is_stopped(out) {
            return;
        }
        match std::mem::replace(&mut self.state, State::Turn(Kept::default())) {
            State::Body(body) => self.end_cut(body, 0, End::Open, span.start, out),
            State::Call(mut call) => {
                self.tell_dropped(&mut call, out);
                self.cut_call(*call, span.start, out);
            }
            State::Rest(rest) => rest.end(span.start, out),
            _ => {}
        }
        if out.admits(span) {
            // The header of a turn without a message belongs to the text after it.
            let from = self.layout.opened.take().unwrap_or(span.start);
            self.state = State::Rest(Rest::begin(from, span.end, out));
        }
    }

    /// Reads a token of a section in uncertain text.
    pub(super) fn in_rest(&mut self, control: Control, span: Span, out: &mut Out<'a, '_>) {
        let ends_reasoning = self.thinks() && control == Control::CloseSection(Section::Reasoning);
        // Without a token that ends calls, the next call ends a malformed one.
        let is_next = control == self.rules.sections.calls.item.0.control;
        let State::Rest(rest) = &mut self.state else { return };
        let is_in_list = rest.until == Some(Control::CloseSection(Section::Calls));
        // A call with an id of its own is certain, whatever precedes it.
        let calls = is_in_list
            && control == Control::OpenSection(Section::Call)
            && self.rules.has_named_ids();
        if !calls && rest.until != Some(control) && !(ends_reasoning && rest.until.is_some()) {
            rest.push(self.rules.spelling(control), span, out);
            return;
        }
        let State::Rest(rest) = std::mem::replace(&mut self.state, State::Turn(Kept::default()))
        else {
            return;
        };
        let goes_on = ends_reasoning || is_next || calls;
        let at = if goes_on { span.start } else { span.end };
        match goes_on {
            true => rest.end(at, out),
            false => rest.end_with_token(at, out),
        }
        (self.layout.since, self.layout.edge) = (at, at);
        self.layout.keeps = false;
        // It ended a malformed call. Another call may follow.
        self.said = Some(Kind::Call { leaves: false });
        self.layout.place.last = self.said;
        if ends_reasoning || control == Control::CloseSection(Section::Calls) {
            self.in_list = false;
        }
        // Reasoning ends at its end token, whatever it has begun.
        if goes_on {
            self.section(control, span, out);
            self.layout.keeps = false;
        }
    }

    /// Reports that the turn of the assistant ends where another turn begins.
    pub(super) fn unclosed_turn(&mut self, span: Span, out: &mut Out<'a, '_>) {
        let close = self.turn.and_then(|turn| turn.close);
        let close = close.map_or("", |close| self.rules.spelling(close.control));
        out.malformed(no_stop_token(span, close));
        if Self::is_stopped(out) {
            return;
        }
        self.say_blank(span.start, true, out);
        match std::mem::replace(&mut self.state, State::Outside(Kept::default())) {
            State::Body(body) => self.end_cut(body, 0, End::Open, span.start, out),
            State::Call(mut call) => {
                self.tell_dropped(&mut call, out);
                self.cut_call(*call, span.start, out);
            }
            State::Rest(rest) => rest.end(span.start, out),
            _ => {}
        }
        self.state = State::Outside(Kept::default());
        self.layout.keeps = false;
        self.layout.edge = span.start;
    }

    /// Returns the token that closes the section of a message.
    pub(super) fn closes(&self, kind: Kind) -> Mark {
        match (kind, self.rules.replies.item, self.rules.sections.answer) {
            (Kind::Reply, Some((_, close)), _) => close,
            (Kind::Text { .. }, _, Some((_, close))) => close,
            _ => self.rules.sections.reasoning.close,
        }
    }

    /// Reports a section without its end token.
    pub(super) fn unclosed_section(&mut self, kind: Kind, span: Span, out: &mut Out<'a, '_>) {
        let close = self.rules.spelling(self.closes(kind).control);
        let found =
            Code::StreamTruncated.at(span, format!("missing `{close}` at the end of the section"));
        out.malformed(found.fix(Fix::suggestion(Span::at(span.start), close)));
        self.layout.keeps = false;
    }

    /// Ends a body at byte `at`. An incomplete body is uncertain.
    pub(super) fn end_cut(
        &mut self,
        mut body: Body<'a>,
        before: u8,
        end: End,
        at: usize,
        out: &mut Out<'a, '_>,
    ) {
        let is_cut = end == End::Open;
        body.draft.message.recovered |= is_cut;
        self.end_body(body, before, end, at, out);
        if is_cut {
            self.layout.keeps = false;
        }
    }

    /// Reports a header that exceeds its limit.
    pub(super) fn long_header(&mut self, text: &str, span: Span, out: &mut Out<'a, '_>) {
        let State::Header(start, header) = &mut self.state else { return };
        let start = *start;
        let most = out.options.limits.header_bytes;
        let (text, rest) =
            text.split_at(text.floor_char_boundary(most.saturating_sub(header.len())));
        let split =
            if span.len() == text.len() + rest.len() { span.start + text.len() } else { span.end };
        header.push(text, Span::new(span.start, split), out.keep);
        let message = format!("the header exceeds the limit `header_bytes` of {most}");
        out.malformed(Code::Limit.at(Span::new(start.start, split), message));
        self.hide_header(start, split, out);
        if !rest.is_empty() && !Self::is_stopped(out) {
            self.take_again(rest, Span::new(split, span.end), out);
        }
    }

    fn take_again(&mut self, text: &str, span: Span, out: &mut Out<'a, '_>) {
        let lexeme = crate::lex::Lexeme::Text(text, span);
        if out.goes_on(lexeme) {
            crate::reading::Reader::lexeme(self, lexeme, out);
        }
    }

    /// Reports a header without a line break before the next control token.
    pub(super) fn broken_header(&mut self, control: Control, span: Span, out: &mut Out<'a, '_>) {
        let State::Header(start, _) = &self.state else { return };
        let start = *start;
        let closes =
            self.rules.turns.iter().any(|turn| turn.close.is_some_and(|it| it.control == control));
        let stop = if closes { span.end } else { span.start };
        let text = match self.rules.end_of_title() {
            None => "the header must end with a line break".to_owned(),
            Some(end) => format!("the header must end with `{}`", self.rules.spelling(end)),
        };
        let from = self.layout.opened.unwrap_or(start.start);
        let found = Code::ParseHeader.at(Span::new(from, stop), text);
        let keeps = out.options.recover.keeps();
        out.malformed(match keeps {
            true => found.help("its text is kept in a hidden message"),
            false => found.drops(Dropped::Text),
        });
        if Self::is_stopped(out) {
            return;
        }
        self.hide_header(start, stop, out);
        if !closes {
            self.outside(control, span, out);
        }
    }

    /// Reports that the input ends in a header without a known role.
    pub(super) fn cut_header(&mut self, start: Span, at: usize, out: &mut Out<'a, '_>) {
        let State::Header(_, header) = &self.state else { return };
        let keeps = out.options.recover.keeps();
        let from = self.layout.opened.unwrap_or(start.start);
        let span = if keeps { Span::at(at) } else { Span::new(from, at) };
        let found = Code::StreamTruncated.at(span, "the text ends inside a header");
        if header.as_str().trim_ascii().is_empty() {
            self.state = State::Outside(Kept::default());
            return out.malformed(found);
        }
        out.malformed(match keeps {
            true => found.help("its text is kept in a hidden message"),
            false => found.drops(Dropped::Text),
        });
        if !Self::is_stopped(out) {
            self.hide_header(start, at, out);
        }
    }

    /// Keeps the text of a header as a hidden message, if the policy says so.
    fn hide_header(&mut self, start: Span, stop: usize, out: &mut Out<'a, '_>) {
        let state = std::mem::replace(&mut self.state, State::Outside(Kept::default()));
        let State::Header(_, mut header) = state else { return };
        let from = self.layout.opened.take().unwrap_or(start.start);
        self.layout.keeps = false;
        (self.layout.since, self.layout.edge) = (stop, stop);
        if !out.options.recover.keeps() {
            return;
        }
        let place = header.span();
        let role = header.as_str().split_ascii_whitespace().next().and_then(Role::from_word);
        let role = role.filter(|role| self.rules.turn(*role).is_some());
        let start = Span::new(from, start.end);
        let message = hidden(role.unwrap_or(Role::Tool), start, place.start);
        let mut draft = Draft::started(message, out);
        draft.push(&header.take(), place, out);
        draft.end(End::End, stop, out);
    }

    /// Reports a header without a known role, and hides its message.
    pub(super) fn unknown_role(
        &mut self,
        line: &str,
        place: Span,
        start: Span,
        out: &mut Out<'a, '_>,
    ) {
        let mut words = line.split_ascii_whitespace();
        let first = words.next().unwrap_or_default();
        let known: Vec<_> = self.rules.role_words().collect();
        let is_known = known.contains(&first);
        let at = Span::new(place.start, place.end.min(place.start + line.trim_ascii_end().len()));
        let found = match is_known {
            false => {
                let found = Code::ParseHeader.at(at, format!("unknown role {}", quote(first)));
                let hidden = format!("the message is hidden; valid roles: {}", known.join(", "));
                found.help(did_you_mean(first, &known, &hidden))
            }
            true => {
                let found = Code::ParseHeader.at(at, "the header must contain only a role");
                found.help("the message is hidden")
            }
        };
        out.malformed(found);
        let role = self.rules.turns.iter().find(|turn| turn.is_named(first)).map(|turn| turn.role);
        let mut message = Message::new(role.unwrap_or(Role::Tool), "");
        hide(&mut message);
        // The token that begins the document belongs to the first turn.
        let from = self.layout.opened.unwrap_or(start.start);
        message.span = Span::new(from, place.end);
        message.body_at = place.end;
        message.unread = Some(line.split_ascii_whitespace().collect::<Vec<_>>().join(" ").into());
        crate::grammar::check_speaker(&mut message, start, out);
        self.layout.opened = None;
        self.layout.keeps = false;
        self.layout.trail.clear_before(place.end);
        self.turn = self.rules.turns.iter().find(|turn| turn.is_of_words());
        let kind = Kind::Said(role.unwrap_or(Role::System));
        self.layout.place = self.rules.after(self.layout.place, kind);
        self.said = self.layout.place.last;
        let draft = Box::new(Draft::started(message, out));
        self.state = State::Body(Body::new(draft, kind, 0, place.end));
    }

    /// Reports that the input ends too early.
    pub(super) fn truncated(
        &self,
        text: &str,
        section: Option<Mark>,
        at: usize,
        out: &mut Out<'a, '_>,
    ) {
        if out.options.open_prompt {
            return;
        }
        let marks = section.into_iter().chain(self.turn.and_then(|turn| turn.close));
        let close: String = marks.map(|mark| self.rules.spelling(mark.control)).collect();
        let found = Code::StreamTruncated.at(Span::at(at), text);
        out.malformed(match close.is_empty() {
            // No token ends a turn like this one.
            true => found,
            false => found.fix(Fix::suggestion(Span::at(at), close)),
        });
    }

    /// Ends the reading after a stop. The incomplete message keeps what was read of it.
    pub(super) fn stop(&mut self, at: usize, out: &mut Out<'a, '_>) {
        match std::mem::replace(&mut self.state, State::Outside(Kept::default())) {
            State::Body(mut body) => {
                body.draft.message.recovered = true;
                body.settle(0, out);
                body.finish(End::Open, at, out);
            }
            State::Call(mut call) => match call.draft.take() {
                Some(mut draft) => {
                    draft.message.recovered = true;
                    draft.end(End::Open, at, out);
                }
                None => out.leave_out(self.layout.opened.unwrap_or(call.from)),
            },
            State::Reply(reply) => reply.stop(at, out),
            State::Guarded(guarded) => out.leave_out(guarded.from()),
            State::Rest(rest) => rest.end(at, out),
            State::Header(span, _) => out.leave_out(span.start),
            State::Outside(gap) | State::Turn(gap) => {
                if let Some(opened) = self.layout.opened {
                    out.leave_out(opened);
                }
                if !gap.as_str().trim_ascii().is_empty() {
                    out.leave_out(gap.span().start);
                }
            }
        }
    }
}

/// Reports a control token that is read as text of the assistant.
pub(super) fn tell_token(
    rules: &Rules,
    control: Control,
    span: Span,
    is_quoted: bool,
    out: &mut Out<'_, '_>,
) {
    let text = format!("`{}` is read as text here", rules.spelling(control));
    out.tolerate(Code::ParseFrame.at(span, text).help(match is_quoted {
        true => "it is inside of quoted code",
        false => "a model can read it as a control token",
    }));
}
