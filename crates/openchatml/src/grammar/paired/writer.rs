//! The writer of pairs.

use super::calls;
use super::outputs::{is_value, split as split_outputs};
use super::place::{At, Kind, Piece};
use super::writer_state::{Begins, Next, WriterState};
use super::{Rules, is_between_replies};
use crate::grammar::owner::Owner;
use crate::limits::Limits;
use crate::model::{Conversation, Document, End, FormId, Message, Raw, Role};
use crate::options::{LayoutChoice, RenderOptions};
use crate::writing::{Part, Place as Where, RenderError, Sink, SinkError, write_pieces, write_raw};
use crate::{Code, Control, Span};

/// Writes a document.
pub(crate) fn write(
    rules: &'static Rules,
    document: &Document<'_>,
    options: &RenderOptions,
    sink: &mut dyn Sink,
) -> Result<(), RenderError> {
    let Some(conversation) = document.as_conversation() else {
        return Err(RenderError::not_a_conversation(rules.form.name()));
    };
    let mut writer = Writer { rules, options, sink, behind: WriterState::START, waiting: 0 };
    writer.conversation(conversation)
}

struct Writer<'w> {
    rules: &'static Rules,
    options: &'w RenderOptions,
    sink: &'w mut dyn Sink,
    behind: WriterState,
    /// The number of calls without a reply at the beginning of the list of replies that is being
    /// written.
    waiting: usize,
}

type Written = Result<(), RenderError>;

/// Why a piece cannot be written, and the part of the message to which it belongs.
type Failed = (Where, SinkError);

