//! The reader of framed messages.

use std::borrow::Cow;

use super::header::{self, Context, Opening, Shape};
use super::{Rules, writer};
use crate::lex::Lexeme;
use crate::model::{Channel, End, Intent, Layout, Marker, Message, Role};
use crate::read::{Draft, Kept, Out, Place, ReadOptions, Recover};
use crate::render::Compare;
use crate::{Code, Control, Fix, Span};

/// A push machine from lexemes to messages (SPEC 2.2 §6, §15).
pub(crate) struct Reader<'a> {
    rules: &'static Rules,
    state: State<'a>,
    /// Whether a message has begun.
    began: bool,
    /// Whether the message that ended last did so by `<|call|>`, with nothing after it.
    after_call: bool,
    /// Whether the space before the next message is laid out in the way it was read.
    keeps_gap: bool,
    /// The input continues a prompt: only this role may speak.
    speaks_as: Option<Role>,
}

enum State<'a> {
    /// At the beginning of a completion that may go on with a header or with a body.
    Completion(Role),
    /// Between messages, with what stands there.
    Outside(Kept<'a>),
    /// After `<|start|>`.
    Header(Opening<'a>),
    /// After `<|message|>`.
    Body(Draft<'a>),
}

/// A reader by these rules.
pub(crate) fn reader<'a>(rules: &'static Rules, options: &ReadOptions) -> Reader<'a> {
    let state = match options.continues {
        Some(role) if rules.completes_in_body => State::Completion(role),
        Some(role) => State::Header(Opening::of_role(role, Span::at(0))),
        None => State::Outside(Kept::default()),
    };
    Reader {
        rules,
        began: options.continues.is_some(),
        state,
        after_call: false,
        keeps_gap: true,
        speaks_as: options.continues.filter(|role| *role == Role::Assistant),
    }
}

impl<'a> crate::read::Reader<'a> for Reader<'a> {
    fn lexeme(&mut self, lexeme: Lexeme<'_>, out: &mut Out<'a, '_>) {
        if let State::Completion(role) = self.state {
            if self.complete(role, lexeme, out) {
                return;
            }
        }
        match (&mut self.state, lexeme) {
            (State::Completion(_), _) => {}
            (State::Body(draft), Lexeme::Text(text, span)) => draft.push(text, span, out),
            (State::Outside(gap), Lexeme::Text(text, span)) => {
                push_bounded(gap, text, span, out);
            }
            (State::Header(opening), Lexeme::Text(text, span)) => {
                opening.text(text, span, out.keep);
                if opening.len() > out.options.limits.header_bytes {
                    self.long_header(span.end, out);
                }
            }
            (State::Body(_), Lexeme::Control(control, span)) => self.in_body(control, span, out),
            (State::Header(_), Lexeme::Control(control, span)) => {
                self.in_header(control, span, out);
            }
            (State::Outside(_), Lexeme::Control(control, span)) => {
                self.outside(control, span, out);
            }
        }
    }

    fn finish(&mut self, at: usize, out: &mut Out<'a, '_>) {
        if let State::Completion(role) = self.state {
            self.state = State::Header(Opening::of_role(role, Span::at(0)));
        }
        match std::mem::replace(&mut self.state, State::Outside(Kept::default())) {
            State::Completion(_) => {}
            State::Outside(gap) => self.gap(gap, Span::at(at), out),
            State::Body(draft) => {
                if draft.in_literal() {
                    self.truncated("the text ends inside a literal block", Span::at(at), out);
                } else if !out.options.open_prompt {
                    self.truncated("the text ends inside a message", Span::at(at), out);
                }
                draft.end(End::Open, at, out);
            }
            State::Header(opening) => {
                if !out.options.open_prompt {
                    self.truncated("the text ends inside a header", Span::at(at), out);
                }
                self.open_header(opening, at, out);
            }
        }
    }
}

