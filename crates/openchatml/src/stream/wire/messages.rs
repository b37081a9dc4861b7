//! The stream of the Messages API.

use super::object::Object;
use super::progress::{CallId, CallIds, Outcome, Progress, tool};
use super::reasoning::{Reasoning, Thoughts};
use super::response::{Ending, Response, Usage};
use super::{Framing, NOTHING_SAID};
use crate::json::Json;
use crate::limits::Limits;
use crate::model::Message;
use crate::stream::live::Kind;
use crate::stream::{Done, Event};

/// Writes the events of a stream as events of the Messages API.
///
/// The output is one message. Each answer and each preamble becomes a block `text`, each call a
/// block `tool_use`, and reasoning a block `thinking`, if the [policy](Self::reasoning) allows it.
/// Messages of other roles are not output of the model; see [`left_out`](Self::left_out).
///
/// A call is written when it is complete, because clients run each block `tool_use`. A call that is
/// uncertain, or whose arguments are not an object, is not written, and the message ends with
/// `max_tokens`.
///
/// Events must be complete and in order: text of a message without a start is dropped.
///
/// ```
/// use openchatml::wire::{Ending, MessagesWriter, Response};
/// use openchatml::{ReadOptions, Role, Stream, TextFormat};
///
/// let mut options = ReadOptions::default();
/// options.continues = Some(Role::Assistant);
/// let mut stream = Stream::new(TextFormat::HARMONY, &options);
/// let mut writer = MessagesWriter::new(Response::new("msg_1", "gpt-oss-20b", 0));
/// let mut out = String::new();
/// let text = b"<|channel|>commentary to=functions.now <|constrain|>json<|message|>{}<|call|>";
/// stream.feed_with(text, |event| writer.push(&event, &mut out));
/// stream.finish_with(|event| writer.push(&event, &mut out));
/// writer.finish(&Ending::default(), &mut out);
///
/// let lines: Vec<_> = out.lines().skip(1).collect();
/// assert_eq!(lines, [
///     r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"call_1_0","name":"now","input":{}}}"#,
///     r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}"#,
///     r#"{"type":"content_block_stop","index":0}"#,
///     r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":0}}"#,
///     r#"{"type":"message_stop"}"#,
/// ]);
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
pub struct MessagesWriter {
    response: Response,
    framing: Framing,
    thoughts: Thoughts,
    progress: Progress,
    ids: CallIds,
    /// The kind of the current message.
    kind: Kind,
    /// The current call.
    call: Option<Call>,
    /// Whether the block of the current message has begun.
    is_open: bool,
    /// The number of complete blocks.
    blocks: usize,
    /// The number of calls.
    calls: usize,
    /// Whether a call is not written.
    lacks_call: bool,
    is_started: bool,
}

/// A call that is not complete yet.
struct Call {
    id: CallId,
    tool: String,
    arguments: String,
}

impl MessagesWriter {
    /// Creates a writer of this message, with one JSON object per line and without reasoning.
    pub fn new(response: Response) -> Self {
        Self {
            response,
            framing: Framing::Lines,
            thoughts: Thoughts::default(),
            progress: Progress::default(),
            ids: CallIds::default(),
            kind: Kind::Silent,
            call: None,
            is_open: false,
            blocks: 0,
            calls: 0,
            lacks_call: false,
            is_started: false,
        }
    }

    /// Sets how events are separated.
    #[must_use]
    pub fn framing(mut self, framing: Framing) -> Self {
        self.framing = framing;
        self
    }

    /// Sets the policy for reasoning. Summaries are blocks `thinking` too. Blocks have no signature.
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
        if std::mem::replace(&mut self.is_started, true) {
            return;
        }
        let Response { id, model, .. } = &self.response;
        self.event("message_start", out, |object| {
            object.object("message", |object| {
                object
                    .text("id", id)
                    .text("type", "message")
                    .text("role", "assistant")
                    .text("model", model)
                    .json("content", "[]")
                    .json("stop_reason", "null")
                    .json("stop_sequence", "null")
                    .json("usage", r#"{"input_tokens":0,"output_tokens":0}"#)
            })
        });
    }

