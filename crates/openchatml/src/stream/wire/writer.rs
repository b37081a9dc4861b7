//! The writer: what the streams of all APIs have in common.

use super::chat::Chat;
use super::messages::Messages;
use super::progress::{CallId, CallIds, Outcome, Progress, tool};
use super::reasoning::{Reasoning, Thoughts};
use super::response::{Ending, Response};
use super::responses::Responses;
use super::{Api, Framing};
use crate::limits::Limits;
use crate::model::{End, Message};
use crate::stream::live::Kind;
use crate::stream::{Event, Keep};

/// The error message for clients if the input contains no message.
const NOTHING_SAID: &str = "the output of the model has no message";

/// Writes the events of a stream as the stream of an [`Api`].
///
/// Answers, preambles and calls of the assistant are written. Reasoning is written if the
/// [policy](Self::reasoning) allows it. Messages of other roles are not output of the model; see
/// [`left_out`](Self::left_out).
///
/// The writer stores the arguments of the current call and the ids of all calls, and what
/// [`keep`](Self::keep) says.
///
/// Events must be complete and in order: text of a message without a start is dropped.
///
/// ```
/// use openchatml::wire::{Api, Ending, Response, Writer};
/// use openchatml::{ReadOptions, Role, Stream, TextFormat};
///
/// let text = b"<|channel|>commentary to=functions.now <|constrain|>json<|message|>{}<|call|>";
/// let written = |api: Api| {
///     let mut options = ReadOptions::default();
///     options.continues = Some(Role::Assistant);
///     let mut stream = Stream::new(TextFormat::HARMONY, &options);
///     let id = format!("{}1", api.id_prefix());
///     let mut writer = Writer::new(api, Response::new(id, "gpt-oss-20b", 1_763_000_000));
///     let mut out = String::new();
///     stream.feed_with(text, |event| writer.push(&event, &mut out));
///     stream.finish_with(|event| writer.push(&event, &mut out));
///     writer.finish(&Ending::default(), &mut out);
///     out
/// };
///
/// let out = written(Api::Responses);
/// let types = out.lines().map(|line| line.split('"').nth(3).unwrap());
/// assert_eq!(types.collect::<Vec<_>>(), [
///     "response.created",
///     "response.in_progress",
///     "response.output_item.added",
///     "response.function_call_arguments.delta",
///     "response.function_call_arguments.done",
///     "response.output_item.done",
///     "response.completed",
/// ]);
///
/// let out = written(Api::ChatCompletions);
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
///
/// let out = written(Api::Messages);
/// assert_eq!(out.lines().skip(1).collect::<Vec<_>>(), [
///     r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"call_1_0","name":"now","input":{}}}"#,
///     r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}"#,
///     r#"{"type":"content_block_stop","index":0}"#,
///     r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":0}}"#,
///     r#"{"type":"message_stop"}"#,
/// ]);
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
pub struct Writer {
    protocol: Box<dyn Protocol>,
    settings: Settings,
    thoughts: Thoughts,
    progress: Progress,
    call_ids: CallIds,
    /// The kind of the current message. Dropped reasoning is silent.
    kind: Kind,
    /// The current call.
    call: Option<Call>,
    /// The number of calls.
    calls: usize,
    is_started: bool,
}

/// The settings of a writer.
pub(super) struct Settings {
    pub(super) response: Response,
    pub(super) framing: Framing,
    pub(super) keep: Keep,
    pub(super) limits: Limits,
}

/// Where the stream of an API is written to.
pub(super) struct Output<'s> {
    pub(super) settings: &'s Settings,
    pub(super) out: &'s mut String,
}

/// A call that is being written.
pub(super) struct Call {
    pub(super) id: CallId,
    pub(super) tool: String,
    pub(super) arguments: String,
}

/// The start of a message.
pub(super) enum MessageStart<'s> {
    Answer,
    Preamble,
    Reasoning { is_raw: bool },
    Call(&'s Call),
}

