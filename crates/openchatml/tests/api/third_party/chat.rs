//! The output for a chat client, as inference servers return it.

use openchatml::{Event, Format, Message, Policy, ReadOptions, Role, Visibility, parse};
use serde_json::Value;

pub(super) fn harmony() -> Format {
    "harmony".parse().expect("a format")
}

/// The output continues the turn of the assistant and may be incomplete. Other projects read
/// several generations, one after another.
pub(super) fn completion() -> ReadOptions {
    let mut options = ReadOptions::default();
    options.continues = Some(Role::Assistant);
    options.open_prompt = true;
    options.past_stop = true;
    options
}

#[derive(Debug, Default, PartialEq)]
pub(super) struct Chat {
    pub(super) reasoning: String,
    pub(super) content: String,
    pub(super) calls: Vec<(String, String)>,
}

/// Returns the function of a call. Built-in tools are handled by the server.
pub(super) fn function<'m>(message: &'m Message<'_>) -> Option<&'m str> {
    let tool = message.recipient.as_deref().filter(|_| message.is_call())?;
    let is_own = tool == "python" || tool == "browser" || tool.starts_with("browser.");
    let is_function = !is_own && !matches!(tool, "assistant" | "user");
    is_function.then(|| tool.strip_prefix("functions.").unwrap_or(tool))
}

pub(super) fn chat(text: &str) -> Chat {
    chat_of(text, harmony())
}

pub(super) fn chat_of(text: &str, format: Format) -> Chat {
    let conversation = parse(text, format, &completion()).into_conversation();
    let mut chat = Chat::default();
    for message in &conversation.messages {
        let body = message.body.text();
        if message.foreign || message.role != Role::Assistant {
            continue;
        }
        if let Some(name) = function(message) {
            chat.calls.push((name.to_owned(), body.into_owned()));
        } else if Policy::default().visibility(message) == Visibility::User {
            chat.content.push_str(&body);
        } else if message.is_reasoning() && !message.recovered {
            // Misplaced text is hidden, but it is not reasoning.
            chat.reasoning.push_str(&body);
        }
    }
    chat
}

pub(super) fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

pub(super) fn expected(value: &Value) -> Chat {
    let calls = value["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
    let call = |call: &Value| {
        let arguments = [&call["arguments"], &call["arguments_json"]];
        let arguments = arguments.into_iter().find(|it| !it.is_null()).unwrap_or(&Value::Null);
        let arguments = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
        (text_of(&call["name"]), arguments)
    };
    let reasoning = [&value["reasoning"], &value["thinking"]];
    Chat {
        reasoning: reasoning.into_iter().find_map(Value::as_str).unwrap_or_default().to_owned(),
        content: text_of(&value["content"]),
        calls: calls.iter().map(call).collect(),
    }
}

/// Compares arguments as JSON if they are JSON.
pub(super) fn same(one: &Chat, two: &Chat) -> bool {
    let json = |text: &str| serde_json::from_str::<Value>(text).map_err(|_| text.trim().to_owned());
    let calls = |chat: &Chat| {
        chat.calls.iter().map(|(name, args)| (name.clone(), json(args))).collect::<Vec<_>>()
    };
    // Some projects join several messages with a line break.
    let joined = |text: &str| text.replace('\n', "");
    one.reasoning == two.reasoning
        && joined(&one.content) == joined(&two.content)
        && calls(one) == calls(two)
}

/// The delta of a chunk of the output, as in the streams of OpenAI's API.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ChatDelta {
    pub(super) reasoning: String,
    pub(super) content: String,
    /// The index of the call, its name at its beginning, and the next part of its arguments.
    pub(super) calls: Vec<(usize, Option<String>, String)>,
}

/// Converts events to deltas.
#[derive(Default)]
pub(super) struct Deltas {
    /// The deltas, one for each chunk so far.
    pub(super) chunks: Vec<ChatDelta>,
    /// The number of calls that began.
    calls: usize,
    /// Whether the current message is a call of a function.
    in_call: bool,
}

impl Deltas {
    /// Starts the delta of the next chunk.
    pub(super) fn chunk(&mut self) {
        self.chunks.push(ChatDelta::default());
    }

    pub(super) fn event(&mut self, event: Event<'_>) {
        let delta = self.chunks.last_mut().expect("a chunk");
        match event {
            Event::MessageStart { message, .. } => {
                let name = function(&message);
                self.in_call = name.is_some();
                if let Some(name) = name {
                    delta.calls.push((self.calls, Some(name.to_owned()), String::new()));
                    self.calls += 1;
                }
            }
            Event::Delta { text, .. } => delta.content.push_str(&text),
            Event::ReasoningDelta { text, .. } => delta.reasoning.push_str(&text),
            Event::ToolCallDelta { text, .. } if self.in_call => {
                let index = self.calls - 1;
                match delta.calls.last_mut() {
                    Some((last, _, arguments)) if *last == index => arguments.push_str(&text),
                    _ => delta.calls.push((index, None, text.into_owned())),
                }
            }
            _ => {}
        }
    }
}