impl Writer<'_> {
    fn conversation(&mut self, conversation: &Conversation<'_>) -> Written {
        let messages = &conversation.messages;
        let around = conversation.layout.as_deref().filter(|it| self.keeps(it.form));
        let prompts = self.options.generation_prompt.is_some();
        if messages.is_empty() && !prompts {
            let Some(lead) = around.and_then(|it| it.lead.as_ref()) else { return Ok(()) };
            return write_raw(lead, self.sink)
                .map_err(|error| RenderError::sink(error, None, Where::Document));
        }
        let rules = self.rules;
        let goes_on = |at: usize| messages.get(at).is_some_and(|it| rules.goes_on(it));
        for (index, message) in messages.iter().enumerate() {
            let follows = index > 0 && messages[index - 1].is_call() && goes_on(index);
            let alone = !goes_on(index + 1) && !follows;
            let is_last = index + 1 == messages.len() && !prompts;
            self.message(index, message, alone, is_last)?;
            self.check_replies(messages, index, is_last)?;
            let is_open = matches!(message.end, End::Open | End::Prompt);
            if is_last && (is_open || self.options.continue_final) {
                return Ok(());
            }
        }
        if let Some(role) = self.options.generation_prompt {
            return self.prompt(role, messages.len());
        }
        self.finish(messages.last(), around.and_then(|it| it.tail.as_ref()))
    }

    fn keeps(&self, form: FormId) -> bool {
        self.options.layout == LayoutChoice::Keep && form == self.rules.form
    }

    fn message(
        &mut self,
        index: usize,
        message: &Message<'_>,
        alone: bool,
        is_last: bool,
    ) -> Written {
        let kind = self.rules.kind(message, alone);
        self.check(index, message, kind, is_last)?;
        let fail = |(place, error): Failed| RenderError::sink(error, Some(index), place);
        let raw = self.raw(message);
        let body = message.body.text();
        let next = Next { kind, body: &body, begins: self.rules.begins(message) };
        if self.behind.place.at != At::Reply || next.begins != Begins::Nothing {
            self.waiting = match (self.behind.place.at, next.begins) {
                (_, Begins::BehindNone) => 0,
                _ => self.behind.waiting,
            };
        }
        let kept = raw.and_then(|raw| Some((raw, self.behind.behind(self.rules, raw, next)?)));
        match kept {
            Some((raw, behind)) => {
                self.write_raw(raw, kind, index).map_err(fail)?;
                self.behind = behind;
            }
            None => self.behind = self.between(next, index).map_err(fail)?,
        }
        self.sink.seam(Part::Body);
        self.sink.text(&body).map_err(|error| fail((Where::Body, error)))?;
        self.sink.seam(Part::End);
        Ok(())
    }

    /// Refuses messages that the template refuses, or that would be read back differently.
    fn check(&self, index: usize, message: &Message<'_>, kind: Kind<'_>, last: bool) -> Written {
        let refuse = |code: Code, place, text: &str, help: &'static str| {
            let error = RenderError::new(code, Some(index), text).at(place, Span::default());
            Err(error.help(help))
        };
        match kind {
            Kind::Call(name, _) => {
                if name.contains('"') {
                    let text = "the name of a tool cannot contain a quotation mark";
                    let help = "rename the tool";
                    return refuse(Code::ParseHeader, Where::Recipient, text, help);
                }
                let body = message.body.text();
                let ends_there = match last && message.end == End::Open {
                    true => calls::are_open(&body),
                    false => calls::are_whole(&body),
                };
                if !ends_there {
                    let text = "the end of these arguments would be read at another place";
                    let help = "write the arguments as JSON";
                    return refuse(Code::RenderControl, Where::Body, text, help);
                }
                Ok(())
            }
            Kind::Prompt if !last || !message.body.is_empty() => {
                let text = "only the last message can be an empty open message";
                refuse(Code::RenderUnsupported, Where::End, text, "remove the others")
            }
            _ => Ok(()),
        }
    }

    /// Refuses a list of replies that would be read back differently. The reply at `index` is the
    /// last one of the list.
    fn check_replies(&mut self, messages: &[Message<'_>], index: usize, is_last: bool) -> Written {
        let message = &messages[index];
        if message.role != Role::Tool
            || messages.get(index + 1).is_some_and(|it| self.rules.is_in_list(it))
        {
            return Ok(());
        }
        let refuse = |text: &str, help: &'static str| {
            let error = RenderError::new(Code::RenderControl, Some(index), text);
            Err(error.at(Where::Body, Span::new(0, message.body.len())).help(help))
        };
        let first = self.first_of_list(messages, index);
        let list = &messages[first..=index];
        let is_open = is_last && (self.options.continue_final || message.end == End::Open);
        if is_open {
            if list.iter().any(|it| it.body.text().contains(']')) {
                let text = "the open list of replies would be read as complete inside a reply";
                return refuse(text, "remove `]` from the replies, or close the list");
            }
            return Ok(());
        }
        match self.are_found(list, messages.get(index + 1)) {
            Some(true) => {}
            Some(false) => self.behind.waiting = 0,
            None => {
                let text = "the end of this reply would be read at another place";
                return refuse(text, "write one JSON value as reply for each call");
            }
        }
        Ok(())
    }

    /// Returns the first reply of the list that contains the reply at `index`.
    fn first_of_list(&self, messages: &[Message<'_>], index: usize) -> usize {
        let mut first = index;
        while self.rules.is_in_list(&messages[first])
            && first > 0
            && messages[first - 1].role == Role::Tool
        {
            first -= 1;
        }
        first
    }

    /// Returns `None` if a list of replies, followed by `next`, would be read back differently.
    /// Otherwise returns whether the call that each reply answers is known.
    fn are_found(&self, replies: &[Message<'_>], next: Option<&Message<'_>>) -> Option<bool> {
        if let [reply] = replies
            && is_value(&reply.body.text())
        {
            return Some(true);
        }
        let room = replies.iter().map(|reply| reply.body.len() + ", ".len()).sum::<usize>();
        let mut list = String::with_capacity(room + "[]".len());
        list.push('[');
        let mut bodies = Vec::with_capacity(replies.len());
        for (at, reply) in replies.iter().enumerate() {
            let between = self.raw(reply).filter(|raw| is_between_replies(raw));
            list.push_str(if at == 0 { "" } else { between.map_or(", ", Raw::as_str) });
            let start = list.len();
            list.push_str(&reply.body.text());
            bodies.push(Span::new(start, list.len()));
        }
        list.push(']');
        let end = list.len();
        // The text up to the next control token can be read as part of the list.
        if let Some(next) = next {
            let kind = self.rules.kind(next, true);
            let body = next.body.text();
            let follows = Next { kind, body: &body, begins: Begins::Nothing };
            if matches!(kind, Kind::Inner | Kind::Outer) && self.runs_on(next, follows) {
                list.push_str(&body);
            }
        }
        let found = split_outputs(&list, self.waiting, &Limits::default());
        (found.end == end && found.bodies == bodies).then(|| found.are_paired(self.waiting))
    }

    /// Whether no control token is written between the last reply and this text.
    fn runs_on(&self, message: &Message<'_>, next: Next<'_>) -> bool {
        let raw = self.raw(message);
        match raw.filter(|raw| self.behind.behind(self.rules, raw, next).is_some()) {
            Some(raw) => raw.is_text(),
            None => {
                let mut has_token = false;
                let _ = self.behind.write::<()>(next, &mut |_, piece| {
                    has_token |= matches!(piece, Piece::Control(_));
                    Ok(())
                });
                !has_token
            }
        }
    }

    /// Returns the kept layout before a message.
    fn raw<'m>(&self, message: &'m Message<'_>) -> Option<&'m Raw<'m>> {
        let layout = message.layout.as_deref().filter(|it| self.keeps(it.form))?;
        layout.before.as_ref()
    }

    /// Writes the text between the last message and the next. Returns the state after the next
    /// message.
    fn between(&mut self, next: Next<'_>, index: usize) -> Result<WriterState, Failed> {
        let mut owner = Owner::Before;
        let sink = &mut *self.sink;
        let behind = self.behind.write(next, &mut |of, piece| {
            owner.advance(of, index, sink);
            emit(piece, sink)
        })?;
        owner.advance(Owner::Header, index, sink);
        Ok(behind)
    }

    /// Writes kept layout.
    fn write_raw(&mut self, raw: &Raw<'_>, kind: Kind<'_>, index: usize) -> Result<(), Failed> {
        let mut owner = Owner::Before;
        let mut rest = raw.rest();
        // The text that closes the last message belongs to it, in any layout.
        let sink = &mut *self.sink;
        let mut fits = true;
        self.behind.place.between(kind, &mut |of, piece| {
            fits &= matches!(of, Owner::Before | Owner::Gap);
            if fits {
                owner.advance(of, index, sink);
            }
            fits = fits && rest.take(piece.raw());
            if fits { emit(piece, sink) } else { Ok(()) }
        })?;
        let from = rest.at();
        let all = raw.as_str().len();
        let opening = match (raw.end_of_last(Control::Open(Role::Assistant)), kind) {
            (_, Kind::Section(_)) => all,
            (Some(at), _) => at.max(from),
            (None, _) => from,
        };
        let error = |error| (Where::Document, error);
        owner.advance(Owner::Opening, index, sink);
        write_pieces(raw.pieces_in(from..opening), sink).map_err(error)?;
        owner.advance(Owner::Header, index, sink);
        write_pieces(raw.pieces_in(opening..all), sink).map_err(error)
    }

    /// Writes a prompt.
    fn prompt(&mut self, role: Role, index: usize) -> Written {
        let kind = match role {
            Role::Assistant => Kind::Prompt,
            role => Kind::Section(role),
        };
        if role == Role::Tool {
            let text = "this format has no turns of tools";
            return Err(RenderError::new(Code::RenderUnsupported, None, text));
        }
        let next = Next { kind, body: "", begins: Begins::Nothing };
        let written = self.between(next, index).map(drop);
        written.map_err(|(place, error)| RenderError::sink(error, Some(index), place))
    }

    /// Writes the text that closes the last message.
    fn finish(&mut self, last: Option<&Message<'_>>, tail: Option<&Raw<'_>>) -> Written {
        let fail = |(place, error): Failed| RenderError::sink(error, None, place);
        let is_answer = |last: &Message<'_>| last.is_answer() && !last.body.is_empty();
        let returns = last.is_some_and(|last| last.end == End::Return);
        let can_end = |tail: &&Raw<'_>| match last.is_some_and(is_answer) {
            // The text that closes an answer says whether the conversation ends there.
            true => self.behind.can_end(self.rules, tail, returns),
            false => {
                [true, false].iter().any(|closes| self.behind.can_end(self.rules, tail, *closes))
            }
        };
        if let Some(tail) = tail.filter(can_end) {
            return write_raw(tail, self.sink).map_err(|error| fail((Where::Document, error)));
        }
        let sink = &mut *self.sink;
        let closes = returns || self.behind.needs_close();
        self.behind.place.close(closes, &mut |_, piece| emit(piece, sink)).map_err(fail)
    }
}

fn emit(piece: Piece<'_>, sink: &mut dyn Sink) -> Result<(), Failed> {
    match piece {
        Piece::Control(control) => sink.control(control).map_err(|error| (Where::End, error)),
        Piece::Text(text) => sink.word(text).map_err(|error| (Where::Role, error)),
        Piece::Name(name) => sink.text(name).map_err(|error| (Where::Recipient, error)),
    }
}
