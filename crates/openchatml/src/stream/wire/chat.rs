//! The chunks of Chat Completions.

use super::object::Object;
use super::progress::{CallId, CallIds, Outcome, Progress, tool};
use super::reasoning::{Reasoning, Thoughts};
use super::response::{CHAT, Ending, Response};
use super::{Framing, NOTHING_SAID};
use crate::limits::Limits;
use crate::model::{End, Message};
use crate::stream::live::Kind;
use crate::stream::{Done, Event};

/// Writes the events of a stream as chunks of Chat Completions.
///
/// The output is one message: visible text is its `content`, calls are its `tool_calls`, and
/// reasoning is its `reasoning_content`, if the [policy](Self::reasoning) allows it. An empty line
/// separates the texts of several messages. Messages of other roles are not output of the model;
/// see [`left_out`](Self::left_out).
///
/// The writer stores only the arguments of the current call and the ids of all calls.
///
/// Events must be complete and in order: text of a message without a start is dropped.
///
/// ```
/// use openchatml::wire::{ChatWriter, Ending, Response};
/// use openchatml::{ReadOptions, Role, Stream, TextFormat};
///
/// let mut options = ReadOptions::default();
/// options.continues = Some(Role::Assistant);
/// let mut stream = Stream::new(TextFormat::HARMONY, &options);
/// let mut writer = ChatWriter::new(Response::new("chatcmpl-1", "gpt-oss-20b", 1_763_000_000));
/// let mut out = String::new();
/// let text = b"<|channel|>commentary to=functions.now <|constrain|>json<|message|>{}<|call|>";
/// stream.feed_with(text, |event| writer.push(&event, &mut out));
/// stream.finish_with(|event| writer.push(&event, &mut out));
/// writer.finish(&Ending::default(), &mut out);
///
/// let deltas = out.lines().map(|line| {
///     let (_, delta) = line.split_once(r#""delta":"#).unwrap();
///     delta.split_once(r#","logprobs""#).unwrap().0
/// });
/// assert_eq!(deltas.collect::<Vec<_>>(), [
///     r#"{"role":"assistant","content":null}"#,
///     r#"{"tool_calls":[{"index":0,"id":"call_1_0","type":"function","function":{"name":"now","arguments":""}}]}"#,
///     r#"{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}"#,
///     "{}",
/// ]);
/// assert!(out.trim_end().ends_with(r#""finish_reason":"tool_calls"}]}"#));
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
pub struct ChatWriter {
    response: Response,
    framing: Framing,
    thoughts: Thoughts,
    progress: Progress,
    ids: CallIds,
    /// The kind of the current message.
    kind: Kind,
    /// The current call.
    call: Option<Call>,
    /// The number of calls.
    calls: usize,
    content: Text,
    reasoning: Text,
    /// Whether there was a visible message, even without text.
    is_answered: bool,
    is_started: bool,
}

/// A call that is being written.
struct Call {
    id: CallId,
    arguments: String,
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

impl ChatWriter {
    /// Creates a writer of this response, with one JSON object per line and without reasoning.
    pub fn new(response: Response) -> Self {
        Self {
            response,
            framing: Framing::Lines,
            thoughts: Thoughts::default(),
            progress: Progress::default(),
            ids: CallIds::default(),
            kind: Kind::Silent,
            call: None,
            calls: 0,
            content: Text::default(),
            reasoning: Text::default(),
            is_answered: false,
            is_started: false,
        }
    }

    /// Sets how chunks are separated. Server-sent events end with `[DONE]`.
    #[must_use]
    pub fn framing(mut self, framing: Framing) -> Self {
        self.framing = framing;
        self
    }

    /// Sets the policy for reasoning. Summaries are `reasoning_content` too.
    #[must_use]
    pub fn reasoning(mut self, policy: Reasoning) -> Self {
        self.thoughts.policy = policy;
        self
    }

    /// Sets the limits that the stream was read with. The writer checks the arguments of calls with
    /// them again.
    #[must_use]
    pub fn limits(mut self, limits: &Limits) -> Self {
        self.progress.limits.clone_from(limits);
        self
    }

    /// Returns how many messages were dropped so far because they are not model output for the
    /// client: messages of the system, developers, users and tools, and commentary that is not for
    /// the user.
    pub fn left_out(&self) -> usize {
        self.progress.left_out
    }

    /// Writes that the message has begun, if that has not been written. The first event does so by
    /// itself; a server that writes it before need not wait for the model.
    pub fn start(&mut self, out: &mut String) {
        if !std::mem::replace(&mut self.is_started, true) {
            // What it is if only tools are called; clients take text in its place.
            let content = "null";
            self.delta(out, |delta| delta.text("role", "assistant").json("content", content));
        }
    }

    /// Writes what an event becomes.
    pub fn push(&mut self, event: &Event<'_>, out: &mut String) {
        self.start(out);
        self.progress.event(event);
        match event {
            Event::MessageStart { message, .. } => self.open(message, out),
            Event::Delta { text, .. } if matches!(self.kind, Kind::Visible | Kind::Preamble) => {
                let gap = self.content.gap();
                self.text("content", gap, text, out);
            }
            Event::ReasoningDelta { text, .. } if self.kind == Kind::Reasoning => {
                if self.thoughts.are_raw() {
                    return self.reasoning_content(text, out);
                }
                for summary in self.thoughts.add(text) {
                    self.summarize(&summary, out);
                }
            }
            Event::ReasoningSummaryDelta { text, .. } if self.kind == Kind::Reasoning => {
                if !self.thoughts.are_dropped() {
                    self.reasoning_content(text, out);
                }
            }
            Event::ToolCallDelta { text, .. } => self.arguments(text, out),
            Event::MessageDone { message, .. } => self.close(Some(message), out),
            // See `Progress`, or the table of events without a counterpart.
            Event::Delta { .. }
            | Event::ReasoningDelta { .. }
            | Event::ReasoningSummaryDelta { .. }
            | Event::Flush { .. }
            | Event::Done { .. }
            | Event::Cancel { .. }
            | Event::ToolCancel { .. }
            | Event::Diagnostic { .. }
            | Event::UserDiagnostic { .. } => {}
        }
    }

