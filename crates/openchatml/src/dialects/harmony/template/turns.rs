//! Composes the turns: each answer and each call with the reasoning before it, replies, and
//! messages of the user.

use super::{quoted, unsaid_at};
use crate::json::python::to_json;
use crate::json::{Data, Json};
use crate::model::{Body, Channel, Conversation, End, Message, Role, whole_name};
use crate::options::{Profile, RenderOptions};
use crate::rules::{Loss, Lost};
use crate::writing::{Place, RenderError};
use crate::{Control, Limits, function_name};

type Result<T> = std::result::Result<T, RenderError>;

/// The composed messages, and the state of the template.
#[derive(Default)]
pub(super) struct Turns<'a> {
    pub(super) messages: Vec<Message<'a>>,
    /// The original position of each message.
    pub(super) origins: Vec<Option<usize>>,
    /// The losses, at the messages of the conversation.
    pub(super) losses: Vec<Loss>,
    /// Reasoning and a preamble for the assistant's next message.
    thinking: Option<usize>,
    preamble: Option<usize>,
    /// The last called tool.
    called: Option<String>,
}

/// What the template checks before it writes.
struct Plan<'o> {
    options: &'o RenderOptions,
    /// The last answer. The template keeps reasoning before calls only after it.
    last_answer: usize,
    /// The message that ends a training sample.
    ends_sample: Option<usize>,
}

impl<'a> Turns<'a> {
    pub(super) fn push(&mut self, message: Message<'a>, origin: Option<usize>) {
        self.messages.push(message);
        self.origins.push(origin);
    }

    /// Reads the messages from `first` on.
    pub(super) fn read(
        &mut self,
        conversation: &Conversation<'a>,
        first: usize,
        options: &RenderOptions,
    ) -> Result<()> {
        let messages = &conversation.messages;
        let is_prompt = messages.last().is_some_and(|last| last.end == End::Prompt);
        let is_open = options.generation_prompt.is_some() || is_prompt;
        let plan = Plan {
            options,
            last_answer: messages.iter().rposition(is_answer).unwrap_or(0),
            ends_sample: messages.len().checked_sub(1).filter(|_| !is_open),
        };
        for (at, message) in messages.iter().enumerate().skip(first) {
            self.message(messages, at, message, &plan)?;
        }
        self.nothing_waits()
    }

