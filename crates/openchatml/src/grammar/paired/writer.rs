//! The writer of pairs.

use super::calls;
use super::is_between_replies;
use super::outputs::{is_value, split as split_outputs};
use super::writer_state::{Begins, Next, WriterState};
use crate::grammar::owner::Owner;
use crate::grammar::sections::Rules;
use crate::grammar::sections::between::{Failed, Kind, Written};
use crate::limits::Limits;
use crate::model::{Conversation, Document, End, Message, Raw, Role};
use crate::options::RenderOptions;
use crate::writing::{Part, Place as Where, RenderError, Sink, write_pieces, write_raw};
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
    let mut writer = Writer { rules, options, sink, behind: WriterState::start(rules), waiting: 0 };
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

impl Writer<'_> {
    fn conversation(&mut self, conversation: &Conversation<'_>) -> Result<(), RenderError> {
        let messages = &conversation.messages;
        let around = self.rules.kept_around(conversation, self.options);
        let prompts = self.options.generation_prompt.is_some();
        if messages.is_empty() && !prompts {
            let Some(lead) = around.and_then(|it| it.lead.as_ref()) else { return Ok(()) };
            return write_raw(lead, self.sink)
                .map_err(|error| RenderError::sink(error, None, Where::Document));
        }
        let rules = self.rules;
        let goes_on = |at: usize| messages.get(at).is_some_and(|it| rules.continues_calls(it));
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

    fn message(
        &mut self,
        index: usize,
        message: &Message<'_>,
        alone: bool,
        is_last: bool,
    ) -> Result<(), RenderError> {
        let kind = self.rules.kind(message, alone);
        let fail = |failed: Failed| RenderError::sink(failed.1, Some(index), failed.0);
        let raw = self.rules.kept_before(message, self.options);
        let body = message.body.text();
        let name = self.rules.name(message);
        let next = Next { kind, name, body: &body, begins: self.rules.list_start(message) };
        self.check(index, message.end, next, is_last)?;
        if self.behind.place.last != Some(Kind::Reply) || next.begins != Begins::Nothing {
            self.waiting = match next.begins {
                Begins::BehindNone => 0,
                _ => self.behind.waiting,
            };
        }
        let kept = raw.and_then(|raw| Some((raw, self.behind.behind(raw, next)?)));
        match kept {
            Some((raw, behind)) => {
                self.write_raw(raw, kind, index).map_err(fail)?;
                self.behind = behind;
            }
            None => self.between(next, index).map_err(fail)?,
        }
        self.sink.seam(Part::Body);
        self.sink.text(&body).map_err(|error| fail(Box::new((Where::Body, error))))?;
        self.sink.seam(Part::End);
        Ok(())
    }

    /// Refuses messages that the template refuses, or that would be read back differently.
    fn check(&self, index: usize, end: End, next: Next<'_>, last: bool) -> Result<(), RenderError> {
        let refuse = |code: Code, place, text: &str, help: &'static str| {
            let error = RenderError::new(code, Some(index), text).at(place, Span::default());
            Err(error.help(help))
        };
        match next.kind {
            Kind::Call { .. } => {
                if next.name.contains('"') {
                    let text = "the name of a tool cannot contain a quotation mark";
                    let help = "rename the tool";
                    return refuse(Code::ParseHeader, Where::Recipient, text, help);
                }
                let ends_there = match last && end == End::Open {
                    true => calls::are_open(next.body),
                    false => calls::are_whole(next.body),
                };
                if !ends_there {
                    let text = "the end of these arguments would be read at another place";
                    let help = "write the arguments as JSON";
                    return refuse(Code::RenderControl, Where::Body, text, help);
                }
                if calls::have_more(next.body) {
                    let text = "the text after these arguments would be another call";
                    let help = "write the arguments as one JSON value";
                    return refuse(Code::RenderControl, Where::Body, text, help);
                }
                Ok(())
            }
            Kind::Prompt if !last || !next.body.is_empty() => {
                let text = "only the last message can be an empty open message";
                refuse(Code::RenderUnsupported, Where::End, text, "remove the others")
            }
            _ => Ok(()),
        }
    }

    /// Refuses a list of replies that would be read back differently. The reply at `index` is the
    /// last one of the list.
    fn check_replies(
        &mut self,
        messages: &[Message<'_>],
        index: usize,
        is_last: bool,
    ) -> Result<(), RenderError> {
        let message = &messages[index];
        if message.role != Role::Tool
            || messages.get(index + 1).is_some_and(|it| self.rules.continues_replies(it))
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
        while self.rules.continues_replies(&messages[first])
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
            let between =
                self.rules.kept_before(reply, self.options).filter(|raw| is_between_replies(raw));
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
            let follows = Next { kind, name: "", body: &body, begins: Begins::Nothing };
            if matches!(kind, Kind::Reasoning | Kind::Text { .. }) && self.runs_on(next, follows) {
                list.push_str(&body);
            }
        }
        let found = split_outputs(&list, self.waiting, &Limits::default());
        (found.end == end && found.bodies == bodies).then(|| found.are_paired(self.waiting))
    }

    /// Whether no control token is written between the last reply and this text.
    fn runs_on(&self, message: &Message<'_>, next: Next<'_>) -> bool {
        let raw = self.rules.kept_before(message, self.options);
        match raw.filter(|raw| self.behind.behind(raw, next).is_some()) {
            Some(raw) => raw.is_text(),
            None => {
                let mut has_token = false;
                let mut behind = self.behind;
                let _ = behind.write::<()>(next, &mut |_, piece| {
                    has_token |= matches!(piece, Written::Control(_));
                    Ok(())
                });
                !has_token
            }
        }
    }

    /// Writes the text between the last message and the next.
    fn between(&mut self, next: Next<'_>, index: usize) -> Result<(), Failed> {
        let mut owner = Owner::Before;
        let sink = &mut *self.sink;
        self.behind.write(next, &mut |of, piece| {
            owner.advance(of, index, sink);
            piece.write(sink)
        })?;
        owner.advance(Owner::Header, index, sink);
        Ok(())
    }

    /// Writes kept layout.
    fn write_raw(&mut self, raw: &Raw<'_>, kind: Kind, index: usize) -> Result<(), Failed> {
        let mut owner = Owner::Before;
        let mut rest = raw.rest();
        // The text that closes the last message belongs to it, in any layout.
        let sink = &mut *self.sink;
        let mut fits = true;
        self.rules.between(self.behind.place, kind, "", &mut |of, piece| {
            fits &= matches!(of, Owner::Before | Owner::Gap);
            if fits {
                owner.advance(of, index, sink);
            }
            fits = fits && piece.strip(&mut rest).is_ok();
            if fits { piece.write(sink) } else { Ok(()) }
        })?;
        let from = rest.at();
        let all = raw.as_str().len();
        let opening = match (raw.end_of_last(Control::Open(Role::Assistant)), kind) {
            (_, Kind::Said(_)) => all,
            (Some(at), _) => at.max(from),
            (None, _) => from,
        };
        let error = |error| Box::new((Where::Document, error));
        owner.advance(Owner::Opening, index, sink);
        write_pieces(raw.pieces_in(from..opening), sink).map_err(error)?;
        owner.advance(Owner::Header, index, sink);
        write_pieces(raw.pieces_in(opening..all), sink).map_err(error)
    }

    /// Writes a prompt.
    fn prompt(&mut self, role: Role, index: usize) -> Result<(), RenderError> {
        let kind = match role {
            Role::Assistant => Kind::Prompt,
            role => Kind::Said(role),
        };
        if role == Role::Tool {
            let text = "this format has no turns of tools";
            return Err(RenderError::new(Code::RenderUnsupported, None, text));
        }
        let next = Next { kind, name: "", body: "", begins: Begins::Nothing };
        let written = self.between(next, index);
        written.map_err(|failed| RenderError::sink(failed.1, Some(index), failed.0))
    }

    /// Writes the text that closes the last message.
    fn finish(
        &mut self,
        last: Option<&Message<'_>>,
        tail: Option<&Raw<'_>>,
    ) -> Result<(), RenderError> {
        let fail = |failed: Failed| RenderError::sink(failed.1, None, failed.0);
        let is_answer = |last: &Message<'_>| last.is_answer() && !last.body.is_empty();
        let returns = last.is_some_and(|last| last.end == End::Return);
        let can_end = |tail: &&Raw<'_>| match last.is_some_and(is_answer) {
            // The text that closes an answer says whether the conversation ends there.
            true => self.behind.can_end(tail, returns),
            false => [true, false].iter().any(|closes| self.behind.can_end(tail, *closes)),
        };
        if let Some(tail) = tail.filter(can_end) {
            return write_raw(tail, self.sink)
                .map_err(|error| fail(Box::new((Where::Document, error))));
        }
        let sink = &mut *self.sink;
        let closes = returns || self.behind.needs_close();
        self.rules.close(self.behind.place, closes, &mut |_, piece| piece.write(sink)).map_err(fail)
    }
}