impl<'a> Reader<'a> {
    /// Begins the body of a completion. Whether `lexeme` is used up by that: a completion may
    /// begin with the end of its header.
    fn complete(&mut self, role: Role, lexeme: Lexeme<'_>, out: &mut Out<'a, '_>) -> bool {
        let ends_header = matches!(lexeme, Lexeme::Control(Control::Message, _));
        let mut message = Message::new(role, "");
        message.body_at = if ends_header { lexeme.span().end } else { lexeme.span().start };
        message.span = Span::new(0, message.body_at);
        self.state = State::Body(Draft::start(message, out));
        ends_header
    }

    fn in_body(&mut self, control: Control, span: Span, out: &mut Out<'a, '_>) {
        let State::Body(draft) = &mut self.state else { return };
        match control {
            Control::End | Control::Call | Control::Return => {
                let end = match control {
                    Control::Call => End::Call,
                    Control::Return => End::Return,
                    _ => End::End,
                };
                self.after_call = control == Control::Call;
                self.keeps_gap = true;
                self.end_body(end, span.end, out);
            }
            Control::Literal => draft.open_literal(),
            Control::EndLiteral if draft.in_literal() => draft.close_literal(),
            Control::Marker(marker) => self.marker(marker, span, out),
            Control::Start => {
                let text = "the message ends without a stop token where the next one begins";
                let spelling = self.spelled(control);
                let help = format!("to say `{spelling}` as text, escape it");
                let found = Code::StreamTruncated.at(span, text).help(help);
                out.malformed(found);
                self.end_body(End::Open, span.start, out);
                self.keeps_gap = false;
                self.open(span);
            }
            _ => {
                let text = format!("`{}` inside a message", self.spelled(control));
                let help = match self.rules.controls.escape() {
                    crate::lex::Escape::None => "what follows is hidden",
                    _ => "what follows is hidden; to say it as text, escape it with one more `<`",
                };
                let fix = (self.rules.controls.escape() != crate::lex::Escape::None)
                    .then(|| Fix::replace(Span::at(span.start), "<"));
                let mut found = Code::ParseFrame.at(span, text).help(help);
                found.fix = fix;
                out.malformed(found);
                self.split(span, out);
            }
        }
    }

    /// A marker is one in `analysis` only. In what a user may see it is an error, and what it
    /// opens is hidden (SPEC 2.2 §7). Elsewhere it is text.
    fn marker(&mut self, marker: Marker, span: Span, out: &mut Out<'a, '_>) {
        let State::Body(draft) = &mut self.state else { return };
        match marker_place(&draft.message) {
            MarkerPlace::Text => {
                let text = self.rules.controls.spelling(Control::Marker(marker));
                draft.push(text.unwrap_or_default(), span, out);
            }
            MarkerPlace::Marker => draft.marker(marker),
            MarkerPlace::Forbidden => {
                let text = "reasoning inside a message that a user may see";
                let found = Code::PermVisibility.at(span, text);
                out.malformed(found.help("what follows is hidden"));
                self.split(span, out);
                if let State::Body(draft) = &mut self.state {
                    draft.marker(marker);
                }
            }
        }
    }

    /// What follows up to the end of the frame becomes a hidden message of its own.
    fn split(&mut self, span: Span, out: &mut Out<'a, '_>) {
        let State::Body(draft) = &self.state else { return };
        if draft.message.recovered && draft.message.channel == Some(Channel::Analysis) {
            return;
        }
        let role = draft.message.role;
        self.end_body(End::Open, span.start, out);
        let mut message = hidden(role);
        message.span = span;
        message.body_at = span.end;
        self.state = State::Body(Draft::start(message, out));
    }