    fn message(
        &mut self,
        messages: &[Message<'a>],
        at: usize,
        message: &Message<'a>,
        plan: &Plan<'_>,
    ) -> Result<()> {
        plain(at, message)?;
        let is_last = at + 1 == messages.len();
        match message.role {
            Role::Assistant if message.end == End::Prompt && is_last => {
                self.nothing_waits()?;
                self.push(message.clone(), Some(at));
            }
            Role::Assistant => {
                untagged(at, message)?;
                match (&message.recipient, message.effective_channel()) {
                    (Some(_), _) => self.call(messages, at, plan)?,
                    (None, Channel::Analysis) => wait(&mut self.thinking, at)?,
                    (None, Channel::Commentary) => wait(&mut self.preamble, at)?,
                    (None, Channel::Final) => self.answer(messages, at, plan)?,
                }
            }
            Role::Tool => {
                self.nothing_waits()?;
                self.reply(at, message)?;
            }
            Role::User => {
                self.nothing_waits()?;
                let mut question = Message::new(Role::User, message.body.clone());
                question.end = if is_last { open_or_end(message.end) } else { End::End };
                self.push(question, Some(at));
            }
            Role::System | Role::Developer => {
                let why = "the template drops a system or developer message after the beginning";
                return Err(unsaid_at(at, Place::Role, why));
            }
        }
        Ok(())
    }

    /// Checks that reasoning and preambles belong to an answer or a call.
    fn nothing_waits(&self) -> Result<()> {
        match self.thinking.min(self.preamble).or(self.thinking).or(self.preamble) {
            None => Ok(()),
            Some(at) => {
                let why =
                    "the template writes this as part of an answer or a call, but none follows";
                Err(unsaid_at(at, Place::Body, why))
            }
        }
    }

    fn think(&mut self, messages: &[Message<'a>], at: usize) {
        self.push(Message::reasoning(messages[at].body.clone()), Some(at));
    }

    /// Drops a message.
    fn forget(&mut self, messages: &[Message<'a>], at: usize, lost: Lost) {
        self.losses.push(Loss::new(Some(at), messages[at].span, lost));
    }

    fn answer(&mut self, messages: &[Message<'a>], at: usize, plan: &Plan<'_>) -> Result<()> {
        if let Some(at) = self.preamble {
            let why = "the template supports preambles only before calls";
            return Err(unsaid_at(at, Place::Body, why));
        }
        let thinking = self.thinking.take();
        let mut answer = Message::answer(messages[at].body.clone());
        let ends_sample = plan.ends_sample == Some(at);
        match thinking {
            Some(thinking) if ends_sample => self.think(messages, thinking),
            Some(thinking) => self.forget(messages, thinking, Lost::Analysis),
            None => {}
        }
        if ends_sample {
            let is_open = messages[at].end == End::Open;
            answer.end = if is_open { End::Open } else { End::Return };
        } else {
            self.called = None;
        }
        self.push(answer, Some(at));
        Ok(())
    }

    fn call(&mut self, messages: &[Message<'a>], at: usize, plan: &Plan<'_>) -> Result<()> {
        let message = &messages[at];
        let recipient = message.recipient.as_deref().unwrap_or_default();
        let Some(name) = function_name(recipient) else {
            let why = "the template can only call functions";
            return Err(unsaid_at(at, Place::Recipient, why));
        };
        if message.channel.is_some_and(|channel| channel != Channel::Commentary) {
            let why = "the template writes calls only on `commentary`";
            return Err(unsaid_at(at, Place::Role, why));
        }
        if message.end == End::Open {
            return Err(unsaid_at(at, Place::End, "the template cannot write an incomplete call"));
        }
        let says = |at: &usize| !messages[*at].body.is_empty();
        let [preamble, thinking] = [self.preamble.take(), self.thinking.take()];
        if [preamble, thinking].iter().all(|it| it.is_some_and(|it| says(&it))) {
            let why =
                "the template supports either reasoning or a preamble before a call, not both";
            return Err(unsaid_at(at, Place::Body, why));
        }
        for (text_message, lost) in [(preamble, Lost::Commentary), (thinking, Lost::Analysis)] {
            match text_message {
                Some(text_message) if says(&text_message) && at >= plan.last_answer => {
                    self.think(messages, text_message)
                }
                Some(text_message) => self.forget(messages, text_message, lost),
                None => {}
            }
        }
        let arguments = match plan.options.profile {
            Profile::HfTemplateStrings => None,
            _ => arguments(&message.body.text()),
        };
        let mut call = Message::new(
            Role::Assistant,
            arguments.unwrap_or_else(|| quoted(&message.body.text())),
        );
        call.recipient = Some(recipient.to_owned().into());
        call.channel = Some(Channel::Commentary);
        call.content_type = Some(message.content_type.clone().unwrap_or("json".into()));
        call.end = End::Call;
        self.called = Some(name.to_owned());
        self.push(call, Some(at));
        Ok(())
    }

    fn reply(&mut self, at: usize, message: &Message<'_>) -> Result<()> {
        let Some(called) = &self.called else {
            let why = "the template requires a call before a reply";
            return Err(unsaid_at(at, Place::Role, why));
        };
        let name = whole_name(called);
        if message.name.as_ref().is_some_and(|own| *own != name) {
            let why = "the template writes the name of the last called tool, but this reply names another tool";
            return Err(unsaid_at(at, Place::Name, why));
        }
        let mut reply = Message::new(Role::Tool, quoted(&message.body.text()));
        reply.name = Some(name.into());
        reply.recipient = Some("assistant".into());
        reply.channel = Some(Channel::Commentary);
        self.push(reply, Some(at));
        Ok(())
    }
}

fn is_answer(message: &Message<'_>) -> bool {
    message.is_answer() && message.end != End::Prompt
}

fn open_or_end(end: End) -> End {
    if end == End::Open { End::Open } else { End::End }
}

/// Stores a message for the next answer or call. Only one can be stored.
fn wait(place: &mut Option<usize>, at: usize) -> Result<()> {
    if place.replace(at).is_some() {
        let why = "the template supports only one such message before an answer or a call";
        return Err(unsaid_at(at, Place::Body, why));
    }
    Ok(())
}

/// Refuses header fields that the template would drop.
fn plain(at: usize, message: &Message<'_>) -> Result<()> {
    let is_call = message.is_call();
    let is_reply = message.role == Role::Tool;
    let assistant = Some("assistant");
    let is_said = [
        (Place::Name, message.name.is_none() || is_reply),
        (
            Place::Recipient,
            message.recipient.is_none()
                || is_call
                || is_reply && message.recipient.as_deref() == assistant,
        ),
        (Place::ContentType, message.content_type.is_none() || is_call),
        (
            Place::Role,
            message.channel.is_none()
                || message.role == Role::Assistant
                || is_reply && message.channel == Some(Channel::Commentary),
        ),
    ];
    match is_said.iter().find(|(_, is_said)| !is_said) {
        None => Ok(()),
        Some((place, _)) => {
            Err(unsaid_at(at, *place, "the template drops this part of the header"))
        }
    }
}

/// Refuses content that contains the opening of a message, which nobody has split.
fn untagged(at: usize, message: &Message<'_>) -> Result<()> {
    let spelled = |control| super::super::RULES.controls.spelling(control).unwrap_or_default();
    let text = message.body.text();
    let has_tag = [Channel::Analysis, Channel::Final].iter().any(|channel| {
        let tag = [spelled(Control::Channel), channel.as_str(), spelled(Control::Message)];
        text.contains(&tag.concat())
    });
    match has_tag {
        true => {
            Err(unsaid_at(at, Place::Body, "the template does not allow channel tags in content"))
        }
        false => Ok(()),
    }
}

/// Returns the arguments of a call as the template writes a mapping, or `None` if they are not a
/// mapping.
fn arguments(text: &str) -> Option<Body<'static>> {
    let mut json = Json::new(text, &Limits::default());
    let value = json.value().ok()?;
    json.end().ok()?;
    let Data::Map(_) = value.data else { return None };
    let mut out = String::with_capacity(text.len());
    to_json(&mut out, &value);
    Some(Body::from(out))
}
