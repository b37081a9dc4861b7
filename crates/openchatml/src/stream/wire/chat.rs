//! The chunks of Chat Completions.

use super::Framing;
use super::object::Object;
use super::progress::Outcome;
use super::response::CHAT;
use super::writer::{Conclusion, Piece, Protocol, Sink, Start, Stop};
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
    fn begin(&mut self, sink: &mut Sink<'_>) {
        // The content of a message without text is null. Clients append text to it.
        delta(sink, |delta| delta.text("role", "assistant").json("content", "null"));
    }

    fn open(&mut self, start: &Start<'_>, sink: &mut Sink<'_>) {
        self.is_visible = matches!(start, Start::Answer | Start::Preamble);
        if let Start::Call(call) = start {
            write_call(sink, self.calls, |object| {
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

    fn push(&mut self, piece: &Piece<'_>, sink: &mut Sink<'_>) {
        match piece {
            Piece::Text(text) => write_text(sink, "content", self.content.gap(), text),
            Piece::Reasoning(text) | Piece::SummaryPart(text) => self.reasoning(text, sink),
            Piece::Summary(text) => {
                self.reasoning.has_gap = true;
                self.reasoning(text, sink);
                self.reasoning.has_gap = true;
            }
            Piece::Arguments(text) => {
                let call = self.calls.saturating_sub(1);
                write_call(sink, call, |call| {
                    call.object("function", |function| function.text("arguments", text))
                });
            }
        }
    }

    fn close(&mut self, stop: &Stop<'_>, _: &mut Sink<'_>) {
        self.is_answered |= std::mem::take(&mut self.is_visible) && stop.is_read;
        self.content.has_gap = true;
        self.reasoning.has_gap = true;
    }

    fn conclude(&mut self, conclusion: &Conclusion<'_>, sink: &mut Sink<'_>) {
        match conclusion.error {
            Some(error) => {
                sink.settings.framing.write(sink.out, None, |out| write_error(out, error));
            }
            None => {
                let reason = match conclusion.outcome {
                    Outcome::Completed(Done::Call) if self.calls > 0 => "tool_calls",
                    Outcome::Completed(_) => "stop",
                    // A reason is required, even if nothing is known.
                    Outcome::Incomplete(_) | Outcome::Failed => {
                        conclusion.ending.incomplete.unwrap_or_default().finish_reason()
                    }
                };
                // An answer without text still counts as an answer.
                let is_empty = self.is_answered && !self.content.is_begun;
                choice(sink, Some(reason), |delta| match is_empty {
                    true => delta.text("content", ""),
                    false => delta,
                });
            }
        }
        if let Some(usage) = conclusion.ending.usage {
            chunk(sink, |chunk| {
                chunk.json("choices", "[]").object("usage", |object| usage.write(object, &CHAT))
            });
        }
        if sink.settings.framing == Framing::Sse {
            sink.settings.framing.write(sink.out, None, |out| out.push_str("[DONE]"));
        }
    }
}

impl Chat {
    fn reasoning(&mut self, text: &str, sink: &mut Sink<'_>) {
        write_text(sink, "reasoning_content", self.reasoning.gap(), text);
    }
}

/// Writes a chunk with text of the message, after this separator.
fn write_text(sink: &mut Sink<'_>, key: &str, gap: &str, text: &str) {
    delta(sink, |delta| match gap {
        "" => delta.text(key, text),
        gap => delta.text(key, &format!("{gap}{text}")),
    });
}

/// Writes a chunk with these fields of the call at `index`.
fn write_call(
    sink: &mut Sink<'_>,
    index: usize,
    fields: impl for<'f> FnOnce(Object<'f>) -> Object<'f>,
) {
    delta(sink, |delta| {
        delta.with("tool_calls", |out| {
            out.push('[');
            fields(Object::new(out).place("index", index)).end();
            out.push(']');
        })
    });
}

/// Writes a chunk with these fields of the message.
fn delta(sink: &mut Sink<'_>, fields: impl for<'f> FnOnce(Object<'f>) -> Object<'f>) {
    choice(sink, None, fields);
}

fn choice(
    sink: &mut Sink<'_>,
    finish_reason: Option<&str>,
    delta: impl for<'f> FnOnce(Object<'f>) -> Object<'f>,
) {
    chunk(sink, |chunk| {
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

fn chunk(sink: &mut Sink<'_>, fields: impl for<'f> FnOnce(Object<'f>) -> Object<'f>) {
    let response = &sink.settings.response;
    sink.settings.framing.write(sink.out, None, |out| {
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