    fn end_body(&mut self, end: End, at: usize, out: &mut Out<'a, '_>) {
        let state = std::mem::replace(&mut self.state, State::Outside(Kept::default()));
        let State::Body(mut draft) = state else { return };
        let was_split = draft.message.recovered && draft.message.recipient.is_none();
        let end = match end {
            End::Call | End::Return
                if was_split && draft.message.channel == Some(Channel::Analysis) =>
            {
                End::End
            }
            end => end,
        };
        if end == End::Open {
            draft.message.recovered = true;
        }
        draft.end(end, at, out);
    }

    fn in_header(&mut self, control: Control, span: Span, out: &mut Out<'a, '_>) {
        let State::Header(opening) = &mut self.state else { return };
        match control {
            Control::Message => self.body(span, out),
            Control::Channel | Control::Constrain => opening.control(control, span),
            Control::Marker(marker) => {
                let text = self.rules.controls.spelling(Control::Marker(marker));
                opening.text(text.unwrap_or_default(), span, out.keep);
            }
            Control::End if self.rules.mends_slips && !opening.is_bare() => {
                let (end, meant) = (self.spelled(control), self.spelled(Control::Message));
                let text = format!("`{end}` after a role; taken for `{meant}`");
                let found = Code::ParseSlip.at(span, text);
                out.tolerate(found.fix(Fix::replace(span, meant)));
                self.body(span, out);
            }
            Control::Start => {
                self.broken_header(span.start, out);
                self.open(span);
            }
            Control::End | Control::Call | Control::Return => {
                self.broken_header(span.start, out);
            }
            _ => {
                // What follows does not join what stands before.
                opening.control(control, span);
                let text = format!("`{}` inside a header", self.spelled(control));
                out.malformed(Code::ParseFrame.at(span, text));
            }
        }
    }

    /// The header is complete.
    fn body(&mut self, span: Span, out: &mut Out<'a, '_>) {
        let state = std::mem::replace(&mut self.state, State::Outside(Kept::default()));
        let State::Header(opening) = state else { return };
        let mut message = self.head(&opening, Shape::Whole, out).0;
        message.span = Span::new(opening.span.start, span.end);
        message.body_at = span.end;
        message.layout = self.header_layout(&opening, &message, span.start, out);
        self.state = State::Body(Draft::start(message, out));
    }

    /// Reads a header and reports what is wrong with it. Gives what of it is no header, too.
    fn head(
        &mut self,
        opening: &Opening<'a>,
        shape: Shape,
        out: &mut Out<'a, '_>,
    ) -> (Message<'a>, Kept<'a>) {
        let context = Context {
            shape,
            rules: self.rules,
            limits: &out.options.limits,
            checker: Some(&out.state.checker),
        };
        let head = header::read(opening, out.keep, &context);
        let mut message = head.message;
        for (found, tolerated) in head.found {
            match tolerated {
                true => out.tolerate(found),
                false if found.severity == crate::Severity::Error => out.malformed(found),
                false => out.report(found),
            }
        }
        if let Some(role) = self.speaks_as
            && message.role != role
        {
            let text = format!("a completion of `{role}` speaks as `{}`", message.role);
            let found = Code::CompletionRole.at(opening.span, text);
            out.malformed(found.help("the message is hidden, and no part of the conversation"));
            message.recovered = true;
            message.channel = Some(Channel::Analysis);
        }
        if opening.is_orphan {
            message.recovered = true;
            message.channel = Some(Channel::Analysis);
        }
        (message, head.rest)
    }

