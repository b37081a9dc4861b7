//! The writer of pairs.

use super::Rules;
use super::calls;
use super::outputs::split as split_outputs;
use super::place::{At, Kind, Owner, Piece, Place};
use crate::lex::Mode;
use crate::model::{Conversation, Document, End, Message, Role};
use crate::read::Limits;
use crate::render::{
    LayoutChoice, Part, Place as Where, RenderError, RenderOptions, Sink, SinkError, write_raw,
};
use crate::{Code, Control, Span};

/// Writes a document.
pub(crate) fn write(
    rules: &'static Rules,
    document: &Document<'_>,
    options: &RenderOptions,
    sink: &mut dyn Sink,
) -> Result<(), RenderError> {
    let Some(conversation) = document.as_conversation() else {
        return Err(RenderError::not_a_conversation(rules.dialect));
    };
    let mut writer = Writer { rules, options, sink, place: Place::START, calls: 0, replied: 0 };
    writer.conversation(conversation)
}

struct Writer<'w> {
    rules: &'static Rules,
    options: &'w RenderOptions,
    sink: &'w mut dyn Sink,
    place: Place,
    /// How many calls the last list has, and how many replies to them were written before the list
    /// of replies that is being written.
    calls: usize,
    replied: usize,
}

type Written = Result<(), RenderError>;

/// Why a piece cannot be written, and where it belongs.
type Failed = (Where, SinkError);

