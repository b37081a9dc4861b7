//! Reads replies of tools inside of the turn of the assistant: the name of the tool, and the text as a
//! string. Other values are read as JSON.

use super::Scanner;
use crate::grammar::sections::between::Kind;
use crate::grammar::sections::body::Body;
use crate::grammar::sections::calls::place_in;
use crate::grammar::sections::parameters::To;
use crate::grammar::sections::reader::{Reader, State};
use crate::grammar::sections::{ReplyInside, Rules};
use crate::grammar::within_limit;
use crate::model::{End, Message};
use crate::reading::{Draft, Kept, Out};
use crate::{Code, Control, Dropped, Fix, Span};

/// A reply while it is read.
pub(in crate::grammar::sections) struct TreeReply<'a> {
    /// The beginning of its opening token, and its end.
    from: usize,
    begin: usize,
    phase: Phase<'a>,
    /// The text before its content.
    head: Kept<'a>,
    draft: Option<Box<Draft<'a>>>,
    /// Its text that is not part of a reply.
    dropped: Kept<'a>,
}

enum Phase<'a> {
    Head,
    /// In the text.
    Text,
    /// After the text, and whether the brace was read.
    Tail(bool),
    /// In values that are not a text.
    Values(Box<Scanner<'a>>),
}

impl<'a> TreeReply<'a> {
    /// Creates a reply whose opening token is between these bytes.
    pub(in crate::grammar::sections) fn new(from: usize, begin: usize) -> Self {
        let head = Kept::default();
        Self { from, begin, phase: Phase::Head, head, draft: None, dropped: Kept::default() }
    }

    /// Whether a control token is text here.
    pub(in crate::grammar::sections) fn is_text(&self, control: Control, rules: &Rules) -> bool {
        let is_quote = rules.quote() == Some(control);
        let closes = rules.replies.item.is_some_and(|(_, close)| close.control == control);
        match &self.phase {
            Phase::Text => !is_quote,
            Phase::Values(scanner) => !is_quote && (!closes || scanner.is_text(control)),
            Phase::Head | Phase::Tail(_) => !is_quote && !closes,
        }
    }

    pub(in crate::grammar::sections) fn message(&self) -> Option<&Message<'a>> {
        self.draft.as_ref().map(|draft| &draft.message)
    }

    /// Returns the name of the tool, and the length of the text up to the brace behind it.
    fn named(&self, inside: &ReplyInside) -> Option<(String, usize)> {
        let head = self.head.as_str();
        let blank = head.len() - head.trim_ascii_start().len();
        let named = head[blank..].strip_prefix(inside.open)?;
        let end = named.find('{')?;
        Some((named[..end].trim_ascii().to_owned(), blank + inside.open.len() + end + 1))
    }

    /// Ends the reply after a stop.
    pub(in crate::grammar::sections) fn stop(mut self, at: usize, out: &mut Out<'a, '_>) {
        match self.draft.take() {
            Some(mut draft) => {
                draft.message.recovered = true;
                draft.end(End::Open, at, out);
            }
            None => out.leave_out(self.from),
        }
    }
}

