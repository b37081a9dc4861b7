//! Changes the turns of the assistant so that they are read back without differences: adjacent
//! texts are joined, and replies end where the reader finds their end.

use super::RULES;
use super::compose::{Result, admit};
use crate::grammar::paired::{DroppedLayout, is_list, is_value, split_outputs};
use crate::limits::Limits;
use crate::model::{Body, End, Message, Raw, Role};
use crate::pairing::sort_replies;
use crate::rules::{Composed, Join, Loss, Lost};
use crate::writing::{Place, RenderError};
use crate::{Code, Control, Section, Span};

/// Adapts the turns of the messages in `left`, after the composed ones. `prompts` says whether a
/// prompt follows the last message.
pub(super) fn settle<'a>(
    composed: &mut Composed<'a>,
    mut left: Left<'a>,
    prompts: bool,
) -> Result<()> {
    let opened = std::mem::take(&mut composed.conversation.messages);
    let places = std::mem::take(&mut composed.places);
    composed.conversation.messages.reserve(opened.len() + left.messages.len());
    composed.places.reserve(opened.len() + left.messages.len());
    let is_silent = |it: &Message<'_>| it.role == Role::Assistant && says_nothing(it);
    let may_be_silent = left.messages.as_slice().iter().any(is_silent);
    let mut settled = Settled {
        composed,
        calls: Vec::new(),
        inner: false,
        follows_calls: false,
        prompts,
        dropped: may_be_silent.then(|| DroppedLayout::new(&RULES)),
    };
    for (message, place) in opened.into_iter().zip(places) {
        settled.push(message, place, true);
    }
    let mut in_turn = false;
    while let Some((mut message, place)) = left.pop() {
        in_turn = admit(&mut message, place, in_turn, settled.composed)?;
        match message.role {
            Role::Tool => {
                let mut replies = vec![(message, Some(place))];
                while left.first().is_some_and(|next| RULES.continues_replies(next))
                    && let Some((next, place)) = left.pop()
                {
                    replies.push((next, Some(place)));
                }
                settled.replies(replies, &mut left)?;
            }
            Role::Assistant if !message.is_call() => {
                let silent = if message.is_answer() { left.silent() } else { Vec::new() };
                settled.text(message, Some(place), left.first())?;
                for (message, place) in silent {
                    settled.leave_out(&message, Some(place));
                }
            }
            Role::Assistant => settled.call(message, Some(place), left.first()),
            _ => {
                settled.calls.clear();
                settled.inner = false;
                settled.push(message, Some(place), true);
            }
        }
    }
    settled.end();
    Ok(())
}

struct Settled<'c, 'a> {
    composed: &'c mut Composed<'a>,
    /// The calls of the last list without a reply: tool and id.
    calls: Vec<(String, Option<String>)>,
    inner: bool,
    /// Whether the last text directly follows calls without replies.
    follows_calls: bool,
    prompts: bool,
    /// The text before dropped empty texts, if there can be some.
    dropped: Option<DroppedLayout>,
}

