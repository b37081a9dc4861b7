//! The chunks of Chat Completions.

use super::Framing;
use super::object::Object;
use super::progress::Outcome;
use super::response::CHAT;
use super::writer::{Delta, MessageEnd, MessageStart, Output, Protocol, ResponseEnd};
use crate::stream::Done;

/// Writes [`Api::ChatCompletions`](super::Api::ChatCompletions), which says what becomes what.
#[derive(Default)]
pub(super) struct Chat {
    content: Text,
    reasoning: Text,
    /// The number of calls.
    calls: usize,
    /// Whether the current message is visible.
    is_visible: bool,
    /// Whether there was a visible message, even without text.
    is_answered: bool,
}

/// The state of a text that several messages share.
#[derive(Default)]
struct Text {
    is_begun: bool,
    /// Whether the next text belongs to another message.
    has_gap: bool,
}

impl Text {
    /// Returns the separator before the next piece.
    fn gap(&mut self) -> &'static str {
        let has_gap = self.is_begun && self.has_gap;
        *self = Self { is_begun: true, has_gap: false };
        if has_gap { "\n\n" } else { "" }
    }
}

impl Protocol for Chat {
    fn begin(&mut self, output: &mut Output<'_>) {
        // The content of a message without text is null. Clients append text to it.
        delta(output, |delta| delta.text("role", "assistant").json("content", "null"));
    }

    fn open(&mut self, start: &MessageStart<'_>, output: &mut Output<'_>) {
        self.is_visible = matches!(start, MessageStart::Answer | MessageStart::Preamble);
        if let MessageStart::Call(call) = start {
            write_call(output, self.calls, |object| {
                object
                    .text("id", &call.id.id)
                    .text("type", "function")
                    .object("function", |function| {
                        function.text("name", &call.tool).text("arguments", "")
                    })
            });
            self.calls += 1;
        }
    }

    fn push(&mut self, delta: &Delta<'_>, output: &mut Output<'_>) {
        match delta {
            Delta::Text(text) => write_text(output, "content", self.content.gap(), text),
            Delta::Reasoning(text) | Delta::SummaryPart(text) => self.reasoning(text, output),
            Delta::Summary(text) => {
                self.reasoning.has_gap = true;
                self.reasoning(text, output);
                self.reasoning.has_gap = true;
            }
            Delta::Arguments(text) => {
                let call = self.calls.saturating_sub(1);
                write_call(output, call, |call| {
                    call.object("function", |function| function.text("arguments", text))
                });
            }
        }
    }

    fn close(&mut self, end: &MessageEnd<'_>, _: &mut Output<'_>) {
        self.is_answered |= std::mem::take(&mut self.is_visible) && end.is_read;
        self.content.has_gap = true;
        self.reasoning.has_gap = true;
    }

    fn conclude(&mut self, end: &ResponseEnd<'_>, output: &mut Output<'_>) {
        match end.error {
            Some(error) => {
                output.settings.framing.write(output.out, None, |out| write_error(out, error));
            }
            None => {
                let reason = match end.outcome {
                    Outcome::Completed(Done::Call) if self.calls > 0 => "tool_calls",
                    Outcome::Completed(_) => "stop",
                    // A reason is required, even if nothing is known.
                    Outcome::Incomplete(_) | Outcome::Failed => {
                        end.ending.incomplete.unwrap_or_default().finish_reason()
                    }
                };
                // An answer without text still counts as an answer.
                let is_empty = self.is_answered && !self.content.is_begun;
                choice(output, Some(reason), |delta| match is_empty {
                    true => delta.text("content", ""),
                    false => delta,
                });
            }
        }
        if let Some(usage) = end.ending.usage {
            chunk(output, |chunk| {
                chunk.json("choices", "[]").object("usage", |object| usage.write(object, &CHAT))
            });
        }
        if output.settings.framing == Framing::Sse {
            output.settings.framing.write(output.out, None, |out| out.push_str("[DONE]"));
        }
    }
}

impl Chat {
    fn reasoning(&mut self, text: &str, output: &mut Output<'_>) {
        write_text(output, "reasoning_content", self.reasoning.gap(), text);
    }
}

/// Writes a chunk with text of the message, after this separator.
fn write_text(output: &mut Output<'_>, key: &str, gap: &str, text: &str) {
    delta(output, |delta| match gap {
        "" => delta.text(key, text),
        gap => delta.text(key, &format!("{gap}{text}")),
    });
}

/// Writes a chunk with these fields of the call at `index`.
fn write_call(
    output: &mut Output<'_>,
    index: usize,
    fields: impl for<'f> FnOnce(Object<'f>) -> Object<'f>,
) {
    delta(output, |delta| {
        delta.with("tool_calls", |out| {
            out.push('[');
            fields(Object::new(out).place("index", index)).end();
            out.push(']');
        })
    });
}

/// Writes a chunk with these fields of the message.
fn delta(output: &mut Output<'_>, fields: impl for<'f> FnOnce(Object<'f>) -> Object<'f>) {
    choice(output, None, fields);
}

fn choice(
    output: &mut Output<'_>,
    finish_reason: Option<&str>,
    delta: impl for<'f> FnOnce(Object<'f>) -> Object<'f>,
) {
    chunk(output, |chunk| {
        chunk.with("choices", |out| {
            out.push('[');
            let choice =
                Object::new(out).place("index", 0).object("delta", delta).json("logprobs", "null");
            match finish_reason {
                Some(reason) => choice.text("finish_reason", reason).end(),
                None => choice.json("finish_reason", "null").end(),
            }
            out.push(']');
        })
    });
}

fn chunk(output: &mut Output<'_>, fields: impl for<'f> FnOnce(Object<'f>) -> Object<'f>) {
    let response = &output.settings.response;
    output.settings.framing.write(output.out, None, |out| {
        let chunk = Object::new(out)
            .text("id", &response.id)
            .text("object", "chat.completion.chunk")
            .number("created", response.created_at)
            .text("model", &response.model);
        fields(chunk).end();
    });
}

/// Writes an error in the form that clients expect among chunks.
fn write_error(out: &mut String, message: &str) {
    Object::new(out)
        .object("error", |object| {
            object
                .text("message", message)
                .text("type", "server_error")
                .json("param", "null")
                .json("code", "null")
        })
        .end();
}