    /// The layout of a header that is not canonical.
    fn header_layout(
        &self,
        opening: &Opening<'a>,
        message: &Message<'a>,
        end: usize,
        out: &Out<'a, '_>,
    ) -> Option<Box<Layout<'a>>> {
        if opening.role.is_some() {
            return None;
        }
        let raw = out.keep.slice(Span::new(opening.span.end, end))?;
        if raw == message.role.as_str() && message.name.is_none() {
            return None;
        }
        let mut compare = Compare::new(self.rules.controls, raw);
        let written = writer::header(message, self.rules, &mut compare);
        if written.is_ok() && compare.is_equal() {
            return None;
        }
        let layout = Layout { dialect: self.rules.dialect, ..Layout::default() };
        Some(Box::new(Layout { header: Some(Cow::Borrowed(raw)), ..layout }))
    }

    /// The input ends inside a header: a prompt.
    fn open_header(&mut self, opening: Opening<'a>, at: usize, out: &mut Out<'a, '_>) {
        let (mut message, _) = self.head(&opening, Shape::Whole, out);
        message.span = Span::new(opening.span.start, at);
        message.layout = self.header_layout(&opening, &message, at, out);
        Draft::start(message, out).end(End::Prompt, at, out);
    }

    /// The header lost its `<|message|>`: it is read for what it says, and the rest of it is text
    /// that nobody may see.
    fn broken_header(&mut self, end: usize, out: &mut Out<'a, '_>) {
        let state = std::mem::replace(&mut self.state, State::Outside(Kept::default()));
        let State::Header(opening) = state else { return };
        self.keeps_gap = false;
        let span = Span::new(opening.span.start, end);
        let meant = self.spelled(Control::Message);
        let found = Code::ParseHeader.at(span, format!("the header has no `{meant}`"));
        out.malformed(found.help("what it says is kept as a hidden message"));
        let (mut message, mut rest) = self.head(&opening, Shape::Broken, out);
        if out.options.recover == Recover::Drop {
            return;
        }
        message.recovered = true;
        message.channel = Some(Channel::Analysis);
        message.span = span;
        message.body_at = rest.span().start;
        let mut draft = Draft::start(message, out);
        let at = rest.span();
        draft.push(&rest.take(), at, out);
        draft.end(End::End, end, out);
    }

    /// The header exceeds its limit: from here on it is text that nobody may see.
    fn long_header(&mut self, end: usize, out: &mut Out<'a, '_>) {
        let state = std::mem::replace(&mut self.state, State::Outside(Kept::default()));
        let State::Header(opening) = state else { return };
        let most = out.options.limits.header_bytes;
        let span = Span::new(opening.span.start, end);
        let text = format!("the header exceeds the limit `header_bytes` of {most}");
        out.malformed(Code::Limit.at(span, text));
        let (mut message, mut rest) = self.head(&opening, Shape::Broken, out);
        message.recovered = true;
        message.channel = Some(Channel::Analysis);
        message.span = span;
        message.body_at = rest.span().start;
        let mut draft = Draft::start(message, out);
        let at = rest.span();
        draft.push(&rest.take(), at, out);
        self.state = State::Body(draft);
    }

    fn outside(&mut self, control: Control, span: Span, out: &mut Out<'a, '_>) {
        let State::Outside(gap) = &mut self.state else { return };
        if control == Control::End && self.after_call && gap.is_empty() {
            // `<|call|>` ends the message; a grammar can be read so that `<|end|>` follows.
            self.after_call = false;
            let spelling = self.spelled(control);
            if let State::Outside(gap) = &mut self.state {
                gap.push(spelling, span, out.keep);
            }
            return;
        }
        self.after_call = false;
        let gap = std::mem::take(gap);
        self.gap(gap, Span::at(span.start), out);
        match control {
            Control::Start => self.open(span),
            Control::Message | Control::Channel | Control::Constrain => {
                let text = format!("`{}` outside of a message", self.spelled(control));
                let help = "the message that it seems to open is hidden; \
                            a completion is read as what continues its prompt's role";
                out.malformed(Code::ParseFrame.at(span, text).help(help));
                self.keeps_gap = false;
                self.began = true;
                self.orphan(control, span, out);
            }
            _ => {
                let text = format!("`{}` outside of a message", self.spelled(control));
                out.malformed(Code::ParseFrame.at(span, text));
                self.keeps_gap = false;
            }
        }
    }

    /// A message without its `<|start|>`: nobody knows who speaks.
    fn orphan(&mut self, control: Control, span: Span, out: &mut Out<'a, '_>) {
        if control == Control::Message {
            let mut message = hidden(Role::Assistant);
            message.span = span;
            message.body_at = span.end;
            self.state = State::Body(Draft::start(message, out));
        } else {
            let mut opening = Opening::of_role(Role::Assistant, Span::at(span.start));
            opening.is_orphan = true;
            opening.control(control, span);
            self.state = State::Header(opening);
        }
    }

    fn open(&mut self, span: Span) {
        self.began = true;
        self.state = State::Header(Opening::new(span));
    }

    /// What stood between two messages: layout, or text that lost its place.
    fn gap(&mut self, mut gap: Kept<'a>, end: Span, out: &mut Out<'a, '_>) {
        let end_token = self.spelled(Control::End);
        let text = gap.as_str();
        let blank = text.strip_prefix(end_token).unwrap_or(text);
        if !blank.trim_ascii().is_empty() {
            return self.stray(gap, end, out);
        }
        if !std::mem::replace(&mut self.keeps_gap, true) {
            return;
        }
        if !self.began {
            if !text.is_empty() {
                out.to.layout(Place::Lead, gap.take(), self.rules.dialect);
            }
        } else if text != self.rules.gap && out.state.messages > 0 {
            out.to.layout(Place::After, gap.take(), self.rules.dialect);
        }
    }

    /// Text outside of any message.
    fn stray(&mut self, mut gap: Kept<'a>, end: Span, out: &mut Out<'a, '_>) {
        let span = Span::new(gap.span().start, end.start);
        let text = "text outside of a message";
        let found = Code::ParseFrame.at(span, text);
        self.keeps_gap = true;
        if out.options.recover != Recover::Keep {
            return out.malformed(found);
        }
        out.malformed(found.help("it is kept as a hidden message"));
        let mut message = hidden(Role::Assistant);
        message.span = span;
        message.body_at = span.start;
        let mut draft = Draft::start(message, out);
        draft.push(&gap.take(), span, out);
        draft.end(End::End, span.end, out);
        self.began = true;
        self.keeps_gap = false;
    }

    fn truncated(&self, text: &str, at: Span, out: &mut Out<'a, '_>) {
        let fix = Fix::replace(at, self.spelled(Control::End));
        let mut found = Code::StreamTruncated.at(at, text).help("the rest was never sent, or lost");
        if let State::Body(_) = self.state {
            found = found.fix(fix);
        }
        out.malformed(found);
    }

    fn spelled(&self, control: Control) -> &'static str {
        self.rules.controls.spelling(control).unwrap_or_default()
    }
}