/// Text of the current message.
pub(super) enum Delta<'p> {
    /// Text of an answer or a preamble.
    Text(&'p str),
    /// Raw reasoning.
    Reasoning(&'p str),
    /// A part of a summary of reasoning.
    SummaryPart(&'p str),
    /// A whole summary of a paragraph of reasoning.
    Summary(&'p str),
    Arguments(&'p str),
}

/// The end of a message.
pub(super) struct MessageEnd<'s> {
    /// Whether the message was read to an end, and is more than the beginning of a prompt.
    pub(super) is_read: bool,
    /// Whether nothing of the message is missing. A call is complete only if it is certain.
    pub(super) is_complete: bool,
    /// The call, if it is one.
    pub(super) call: Option<&'s Call>,
}

/// The end of a response.
pub(super) struct ResponseEnd<'c> {
    pub(super) outcome: Outcome,
    /// The error of the server, or of the input.
    pub(super) error: Option<&'c str>,
    pub(super) ending: &'c Ending,
}

/// Writes the stream of one API. The methods are called in the order of a stream: [`begin`], then
/// for each message [`open`], [`push`] and [`close`], and [`conclude`]. Silent messages are not
/// opened, but everything that can end a message closes it.
///
/// [`begin`]: Self::begin
/// [`open`]: Self::open
/// [`push`]: Self::push
/// [`close`]: Self::close
/// [`conclude`]: Self::conclude
pub(super) trait Protocol: Send + Sync {
    fn begin(&mut self, output: &mut Output<'_>);
    fn open(&mut self, start: &MessageStart<'_>, output: &mut Output<'_>);
    fn push(&mut self, delta: &Delta<'_>, output: &mut Output<'_>);
    fn close(&mut self, end: &MessageEnd<'_>, output: &mut Output<'_>);
    fn conclude(&mut self, end: &ResponseEnd<'_>, output: &mut Output<'_>);

    /// Returns how many complete calls the API could not express.
    fn left_out(&self) -> usize {
        0
    }
}

impl Writer {
    /// Creates a writer of this response, with one JSON object per line and without reasoning.
    pub fn new(api: Api, response: Response) -> Self {
        let protocol: Box<dyn Protocol> = match api {
            Api::Responses => Box::<Responses>::default(),
            Api::ChatCompletions => Box::<Chat>::default(),
            Api::Messages => Box::<Messages>::default(),
        };
        let settings = Settings {
            response,
            framing: Framing::default(),
            keep: Keep::Bodies,
            limits: Limits::default(),
        };
        Self {
            protocol,
            settings,
            thoughts: Thoughts::default(),
            progress: Progress::default(),
            call_ids: CallIds::default(),
            kind: Kind::Silent,
            call: None,
            calls: 0,
            is_started: false,
        }
    }

    /// Sets how events are separated.
    #[must_use]
    pub fn framing(mut self, framing: Framing) -> Self {
        self.settings.framing = framing;
        self
    }

    /// Sets the policy for reasoning.
    #[must_use]
    pub fn reasoning(mut self, policy: Reasoning) -> Self {
        self.thoughts.policy = policy;
        self
    }

    /// Sets the limits that the stream was read with. The writer checks the arguments of calls with
    /// them again.
    #[must_use]
    pub fn limits(mut self, limits: &Limits) -> Self {
        self.settings.limits.clone_from(limits);
        self
    }

    /// Sets whether the writer stores the items for the last event of the Responses API. If not,
    /// memory does not grow with the number of items (except for the ids of calls), and `output` is
    /// empty in the last event. Clients that collect the items from their events do not need it.
    /// The other APIs have no such event.
    #[must_use]
    pub fn keep(mut self, keep: Keep) -> Self {
        self.settings.keep = keep;
        self
    }

    /// Returns how many messages were dropped so far because they are not model output for the
    /// client, or the API cannot express them: messages of the system, developers, users and tools,
    /// commentary that is not for the user, calls inside of reasoning, and, in the Messages API,
    /// complete calls whose arguments are not a JSON object.
    pub fn left_out(&self) -> usize {
        self.progress.left_out + self.protocol.left_out()
    }

    /// Whether a call was incomplete, invalid or uncertain so far, so that it must not be run.
    pub fn has_uncertain_call(&self) -> bool {
        self.progress.has_uncertain_call
    }

    /// Writes the start of the response, if it is not written yet. The first event does this
    /// automatically. Call it earlier to answer before the model does.
    pub fn start(&mut self, out: &mut String) {
        if !std::mem::replace(&mut self.is_started, true) {
            self.protocol.begin(&mut Output { settings: &self.settings, out });
        }
    }

    /// Writes what an event becomes.
    pub fn push(&mut self, event: &Event<'_>, out: &mut String) {
        self.start(out);
        self.progress.event(event);
        match event {
            Event::MessageStart { message, .. } => self.open(message, out),
            Event::Delta { text, .. } if matches!(self.kind, Kind::Visible | Kind::Preamble) => {
                self.write(&Delta::Text(text), out);
            }
            Event::ReasoningDelta { text, .. } if self.kind == Kind::Reasoning => {
                if self.thoughts.are_raw() {
                    return self.write(&Delta::Reasoning(text), out);
                }
                for summary in self.thoughts.add(text) {
                    self.write(&Delta::Summary(&summary), out);
                }
            }
            Event::ReasoningSummaryDelta { text, .. } if self.kind == Kind::Reasoning => {
                self.write(&Delta::SummaryPart(text), out);
            }
            Event::ToolCallDelta { text, .. } => {
                if let Some(call) = &mut self.call {
                    call.arguments.push_str(text);
                    self.write(&Delta::Arguments(text), out);
                }
            }
            Event::MessageDone { message, .. } => self.close(Some(message), out),
            // See `Progress`, or the table of events without a counterpart.
            Event::Delta { .. }
            | Event::ReasoningDelta { .. }
            | Event::ReasoningSummaryDelta { .. }
            | Event::Flush { .. }
            | Event::MessageHidden { .. }
            | Event::Done { .. }
            | Event::Cancel { .. }
            | Event::ToolCancel { .. }
            | Event::Diagnostic { .. }
            | Event::UserDiagnostic { .. } => {}
        }
    }

    /// Writes the end of the response, with the usage if given. An incomplete message is written as
    /// it is.
    pub fn finish(mut self, ending: &Ending, out: &mut String) {
        self.start(out);
        self.close(None, out);
        let outcome = self.progress.outcome();
        let failure = Some(NOTHING_SAID).filter(|_| outcome == Outcome::Failed);
        let error = ending.error.as_deref().or(failure);
        let end = ResponseEnd { outcome, error, ending };
        self.protocol.conclude(&end, &mut Output { settings: &self.settings, out });
    }

    fn open(&mut self, message: &Message<'_>, out: &mut String) {
        self.close(None, out);
        let kind = Kind::of(message);
        let start = match kind {
            Kind::Silent => return,
            Kind::Reasoning if self.thoughts.are_dropped() => return,
            Kind::Reasoning => MessageStart::Reasoning { is_raw: self.thoughts.are_raw() },
            Kind::Visible => MessageStart::Answer,
            Kind::Preamble => MessageStart::Preamble,
            // Clients run every call that they receive, and this one must not be run.
            Kind::Call if message.recovered => return,
            Kind::Call => {
                let id = self.call_ids.of(message, &self.settings.response, self.calls);
                self.calls += 1;
                let tool = tool(message).to_owned();
                MessageStart::Call(self.call.insert(Call { id, tool, arguments: String::new() }))
            }
        };
        self.kind = kind;
        self.protocol.open(&start, &mut Output { settings: &self.settings, out });
    }

    fn write(&mut self, delta: &Delta<'_>, out: &mut String) {
        self.protocol.push(delta, &mut Output { settings: &self.settings, out });
    }

    /// Ends the current message, with the complete message, or `None` if it is incomplete.
    fn close(&mut self, message: Option<&Message<'_>>, out: &mut String) {
        if let Some(summary) = self.thoughts.end() {
            self.write(&Delta::Summary(&summary), out);
        }
        let is_complete = match &self.call {
            Some(call) => {
                let Call { id, arguments, .. } = call;
                self.progress.is_certain(message, arguments, id, &self.settings.limits)
            }
            // A message that exceeds a limit has an end, but not its whole text.
            None => message
                .is_some_and(|it| !matches!(it.end, End::Open | End::Prompt) && !it.recovered),
        };
        let call = self.call.take();
        let is_read = message.is_some_and(|it| it.end != End::Prompt);
        let end = MessageEnd { is_read, is_complete, call: call.as_ref() };
        self.protocol.close(&end, &mut Output { settings: &self.settings, out });
        self.kind = Kind::Silent;
    }
}
