//! Changes a conversation so that it is read back without differences.

use super::between::Kind;
use super::ids::Ids;
use super::parameters::respelled;
use super::waiting::Waiting;
use super::{DECLARATION, Rules};
use super::{elements, tree};
use crate::Span;
use crate::json::{Value, python};
use crate::limits::Limits;
use crate::model::{Body, Conversation, End, Message, Role, Tool};
use crate::options::RenderOptions;
use crate::pairing::{ends_turn, sort_replies};
use crate::rules::{Composed, Join, Loss, Lost};
use crate::writing::RenderError;

/// The beginning of the conversation: the messages that a dialect writes for system messages and
/// tools.
#[derive(Debug, Default)]
pub(crate) struct Opened<'a> {
    pub(crate) composed: Composed<'a>,
    /// The messages after the beginning, and their positions.
    pub(crate) rest: Vec<(Message<'a>, usize)>,
    /// A message that declares tools, before the message at this position of `rest`.
    declared: Option<(usize, Message<'a>)>,
}

/// A message of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    First,
    Last,
}

impl<'a> Opened<'a> {
    /// Returns the beginning before these messages, which is empty.
    pub(crate) fn new(messages: Vec<Message<'a>>) -> Self {
        let rest = messages.into_iter().enumerate().map(|(at, it)| (it, at)).collect();
        Self { rest, ..Self::default() }
    }