/// What a chain-of-thought marker is in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkerPlace {
    Text,
    Marker,
    Forbidden,
}

pub(super) fn marker_place(message: &Message<'_>) -> MarkerPlace {
    match (message.role, message.effective_channel(), message.intent) {
        (Role::Assistant, Channel::Analysis, _) => MarkerPlace::Marker,
        (Role::Assistant, Channel::Final, _)
        | (Role::Assistant, Channel::Commentary, Some(Intent::Preamble)) => MarkerPlace::Forbidden,
        _ => MarkerPlace::Text,
    }
}

/// A message that was guessed at, and that nobody may see.
fn hidden<'a>(role: Role) -> Message<'a> {
    let mut message = Message::new(role, "");
    message.channel = Some(Channel::Analysis);
    message.recovered = true;
    message
}

/// Adds text to what is held between messages, up to the limit for one message.
fn push_bounded<'a>(gap: &mut Kept<'a>, text: &str, span: Span, out: &Out<'a, '_>) {
    let left = out.options.limits.message_bytes.saturating_sub(gap.len());
    if text.len() <= left {
        gap.push(text, span, out.keep);
    } else {
        let end = text.floor_char_boundary(left);
        gap.push(&text[..end], Span::new(span.start, span.start + end), out.keep);
    }
}
