//! Writing messages JSON.

use super::super::declare;
use crate::Code;
use crate::dialects::openai::writing;
use crate::dialects::write_tool;
use crate::json::{write_shaped, write_string, write_value};
use crate::model::{Conversation, Data, Document, Message, Role, Value};
use crate::render::{RenderError, RenderOptions};

pub(crate) fn write(
    document: &Document<'_>,
    options: &RenderOptions,
) -> Result<String, RenderError> {
    let Some(conversation) = document.as_conversation() else {
        return Err(RenderError::not_a_conversation("apertus"));
    };
    if options.generation_prompt.is_some() || options.continue_final {
        let index = conversation.messages.len();
        let text = "messages JSON has no open messages";
        let error = RenderError::new(Code::RenderUnsupported, Some(index), text);
        return Err(error.help("write the text form, or token ids"));
    }
    let mut thinking = None;
    for (index, message) in conversation.messages.iter().enumerate() {
        if message.role != Role::Developer {
            continue;
        }
        let Some(deliberates) = declare::deliberates(&message.body.text()) else {
            let text = "messages JSON has no developer message";
            let error = RenderError::new(Code::RenderUnsupported, Some(index), text);
            return Err(error.help("the developer says in it whether the model deliberates"));
        };
        thinking.get_or_insert(deliberates);
    }
    // What a conversation declares itself counts more than what is wished for.
    let thinking = thinking.or(options.thinking.then_some(true));
    let rest = |out: &mut String| {
        write_tools(out, conversation);
        if let Some(thinking) = thinking {
            out.push_str(r#","enable_thinking":"#);
            out.push_str(if thinking { "true" } else { "false" });
        }
    };
    let messages = |out: &mut String| Ok(write_messages(out, conversation));
    let shape = conversation.shape(super::super::RULES.dialect);
    write_shaped(shape, "messages", writing::estimate(conversation), messages, rest)
}

/// Writes the messages of a list. Gives how many there are.
fn write_messages(out: &mut String, conversation: &Conversation<'_>) -> usize {
    let has_blocks = conversation.messages.iter().any(needs_blocks);
    let mut turn = Turn { has_blocks, is_open: false, list: None };
    let mut count = 0;
    for message in &conversation.messages {
        if message.role == Role::Developer {
            continue;
        }
        turn.message(out, message, &mut count);
    }
    turn.close(out);
    count
}

/// Whether a message can be said in blocks only.
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

/// The turn of the assistant, which is one message where it is told in blocks.
struct Turn {
    has_blocks: bool,
    is_open: bool,
    list: Option<List>,
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

    fn message(&mut self, out: &mut String, message: &Message<'_>, count: &mut usize) {
        let speaks = matches!(message.role, Role::Assistant | Role::Tool);
        if !speaks || !self.has_blocks {
            self.close(out);
            out.push_str(if *count == 0 { "" } else { "," });
            *count += 1;
            return write_plain(out, message);
        }
        let list = match message.role {
            Role::Tool => Some(List::Outputs),
            _ if message.is_call() => Some(List::Calls),
            _ => None,
        };
        let goes_on = list.is_some() && self.list == list;
        if !goes_on && self.list.take().is_some() {
            out.push_str("]}");
        }
        if !self.is_open {
            out.push_str(if *count == 0 { "" } else { "," });
            *count += 1;
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
        let text = message.body.text();
        match list {
            Some(List::Calls) => {
                out.push_str(r#"{"name":"#);
                write_string(out, super::super::RULES.tool(message));
                out.push_str(r#","arguments":"#);
            }
            Some(List::Outputs) => out.push_str(r#"{"output":"#),
            None => {}
        }
        write_string(out, &text);
        out.push('}');
        self.list = list;
    }
}

fn write_plain(out: &mut String, message: &Message<'_>) {
    out.push_str(r#"{"role":""#);
    out.push_str(message.role.as_str());
    out.push_str(r#"","content":"#);
    let text = message.body.text();
    let layout = message.layout.as_deref().filter(|it| it.dialect == super::super::RULES.dialect);
    match layout.and_then(|it| it.content.as_ref()).filter(|it| says(it, &text)) {
        Some(content) => write_value(out, content),
        None => write_string(out, &text),
    }
    out.push('}');
}

/// Whether content that was read still says the text.
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
