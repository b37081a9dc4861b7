//! The reader of OpenChatML 0.1 and its dialects: turns, and the other kinds of documents.

use std::borrow::Cow;

use super::Close;
use super::Rules;
use super::content::Turn;
use super::infill::Slots;
use super::parts::Ends;
use crate::grammar::{hidden, repeated_header, repeated_opening, stray_token, within_limit};
use crate::lex::Lexeme;
use crate::model::{Channel, End, Infill, Message, Role};
use crate::options::{ReadOptions, Recover};
use crate::reading::{Draft, Gap, Kept, Out};
use crate::{Code, Control, Dropped, Fix, Span};

/// Reads messages from lexemes (SPEC 0.1 §3, §4).
pub(crate) struct Reader<'a> {
    pub(super) rules: &'static Rules,
    pub(super) state: State<'a>,
    /// The number of messages so far in the conversation, or in this part of a multi-file sequence.
    pub(super) messages: usize,
    /// Whether a message has begun in it, including a dropped one.
    pub(super) began: bool,
    /// Whether a separator precedes this part.
    pub(super) follows_separator: bool,
    pub(super) bos: bool,
    pub(super) eos: bool,
    /// Whether the layout before the next message is kept as it was read.
    pub(super) keeps_gap: bool,
    pub(super) speaks_as: Option<Role>,
}

pub(super) enum State<'a> {
    /// Between messages, with the text and tokens since the last one.
    Outside(Gap<'a>),
    /// After `<|im_start|>`, up to the line break.
    Header(Span, Kept<'a>),
    Body(Turn<'a>),
    Infill(Slots<'a>, Gap<'a>),
    /// After a fill-in-the-middle task, with the text and tokens since its end.
    AfterInfill(Infill<'a>, Gap<'a>),
}

/// Creates a reader for a dialect.
pub(crate) fn reader<'a>(rules: &'static Rules, options: &ReadOptions) -> Reader<'a> {
    Reader {
        rules,
        state: State::Outside(Gap::default()),
        messages: 0,
        began: false,
        follows_separator: false,
        bos: false,
        eos: false,
        keeps_gap: true,
        speaks_as: options.continues,
    }
}

impl<'a> crate::reading::Reader<'a> for Reader<'a> {
    fn lexeme(&mut self, lexeme: Lexeme<'_>, out: &mut Out<'a, '_>) {
        self.complete(Some(lexeme), lexeme.span().start, out);
        match (&mut self.state, lexeme) {
            (State::Body(turn), Lexeme::Text(text, span)) => {
                turn.text(text, span, self.rules, out);
            }
            (State::Header(..), Lexeme::Text(text, span)) => self.header(text, span, out),
            (State::Outside(gap) | State::AfterInfill(_, gap), Lexeme::Text(text, span)) => {
                let (text, span) = within_limit(text, span, gap.len(), out);
                gap.push(text, span, out.keep);
            }
            (State::Infill(slots, _), Lexeme::Text(text, span)) => {
                let (text, span) = within_limit(text, span, slots.len(), out);
                slots.text(text, span, out.keep);
            }
            (State::Body(_), Lexeme::Control(control, span)) => self.in_body(control, span, out),
            (State::Header(..), Lexeme::Control(control, span)) => {
                let stop = if control == Control::End { span.end } else { span.start };
                self.broken_header(span.start, stop, out);
                match control {
                    Control::End => out.stop_token(),
                    _ if out.state.stopped.is_some() => {}
                    _ => self.outside(control, span, out),
                }
            }
            (_, Lexeme::Control(control, span)) => self.outside(control, span, out),
        }
    }

    fn message(&self) -> Option<&Message<'a>> {
        match &self.state {
            State::Body(turn) => Some(&turn.draft.message),
            _ => None,
        }
    }

    fn finish(&mut self, at: usize, out: &mut Out<'a, '_>) {
        self.complete(None, at, out);
        if out.state.stopped.is_some() {
            // The incomplete message keeps what was read of it.
            match &mut self.state {
                State::Body(turn) => {
                    turn.draft.message.recovered = true;
                    turn.draft.end(End::Open, at, out);
                }
                State::Header(span, _) => out.leave_out(span.start),
                State::Outside(gap) if !gap.as_str().trim_ascii().is_empty() => {
                    out.leave_out(gap.span().start);
                }
                State::Infill(slots, lead) => {
                    out.leave_out(slots.start());
                    if !lead.is_empty() {
                        out.leave_out(lead.span().start);
                    }
                }
                State::AfterInfill(infill, _) => out.leave_out(infill.span.start),
                State::Outside(_) => {}
            }
            return;
        }
        match std::mem::replace(&mut self.state, State::Outside(Gap::default())) {
            State::Body(mut turn) => {
                if !out.options.open_prompt {
                    let text = "the text ends inside a message";
                    let found = Code::StreamTruncated.at(Span::at(at), text);
                    let end = self.spelled(Control::End);
                    out.malformed(found.fix(Fix::suggestion(Span::at(at), end)));
                }
                turn.release(out);
                turn.draft.end(End::Open, at, out);
                self.messages += 1;
                self.messages_part(at, Ends::Document, out);
            }
            State::Header(span, header) => self.end_in_header(span, header, at, out),
            state => {
                self.state = state;
                self.part(at, Ends::Document, out);
            }
        }
    }
}

