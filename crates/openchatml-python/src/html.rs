//! A conversation as HTML, for notebooks. All text is escaped.

use std::ops::Range;

use openchatml::{Conversation, Message, Policy, Role, Visibility, history};

/// The style of the whole: it works in light and dark pages.
const STYLE: &str = "font-family:sans-serif;font-size:.9em;max-width:60em";

/// How many messages are shown of the beginning, and how many of the end.
const MESSAGES: usize = 50;

/// How many characters of a text are shown, and of a name.
const TEXT: usize = 10_000;
const NAME: usize = 200;

/// Writes a conversation: one block for each message, with its role and attributes. Hidden messages
/// are marked, and a reply is beside its call. The size is limited, because a notebook keeps it.
pub(crate) fn conversation(conversation: &Conversation<'_>) -> String {
    let messages = &conversation.messages;
    let mut out = format!("<div class=\"openchatml\" style=\"{STYLE}\">");
    if !conversation.tools.is_empty() {
        let names = conversation.tools.iter().take(MESSAGES);
        let mut names: Vec<_> = names.map(|tool| escaped(&tool.name, NAME)).collect();
        match conversation.tools.len() - names.len() {
            0 => {}
            more => names.push(format!("… {more} more")),
        }
        let names = names.join(", ");
        out.push_str(&format!("<p style=\"opacity:.7\">tools: {names}</p>"));
    }
    let begin = MESSAGES.min(messages.len());
    let end = messages.len().saturating_sub(MESSAGES).max(begin);
    let blocks = Blocks::new(messages, begin..end);
    blocks.write(0..begin, &mut out);
    if begin < end {
        out.push_str(&format!("<p style=\"opacity:.7\">… {} more messages</p>", end - begin));
    }
    blocks.write(end..messages.len(), &mut out);
    out + "</div>"
}

/// The messages that are shown, and their replies.
struct Blocks<'c> {
    messages: &'c [Message<'c>],
    /// The replies to each message.
    replies: Vec<Vec<usize>>,
    is_beside: Vec<bool>,
}

impl<'c> Blocks<'c> {
    /// Pairs calls with replies, where both are shown.
    fn new(messages: &'c [Message<'c>], left_out: Range<usize>) -> Self {
        let mut replies = vec![Vec::new(); messages.len()];
        let mut is_beside = vec![false; messages.len()];
        for (reply, call) in history::answers(messages).iter().enumerate() {
            if let Some(call) = call.filter(|call| !left_out.contains(call))
                && !left_out.contains(&reply)
                && let Some(list) = replies.get_mut(call)
            {
                list.push(reply);
                is_beside[reply] = true;
            }
        }
        Self { messages, replies, is_beside }
    }

    fn write(&self, range: Range<usize>, out: &mut String) {
        for at in range.filter(|at| !self.is_beside[*at]) {
            let (message, replies) = (&self.messages[at], &self.replies[at]);
            if replies.is_empty() {
                block(message, out);
                continue;
            }
            out.push_str("<div style=\"display:flex;gap:.5em\"><div style=\"flex:1\">");
            block(message, out);
            out.push_str("</div><div style=\"flex:1\">");
            replies.iter().for_each(|reply| block(&self.messages[*reply], out));
            out.push_str("</div></div>");
        }
    }
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
            out.push_str(&format!(" <code>{name}={}</code>", escaped(value, NAME)));
        }
    }
    let marks =
        [(is_hidden, "hidden"), (message.recovered, "recovered"), (message.foreign, "foreign")];
    for (_, mark) in marks.into_iter().filter(|it| it.0) {
        out.push_str(&format!(" <small>[{mark}]</small>"));
    }
    let text = escaped(&message.body.text(), TEXT);
    out.push_str(&format!(
        "</div><pre style=\"white-space:pre-wrap;margin:.2em 0\">{text}</pre></div>"
    ));
}

/// Escapes the first characters of a text, and says how many more it has.
fn escaped(text: &str, most: usize) -> String {
    let mut out = String::new();
    let mut characters = text.chars();
    for character in characters.by_ref().take(most) {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(character),
        }
    }
    match characters.count() {
        0 => out,
        more => out + &format!("… {more} more characters"),
    }
}
