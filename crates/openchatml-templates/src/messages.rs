//! A conversation as the messages of OpenAI's chat completions, which templates expect.
//!
//! | here | there |
//! | --- | --- |
//! | `system`, `developer`, `user` | a message of that role, with `content` and perhaps `name` |
//! | `analysis`, and commentary that is neither a preamble nor a call | `reasoning_content` of the assistant's message that follows, which is `thinking` and `thought`, too |
//! | a preamble, an answer | `content` of an assistant's message |
//! | a call | one of the `tool_calls` of the assistant's message that it follows |
//! | a reply | a message of role `tool`, with `content`, and with `name` and `tool_call_id` if it has them |
//!
//! Consecutive messages of the assistant become one message. A second text, reasoning after a text
//! or a call, or a different name begins a new message. Messages of other roles in a completion are
//! dropped.

use openchatml::convert::{self, Loss};
use openchatml::{Channel, Conversation, Document, Format, Intent, Message, Role, function_name};

/// A message in the format that templates expect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TemplateMessage {
    pub(crate) role: &'static str,
    pub(crate) name: Option<MessageText>,
    pub(crate) content: Vec<MessageText>,
    pub(crate) reasoning: Vec<MessageText>,
    pub(crate) calls: Vec<Call>,
    pub(crate) tool_call_id: Option<MessageText>,
}

/// A text, and the index of its message in the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MessageText {
    pub(crate) text: String,
    pub(crate) message: usize,
}

/// A tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    pub(crate) arguments: String,
    pub(crate) message: usize,
}

/// Returns the parts of a document that no template receives: everything that the messages of chat
/// completions cannot represent, such as images, and every document that is not a conversation.
///
/// A template may use or ignore the messages that it receives: many templates omit reasoning.
///
/// ```
/// use openchatml::{Conversation, Message, Role};
///
/// let mut note = Message::answer("Half done.");
/// note.content_type = Some("text/markdown".into());
/// let document = Conversation::from_messages([note]).into();
/// let losses = openchatml_templates::losses(&document);
/// assert_eq!(losses[0].to_string(), "message 0: content_type dropped");
/// ```
pub fn losses(document: &Document<'_>) -> Vec<Loss> {
    let messages: Format = "openai".parse().expect("a format");
    let mut carries = *messages.carries();
    carries.weights = false;
    convert::losses(document, &carries)
}

/// Converts the messages of a conversation to the format that templates expect.
pub(crate) fn fold(conversation: &Conversation<'_>) -> Vec<TemplateMessage> {
    let mut all = Vec::new();
    let mut turn: Option<TemplateMessage> = None;
    for (index, message) in conversation.messages.iter().enumerate() {
        if message.foreign {
            continue;
        }
        if message.role != Role::Assistant {
            all.extend(turn.take());
            all.push(single(message, index));
            continue;
        }
        let message_text = MessageText { text: message.body.text().into_owned(), message: index };
        let is_hidden = is_reasoning(message);
        let name = message.name.as_deref();
        let goes_on = |turn: &TemplateMessage| {
            let is_before = turn.content.is_empty() && turn.calls.is_empty();
            (message.is_call() || is_before)
                && turn.name.as_ref().map(|it| it.text.as_str()) == name
        };
        if !turn.as_ref().is_some_and(goes_on) {
            all.extend(turn.take());
        }
        let new = || TemplateMessage {
            role: Role::Assistant.as_str(),
            name: name.map(|name| MessageText { text: name.to_owned(), message: index }),
            ..TemplateMessage::default()
        };
        let turn = turn.get_or_insert_with(new);
        if let Some(recipient) = &message.recipient {
            turn.calls.push(Call {
                id: message.call_id.as_deref().map(str::to_owned),
                name: bare(recipient).to_owned(),
                arguments: message_text.text,
                message: index,
            });
        } else if is_hidden {
            turn.reasoning.push(message_text);
        } else {
            turn.content.push(message_text);
        }
    }
    all.extend(turn);
    all
}

/// Whether the message is reasoning.
fn is_reasoning(message: &Message<'_>) -> bool {
    match message.effective_channel() {
        Channel::Analysis => true,
        Channel::Commentary => message.intent != Some(Intent::Preamble),
        Channel::Final => false,
    }
}

/// Converts a message that corresponds to one message.
fn single(message: &Message<'_>, index: usize) -> TemplateMessage {
    let message_text = |text: &str| MessageText { text: text.to_owned(), message: index };
    let is_tool = message.role == Role::Tool;
    let name = message.name.as_deref();
    TemplateMessage {
        role: message.role.as_str(),
        name: name.map(|name| message_text(if is_tool { bare(name) } else { name })),
        content: vec![message_text(&message.body.text())],
        tool_call_id: message.call_id.as_deref().filter(|_| is_tool).map(message_text),
        ..TemplateMessage::default()
    }
}

/// Returns the name of a tool without its namespace.
fn bare(tool: &str) -> &str {
    function_name(tool).unwrap_or(tool)
}