impl<'a> Reader<'a> {
    /// Ends the input in a header.
    fn end_in_header(
        &mut self,
        span: Span,
        mut header: Kept<'a>,
        at: usize,
        out: &mut Out<'a, '_>,
    ) {
        if !out.options.open_prompt {
            let text = "the text ends inside a header";
            out.malformed(Code::StreamTruncated.at(Span::at(at), text));
        }
        let mut message = self.head(&header, span, false, out);
        message.span = Span::new(span.start, at);
        let has_text = message.unread.is_some();
        match out.options.recover {
            _ if has_text && out.state.stopped.is_some() => {
                return out.leave_out(span.start);
            }
            // Text that is no header is content.
            Recover::Keep if has_text => {
                let place = header.span();
                let message = hidden(message.role, message.span, place.start);
                let mut draft = Draft::started(message, out);
                draft.push(&header.take(), place, out);
                draft.end(End::End, at, out);
            }
            _ if has_text => {
                let text = "this text will be dropped";
                let found = Code::ParseFrame.at(message.span, text);
                return out.report(found.drops(Dropped::Text));
            }
            _ => Draft::started(message, out).end(End::Prompt, at, out),
        }
        self.messages += 1;
        self.messages_part(at, Ends::Document, out);
    }

    /// Begins the content of a completion, at its first lexeme.
    fn complete(&mut self, first: Option<Lexeme<'_>>, at: usize, out: &mut Out<'a, '_>) {
        let Some(role) = self.speaks_as.filter(|_| self.messages == 0 && !self.bos) else { return };
        self.bos = true;
        let opens = |control| control == Control::Start;
        if role == Role::Assistant
            && let Some(span) = repeated_opening(first, opens)
        {
            return repeated_header(span, out);
        }
        let mut message = Message::new(role, "");
        message.span = Span::new(0, at);
        message.body_at = at;
        let draft = Draft::started(message, out);
        self.state = State::Body(Turn { draft, crlf: false, held: None });
    }

    /// Reads text of a header, up to the line break that ends it.
    fn header(&mut self, text: &str, span: Span, out: &mut Out<'a, '_>) {
        let State::Header(start, header) = &mut self.state else { return };
        let line = memchr::memchr(b'\n', text.as_bytes());
        let wanted = line.map_or(text.len(), |end| end + 1);
        let left = out.options.limits.header_bytes.saturating_sub(header.len());
        if wanted > left {
            return self.long_header(text, span, left, out);
        }
        let Some(end) = line else { return header.push(text, span, out.keep) };
        let split = span.start + end + 1;
        header.push(&text[..=end], Span::new(span.start, split), out.keep);
        let (start, header) = (*start, std::mem::take(header));
        let mut message = self.head(&header, start, true, out);
        message.span = Span::new(start.start, split);
        message.body_at = split;
        let crlf = header.as_str().ends_with("\r\n");
        let mut turn = Turn { draft: Draft::started(message, out), crlf, held: None };
        let rest = &text[end + 1..];
        if !rest.is_empty() {
            turn.text(rest, Span::new(split, span.end), self.rules, out);
        }
        self.state = State::Body(turn);
    }

    /// Reports a header that exceeds its limit. `left` is the number of bytes that still fit.
    fn long_header(&mut self, text: &str, span: Span, left: usize, out: &mut Out<'a, '_>) {
        let State::Header(start, header) = &mut self.state else { return };
        let (text, rest) = text.split_at(text.floor_char_boundary(left));
        let split = span.start + text.len();
        header.push(text, Span::new(span.start, split), out.keep);
        let most = out.options.limits.header_bytes;
        let message = format!("the header exceeds the limit `header_bytes` of {most}");
        out.malformed(Code::Limit.at(Span::new(start.start, split), message));
        self.broken_header(split, split, out);
        let rest = Lexeme::Text(rest, Span::new(split, span.end));
        if out.goes_on(rest) {
            crate::reading::Reader::lexeme(self, rest, out);
        }
    }

    fn in_body(&mut self, control: Control, span: Span, out: &mut Out<'a, '_>) {
        match control {
            Control::End => self.end_body(End::End, span, out),
            Control::Start | Control::Eos => {
                let text = match control {
                    Control::Start => {
                        "the message has no stop token before the next message begins"
                    }
                    _ => "the message has no stop token before the end of the sequence",
                };
                let end = self.spelled(Control::End);
                let found = Code::StreamTruncated.at(span, text);
                out.malformed(found.fix(Fix::suggestion(Span::at(span.start), end)));
                if out.state.stopped.is_some() {
                    return;
                }
                self.end_body(End::Open, span, out);
                self.keeps_gap = false;
                self.outside(control, span, out);
            }
            _ => {
                let text = format!("`{}` is not allowed in a message", self.spelled(control));
                let found = Code::ParseFrame.at(span, text);
                out.malformed(found.help("the text after it is hidden; this format cannot escape it, so remove it from the content"));
                self.split(span, out);
            }
        }
    }