    /// Writes what an event becomes.
    pub fn push(&mut self, event: &Event<'_>, out: &mut String) {
        self.start(out);
        self.progress.event(event);
        match event {
            Event::MessageStart { message, .. } => self.open(message, out),
            Event::Delta { text, .. } if matches!(self.kind, Kind::Visible | Kind::Preamble) => {
                self.begin(r#"{"type":"text","text":""}"#, out);
                self.delta("text_delta", "text", text, out);
            }
            Event::ReasoningDelta { text, .. } if self.kind == Kind::Reasoning => {
                if self.thoughts.are_raw() {
                    return self.think("", text, out);
                }
                for summary in self.thoughts.add(text) {
                    self.think("\n\n", &summary, out);
                }
            }
            Event::ReasoningSummaryDelta { text, .. } if self.kind == Kind::Reasoning => {
                if !self.thoughts.are_dropped() {
                    self.think("", text, out);
                }
            }
            Event::ToolCallDelta { text, .. } => {
                if let Some(call) = &mut self.call {
                    call.arguments.push_str(text);
                }
            }
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

    /// Writes the end of the message, with the usage if given.
    pub fn finish(mut self, ending: &Ending, out: &mut String) {
        self.start(out);
        self.close(None, out);
        let outcome = self.progress.outcome();
        let failure = Some(NOTHING_SAID).filter(|_| outcome == Outcome::Failed);
        if let Some(error) = ending.error.as_deref().or(failure) {
            return self.event("error", out, |object| {
                object.object("error", |object| {
                    object.text("type", "api_error").text("message", error)
                })
            });
        }
        let reason = match outcome {
            Outcome::Completed(_) if self.lacks_call => "max_tokens",
            Outcome::Completed(Done::Call) if self.calls > 0 => "tool_use",
            Outcome::Completed(_) => "end_turn",
            // A reason is required, even if nothing is known.
            Outcome::Incomplete(_) | Outcome::Failed => {
                ending.incomplete.unwrap_or_default().stop_reason()
            }
        };
        let usage = ending.usage;
        self.event("message_delta", out, |object| {
            object
                .object("delta", |object| {
                    object.text("stop_reason", reason).json("stop_sequence", "null")
                })
                .object("usage", |object| write_usage(usage, object))
        });
        self.event("message_stop", out, |object| object);
    }

    fn open(&mut self, message: &Message<'_>, out: &mut String) {
        self.close(None, out);
        self.kind = Kind::of(message);
        if self.kind == Kind::Call {
            let id = self.ids.of(message, &self.response, self.blocks);
            let tool = tool(message).to_owned();
            self.call = Some(Call { id, tool, arguments: String::new() });
        }
    }

    fn close(&mut self, message: Option<&Message<'_>>, out: &mut String) {
        if let Some(summary) = self.thoughts.end() {
            self.think("\n\n", &summary, out);
        }
        if let Some(call) = self.call.take() {
            let is_certain = self.progress.is_certain(message, &call.arguments, &call.id);
            match is_certain && is_object(&call.arguments, &self.progress.limits) {
                true => self.call(&call, out),
                false => self.lacks_call = true,
            }
        }
        self.end_block(out);
        self.kind = Kind::Silent;
    }

    /// Writes a complete call.
    fn call(&mut self, call: &Call, out: &mut String) {
        let mut block = String::new();
        Object::new(&mut block)
            .text("type", "tool_use")
            .text("id", &call.id.id)
            .text("name", &call.tool)
            .json("input", "{}")
            .end();
        self.begin(&block, out);
        self.delta("input_json_delta", "partial_json", &call.arguments, out);
        self.calls += 1;
    }

    /// Writes text of reasoning, after `gap` if the block already has text.
    fn think(&mut self, gap: &str, text: &str, out: &mut String) {
        let gap = if self.is_open { gap } else { "" };
        self.begin(r#"{"type":"thinking","thinking":"","signature":""}"#, out);
        match gap {
            "" => self.delta("thinking_delta", "thinking", text, out),
            gap => self.delta("thinking_delta", "thinking", &format!("{gap}{text}"), out),
        }
    }

    /// Writes the start of a block, if it is not written yet.
    fn begin(&mut self, block: &str, out: &mut String) {
        if !std::mem::replace(&mut self.is_open, true) {
            let index = self.blocks;
            self.event("content_block_start", out, |object| {
                object.place("index", index).json("content_block", block)
            });
        }
    }

    fn delta(&self, kind: &str, key: &str, text: &str, out: &mut String) {
        self.event("content_block_delta", out, |object| {
            object
                .place("index", self.blocks)
                .object("delta", |object| object.text("type", kind).text(key, text))
        });
    }

    fn end_block(&mut self, out: &mut String) {
        if std::mem::take(&mut self.is_open) {
            let index = self.blocks;
            self.event("content_block_stop", out, |object| object.place("index", index));
            self.blocks += 1;
        }
    }

    /// Writes an event with these fields.
    fn event(
        &self,
        name: &'static str,
        out: &mut String,
        fields: impl for<'f> FnOnce(Object<'f>) -> Object<'f>,
    ) {
        self.framing
            .write(out, Some(name), |out| fields(Object::new(out).text("type", name)).end());
    }
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