impl Writer<'_> {
    fn conversation(&mut self, conversation: &Conversation<'_>) -> Written {
        let messages = &conversation.messages;
        let around = conversation.layout.as_deref().filter(|it| self.keeps(it.dialect));
        let prompts = self.options.generation_prompt.is_some();
        if messages.is_empty() && !prompts {
            let lead = around.and_then(|it| it.lead.as_deref()).unwrap_or_default();
            let raw = write_raw(lead, Mode::Outside, self.rules.controls, self.sink);
            return raw.map_err(|error| RenderError::sink(error, None, Where::Document));
        }
        let (rules, keeps) = (self.rules, self.options.layout == LayoutChoice::Keep);
        let goes_on = |at: usize| {
            // That a list of its own begins is layout, too.
            let follows = |it: &Message<'_>| if keeps { rules.goes_on(it) } else { it.is_call() };
            messages.get(at).is_some_and(follows)
        };
        for (index, message) in messages.iter().enumerate() {
            let follows = index > 0 && messages[index - 1].is_call() && goes_on(index);
            let alone = !goes_on(index + 1) && !follows;
            let is_last = index + 1 == messages.len() && !prompts;
            self.check_lists(messages, index, is_last)?;
            self.count(messages, index);
            self.message(index, message, alone, is_last)?;
            let is_open = matches!(message.end, End::Open | End::Prompt);
            if is_last && (is_open || self.options.continue_final) {
                return Ok(());
            }
        }
        if let Some(role) = self.options.generation_prompt {
            return self.prompt(role, messages.len());
        }
        self.finish(messages.last(), around.and_then(|it| it.tail.as_deref()))
    }

    fn keeps(&self, dialect: &str) -> bool {
        self.options.layout == LayoutChoice::Keep && dialect == self.rules.dialect
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
        let kept =
            raw.and_then(|raw| Some((raw, self.place.behind(raw, kind, self.rules.controls)?)));
        match kept {
            Some((raw, place)) => {
                self.write_raw(raw, kind, index).map_err(fail)?;
                self.place = place;
            }
            None => {
                self.between(kind, index).map_err(fail)?;
                self.place = self.place.after(kind);
            }
        }
        self.sink.seam(Part::Body);
        let body = message.body.text();
        self.sink.text(&body).map_err(|error| fail((Where::Body, error)))?;
        self.sink.seam(Part::End);
        Ok(())
    }

    /// Refuses what the template refuses, and what would be read as something else.
    fn check(&self, index: usize, message: &Message<'_>, kind: Kind<'_>, last: bool) -> Written {
        let refuse = |code: Code, place, text: &str, help: &'static str| {
            let error = RenderError::new(code, Some(index), text).at(place, Span::default());
            Err(error.help(help))
        };
        match kind {
            Kind::Call(name, _) => {
                if name.contains('"') {
                    let text = "the name of a tool cannot have a quote";
                    let help = "give the tool another name";
                    return refuse(Code::ParseHeader, Where::Recipient, text, help);
                }
                let body = message.body.text();
                let ends_there = match last && message.end == End::Open {
                    true => calls::are_open(&body),
                    false => calls::are_whole(&body),
                };
                if !ends_there {
                    let text = "these arguments would not end where they end";
                    let help = "arguments that are JSON end where they end";
                    return refuse(Code::RenderControl, Where::Body, text, help);
                }
                Ok(())
            }
            Kind::Prompt if !last || !message.body.is_empty() => {
                let text = "only the last message can be a prompt";
                refuse(Code::RenderUnsupported, Where::End, text, "leave the others out")
            }
            _ => Ok(()),
        }
    }

    /// Refuses what would be read as part of a list of replies, or not as part of one: a reply that
    /// is not found to be one is read as what the assistant says to the user.
    fn check_lists(&self, messages: &[Message<'_>], index: usize, is_last: bool) -> Written {
        let refuse = |text: &str, help: &'static str| {
            let error = RenderError::new(Code::RenderControl, Some(index), text);
            Err(error.at(Where::Body, Span::new(0, messages[index].body.len())).help(help))
        };
        let message = &messages[index];
        let is_behind_calls = self.place.at == At::Call;
        if message.role != Role::Tool {
            let is_text = message.role == Role::Assistant && !message.is_call();
            let goes_on = is_text && message.is_reasoning() == self.place.inner;
            if is_behind_calls && goes_on && message.body.text().starts_with('[') {
                let text = "a text right behind calls would be read as the replies to them";
                return refuse(text, "let the replies to the calls stand before it");
            }
            return Ok(());
        }
        // A list of calls may be empty.
        let suffix = self.rules.controls.spelling(Control::ToolsSuffix).unwrap_or_default();
        let is_behind_none = self.raw(message).is_some_and(|raw| raw.contains(suffix));
        if !is_behind_calls && !is_behind_none && self.place.at != At::Reply {
            let text = "a reply to no call would be read as what the assistant says";
            return refuse(text, "a reply follows the call that it answers");
        }
        if messages.get(index + 1).is_some_and(|next| self.is_in_list(next)) {
            // The list is looked at as a whole, once.
            return Ok(());
        }
        let is_open = is_last && (self.options.continue_final || message.end == End::Open);
        let first = self.first_of_list(messages, index);
        if is_open && messages[first..=index].iter().any(|it| it.body.text().contains(']')) {
            let text = "the replies are left open, and would be found to end inside of one";
            return refuse(text, "only replies without `]` can be left open");
        }
        if !is_open && !self.list_ends_where_it_ends(messages, first, index) {
            let text = "where this reply ends would be found in another place";
            return refuse(text, "a reply that is JSON, one for each call, ends where it ends");
        }
        Ok(())
    }

    /// The first reply of the list that the reply at `index` is part of.
    fn first_of_list(&self, messages: &[Message<'_>], index: usize) -> usize {
        let mut first = index;
        while self.is_in_list(&messages[first])
            && first > 0
            && messages[first - 1].role == Role::Tool
        {
            first -= 1;
        }
        first
    }

    /// Whether a message is a reply in the list of the reply before it, if there is one: it was not
    /// read as the first of a list of its own.
    fn is_in_list(&self, message: &Message<'_>) -> bool {
        let begins = || self.raw(message).is_some_and(|raw| raw.contains('['));
        message.role == Role::Tool && !begins()
    }

    /// Counts a message as a call or a reply.
    fn count(&mut self, messages: &[Message<'_>], index: usize) {
        let is_last_of_list = !messages.get(index + 1).is_some_and(|next| self.is_in_list(next));
        if messages[index].is_call() {
            let goes_on = index > 0 && messages[index - 1].is_call();
            self.calls = if goes_on { self.calls + 1 } else { 1 };
            self.replied = 0;
        } else if messages[index].role == Role::Tool && is_last_of_list {
            self.replied += index + 1 - self.first_of_list(messages, index);
        }
    }

    /// Whether the list of the replies from `first` to `index` is found to end behind the last of
    /// them.
    fn list_ends_where_it_ends(
        &self,
        messages: &[Message<'_>],
        first: usize,
        index: usize,
    ) -> bool {
        let inner = self.place.inner;
        let controls = self.rules.controls;
        let follows = messages[index + 1..].iter().take_while(|next| {
            let is_text = next.role == Role::Assistant && !next.is_call();
            is_text
                && next.end != End::Prompt
                && next.is_reasoning() == inner
                && self.raw(next).is_none_or(|raw| controls.find(raw).is_none())
        });
        let brackets = |it: &Message<'_>| it.body.text().contains(']');
        if !messages[first..=index].iter().chain(follows.clone()).any(brackets) {
            // There is one bracket where the list could end.
            return true;
        }
        let mut list = String::from("[");
        for (at, reply) in messages[first..=index].iter().enumerate() {
            let between = self.raw(reply).unwrap_or(", ");
            list.push_str(if at == 0 { "" } else { between });
            list.push_str(&reply.body.text());
        }
        list.push(']');
        let end = list.len();
        follows.for_each(|next| list.push_str(&next.body.text()));
        let waiting = self.calls.saturating_sub(self.replied);
        split_outputs(&list, waiting, &Limits::default()).end == end
    }

    /// What stood before a message when it was read, if that is kept.
    fn raw<'m>(&self, message: &'m Message<'_>) -> Option<&'m str> {
        let layout = message.layout.as_deref().filter(|it| self.keeps(it.dialect))?;
        layout.header.as_deref()
    }

    /// Writes what stands between the last message and the next.
    fn between(&mut self, kind: Kind<'_>, index: usize) -> Result<(), Failed> {
        let mut owner = Owner::Before;
        let sink = &mut *self.sink;
        let whole = self.place.between(kind, |of, piece| {
            advance(&mut owner, of, index, sink);
            emit(piece, sink)
        });
        advance(&mut owner, Owner::Header, index, sink);
        whole
    }

    /// Writes the same as it was read.
    fn write_raw(&mut self, raw: &str, kind: Kind<'_>, index: usize) -> Result<(), Failed> {
        let mut owner = Owner::Before;
        let mut rest = raw;
        // What closes the last message belongs to it, in whatever layout.
        let controls = self.rules.controls;
        let sink = &mut *self.sink;
        let mut fits = true;
        self.place.between(kind, |of, piece| {
            fits &= matches!(of, Owner::Before | Owner::Gap);
            if fits {
                advance(&mut owner, of, index, sink);
            }
            match rest.strip_prefix(piece.spelling(controls)).filter(|_| fits) {
                Some(after) => {
                    rest = after;
                    emit(piece, sink)
                }
                None => {
                    fits = false;
                    Ok(())
                }
            }
        })?;
        let turn = matches!(kind, Kind::Section(_));
        let error = |error| (Where::Document, error);
        let begins = controls.spelling(Control::Open(Role::Assistant)).unwrap_or_default();
        let opening = match (rest.rfind(begins), turn) {
            (_, true) => rest.len(),
            (Some(at), false) => at + begins.len(),
            (None, false) => 0,
        };
        let (opening, header) = rest.split_at(opening);
        advance(&mut owner, Owner::Opening, index, sink);
        write_raw(opening, Mode::Outside, controls, sink).map_err(error)?;
        advance(&mut owner, Owner::Header, index, sink);
        write_raw(header, Mode::Outside, controls, sink).map_err(error)
    }

    /// Writes what a model is to go on from.
    fn prompt(&mut self, role: Role, index: usize) -> Written {
        let kind = match role {
            Role::Assistant => Kind::Prompt,
            role => Kind::Section(role),
        };
        if role == Role::Tool {
            let text = "a tool has no turn of its own in this format";
            return Err(RenderError::new(Code::RenderUnsupported, None, text));
        }
        self.between(kind, index)
            .map_err(|(place, error)| RenderError::sink(error, Some(index), place))
    }

    /// Writes what closes the last message.
    fn finish(&mut self, last: Option<&Message<'_>>, tail: Option<&str>) -> Written {
        let fail = |(place, error): Failed| RenderError::sink(error, None, place);
        if let Some(tail) = tail.filter(|tail| self.can_end(tail)) {
            return write_raw(tail, Mode::Outside, self.rules.controls, self.sink)
                .map_err(|error| fail((Where::Document, error)));
        }
        let returns = last.is_some_and(|last| last.end == End::Return);
        let sink = &mut *self.sink;
        self.place.close(returns, &mut |_, piece| emit(piece, sink)).map_err(fail)
    }

    /// Whether a text can close what is open.
    fn can_end(&self, tail: &str) -> bool {
        let controls = self.rules.controls;
        let ends = |place: Option<Place>| {
            place.is_some_and(|it| it.at == At::Outside || it.at == At::Turn)
        };
        ends(self.place.through(tail, controls))
    }
}

/// Says whose the next pieces are, as far as that is not said yet.
fn advance(owner: &mut Owner, to: Owner, index: usize, sink: &mut dyn Sink) {
    if *owner == Owner::Before && to != Owner::Before {
        sink.seam(Part::Gap);
        *owner = Owner::Gap;
    }
    if *owner == Owner::Gap && to != Owner::Gap && to != Owner::Before {
        sink.seam(Part::Opening(index));
        *owner = Owner::Opening;
    }
    if *owner == Owner::Opening && to == Owner::Header {
        sink.seam(Part::Header);
        *owner = Owner::Header;
    }
}

fn emit(piece: Piece<'_>, sink: &mut dyn Sink) -> Result<(), Failed> {
    match piece {
        Piece::Control(control) => sink.control(control).map_err(|error| (Where::End, error)),
        Piece::Text(text) => sink.text(text).map_err(|error| (Where::Role, error)),
        Piece::Name(name) => sink.text(name).map_err(|error| (Where::Recipient, error)),
    }
}
