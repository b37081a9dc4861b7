//! Short descriptions of messages.

use openchatml::{Channel, End, Intent, Message};

/// A short description: the fields that are set, and the first characters of the text.
pub(crate) fn repr(message: &Message<'_>) -> String {
    let mut out = format!("Message('{}', '{}'", message.role, quoted(&message.body.text()));
    let words = [
        ("name", message.name.as_deref()),
        ("recipient", message.recipient.as_deref()),
        ("channel", message.channel.map(Channel::as_str)),
        ("call_id", message.call_id.as_deref()),
        ("intent", message.intent.map(Intent::as_str)),
        ("content_type", message.content_type.as_deref()),
        ("end", Some(message.end.as_str()).filter(|_| message.end != End::End)),
        ("unread", message.unread.as_deref()),
    ];
    for (name, value) in words {
        if let Some(value) = value {
            out.push_str(&format!(", {name}='{}'", quoted(value)));
        }
    }
    let flags = [
        ("constrained", message.constrained),
        ("recovered", message.recovered),
        ("foreign", message.foreign),
    ];
    for (name, _) in flags.into_iter().filter(|it| it.1) {
        out.push_str(&format!(", {name}=True"));
    }
    if let Some(weight) = message.weight {
        out.push_str(&format!(", weight={}", weight.get()));
    }
    out + ")"
}

/// The first characters of a text, as in a literal of Python.
fn quoted(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars().take(64) {
        match character {
            '\'' | '\\' => out.extend(['\\', character]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if character.is_control() => {
                out.push_str(&format!("\\x{:02x}", u32::from(character)));
            }
            _ => out.push(character),
        }
    }
    if text.chars().nth(64).is_some() {
        out.push('…');
    }
    out
}