    /// Declares tools in a turn of their own, before the first or the last message of the user.
    /// `declare` returns its text. Reports fields that it does not contain.
    pub(crate) fn declare_before_user(
        &mut self,
        which: Which,
        tools: &[Tool<'_>],
        declare: impl FnOnce(&[Tool<'_>]) -> String,
    ) {
        if tools.is_empty() {
            return;
        }
        let mut remark = |lost| {
            self.composed.remarks.push(Loss::new(None, Span::default(), lost));
        };
        remark(Lost::ToolsAsText);
        tools.iter().filter(|tool| !tool.extra.is_empty()).for_each(|_| remark(Lost::Declaration));
        let is_user = |(message, _): &(Message<'_>, usize)| message.role == Role::User;
        let at = match which {
            Which::First => self.rest.iter().position(is_user),
            Which::Last => self.rest.iter().rposition(is_user),
        };
        let mut message = Message::new(Role::System, declare(tools));
        message.name = Some(DECLARATION.into());
        self.declared = Some((at.unwrap_or(self.rest.len()), message));
    }

    /// Writes the arguments of calls like `json.dumps`.
    pub(crate) fn respell_arguments(&mut self) {
        for (message, place) in self.rest.iter_mut().filter(|(message, _)| message.is_call()) {
            let text = message.body.text();
            let Ok(arguments) = Value::from_json(&text, &Limits::default()) else { continue };
            let mut spelled = String::new();
            python::to_json(&mut spelled, &arguments);
            if spelled != text && Value::from_json(&spelled, &Limits::default()).is_ok() {
                let loss = Loss::new(Some(*place), message.span, Lost::Arguments);
                self.composed.remarks.push(loss);
                (message.body, message.body_at, message.pieces) = (Body::from(spelled), 0, None);
            }
        }
    }

    /// Returns the beginning whose system message declares tools. `declare` returns its text from that
    /// of the conversation's system message, or from `default` if there is none.
    pub(crate) fn declaring(
        messages: Vec<Message<'a>>,
        default: &'static str,
        declare: impl FnOnce(&str) -> String,
    ) -> Self {
        let mut opened = Self::changing(messages, default, declare);
        opened.composed.remarks.push(Loss::new(None, Span::default(), Lost::ToolsAsText));
        opened
    }

    /// Returns the beginning with another text of the system message. `change` returns it in the same
    /// way.
    pub(crate) fn changing(
        messages: Vec<Message<'a>>,
        default: &'static str,
        change: impl FnOnce(&str) -> String,
    ) -> Self {
        let mut opened = Self::new(messages);
        let is_system = opened.rest.first().is_some_and(|(first, _)| first.role == Role::System);
        let (mut system, place) = match is_system {
            true => {
                let (message, place) = opened.rest.remove(0);
                (message, Some(place))
            }
            false => (Message::new(Role::System, default), None),
        };
        let text = change(&system.body.text());
        say(&mut system, text);
        opened.composed.push(system, place);
        opened
    }

    /// Returns the beginning with one system message, which is joined from those of the conversation.
    /// `declare` changes its text, or that of an empty one. An empty one is dropped, because white
    /// space after the first token is not a message.
    pub(crate) fn joined(
        messages: Vec<Message<'a>>,
        declare: Option<impl FnOnce(&str) -> String>,
    ) -> Self {
        let mut opened = Self::default();
        let mut system: Option<(Message<'a>, Option<usize>)> = None;
        for (place, message) in messages.into_iter().enumerate() {
            let is_late = !opened.rest.is_empty();
            match (message.role, &mut system) {
                (Role::System, None) => {
                    if is_late {
                        let loss = Loss::new(Some(place), message.span, Lost::SystemMoved);
                        opened.composed.losses.push(loss);
                    }
                    system = Some((message, Some(place)));
                }
                (Role::System, Some((first, _))) => {
                    let lost = if is_late { Lost::SystemMoved } else { Lost::Merged };
                    opened.composed.remarks.push(Loss::new(Some(place), message.span, lost));
                    let at = first.body.len() + BETWEEN.len();
                    opened.composed.joins.push(Join { message: 0, at, place, from: 0 });
                    say(first, [&*first.body.text(), BETWEEN, &message.body.text()].concat());
                }
                _ => opened.rest.push((message, place)),
            }
        }
        if let Some(declare) = declare {
            opened.composed.remarks.push(Loss::new(None, Span::default(), Lost::ToolsAsText));
            let (first, _) = system.get_or_insert_with(|| (Message::new(Role::System, ""), None));
            let text = declare(&first.body.text());
            say(first, text);
        }
        match system {
            Some((message, place)) if message.body.text().trim_ascii().is_empty() => {
                opened.composed.joins.clear();
                let loss = Loss::new(place, message.span, Lost::Empty);
                opened.composed.remarks.push(loss);
            }
            Some((message, place)) => opened.composed.push(message, place),
            None => {}
        }
        opened
    }
}

/// The text between joined system messages.
pub(crate) const BETWEEN: &str = "\n\n";

/// Replaces the text of a message.
pub(crate) fn say(message: &mut Message<'_>, text: String) {
    (message.body, message.body_at, message.pieces) = (Body::from(text), 0, None);
}

/// Adapts the rest of a conversation after its beginning.
///
/// # Errors
///
/// The options ask for a prompt of a role that the format does not have.
pub(crate) fn compose<'a>(
    rules: &'static Rules,
    conversation: &Conversation<'a>,
    opened: Opened<'a>,
    options: &RenderOptions,
) -> Result<Composed<'a>, RenderError> {
    let count = opened.rest.last().map_or(0, |(_, place)| place + 1);
    rules.has_prompt(options, count)?;
    let ids = opened.rest.iter().filter_map(|(message, _)| message.call_id.as_deref());
    let ids = rules.has_named_ids().then(|| Ids::new(ids));
    let mut settled = Settled {
        rules,
        composed: opened.composed,
        ids,
        calls: Vec::new(),
        waiting: Waiting::default(),
    };
    settled.composed.conversation.header.clone_from(&conversation.header);
    let mut declared = opened.declared;
    let mut rest = opened.rest.into_iter().enumerate().map(|(at, it)| (it, at)).peekable();
    while let Some(((message, place), at)) = rest.next() {
        if let Some((_, message)) = declared.take_if(|(before, _)| *before == at) {
            settled.composed.push(message, None);
        }
        if message.role != Role::Tool {
            settled.push(message, place);
            continue;
        }
        let mut replies = vec![(message, place)];
        while let Some((next, _)) = rest.next_if(|((next, _), _)| next.role == Role::Tool) {
            replies.push(next);
        }
        settled.replies(replies);
    }
    if let Some((_, message)) = declared {
        settled.composed.push(message, None);
    }
    let mut composed = settled.composed;
    composed.conversation.origin = rules.form;
    Ok(composed)
}

struct Settled<'a> {
    rules: &'static Rules,
    composed: Composed<'a>,
    /// The ids, in formats whose calls have some.
    ids: Option<Ids>,
    /// The calls without a reply: tool and id.
    calls: Vec<(String, Option<String>)>,
    /// The same, if the format has ids.
    waiting: Waiting,
}

impl<'a> Settled<'a> {
    fn remark(&mut self, message: &Message<'_>, place: usize, lost: Lost) {
        self.composed.remarks.push(Loss::new(Some(place), message.span, lost));
    }

    fn push(&mut self, mut message: Message<'a>, place: usize) {
        let kind = self.rules.kind(&message, false);
        let last = self.composed.conversation.messages.last();
        let before = last.map(|last| self.rules.kind(last, false));
        let is_open = matches!(message.end, End::Open | End::Prompt);
        let is_unsaid = match kind {
            Kind::Reasoning => message.body.is_empty(),
            // No token shows that the empty text is there.
            Kind::Text { .. } => {
                message.body.is_empty()
                    && before == Some(Kind::Reasoning)
                    && self.rules.sections.reasoning.close.after == 0
            }
            _ => false,
        };
        if self.is_lost(&message, before) {
            return self.remark(&message, place, Lost::Empty);
        }
        if is_unsaid && !is_open {
            return self.remark(&message, place, Lost::Empty);
        }
        let begins = !matches!(before, Some(Kind::Reasoning)) && self.rules.is_silent_at_first();
        if matches!(kind, Kind::Text { .. }) && message.body.is_empty() && is_open && begins {
            if self.rules.implied().is_some() {
                // No token shows that the turn has begun.
                return self.remark(&message, place, Lost::Prompt);
            }
            // At the beginning of a turn, any message can follow.
            (message.end, message.channel) = (End::Prompt, None);
        }
        let follows_call = matches!(before, Some(Kind::Call { .. }));
        if let Some(ids) = self.ids.as_mut().filter(|_| ends_turn(&message)) {
            ids.turn();
        }
        let has_id = message.is_call() && (self.ids.is_some() || self.rules.has_ids());
        let call_id = message.call_id.clone();
        if !has_id && message.call_id.take().is_some() {
            self.remark(&message, place, Lost::CallId);
        }
        if let Kind::Call { .. } = self.rules.kind(&message, false) {
            if !follows_call {
                self.calls.clear();
                self.waiting.clear();
            }
            if self.rules.readdress(&mut message) {
                self.remark(&message, place, Lost::Recipient);
            }
            let ids = self.ids.as_mut();
            if let Some(lost) = ids.and_then(|ids| ids.call(self.rules, &mut message)) {
                self.remark(&message, place, lost);
            }
            self.spell(&mut message, place);
            let id = call_id.map(Into::into);
            let tool = message.recipient.as_deref().unwrap_or_default().to_owned();
            self.waiting.push(&tool, message.call_id.as_deref());
            self.calls.push((tool, id));
        }
        self.composed.push(message, Some(place));
    }

    /// Whether a message is white space after a reply inside of the turn of the assistant, where it is
    /// layout.
    fn is_lost(&self, message: &Message<'_>, before: Option<Kind>) -> bool {
        let is_text = message.role == Role::Assistant
            && !message.is_call()
            && (message.end == End::Prompt || !message.is_reasoning());
        self.rules.replies.inside.is_some()
            && before == Some(Kind::Reply)
            && is_text
            && message.body.text().trim_ascii().is_empty()
    }

    /// Writes the arguments of a call as a template writes them in a syntax of their own.
    fn sort(&mut self, message: &mut Message<'a>, place: usize) {
        let limits = Limits::default();
        let text = message.body.text();
        let Ok(arguments) = Value::from_json(&text, &limits) else { return };
        let mut spelled = String::new();
        python::to_json(&mut spelled, &tree::sorted(arguments));
        // Python writes numbers that are too large as a word, which is not JSON.
        let read = tree::respelled(&spelled, &limits).or_else(|| tree::respelled(&text, &limits));
        let Some(read) = read else { return };
        if read != text {
            self.remark(message, place, Lost::Arguments);
        }
        (message.body, message.body_at, message.pieces) = (Body::from(read), 0, None);
    }

    /// Writes the arguments of a call as they are read back from the syntax of Python.
    fn respell(&mut self, message: &mut Message<'a>, place: usize) {
        let text = message.body.text();
        let Some(read) = self.rules.python_read_back(&text) else { return };
        if read != text {
            self.remark(message, place, Lost::Arguments);
            (message.body, message.body_at, message.pieces) = (Body::from(read), 0, None);
        }
    }

    /// Writes the arguments of a call as a template writes parameters.
    fn spell(&mut self, message: &mut Message<'a>, place: usize) {
        if self.rules.sections.calls.tree().is_some() {
            return self.sort(message, place);
        }
        if self.rules.sections.calls.has_python() {
            return self.respell(message, place);
        }
        let limits = Limits::default();
        let calls = &self.rules.sections.calls;
        if calls.parameters().is_none() && calls.elements().is_none() {
            return;
        }
        let respelled = |text: &str| match (calls.parameters(), calls.elements()) {
            (Some(form), _) => respelled(text, form, &limits),
            (_, Some(form)) => elements::respelled(self.rules, form, text, &limits),
            _ => None,
        };
        let text = message.body.text();
        let Ok(arguments) = Value::from_json(&text, &limits) else { return };
        let mut spelled = String::new();
        python::to_json(&mut spelled, &arguments);
        // Python writes numbers that are too large as a word, which is not JSON.
        let read = respelled(&spelled).or_else(|| respelled(&text));
        let Some(read) = read else { return };
        let is_same = |read: Value<'_>| read == arguments;
        let has_types = read == spelled || Value::from_json(&read, &limits).is_ok_and(is_same);
        if !has_types {
            self.remark(message, place, Lost::ArgumentTypes);
        } else if read != text {
            self.remark(message, place, Lost::Arguments);
        }
        (message.body, message.body_at, message.pieces) = (Body::from(read), 0, None);
    }

    /// Adds replies in the order of the calls, with the names of the tools. Replies with ids keep
    /// their order.
    fn replies(&mut self, mut replies: Vec<(Message<'a>, usize)>) {
        if self.rules.has_ids() {
            return self.replies_with_ids(replies);
        }
        if let Some(mut ids) = self.ids.take() {
            for (mut reply, place) in replies {
                for lost in ids.reply(self.rules, &mut reply) {
                    self.remark(&reply, place, lost);
                }
                self.composed.push(reply, Some(place));
            }
            self.ids = Some(ids);
            return;
        }
        let ids = self.calls.iter().map(|call| call.1.as_deref());
        let before: Vec<_> = replies.iter().map(|(_, place)| *place).collect();
        sort_replies(ids, &mut replies, |(reply, _)| reply.call_id.as_deref());
        let is_sorted = replies.iter().map(|(_, place)| *place).eq(before);
        let count = replies.len().min(self.calls.len());
        let mut calls = self.calls.drain(..count).collect::<Vec<_>>().into_iter();
        for (mut reply, place) in replies {
            if !is_sorted {
                self.remark(&reply, place, Lost::Order);
            }
            let tool = calls.next().map(|(tool, _)| tool);
            if reply.name.as_deref() != tool.as_deref() {
                if reply.name.is_some() {
                    self.remark(&reply, place, Lost::Name);
                }
                reply.name = tool.map(Into::into);
            }
            if reply.call_id.take().is_some() {
                self.remark(&reply, place, Lost::CallId);
            }
            self.composed.push(reply, Some(place));
        }
    }

    /// Adds replies with the names of the tools that they answer.
    fn replies_with_ids(&mut self, replies: Vec<(Message<'a>, usize)>) {
        for (mut reply, place) in replies {
            let tool = self.waiting.answer(reply.call_id.as_deref());
            if reply.name.is_some() && reply.name.as_deref() != tool.as_deref() {
                self.remark(&reply, place, Lost::Name);
            }
            reply.name = tool.map(Into::into);
            self.composed.push(reply, Some(place));
        }
    }
}
