//! What a format requires and a conversation from another one lacks: it is filled in, and nothing
//! is lost by that.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::Header;
use crate::dialects::{Carrier, Format};
use crate::model::{Conversation, Data, Document, Message, Role, Value};

/// The document with what `target` requires. `None` if nothing is missing, or if the document was
/// read in this very form: then it stays as it is.
pub(super) fn complete<'a>(document: &Document<'a>, target: Format) -> Option<Document<'a>> {
    let conversation = document.as_conversation()?;
    let form = target.dialect.text?;
    if conversation.origin == form.name {
        return None;
    }
    let carries = target.carries();
    let version = carries.version.filter(|_| target.carrier == Carrier::Text);
    let has_version = conversation.header.as_ref().and_then(Header::version) == version;
    let lacks_ids = carries.needs_call_ids && conversation.messages.iter().any(lacks_id);
    let lacks_recipient = |message: &Message<'_>| {
        carries.reply_recipients && message.role == Role::Tool && message.recipient.is_none()
    };
    let lacks_recipients = conversation.messages.iter().any(lacks_recipient);
    if (has_version || version.is_none()) && !lacks_ids && !lacks_recipients {
        return None;
    }
    let mut completed = conversation.clone();
    if let Some(version) = version {
        let value = Value::from(Data::Number(version.into()));
        match &mut completed.header {
            Some(header) => header.insert("version", value),
            None => completed.header = Some(Header::new(version)),
        }
    }
    if lacks_ids {
        invent_ids(&mut completed);
    }
    for message in completed.messages.iter_mut().filter(|message| lacks_recipient(message)) {
        message.recipient = Some("assistant".into());
    }
    Some(Document::Conversation(completed))
}

fn lacks_id(message: &Message<'_>) -> bool {
    message.call_id.is_none() && (message.is_call() || message.role == Role::Tool)
}

/// Gives calls without an id the ids `call_1`, `call_2`, … and their replies the same. They find
/// each other by the tool's name and the order.
fn invent_ids(conversation: &mut Conversation<'_>) {
    let used = conversation.messages.iter().filter_map(|message| message.call_id.as_deref());
    let used: HashSet<String> = used.map(str::to_owned).collect();
    let mut next = 0;
    let mut waiting: HashMap<String, VecDeque<String>> = HashMap::new();
    for message in &mut conversation.messages {
        if !lacks_id(message) {
            continue;
        }
        let tool = match message.role {
            Role::Tool => message.name.as_deref(),
            _ => message.recipient.as_deref(),
        };
        let tool = tool.unwrap_or_default();
        let tool = tool.strip_prefix("functions.").unwrap_or(tool).to_owned();
        let id = if message.role == Role::Tool {
            waiting.get_mut(&tool).and_then(VecDeque::pop_front)
        } else {
            let id = loop {
                next += 1;
                let id = format!("call_{next}");
                if !used.contains(&id) {
                    break id;
                }
            };
            waiting.entry(tool).or_default().push_back(id.clone());
            Some(id)
        };
        message.call_id = id.map(Into::into);
    }
}