    /// Writes the end of the message, and the usage if given.
    pub fn finish(mut self, ending: &Ending, out: &mut String) {
        self.start(out);
        self.close(None, out);
        let outcome = self.progress.outcome();
        let failure = Some(NOTHING_SAID).filter(|_| outcome == Outcome::Failed);
        match ending.error.as_deref().or(failure) {
            Some(error) => self.framing.write(out, None, |out| write_error(out, error)),
            None => {
                let reason = match outcome {
                    Outcome::Completed(Done::Call) if self.calls > 0 => "tool_calls",
                    Outcome::Completed(_) => "stop",
                    // A reason is required, even if nothing is known.
                    Outcome::Incomplete(_) | Outcome::Failed => {
                        ending.incomplete.unwrap_or_default().finish_reason()
                    }
                };
                // An answer without text still counts as an answer.
                let is_empty = self.is_answered && !self.content.is_begun;
                self.choice(out, Some(reason), |delta| match is_empty {
                    true => delta.text("content", ""),
                    false => delta,
                });
            }
        }
        if let Some(usage) = ending.usage {
            self.chunk(out, |chunk| {
                chunk.json("choices", "[]").object("usage", |object| usage.write(object, &CHAT))
            });
        }
        if self.framing == Framing::Sse {
            self.framing.write(out, None, |out| out.push_str("[DONE]"));
        }
    }

    fn open(&mut self, message: &Message<'_>, out: &mut String) {
        self.close(None, out);
        self.kind = Kind::of(message);
        if self.kind != Kind::Call {
            return;
        }
        let id = self.ids.of(message, &self.response, self.calls);
        let (name, index) = (tool(message), self.calls);
        self.call(out, index, |call| {
            call.text("id", &id.id)
                .text("type", "function")
                .object("function", |function| function.text("name", name).text("arguments", ""))
        });
        self.call = Some(Call { id, arguments: String::new() });
        self.calls += 1;
    }

    fn close(&mut self, message: Option<&Message<'_>>, out: &mut String) {
        if let Some(summary) = self.thoughts.end() {
            self.summarize(&summary, out);
        }
        if let Some(call) = self.call.take() {
            self.progress.is_certain(message, &call.arguments, &call.id);
        }
        let is_shown = matches!(self.kind, Kind::Visible | Kind::Preamble);
        self.is_answered |= is_shown && message.is_some_and(|it| it.end != End::Prompt);
        self.kind = Kind::Silent;
        self.content.has_gap = true;
        self.reasoning.has_gap = true;
    }

    fn arguments(&mut self, text: &str, out: &mut String) {
        let Some(call) = &mut self.call else { return };
        call.arguments.push_str(text);
        self.call(out, self.calls - 1, |call| {
            call.object("function", |function| function.text("arguments", text))
        });
    }

    /// Writes a whole summary.
    fn summarize(&mut self, summary: &str, out: &mut String) {
        self.reasoning.has_gap = true;
        self.reasoning_content(summary, out);
        self.reasoning.has_gap = true;
    }

    fn reasoning_content(&mut self, text: &str, out: &mut String) {
        let gap = self.reasoning.gap();
        self.text("reasoning_content", gap, text, out);
    }

    fn text(&self, key: &str, gap: &str, text: &str, out: &mut String) {
        self.delta(out, |delta| match gap {
            "" => delta.text(key, text),
            gap => delta.text(key, &format!("{gap}{text}")),
        });
    }

    /// Writes a chunk with these fields of the call at `index`.
    fn call(
        &self,
        out: &mut String,
        index: usize,
        fields: impl for<'f> FnOnce(Object<'f>) -> Object<'f>,
    ) {
        self.delta(out, |delta| {
            delta.with("tool_calls", |out| {
                out.push('[');
                fields(Object::new(out).place("index", index)).end();
                out.push(']');
            })
        });
    }

    /// Writes a chunk with these fields of the message.
    fn delta(&self, out: &mut String, fields: impl for<'f> FnOnce(Object<'f>) -> Object<'f>) {
        self.choice(out, None, fields);
    }

    fn choice(
        &self,
        out: &mut String,
        finish_reason: Option<&str>,
        delta: impl for<'f> FnOnce(Object<'f>) -> Object<'f>,
    ) {
        self.chunk(out, |chunk| {
            chunk.with("choices", |out| {
                out.push('[');
                let choice = Object::new(out)
                    .place("index", 0)
                    .object("delta", delta)
                    .json("logprobs", "null");
                match finish_reason {
                    Some(reason) => choice.text("finish_reason", reason).end(),
                    None => choice.json("finish_reason", "null").end(),
                }
                out.push(']');
            })
        });
    }

    fn chunk(&self, out: &mut String, fields: impl for<'f> FnOnce(Object<'f>) -> Object<'f>) {
        self.framing.write(out, None, |out| {
            let chunk = Object::new(out)
                .text("id", &self.response.id)
                .text("object", "chat.completion.chunk")
                .number("created", self.response.created_at)
                .text("model", &self.response.model);
            fields(chunk).end();
        });
    }
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
