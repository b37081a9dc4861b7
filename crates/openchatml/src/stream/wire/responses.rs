//! The stream of the Responses API.

use super::item::{CALL, Item, MESSAGE, REASONING, Status, What, Words, write_summary};
use super::numbered::Events;
use super::progress::{CallIds, Outcome, Progress, tool};
use super::reasoning::{Reasoning, Thoughts};
use super::response::{Ending, Response, State};
use super::{Framing, NOTHING_SAID};
use crate::limits::Limits;
use crate::model::{End, Message};
use crate::stream::live::Kind;
use crate::stream::{Event, Keep};

/// Writes the events of a stream as events of the Responses API.
///
/// Each message of the assistant becomes an item: an answer or a preamble becomes a `message`, a
/// call a `function_call`, and reasoning a `reasoning`, if the [policy](Self::reasoning) allows it.
/// Messages of other roles are not output of the model; see [`left_out`](Self::left_out).
///
/// Events must be complete and in order: text of a message without a start is dropped.
///
/// ```
/// use openchatml::wire::{Ending, Response, ResponsesWriter};
/// use openchatml::{ReadOptions, Role, Stream, TextFormat};
///
/// let mut options = ReadOptions::default();
/// options.continues = Some(Role::Assistant);
/// let mut stream = Stream::new(TextFormat::HARMONY, &options);
/// let mut writer = ResponsesWriter::new(Response::new("resp_1", "gpt-oss-20b", 1_763_000_000));
/// let mut out = String::new();
/// let text = b"<|channel|>commentary to=functions.now <|constrain|>json<|message|>{}<|call|>";
/// stream.feed_with(text, |event| writer.push(&event, &mut out));
/// stream.finish_with(|event| writer.push(&event, &mut out));
/// writer.finish(&Ending::default(), &mut out);
///
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
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
pub struct ResponsesWriter {
    response: Response,
    events: Events,
    keep: Keep,
    thoughts: Thoughts,
    progress: Progress,
    calls: CallIds,
    /// The current item.
    item: Option<Item>,
    /// How many items are complete.
    done: usize,
    /// The complete items, separated by commas.
    output: String,
    is_started: bool,
}

impl ResponsesWriter {
    /// Creates a writer of this response, with one JSON object per line and without reasoning.
    pub fn new(response: Response) -> Self {
        Self {
            response,
            events: Events::default(),
            keep: Keep::Bodies,
            thoughts: Thoughts::default(),
            progress: Progress::default(),
            calls: CallIds::default(),
            item: None,
            done: 0,
            output: String::new(),
            is_started: false,
        }
    }

    /// Sets how events are separated.
    #[must_use]
    pub fn framing(mut self, framing: Framing) -> Self {
        self.events.framing = framing;
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
        self.progress.limits.clone_from(limits);
        self
    }

    /// Sets whether the writer stores the items for the last event. If not, memory does not grow
    /// with the number of items (except for the ids of calls), and `output` is empty in the last
    /// event. Clients that collect the items from their events do not need it.
    #[must_use]
    pub fn keep(mut self, keep: Keep) -> Self {
        self.keep = keep;
        self
    }

    /// Returns how many messages were dropped so far because they are not model output for the
    /// client: messages of the system, developers, users and tools, and commentary that is not for
    /// the user.
    pub fn left_out(&self) -> usize {
        self.progress.left_out
    }

    /// Writes the start of the response, if it is not written yet. The first event does this
    /// automatically. Call it earlier to answer before the model does.
    pub fn start(&mut self, out: &mut String) {
        if std::mem::replace(&mut self.is_started, true) {
            return;
        }
        for name in ["response.created", "response.in_progress"] {
            let state = State { status: "in_progress", ..State::default() };
            self.lifecycle(name, &state, out);
        }
    }

    /// Writes what an event becomes.
    pub fn push(&mut self, event: &Event<'_>, out: &mut String) {
        self.start(out);
        self.progress.event(event);
        match event {
            Event::MessageStart { message, .. } => self.open(message, out),
            Event::Delta { text, .. } => self.delta(&MESSAGE, text, out),
            Event::ToolCallDelta { text, .. } => self.delta(&CALL, text, out),
            Event::ReasoningDelta { text, .. } if self.thoughts.are_raw() => {
                self.delta(&REASONING, text, out);
            }
            Event::ReasoningDelta { text, .. } if self.is_reasoning() => {
                for summary in self.thoughts.add(text) {
                    self.summarize(&summary, out);
                }
            }
            Event::ReasoningSummaryDelta { text, .. } => self.summary(text, out),
            Event::MessageDone { message, .. } => self.close(Some(message), out),
            // See `Progress`, or the table of events without a counterpart.
            Event::ReasoningDelta { .. }
            | Event::Flush { .. }
            | Event::Done { .. }
            | Event::Cancel { .. }
            | Event::ToolCancel { .. }
            | Event::Diagnostic { .. }
            | Event::UserDiagnostic { .. } => {}
        }
    }

    /// Writes the end of the response. An incomplete message is written as it is.
    pub fn finish(mut self, ending: &Ending, out: &mut String) {
        self.start(out);
        self.close(None, out);
        let outcome = self.progress.outcome();
        let failure = Some(NOTHING_SAID).filter(|_| outcome == Outcome::Failed);
        let error = ending.error.as_deref().or(failure);
        let (name, status, incomplete) = match outcome {
            _ if error.is_some() => ("response.failed", "failed", None),
            Outcome::Incomplete(why) => {
                ("response.incomplete", "incomplete", Some(ending.incomplete.or(why)))
            }
            _ => ("response.completed", "completed", None),
        };
        let output = std::mem::take(&mut self.output);
        let state = State { status, error, incomplete, output: &output, usage: ending.usage };
        self.lifecycle(name, &state, out);
    }