impl<'a> Settled<'_, 'a> {
    fn remark(&mut self, message: &Message<'_>, place: Option<usize>, lost: Lost) {
        self.composed.remarks.push(Loss::new(place, message.span, lost));
    }

    fn last(&self) -> Option<&Message<'a>> {
        self.composed.conversation.messages.last()
    }

    fn call(&mut self, message: Message<'a>, place: Option<usize>, next: Option<&Message<'_>>) {
        let follows = RULES.continues_calls(&message)
            && self.dropped.as_ref().is_none_or(DroppedLayout::is_empty)
            && self.last().is_some_and(Message::is_call);
        if !follows {
            self.calls.clear();
            let is_alone = !next.is_some_and(|next| RULES.continues_calls(next));
            let leaves = match RULES.before(&message) {
                Some(raw) => raw.has(Control::CloseSection(Section::Reasoning)),
                None => is_alone && RULES.ends_reasoning(RULES.tool(&message)),
            };
            self.inner &= !leaves;
        }
        let id = message.call_id.as_deref().map(str::to_owned);
        let tool = message.recipient.as_deref().unwrap_or_default().to_owned();
        self.calls.push((tool, id));
        let alone = !follows && !next.is_some_and(|next| RULES.continues_calls(next));
        self.push(message, place, alone);
    }

    fn text(
        &mut self,
        message: Message<'a>,
        place: Option<usize>,
        next: Option<&Message<'_>>,
    ) -> Result<()> {
        if message.end == End::Prompt {
            self.push(message, place, true);
            return Ok(());
        }
        let inner = message.is_reasoning();
        let is_laid_out = is_laid_out(&message);
        let goes_on = inner == self.inner && !is_laid_out;
        let after_list = self.last().is_some_and(|it| it.is_call() || it.role == Role::Tool);
        let follows_calls = goes_on && after_list && !self.calls.is_empty();
        if follows_calls && is_list(&message.body.text()) {
            return Err(read_as_replies(place));
        }
        let begins = !self.last().is_some_and(|it| matches!(it.role, Role::Assistant | Role::Tool));
        let is_empty = says_nothing(&message);
        // The token after an empty section decides how it is read.
        let is_unsaid = match next {
            _ if begins && inner => false,
            _ if goes_on && !begins => true,
            Some(next) if !inner => next.is_call() || begins && next.is_reasoning(),
            _ => false,
        };
        if is_empty && is_unsaid {
            self.inner = inner;
            self.leave_out(&message, place);
            return Ok(());
        }
        let joins = |last: &Message<'_>| {
            last.role == Role::Assistant && !last.is_call() && last.is_reasoning() == inner
        };
        if goes_on && self.last().is_some_and(joins) {
            self.remark(&message, place, Lost::Merged);
            if self.last().is_some_and(|last| last.weight != message.weight) {
                self.remark(&message, place, Lost::Weight);
            }
            let messages = &mut self.composed.conversation.messages;
            let index = messages.len().saturating_sub(1);
            if let Some(last) = messages.last_mut() {
                let join = |place| Join { message: index, at: last.body.len(), place, from: 0 };
                self.composed.joins.extend(place.map(join));
                let text = format!("{}{}", last.body.text(), message.body.text());
                if self.follows_calls && is_list(&text) {
                    return Err(read_as_replies(place));
                }
                (last.body, last.body_at, last.pieces) = (Body::from(text), 0, None);
                last.end = message.end;
                last.recovered |= message.recovered;
                // The joined text gets the lower weight.
                let weights = [last.weight, message.weight].map(Option::unwrap_or_default);
                if last.weight != message.weight {
                    last.weight = Some(weights[0].min(weights[1]));
                }
            }
            return Ok(());
        }
        self.inner = inner;
        self.push(message, place, true);
        self.follows_calls = follows_calls;
        Ok(())
    }

    /// Adds replies in the order of the calls, if the reader can find the end of each.
    fn replies(&mut self, mut replies: Vec<Placed<'a>>, left: &mut Left<'a>) -> Result<()> {
        let mut calls = std::mem::take(&mut self.calls);
        let is_behind_none = RULES.is_behind_no_calls(&replies[0].0);
        if is_behind_none {
            calls.clear();
        }
        let may_reply = match self.last() {
            Some(last) if last.role == Role::Tool => !calls.is_empty(),
            last => last.is_some_and(Message::is_call),
        };
        if !may_reply && !is_behind_none {
            let why = "a reply without a call would be read as text of the assistant";
            return Err(refused(&replies[0], why, "write the reply after its call"));
        }
        let ids = calls.iter().map(|call| call.1.as_deref());
        sort_replies(ids, &mut replies, |reply| reply.0.call_id.as_deref());
        let are_named = self.split(&mut replies, calls.len(), left)?;
        let count = replies.len();
        for (index, (mut reply, place)) in replies.into_iter().enumerate() {
            let tool = calls.get(index).filter(|_| are_named).map(|call| call.0.as_str());
            if reply.name.as_deref() != tool {
                if reply.name.is_some() {
                    self.remark(&reply, place, Lost::Name);
                }
                reply.name = tool.map(|tool| tool.to_owned().into());
            }
            self.push(reply, place, true);
        }
        // The other calls can still get replies.
        self.calls = if are_named { calls.split_off(count.min(calls.len())) } else { Vec::new() };
        Ok(())
    }

    /// Determines how replies are read back together with the text after them, and adapts them to
    /// that. Returns whether the call that each reply answers is known.
    fn split(
        &mut self,
        replies: &mut Vec<Placed<'a>>,
        calls: usize,
        left: &mut Left<'a>,
    ) -> Result<bool> {
        if let [(reply, _)] = replies.as_slice()
            && is_value(&reply.body.text())
        {
            return Ok(true);
        }
        let is_kept = replies.iter().any(|reply| is_laid_out(&reply.0));
        let room: usize = replies.iter().map(|(reply, _)| reply.body.len() + 2).sum();
        let mut text = String::with_capacity(room + 1);
        text.push('[');
        let mut wanted = Vec::with_capacity(replies.len());
        for (index, (reply, _)) in replies.iter().enumerate() {
            text.push_str(if index == 0 { "" } else { ", " });
            let start = text.len();
            text.push_str(&reply.body.text());
            wanted.push(Span::new(start, text.len()));
        }
        text.push(']');
        let end = text.len();
        let inner = self.inner;
        for next in left.messages.as_slice().iter().take_while(|next| goes_on(next, inner)) {
            text.push_str(&next.body.text());
        }
        let found = split_outputs(&text, calls, &Limits::default());
        if !found.has_end() || found.end < end || is_kept && found.end != end {
            let why = "the end of this reply would be read at another place";
            let help = "write one JSON value as reply for each call";
            return Err(refused(&replies[replies.len() - 1], why, help));
        }
        if found.bodies == wanted || is_kept {
            return Ok(found.are_paired(calls));
        }
        // They are read back as one reply, which can include text after them.
        let index = self.composed.conversation.messages.len();
        for ((reply, place), wanted) in replies.iter().zip(&wanted).skip(1) {
            self.remark(reply, *place, Lost::Merged);
            if reply.name.is_some() {
                self.remark(reply, *place, Lost::Name);
            }
            if reply.call_id.is_some() {
                self.composed.losses.push(Loss::new(*place, reply.span, Lost::CallId));
            }
            let join = |place| Join { message: index, at: wanted.start - 1, place, from: 0 };
            self.composed.joins.extend(place.map(join));
        }
        replies.truncate(1);
        let body = found.bodies.first().map_or("", |body| &text[body.range()]);
        say(&mut replies[0].0, body.to_owned());
        // The body does not include the bracket that opens the list.
        self.swallow(found.end - end, index, end - 1, left);
        Ok(found.are_paired(calls))
    }

    /// Moves `bytes` bytes of the following texts to the reply that becomes the message at `index`,
    /// from byte `at` of its body.
    fn swallow(&mut self, mut bytes: usize, index: usize, mut at: usize, left: &mut Left<'a>) {
        while bytes > 0
            && let (place, Some(next)) = (left.place, left.messages.as_mut_slice().first_mut())
        {
            let loss = Loss::new(Some(place), next.span, Lost::Merged);
            self.composed.remarks.push(loss);
            let text = next.body.text().into_owned();
            let taken = text.floor_char_boundary(bytes);
            self.composed.joins.push(Join { message: index, at, place, from: 0 });
            (bytes, at) = (bytes - taken, at + taken);
            if taken < text.len() {
                say(next, text[taken..].to_owned());
                let rest = Join { message: index + 1, at: 0, place, from: taken };
                self.composed.joins.push(rest);
                return;
            }
            left.pop();
        }
    }

    /// Adds a message without its id, because the order of replies identifies their calls.
    fn push(&mut self, mut message: Message<'a>, place: Option<usize>, alone: bool) {
        self.follows_calls = false;
        if message.call_id.take().is_some() {
            let lost = Lost::CallId;
            self.composed.losses.push(Loss::new(place, message.span, lost));
        }
        let dropped = self.dropped.as_mut();
        if let Some(before) = dropped.and_then(|it| it.keep(&message, alone)) {
            lay_out(&mut message, before);
        }
        self.composed.push(message, place);
    }

    /// Changes an empty answer at the end into a prompt.
    fn end(&mut self) {
        let messages = &mut self.composed.conversation.messages;
        let speaks = |it: &Message<'_>| matches!(it.role, Role::Assistant | Role::Tool);
        let begins = !messages.iter().rev().nth(1).is_some_and(speaks);
        let Some(last) = messages.last_mut().filter(|_| begins && !self.prompts) else { return };
        if last.is_answer() && says_nothing(last) {
            (last.channel, last.end) = (None, End::Prompt);
            let (span, place) = (last.span, self.composed.places.last().copied().flatten());
            self.composed.remarks.push(Loss::new(place, span, Lost::Empty));
        }
    }

    /// Drops an empty text, but keeps the layout before it.
    fn leave_out(&mut self, message: &Message<'_>, place: Option<usize>) {
        self.remark(message, place, Lost::Empty);
        if let Some(dropped) = &mut self.dropped {
            dropped.drop(message);
        }
    }
}

