//! Writes messages JSON.

use super::super::declare;
use super::replies::Replies;
use crate::Code;
use crate::document::{write_shaped, write_string_field, write_tool};
use crate::json::{Data, Value, write_string, write_value};
use crate::model::{Conversation, Document, Message, Role};
use crate::options::RenderOptions;
use crate::services;
use crate::writing::RenderError;

pub(crate) fn write(
    document: &Document<'_>,
    options: &RenderOptions,
) -> Result<String, RenderError> {
    let Some(conversation) = document.as_conversation() else {
        return Err(RenderError::not_a_conversation("apertus"));
    };
    if options.generation_prompt.is_some() || options.continue_final {
        let index = conversation.messages.len();
        let text = "messages JSON cannot express an open message";
        let error = RenderError::new(Code::RenderUnsupported, Some(index), text);
        return Err(error.help("write the text form or token ids"));
    }
    let mut thinking = None;
    for (index, message) in conversation.messages.iter().enumerate() {
        if message.role != Role::Developer {
            continue;
        }
        let Some(deliberates) = declare::deliberates(&message.body.text()) else {
            let text = "messages JSON cannot express this developer message";
            let error = RenderError::new(Code::RenderUnsupported, Some(index), text);
            return Err(error
                .help("remove it, or write a developer section: `Deliberation: …` and `Tool Capabilities: …`"));
        };
        thinking.get_or_insert(deliberates);
    }
    // The declaration of a conversation takes precedence over the options.
    let thinking = thinking.or(options.thinking);
    let rest = |out: &mut String| {
        write_tools(out, conversation);
        if let Some(thinking) = thinking {
            out.push_str(r#","enable_thinking":"#);
            out.push_str(if thinking { "true" } else { "false" });
        }
    };
    let messages = |out: &mut String| Ok(write_messages(out, conversation));
    let shape = conversation.shape(super::super::RULES.form);
    write_shaped(shape, "messages", services::estimate(conversation), messages, rest)
}

/// Writes the messages of a list. Returns their number.
fn write_messages(out: &mut String, conversation: &Conversation<'_>) -> usize {
    let has_blocks = conversation.messages.iter().any(needs_blocks);
    let mut turn = Turn {
        has_blocks,
        is_open: false,
        in_assistant: false,
        list: None,
        count: 0,
        replies: Replies::default(),
    };
    let is_reply = |message: &Message<'_>| message.role == Role::Tool;
    for run in conversation.messages.chunk_by(|one, two| is_reply(one) == is_reply(two)) {
        if run.first().is_some_and(is_reply) {
            turn.answers(out, run);
            continue;
        }
        for message in run.iter().filter(|message| message.role != Role::Developer) {
            turn.message(out, message);
        }
    }
    turn.close(out);
    turn.count
}

/// Whether a message can only be expressed as a block.
fn needs_blocks(message: &Message<'_>) -> bool {
    message.role == Role::Tool || message.is_call() || message.is_reasoning()
}

fn write_tools(out: &mut String, conversation: &Conversation<'_>) {
    for (index, tool) in conversation.tools.iter().enumerate() {
        out.push_str(if index == 0 { r#","tools":["# } else { "," });
        write_tool(out, tool);
    }
    if !conversation.tools.is_empty() {
        out.push(']');
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    Calls,
    Outputs,
}

/// The turn of the assistant. If it has blocks, it is one message.
struct Turn {
    has_blocks: bool,
    is_open: bool,
    /// Whether the assistant has spoken since the last message of the user.
    in_assistant: bool,
    list: Option<List>,
    /// The number of messages so far.
    count: usize,
    replies: Replies,
}

impl Turn {
    fn close(&mut self, out: &mut String) {
        if self.list.take().is_some() {
            out.push_str("]}");
        }
        if std::mem::take(&mut self.is_open) {
            out.push_str("]}}");
        }
    }

    /// Begins the next message of the list.
    #[inline]
    fn next(&mut self, out: &mut String) {
        self.close(out);
        out.push_str(if self.count == 0 { "" } else { "," });
        self.count += 1;
    }

    /// Writes replies. A block has no id, and no name other than that of its call. Replies with
    /// those are separate messages.
    fn answers(&mut self, out: &mut String, run: &[Message<'_>]) {
        // The names of the replies, up to the last reply that needs a name or an id.
        let mut names = Vec::new();
        for (index, reply) in run.iter().enumerate() {
            let tool = self.replies.reply(reply.call_id.as_deref()).tool;
            let name = reply.name.as_deref().filter(|name| tool != Some(name));
            if name.is_some() || reply.call_id.is_some() {
                names.resize(index, None);
                names.push(name);
            }
        }
        if names.is_empty() {
            return run.iter().for_each(|reply| self.message(out, reply));
        }
        if !std::mem::replace(&mut self.in_assistant, true) {
            // Replies are part of the turn of the assistant.
            self.next(out);
            out.push_str(r#"{"role":"assistant","content":{"blocks":[]}}"#);
        }
        names.resize(run.len(), None);
        for (reply, name) in run.iter().zip(names) {
            self.next(out);
            out.push_str(r#"{"role":"tool""#);
            write_string_field(out, "tool_call_id", reply.call_id.as_deref());
            write_string_field(out, "name", name);
            write_string_field(out, "content", Some(&reply.body.text()));
            out.push('}');
        }
    }

    fn message(&mut self, out: &mut String, message: &Message<'_>) {
        let speaks = matches!(message.role, Role::Assistant | Role::Tool);
        if message.role == Role::User {
            self.replies.begin();
            self.in_assistant = false;
        }
        self.in_assistant |= message.role == Role::Assistant || self.has_blocks && speaks;
        if !speaks || !self.has_blocks {
            self.next(out);
            return write_plain(out, message);
        }
        let list = match message.role {
            Role::Tool => Some(List::Outputs),
            _ if message.is_call() => Some(List::Calls),
            _ => None,
        };
        // A list of calls that was separate stays so: replies belong to the calls of one list.
        let begins_list = message.is_call() && !super::super::RULES.continues_calls(message);
        let goes_on = list.is_some() && self.list == list && !begins_list;
        if !goes_on && self.list.take().is_some() {
            out.push_str("]}");
        }
        if !self.is_open {
            self.next(out);
            out.push_str(r#"{"role":"assistant","content":{"blocks":["#);
            self.is_open = true;
        } else {
            out.push(',');
        }
        out.push_str(match list {
            Some(_) if goes_on => "",
            Some(List::Calls) => r#"{"type":"tool_calls","calls":["#,
            Some(List::Outputs) => r#"{"type":"tool_outputs","outputs":["#,
            None if message.is_reasoning() => r#"{"type":"thoughts","text":"#,
            None => r#"{"type":"response","text":"#,
        });
        match list {
            Some(List::Calls) => self.call(out, message, goes_on),
            Some(List::Outputs) => {
                out.push_str(r#"{"output":"#);
                write_string(out, &message.body.text());
            }
            None => write_string(out, &message.body.text()),
        }
        out.push('}');
        self.list = list;
    }

    fn call(&mut self, out: &mut String, call: &Message<'_>, goes_on: bool) {
        if !goes_on {
            self.replies.begin();
        }
        let id = call.call_id.as_deref();
        self.replies.call(id, call.recipient.as_deref().unwrap_or_default());
        out.push_str(r#"{"name":"#);
        write_string(out, super::super::RULES.tool(call));
        write_string_field(out, "arguments", Some(&call.body.text()));
        write_string_field(out, "id", id);
    }
}

fn write_plain(out: &mut String, message: &Message<'_>) {
    out.push_str(r#"{"role":""#);
    out.push_str(message.role.as_str());
    out.push_str(r#"","content":"#);
    let text = message.body.text();
    let layout = message.layout.as_deref().filter(|it| it.form == super::super::RULES.form);
    match layout.and_then(|it| it.content.as_ref()).filter(|it| says(it, &text)) {
        Some(content) => write_value(out, content),
        None => write_string(out, &text),
    }
    out.push('}');
}

/// Whether the content that was read still has this text.
fn says(content: &Value<'_>, text: &str) -> bool {
    let Data::Map(entries) = &content.data else { return false };
    let mut rest = Some(text);
    let mut take = |part: Option<&Value<'_>>| {
        let part = part.and_then(Value::as_str);
        rest = rest.and_then(|rest| rest.strip_prefix(part?));
    };
    for (key, value) in entries {
        match key.as_ref() {
            "text" => take(Some(value)),
            _ => value.as_list().unwrap_or_default().iter().for_each(|it| take(it.get("text"))),
        }
    }
    rest == Some("")
}