impl<'a> Reader<'a> {
    fn reply(&mut self) -> Option<&mut TreeReply<'a>> {
        match &mut self.state {
            State::Reply(reply) => Some(reply),
            _ => None,
        }
    }

    /// Reads text in a reply.
    pub(in crate::grammar::sections) fn reply_text(
        &mut self,
        text: &str,
        span: Span,
        out: &mut Out<'a, '_>,
    ) {
        let State::Reply(reply) = &mut self.state else { return };
        match &mut reply.phase {
            Phase::Head => {
                let most = out.options.limits.header_bytes;
                let len = text.floor_char_boundary(most.saturating_sub(reply.head.len()));
                let split = place_in(text, span, len);
                reply.head.push(&text[..len], Span::new(span.start, split), out.keep);
                if len < text.len() {
                    self.begin_values(out);
                    self.take_behind(&text[len..], Span::new(split, span.end), out);
                }
            }
            Phase::Text => {
                if let Some(draft) = &mut reply.draft {
                    draft.push(text, span, out);
                }
            }
            Phase::Tail(closed) => {
                let mut at = 0;
                while at < text.len() {
                    let rest = &text[at..];
                    // The first brace ends the reply, whatever precedes it.
                    let end = if *closed { None } else { rest.find('}') };
                    let piece = &rest[..end.unwrap_or(rest.len())];
                    let shown = piece.trim_ascii();
                    if !shown.is_empty() {
                        let from = at + piece.len() - piece.trim_ascii_start().len();
                        let place = |at| place_in(text, span, at);
                        let here = Span::new(place(from), place(from + shown.len()));
                        drop_text(&mut reply.dropped, shown, here, out);
                    }
                    *closed |= end.is_some();
                    at += piece.len() + usize::from(end.is_some());
                }
            }
            Phase::Values(scanner) => {
                let Some(draft) = &mut reply.draft else { return };
                let len =
                    scanner.text(text, span, &mut To { draft, dropped: &mut reply.dropped, out });
                let (rest, split) = (&text[len..], place_in(text, span, len));
                if len > 0 && scanner.is_done() {
                    self.layout.since = split;
                }
                if !rest.trim_ascii().is_empty() {
                    drop_text(&mut reply.dropped, rest, Span::new(split, span.end), out);
                }
            }
        }
    }

    fn take_behind(&mut self, text: &str, span: Span, out: &mut Out<'a, '_>) {
        if out.state.stopped.is_none() {
            self.take(text, span, out);
        }
    }

    /// Reads a token in a reply.
    pub(in crate::grammar::sections) fn reply_token(
        &mut self,
        control: Control,
        span: Span,
        out: &mut Out<'a, '_>,
    ) {
        if self.rules.quote() != Some(control) {
            return self.close_reply(span, out);
        }
        let spelling = self.rules.spelling(control);
        if let Some(TreeReply { phase: Phase::Head, .. }) = self.reply() {
            if self.begin_text(span.end, out) {
                return;
            }
            self.begin_values(out);
            if out.state.stopped.is_some() {
                return;
            }
        }
        let State::Reply(reply) = &mut self.state else {
            // The text of a malformed reply.
            return self.take_behind(spelling, span, out);
        };
        match &mut reply.phase {
            Phase::Head => {}
            Phase::Text => {
                reply.phase = Phase::Tail(false);
                self.layout.since = span.start;
            }
            Phase::Tail(_) => drop_text(&mut reply.dropped, spelling, span, out),
            Phase::Values(scanner) => {
                let Some(draft) = &mut reply.draft else { return };
                match scanner.is_done() {
                    true => drop_text(&mut reply.dropped, spelling, span, out),
                    false => {
                        let mut to = To { draft, dropped: &mut reply.dropped, out };
                        scanner.quote(spelling, span, &mut to);
                    }
                }
            }
        }
    }

    /// Begins the message of a reply with this name. Its content begins at byte `at`.
    fn begin_named(&mut self, name: &str, at: usize, out: &mut Out<'a, '_>) {
        let mut message = self.rules.message(Kind::Reply, "");
        let called = self.waiting.answer(None);
        let own = (!name.is_empty()).then(|| self.rules.recipient(name));
        message.name = own.or(called).map(Into::into);
        let written = self.rules.name(&message).to_owned();
        let draft = self.begin(Kind::Reply, &written, message, at, out);
        self.layout.since = at;
        if let State::Reply(reply) = &mut self.state {
            reply.draft = Some(draft);
        }
    }

    /// Begins the text of a reply at byte `at`, after the token before it. Returns `false` if the
    /// reply has other values.
    fn begin_text(&mut self, at: usize, out: &mut Out<'a, '_>) -> bool {
        let Some(inside) = self.rules.replies.inside else { return false };
        let State::Reply(reply) = &mut self.state else { return false };
        let Some((name, end)) = reply.named(&inside) else { return false };
        let before = reply.head.as_str()[end - 1..].split_ascii_whitespace().collect::<String>();
        if before != inside.value {
            return false;
        }
        reply.phase = Phase::Text;
        self.begin_named(&name, at, out);
        true
    }

    /// Begins the values of a reply that is not a text. If it has none, its text is read as it is.
    fn begin_values(&mut self, out: &mut Out<'a, '_>) {
        let Some(inside) = self.rules.replies.inside else { return };
        let State::Reply(reply) = &mut self.state else { return };
        let named = reply.named(&inside);
        let (span, head) = (reply.head.span(), reply.head.take());
        let begin = reply.begin;
        self.layout.keeps = false;
        let Some((name, end)) = named else {
            let form = [inside.open, "NAME", inside.value].concat();
            let found = Code::ParseFrame.at(Span::at(begin), "malformed reply");
            out.malformed(found.help(format!("a reply begins with `{form}`")));
            if out.state.stopped.is_some() {
                return;
            }
            let mut message = self.rules.message(Kind::Reply, "");
            message.name = self.waiting.answer(None).map(Into::into);
            message.recovered = true;
            let written = self.rules.name(&message).to_owned();
            let draft = self.begin(Kind::Reply, &written, message, begin, out);
            self.layout.keeps = false;
            let mut body = Body::new(draft, Kind::Reply, 0, begin);
            body.is_marked = true;
            if !head.is_empty() {
                body.text(&head, span, out);
            }
            self.state = State::Body(body);
            return;
        };
        let at = place_in(&head, span, end);
        self.begin_named(&name, at, out);
        self.layout.keeps = false;
        let State::Reply(reply) = &mut self.state else { return };
        let Some(draft) = &mut reply.draft else { return };
        let mut to = To { draft, dropped: &mut reply.dropped, out };
        let scanner = Scanner::new(inside.quote, at, &mut to);
        reply.phase = Phase::Values(Box::new(scanner));
        self.reply_text(&head[end..], Span::new(at, span.end), out);
    }

    /// Reads the token that closes a reply.
    fn close_reply(&mut self, span: Span, out: &mut Out<'a, '_>) {
        if let Some(TreeReply { phase: Phase::Head, .. }) = self.reply() {
            self.begin_values(out);
            if out.state.stopped.is_some() {
                return;
            }
            if let (State::Body(_), Some((_, close))) = (&self.state, self.rules.replies.item) {
                return self.control(close.control, span, out);
            }
        }
        let State::Reply(reply) =
            std::mem::replace(&mut self.state, State::Outside(Kept::default()))
        else {
            return;
        };
        let mut reply = *reply;
        let Some(mut draft) = reply.draft.take() else { return };
        let is_whole = match &mut reply.phase {
            Phase::Tail(closed) => *closed,
            Phase::Values(scanner) => {
                let mut to = To { draft: &mut draft, dropped: &mut reply.dropped, out };
                scanner.cut(&mut to);
                scanner.is_done() && scanner.odd().is_none()
            }
            Phase::Head | Phase::Text => false,
        };
        if let Phase::Values(_) = reply.phase {
            let text = "this reply is not written as a text";
            out.tolerate(Code::ParseFrame.at(Span::at(span.start), text));
            self.layout.keeps = false;
        }
        if !is_whole {
            let text = "the reply is incomplete";
            out.malformed(Code::ParseFrame.at(span, text));
            self.layout.keeps = false;
        }
        self.tell_dropped_reply(&mut reply, out);
        draft.message.recovered |= !is_whole;
        draft.end(End::End, span.end, out);
        self.layout.edge = span.end;
    }

    fn tell_dropped_reply(&mut self, reply: &mut TreeReply<'a>, out: &mut Out<'a, '_>) {
        if !reply.dropped.is_empty() && out.state.stopped.is_none() {
            self.layout.keeps = false;
            let text = "this text is not part of the reply";
            let found = Code::ParseFrame.at(reply.dropped.span(), text);
            out.malformed(found.drops(Dropped::Text));
        }
    }

    /// Returns the text that completes a reply.
    fn closes_reply(&self, reply: &TreeReply<'a>) -> Option<String> {
        let quote = self.rules.quote().map_or("", |quote| self.rules.spelling(quote));
        let before = match &reply.phase {
            Phase::Text => [quote, "}"],
            Phase::Tail(false) => ["", "}"],
            Phase::Tail(true) => ["", ""],
            Phase::Head | Phase::Values(_) => return None,
        };
        let close = self.rules.spelling(self.closes(Kind::Reply).control);
        Some([before[0], before[1], close].concat())
    }

    /// Ends a reply at a token of the framing.
    pub(in crate::grammar::sections) fn cut_reply(
        &mut self,
        reply: TreeReply<'a>,
        span: Span,
        out: &mut Out<'a, '_>,
    ) {
        let close = self.rules.spelling(self.closes(Kind::Reply).control);
        let text = format!("missing `{close}` at the end of the section");
        let found = Code::StreamTruncated.at(span, text);
        out.malformed(match self.closes_reply(&reply) {
            Some(close) => found.fix(Fix::suggestion(Span::at(span.start), close)),
            None => found,
        });
        self.layout.keeps = false;
        if out.state.stopped.is_some() {
            return reply.stop(span.start, out);
        }
        self.end_incomplete(reply, true, span.start, out);
        self.layout.keeps = false;
    }

    /// Ends the input inside of a reply.
    pub(in crate::grammar::sections) fn end_reply_open(
        &mut self,
        reply: TreeReply<'a>,
        at: usize,
        out: &mut Out<'a, '_>,
    ) {
        let text = "the text ends inside a message";
        let can_go_on = matches!(reply.phase, Phase::Text);
        if !can_go_on || !out.options.open_prompt {
            let found = Code::StreamTruncated.at(Span::at(at), text);
            out.malformed(match self.closes_reply(&reply) {
                Some(close) => found.fix(Fix::suggestion(Span::at(at), close)),
                None => found,
            });
        }
        let is_cut = !can_go_on || !out.options.open_prompt;
        match out.state.stopped.is_some() {
            true => reply.stop(at, out),
            false => self.end_incomplete(reply, is_cut, at, out),
        }
    }

    fn end_incomplete(
        &mut self,
        mut reply: TreeReply<'a>,
        is_cut: bool,
        at: usize,
        out: &mut Out<'a, '_>,
    ) {
        if reply.draft.is_none() {
            self.state = State::Reply(Box::new(reply));
            self.begin_values(out);
            match std::mem::replace(&mut self.state, State::Outside(Kept::default())) {
                State::Body(mut body) => {
                    body.draft.message.recovered = true;
                    self.end_body(body, 0, End::Open, at, out);
                    return;
                }
                State::Reply(begun) => reply = *begun,
                _ => return,
            }
        }
        let Some(mut draft) = reply.draft.take() else { return out.leave_out(reply.from) };
        if let Phase::Values(scanner) = &mut reply.phase {
            scanner.cut(&mut To { draft: &mut draft, dropped: &mut reply.dropped, out });
        }
        self.tell_dropped_reply(&mut reply, out);
        draft.message.recovered |= is_cut;
        draft.end(End::Open, at, out);
        (self.layout.since, self.layout.edge) = (at, at);
    }
}

fn drop_text<'a>(dropped: &mut Kept<'a>, text: &str, span: Span, out: &mut Out<'a, '_>) {
    if out.state.stopped.is_none() {
        let (text, span) = within_limit(text, span, dropped.len(), out);
        dropped.push(text, span, out.keep);
    }
}
