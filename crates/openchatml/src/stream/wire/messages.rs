//! The stream of the Messages API.

use super::object::Object;
use super::progress::Outcome;
use super::response::Usage;
use super::writer::{Call, Delta, MessageEnd, MessageStart, Output, Protocol, ResponseEnd};
use crate::json::Json;
use crate::limits::Limits;
use crate::stream::Done;

/// Writes [`Api::Messages`](super::Api::Messages), which says what becomes what.
#[derive(Default)]
pub(super) struct Messages {
    /// Whether the block of the current message has begun.
    is_open: bool,
    /// The number of complete blocks.
    blocks: usize,
    /// The number of calls that are written.
    calls: usize,
    /// Whether a call is not written.
    lacks_call: bool,
    /// The number of complete calls that are not written.
    left_out: usize,
}

impl Protocol for Messages {
    fn begin(&mut self, output: &mut Output<'_>) {
        let response = &output.settings.response;
        event("message_start", output, |object| {
            object.object("message", |object| {
                object
                    .text("id", &response.id)
                    .text("type", "message")
                    .text("role", "assistant")
                    .text("model", &response.model)
                    .json("content", "[]")
                    .json("stop_reason", "null")
                    .json("stop_sequence", "null")
                    .json("usage", r#"{"input_tokens":0,"output_tokens":0}"#)
            })
        });
    }

    fn open(&mut self, _: &MessageStart<'_>, _: &mut Output<'_>) {}

    fn push(&mut self, delta: &Delta<'_>, output: &mut Output<'_>) {
        match delta {
            Delta::Text(text) => {
                self.begin_block(r#"{"type":"text","text":""}"#, output);
                self.delta("text_delta", "text", text, output);
            }
            Delta::Reasoning(text) | Delta::SummaryPart(text) => self.think("", text, output),
            Delta::Summary(text) => self.think("\n\n", text, output),
            // They are written when the call is complete.
            Delta::Arguments(_) => {}
        }
    }

    fn close(&mut self, end: &MessageEnd<'_>, output: &mut Output<'_>) {
        if let Some(call) = end.call {
            match end.is_complete && is_object(&call.arguments, &output.settings.limits) {
                true => self.write_call(call, output),
                false => {
                    self.lacks_call = true;
                    self.left_out += usize::from(end.is_complete);
                }
            }
        }
        self.end_block(output);
    }

    fn conclude(&mut self, end: &ResponseEnd<'_>, output: &mut Output<'_>) {
        if let Some(error) = end.error {
            return event("error", output, |object| {
                object.object("error", |object| {
                    object.text("type", "api_error").text("message", error)
                })
            });
        }
        let reason = match end.outcome {
            Outcome::Completed(_) if self.lacks_call => "max_tokens",
            Outcome::Completed(Done::Call) if self.calls > 0 => "tool_use",
            Outcome::Completed(_) => "end_turn",
            // A reason is required, even if nothing is known.
            Outcome::Incomplete(_) | Outcome::Failed => {
                end.ending.incomplete.unwrap_or_default().stop_reason()
            }
        };
        let usage = end.ending.usage;
        event("message_delta", output, |object| {
            object
                .object("delta", |object| {
                    object.text("stop_reason", reason).json("stop_sequence", "null")
                })
                .object("usage", |object| write_usage(usage, object))
        });
        event("message_stop", output, |object| object);
    }

    fn left_out(&self) -> usize {
        self.left_out
    }
}

impl Messages {
    /// Writes a complete call.
    fn write_call(&mut self, call: &Call, output: &mut Output<'_>) {
        let mut block = String::new();
        Object::new(&mut block)
            .text("type", "tool_use")
            .text("id", &call.id.id)
            .text("name", &call.tool)
            .json("input", "{}")
            .end();
        self.begin_block(&block, output);
        self.delta("input_json_delta", "partial_json", &call.arguments, output);
        self.calls += 1;
    }

    /// Writes text of reasoning, after `gap` if the block already has text.
    fn think(&mut self, gap: &str, text: &str, output: &mut Output<'_>) {
        let gap = if self.is_open { gap } else { "" };
        self.begin_block(r#"{"type":"thinking","thinking":"","signature":""}"#, output);
        match gap {
            "" => self.delta("thinking_delta", "thinking", text, output),
            gap => self.delta("thinking_delta", "thinking", &format!("{gap}{text}"), output),
        }
    }

    /// Writes the start of a block, if it is not written yet.
    fn begin_block(&mut self, block: &str, output: &mut Output<'_>) {
        if !std::mem::replace(&mut self.is_open, true) {
            event("content_block_start", output, |object| {
                object.place("index", self.blocks).json("content_block", block)
            });
        }
    }

    fn delta(&self, kind: &str, key: &str, text: &str, output: &mut Output<'_>) {
        event("content_block_delta", output, |object| {
            object
                .place("index", self.blocks)
                .object("delta", |object| object.text("type", kind).text(key, text))
        });
    }

    fn end_block(&mut self, output: &mut Output<'_>) {
        if std::mem::take(&mut self.is_open) {
            event("content_block_stop", output, |object| object.place("index", self.blocks));
            self.blocks += 1;
        }
    }
}

/// Writes an event with these fields.
fn event(
    name: &'static str,
    output: &mut Output<'_>,
    fields: impl for<'f> FnOnce(Object<'f>) -> Object<'f>,
) {
    output
        .settings
        .framing
        .write(output.out, Some(name), |out| fields(Object::new(out).text("type", name)).end());
}

/// Whether arguments are a JSON object, which the protocol requires. Clients read it at once, and
/// refuse half of a surrogate pair.
fn is_object(arguments: &str, limits: &Limits) -> bool {
    let mut json = Json::new(arguments, limits);
    json.peek() == Some(b'{') && json.value().and_then(|_| json.end()).is_ok()
}

/// Writes the numbers of tokens. The number of tokens of the output is required.
fn write_usage(usage: Option<Usage>, object: Object<'_>) -> Object<'_> {
    let Some(usage) = usage else { return object.number("output_tokens", 0) };
    object
        .number("input_tokens", usage.input.saturating_sub(usage.cached))
        .number("cache_read_input_tokens", usage.cached)
        .number("output_tokens", usage.output)
}
