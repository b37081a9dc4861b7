//! Messages of `openchatml.compat.openai_harmony` as a conversation.

use openchatml::{Channel, Conversation, End, Format, Message, ReadOptions, Role, parse};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};

use crate::conversation::PyConversation;

/// Creates the conversation of messages that are one text each, after others that are JSON.
///
/// `leading` is JSON of the format `harmony:json`. Each item of `messages` is a tuple: role, name, text,
/// channel, recipient, content type. The result is that of the same messages as JSON, which takes
/// longer to write and to read. It is `None` if a message is not that simple.
#[pyfunction]
#[pyo3(name = "_harmony_conversation", signature = (leading, messages))]
pub(crate) fn conversation(
    leading: Option<&str>,
    messages: &Bound<'_, PyList>,
) -> Option<PyConversation> {
    let mut conversation = match leading {
        Some(json) => {
            let format: Format = "harmony:json".parse().ok()?;
            let parsed = parse(json, format, &ReadOptions::default());
            parsed.document.into_owned().into_conversation()
        }
        None => Conversation::default(),
    };
    for item in messages.iter() {
        conversation.messages.push(message(&item)?);
    }
    Some(PyConversation::new(conversation))
}

fn message(item: &Bound<'_, PyAny>) -> Option<Message<'static>> {
    let fields = item.cast::<PyTuple>().ok().filter(|it| it.len() == 6)?;
    let [role, name, text, channel, recipient, kind] =
        [0, 1, 2, 3, 4, 5].map(|at| fields.get_item(at).ok());
    let role = Role::from_word(&word(role?)??)?;
    let mut message = Message::new(role, word(text?)??);
    message.name = value(name?)?.map(Into::into);
    message.recipient = value(recipient?)?.map(Into::into);
    message.channel = match word(channel?)? {
        Some(word) => Some(Channel::from_word(&word)?),
        None => None,
    };
    if let Some(kind) = value(kind?)? {
        let rest = kind.strip_prefix("<|constrain|>");
        message.constrained = rest.is_some();
        message.content_type = Some(rest.map_or_else(|| kind.clone(), str::to_owned).into());
    }
    // Without a channel or a recipient, the writer writes the usual one, and a reader of JSON keeps that
    // there is none.
    let to = message.recipient.as_deref();
    let is_usual = match role {
        // A reader of JSON finds out whether commentary without a recipient is a preamble.
        Role::Assistant if to.is_none() => {
            matches!(message.channel, Some(Channel::Analysis | Channel::Final))
        }
        Role::Assistant => message.channel.is_some() && to != Some("assistant"),
        Role::Tool => message.channel.is_some() && to == Some("assistant"),
        _ => to.is_none() && message.channel.is_none(),
    };
    if role == Role::Assistant && to.is_some() {
        message.end = End::Call;
    }
    is_usual.then_some(message)
}

/// A text, or nothing for `None`. The outer result is `None` for anything else.
fn word(item: Bound<'_, PyAny>) -> Option<Option<String>> {
    if item.is_none() {
        return Some(None);
    }
    Some(Some(item.cast::<PyString>().ok()?.to_str().ok()?.to_owned()))
}

/// As [`word`], for a value of a header. One that a reader could change is not simple.
fn value(item: Bound<'_, PyAny>) -> Option<Option<String>> {
    let found = word(item)?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-<>|:/".contains(c);
    match found {
        Some(text) if text.is_empty() || !text.chars().all(is_plain) => None,
        found => Some(found),
    }
}
