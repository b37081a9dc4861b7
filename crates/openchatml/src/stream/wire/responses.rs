//! The stream of the Responses API.

use super::item::{CALL, Item, MESSAGE, REASONING, Status, What, Words, write_summary};
use super::numbered::Events;
use super::progress::Outcome;
use super::response::State;
use super::writer::{Delta, MessageEnd, MessageStart, Output, Protocol, ResponseEnd};
use crate::stream::Keep;

/// Writes [`Api::Responses`](super::Api::Responses), which says what becomes what.
#[derive(Default)]
pub(super) struct Responses {
    events: Events,
    /// The current item.
    item: Option<Item>,
    /// How many items are complete.
    done: usize,
    /// The complete items, separated by commas.
    output: String,
}

impl Protocol for Responses {
    fn begin(&mut self, output: &mut Output<'_>) {
        for name in ["response.created", "response.in_progress"] {
            let state = State { status: "in_progress", ..State::default() };
            self.lifecycle(name, &state, output);
        }
    }

    fn open(&mut self, start: &MessageStart<'_>, output: &mut Output<'_>) {
        let what = match start {
            MessageStart::Answer => What::Answer,
            MessageStart::Preamble => What::Preamble,
            MessageStart::Reasoning { is_raw } => What::Reasoning { is_raw: *is_raw },
            MessageStart::Call(call) => {
                What::Call { tool: call.tool.clone(), call_id: call.id.id.clone() }
            }
        };
        let is_call = matches!(what, What::Call { .. });
        let id = output.settings.response.item_id(what.words().id, self.done);
        self.item = Some(Item::new(id, what, self.done));
        // Other items are written when they have text: a header that is cut off has none.
        if is_call {
            self.add(output);
        }
    }

    fn push(&mut self, delta: &Delta<'_>, output: &mut Output<'_>) {
        match delta {
            Delta::Text(text) => self.delta(&MESSAGE, text, output),
            Delta::Reasoning(text) => self.delta(&REASONING, text, output),
            Delta::Arguments(text) => self.delta(&CALL, text, output),
            Delta::SummaryPart(text) => self.summary(text, output),
            Delta::Summary(text) => {
                self.end_summary(output);
                self.summary(text, output);
                self.end_summary(output);
            }
        }
    }

    fn close(&mut self, end: &MessageEnd<'_>, output: &mut Output<'_>) {
        self.end_summary(output);
        let Some(item) = &self.item else { return };
        // Reasoning without a summary is not written.
        if end.is_read && !matches!(item.what, What::Reasoning { is_raw: false }) {
            self.add(output);
        }
        let Some(item) = self.item.take().filter(|item| item.is_added) else { return };
        let status = if end.is_complete { Status::Completed } else { Status::Incomplete };
        self.end_item(&item, status, output);
    }

    fn conclude(&mut self, end: &ResponseEnd<'_>, output: &mut Output<'_>) {
        let ResponseEnd { outcome, error, ending } = *end;
        let (name, status, incomplete) = match outcome {
            _ if error.is_some() => ("response.failed", "failed", None),
            Outcome::Incomplete(why) => {
                ("response.incomplete", "incomplete", Some(ending.incomplete.or(why)))
            }
            _ => ("response.completed", "completed", None),
        };
        let items = std::mem::take(&mut self.output);
        let state = State { status, error, incomplete, output: &items, usage: ending.usage };
        self.lifecycle(name, &state, output);
    }
}

impl Responses {
    fn lifecycle(&mut self, name: &'static str, state: &State<'_>, output: &mut Output<'_>) {
        let response = &output.settings.response;
        self.events.write(name, output, |object| {
            object.with("response", |out| response.write(out, state))
        });
    }

    /// Writes the start of the item, if it is not written yet.
    fn add(&mut self, output: &mut Output<'_>) {
        let Some(item) = self.item.as_mut().filter(|item| !item.is_added) else { return };
        item.is_added = true;
        self.events.write("response.output_item.added", output, |object| {
            object
                .place("output_index", item.place)
                .with("item", |out| item.write(out, Status::InProgress))
        });
        if item.what.has_part() {
            self.events.part("response.content_part.added", item, output, |object| {
                object.with("part", |out| item.write_part(out, ""))
            });
        }
    }

    /// Writes text of the item, which is of the kind with these words.
    fn delta(&mut self, words: &'static Words, text: &str, output: &mut Output<'_>) {
        self.add(output);
        let Some(item) = &mut self.item else { return };
        item.text.push_str(text);
        self.events.part(words.delta, item, output, |object| object.text("delta", text));
    }

    /// Writes text of a summary.
    fn summary(&mut self, text: &str, output: &mut Output<'_>) {
        self.add(output);
        let Some(item) = &mut self.item else { return };
        if item.summary.is_none() {
            self.events.summary("response.reasoning_summary_part.added", item, output, |object| {
                object.with("part", |out| write_summary(out, ""))
            });
        }
        item.summary.get_or_insert_default().push_str(text);
        self.events.summary("response.reasoning_summary_text.delta", item, output, |object| {
            object.text("delta", text)
        });
    }

    fn end_summary(&mut self, output: &mut Output<'_>) {
        let Some(item) = &mut self.item else { return };
        let Some(text) = item.summary.take() else { return };
        self.events.summary("response.reasoning_summary_text.done", item, output, |object| {
            object.text("text", &text)
        });
        self.events.summary("response.reasoning_summary_part.done", item, output, |object| {
            object.with("part", |out| write_summary(out, &text))
        });
        if item.count > 0 {
            item.summaries.push(',');
        }
        write_summary(&mut item.summaries, &text);
        item.count += 1;
    }

    fn end_item(&mut self, item: &Item, status: Status, output: &mut Output<'_>) {
        let words = item.what.words();
        // Clients run a call once its arguments are complete.
        let is_call = *words == CALL;
        if item.what.has_part() || is_call && status == Status::Completed {
            self.events
                .part(words.done, item, output, |object| object.text(words.text, &item.text));
        }
        if item.what.has_part() {
            self.events.part("response.content_part.done", item, output, |object| {
                object.with("part", |out| item.write_part(out, &item.text))
            });
        }
        self.events.write("response.output_item.done", output, |object| {
            object.place("output_index", item.place).with("item", |out| item.write(out, status))
        });
        if output.settings.keep == Keep::Bodies {
            if !self.output.is_empty() {
                self.output.push(',');
            }
            item.write(&mut self.output, status);
        }
        self.done += 1;
    }
}