    fn end_body(&mut self, end: End, span: Span, out: &mut Out<'a, '_>) {
        let state = std::mem::replace(&mut self.state, State::Outside(Gap::default()));
        let State::Body(mut turn) = state else { return };
        let line_break = turn.held.take();
        let canonical = match self.rules.close {
            Close::Spaced => "\n",
            Close::Compact => "",
        };
        let close = line_break.map_or("", |(text, _)| text);
        // Half of a CRLF is content.
        let close = if close == "\r" {
            turn.held = line_break;
            turn.release(out);
            ""
        } else {
            close
        };
        if close != canonical && out.keep.slice(span).is_some() {
            let layout = turn.draft.message.layout.get_or_insert_default();
            layout.form = self.rules.form;
            layout.close = Some(Cow::Borrowed(close));
        }
        if end == End::Open {
            turn.draft.message.recovered = true;
        }
        let at = if end == End::Open { span.start } else { span.end };
        let is_own = !turn.draft.message.foreign;
        turn.draft.end(end, at, out);
        self.messages += 1;
        self.keeps_gap = true;
        if is_own && end == End::End {
            out.stop_token();
        }
    }

    /// Reads the rest of the turn as a separate hidden message.
    fn split(&mut self, span: Span, out: &mut Out<'a, '_>) {
        let State::Body(turn) = &self.state else { return };
        if out.state.stopped.is_some() {
            return;
        }
        if turn.draft.message.recovered && turn.draft.message.channel == Some(Channel::Analysis) {
            return;
        }
        let role = turn.draft.message.role;
        self.end_body(End::Open, Span::at(span.start), out);
        if !out.admits(span) {
            return;
        }
        let draft = Draft::started(hidden(role, span, span.end), out);
        self.state = State::Body(Turn { draft, crlf: false, held: None });
    }

    /// Reports a header without a line break before the next control token.
    fn broken_header(&mut self, end: usize, stop: usize, out: &mut Out<'a, '_>) {
        let state = std::mem::replace(&mut self.state, State::Outside(Gap::default()));
        let State::Header(start, header) = state else { return };
        self.keeps_gap = false;
        let keeps = out.options.recover.keeps();
        let span = Span::new(start.start, if keeps { end } else { stop });
        let found = Code::ParseHeader.at(span, "the header must end with a line break");
        if !keeps {
            return out.malformed(found.drops(Dropped::Text));
        }
        out.malformed(found.help("its text is kept in a hidden message"));
        let text = header.as_str();
        let role = text.split_ascii_whitespace().next().and_then(Role::from_word);
        let role = role.filter(|role| self.rules.roles.contains(role));
        let at = header.span();
        let message = hidden(role.unwrap_or(Role::Tool), span, at.start);
        let mut draft = Draft::started(message, out);
        let mut header = header;
        draft.push(&header.take(), at, out);
        draft.end(End::End, stop, out);
        self.messages += 1;
    }

    fn outside(&mut self, control: Control, span: Span, out: &mut Out<'a, '_>) {
        match (control, &mut self.state) {
            (Control::Start, _) => {
                self.before_message(span, out);
                if !out.admits(span) {
                    return;
                }
                self.state = State::Header(span, Kept::default());
            }
            (Control::Bos | Control::Eos, _) => self.wrapper(control, span, out),
            (
                Control::FimPrefix | Control::FimMiddle | Control::FimSuffix,
                State::Infill(slots, _),
            ) if self.rules.has_files => {
                slots.control(control, span);
            }
            (Control::FimPrefix | Control::FimMiddle | Control::FimSuffix, State::Outside(gap))
                if self.rules.has_files && self.messages == 0 =>
            {
                let lead = std::mem::take(gap);
                let mut slots = Slots::new(span.start);
                slots.control(control, span);
                self.state = State::Infill(slots, lead);
            }
            (Control::FileSeparator, _) if self.rules.has_files && !out.state.is_over => {
                self.part(span.start, Ends::Separator, out);
                self.follows_separator = true;
                self.messages = 0;
                self.began = false;
                self.bos = false;
                self.eos = false;
                self.keeps_gap = true;
            }
            _ => {
                // The next part must not be joined to the text before it.
                if let State::Outside(gap) = &mut self.state {
                    let gap = std::mem::take(gap);
                    if !self.is_blank(&gap) {
                        self.stray(gap, out);
                    }
                }
                let spelling = self.spelled(control);
                out.malformed(stray_token(spelling, span, out).drops(Dropped::Text));
                self.keeps_gap = false;
            }
        }
    }
}