/// The messages that are not adapted yet, and the position of the first one.
pub(super) struct Left<'a> {
    messages: std::vec::IntoIter<Message<'a>>,
    place: usize,
}

impl<'a> Left<'a> {
    /// Returns the messages from this position on.
    pub(super) fn behind(messages: Vec<Message<'a>>, place: usize) -> Self {
        let mut messages = messages.into_iter();
        messages.by_ref().take(place).for_each(drop);
        Self { messages, place }
    }

    fn first(&self) -> Option<&Message<'a>> {
        self.messages.as_slice().first()
    }

    /// Removes and returns the empty answers at the beginning.
    fn silent(&mut self) -> Vec<(Message<'a>, usize)> {
        let mut silent = Vec::new();
        while self.first().is_some_and(|it| it.is_answer() && says_nothing(it)) {
            silent.extend(self.pop());
        }
        silent
    }

    fn pop(&mut self) -> Option<(Message<'a>, usize)> {
        let message = self.messages.next()?;
        self.place += 1;
        Some((message, self.place - 1))
    }
}

/// A message and its position.
type Placed<'a> = (Message<'a>, Option<usize>);

pub(super) fn is_laid_out(message: &Message<'_>) -> bool {
    RULES.before(message).is_some()
}

/// Whether a text is empty and has canonical layout.
fn says_nothing(message: &Message<'_>) -> bool {
    message.body.is_empty() && message.end == End::End && !is_laid_out(message)
}

/// Whether a message continues the text before it.
fn goes_on(message: &Message<'_>, inner: bool) -> bool {
    let is_text = message.role == Role::Assistant && !message.is_call();
    is_text
        && message.end != End::Prompt
        && message.is_reasoning() == inner
        && !is_laid_out(message)
}

fn say(message: &mut Message<'_>, text: String) {
    (message.body, message.body_at, message.pieces) = (Body::from(text), 0, None);
}

fn read_as_replies(place: Option<usize>) -> RenderError {
    let text = "text directly after calls would be read as their replies";
    let error = RenderError::new(Code::RenderControl, place, text).at(Place::Body, Span::new(0, 1));
    error.help("write the replies to the calls before it")
}

fn refused((reply, place): &Placed<'_>, why: &str, help: &'static str) -> RenderError {
    let span = Span::new(0, reply.body.len());
    RenderError::new(Code::RenderControl, *place, why).at(Place::Body, span).help(help)
}

/// Sets the layout before a message.
fn lay_out(message: &mut Message<'_>, before: Raw<'static>) {
    message.layout = message.layout.take().filter(|it| it.form == RULES.form);
    let layout = message.layout.get_or_insert_default();
    layout.form = RULES.form;
    layout.before = Some(before);
}
