//! A conversation as HTML, for notebooks. All text is escaped.

use openchatml::{Conversation, Message, Policy, Role, Visibility, history};

/// The style of the whole: it works in light and dark pages.
const STYLE: &str = "font-family:sans-serif;font-size:.9em;max-width:60em";

/// Writes a conversation: one block for each message, with its role and attributes. Hidden messages
/// are marked, and a reply is beside its call.
pub(crate) fn conversation(conversation: &Conversation<'_>) -> String {
    let messages = &conversation.messages;
    let answers = history::answers(messages);
    let mut replies = vec![Vec::new(); messages.len()];
    let mut is_beside = vec![false; messages.len()];
    for (reply, call) in answers.iter().enumerate() {
        if let Some(list) = call.and_then(|call| replies.get_mut(call)) {
            list.push(reply);
            is_beside[reply] = true;
        }
    }
    let mut out = format!("<div class=\"openchatml\" style=\"{STYLE}\">");
    if !conversation.tools.is_empty() {
        let names = conversation.tools.iter().map(|tool| escaped(&tool.name));
        let names = names.collect::<Vec<_>>().join(", ");
        out.push_str(&format!("<p style=\"opacity:.7\">tools: {names}</p>"));
    }
    for (at, message) in messages.iter().enumerate().filter(|it| !is_beside[it.0]) {
        if replies[at].is_empty() {
            block(message, &mut out);
            continue;
        }
        out.push_str("<div style=\"display:flex;gap:.5em\"><div style=\"flex:1\">");
        block(message, &mut out);
        out.push_str("</div><div style=\"flex:1\">");
        replies[at].iter().for_each(|reply| block(&messages[*reply], &mut out));
        out.push_str("</div></div>");
    }
    out + "</div>"
}

fn block(message: &Message<'_>, out: &mut String) {
    let is_hidden = Policy::default().visibility(message) == Visibility::Hidden;
    let (border, opacity) = match (is_hidden, message.role) {
        (true, _) => ("dashed #999", ".75"),
        (false, Role::User) => ("solid #3b7dd8", "1"),
        (false, _) => ("solid #2e8b57", "1"),
    };
    out.push_str(&format!(
        "<div style=\"border-left:3px {border};opacity:{opacity};margin:.3em 0;padding:.2em .6em\"><div><b>{}</b>",
        message.role
    ));
    let attributes = [
        ("channel", message.channel.map(|it| it.as_str())),
        ("to", message.recipient.as_deref()),
        ("name", message.name.as_deref()),
        ("call_id", message.call_id.as_deref()),
        ("intent", message.intent.map(|it| it.as_str())),
    ];
    for (name, value) in attributes {
        if let Some(value) = value {
            out.push_str(&format!(" <code>{name}={}</code>", escaped(value)));
        }
    }
    let marks =
        [(is_hidden, "hidden"), (message.recovered, "recovered"), (message.foreign, "foreign")];
    for (_, mark) in marks.into_iter().filter(|it| it.0) {
        out.push_str(&format!(" <small>[{mark}]</small>"));
    }
    let text = escaped(&message.body.text());
    out.push_str(&format!(
        "</div><pre style=\"white-space:pre-wrap;margin:.2em 0\">{text}</pre></div>"
    ));
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(character),
        }
    }
    out
}