    fn lifecycle(&mut self, name: &'static str, state: &State<'_>, out: &mut String) {
        let write = |out: &mut String| self.response.write(out, state);
        self.events.write(name, out, |object| object.with("response", write));
    }

    fn is_reasoning(&self) -> bool {
        self.is_item(&REASONING)
    }

    /// Whether the current item is of this kind.
    fn is_item(&self, words: &Words) -> bool {
        self.item.as_ref().is_some_and(|item| item.what.words() == words)
    }

    /// Starts the item of a message, if it becomes an item.
    fn open(&mut self, message: &Message<'_>, out: &mut String) {
        self.close(None, out);
        let what = match Kind::of(message) {
            Kind::Visible => What::Answer,
            Kind::Preamble => What::Preamble,
            Kind::Reasoning if self.thoughts.are_dropped() => return,
            Kind::Reasoning => What::Reasoning { is_raw: self.thoughts.are_raw() },
            Kind::Call => {
                let call_id = self.calls.of(message, &self.response, self.done);
                What::Call { tool: tool(message).to_owned(), call_id }
            }
            Kind::Silent => return,
        };
        let is_call = matches!(what, What::Call { .. });
        let id = self.response.item_id(what.words().id, self.done);
        self.item = Some(Item::new(id, what, self.done));
        // Other items are written when they have text: a header that is cut off has none.
        if is_call {
            self.add(out);
        }
    }

    /// Writes the start of the item, if it is not written yet.
    fn add(&mut self, out: &mut String) {
        let Some(item) = self.item.as_mut().filter(|item| !item.is_added) else { return };
        item.is_added = true;
        self.events.write("response.output_item.added", out, |object| {
            object
                .place("output_index", item.place)
                .with("item", |out| item.write(out, Status::InProgress))
        });
        if item.what.has_part() {
            self.events.part("response.content_part.added", item, out, |object| {
                object.with("part", |out| item.write_part(out, ""))
            });
        }
    }

    /// Writes text of the item, if this kind of item has such text.
    fn delta(&mut self, words: &'static Words, text: &str, out: &mut String) {
        if !self.is_item(words) {
            return;
        }
        self.add(out);
        let Some(item) = &mut self.item else { return };
        item.text.push_str(text);
        self.events.part(words.delta, item, out, |object| object.text("delta", text));
    }

    /// Writes a whole summary.
    fn summarize(&mut self, text: &str, out: &mut String) {
        self.end_summary(out);
        self.summary(text, out);
        self.end_summary(out);
    }

    /// Writes text of a summary.
    fn summary(&mut self, text: &str, out: &mut String) {
        if !self.is_reasoning() {
            return;
        }
        self.add(out);
        let Some(item) = &mut self.item else { return };
        if item.summary.is_none() {
            self.events.summary("response.reasoning_summary_part.added", item, out, |object| {
                object.with("part", |out| write_summary(out, ""))
            });
        }
        item.summary.get_or_insert_default().push_str(text);
        self.events.summary("response.reasoning_summary_text.delta", item, out, |object| {
            object.text("delta", text)
        });
    }

    fn end_summary(&mut self, out: &mut String) {
        let Some(item) = &mut self.item else { return };
        let Some(text) = item.summary.take() else { return };
        self.events.summary("response.reasoning_summary_text.done", item, out, |object| {
            object.text("text", &text)
        });
        self.events.summary("response.reasoning_summary_part.done", item, out, |object| {
            object.with("part", |out| write_summary(out, &text))
        });
        if item.count > 0 {
            item.summaries.push(',');
        }
        write_summary(&mut item.summaries, &text);
        item.count += 1;
    }

    /// Ends the item, with its complete message, or `None` if it is incomplete.
    fn close(&mut self, message: Option<&Message<'_>>, out: &mut String) {
        if let Some(summary) = self.thoughts.end() {
            self.summarize(&summary, out);
        }
        self.end_summary(out);
        let Some(item) = &self.item else { return };
        let says_nothing = match message {
            // Reasoning without a summary is not written.
            _ if matches!(item.what, What::Reasoning { is_raw: false }) => true,
            Some(message) => message.end == End::Prompt,
            None => true,
        };
        if !says_nothing {
            self.add(out);
        }
        let Some(item) = self.item.take().filter(|item| item.is_added) else { return };
        // A message that exceeds a limit has an end, but not its whole text.
        let ends =
            message.is_some_and(|it| !matches!(it.end, End::Open | End::Prompt) && !it.recovered);
        let is_complete = match &item.what {
            What::Call { call_id, .. } => self.progress.is_certain(message, &item.text, call_id),
            _ => ends,
        };
        let status = if is_complete { Status::Completed } else { Status::Incomplete };
        self.end_item(&item, status, out);
    }

    fn end_item(&mut self, item: &Item, status: Status, out: &mut String) {
        let words = item.what.words();
        // Clients run a call once its arguments are complete.
        let is_call = *words == CALL;
        if item.what.has_part() || is_call && status == Status::Completed {
            self.events.part(words.done, item, out, |object| object.text(words.text, &item.text));
        }
        if item.what.has_part() {
            self.events.part("response.content_part.done", item, out, |object| {
                object.with("part", |out| item.write_part(out, &item.text))
            });
        }
        self.events.write("response.output_item.done", out, |object| {
            object.place("output_index", item.place).with("item", |out| item.write(out, status))
        });
        if self.keep == Keep::Bodies {
            if !self.output.is_empty() {
                self.output.push(',');
            }
            item.write(&mut self.output, status);
        }
        self.done += 1;
    }
}
