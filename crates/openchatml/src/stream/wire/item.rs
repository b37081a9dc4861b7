//! Items of the output of a response.

use super::object::Object;

/// The item that is being written.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) id: String,
    pub(super) what: What,
    /// Its position in the output.
    pub(super) place: usize,
    /// Whether its start was written.
    pub(super) is_added: bool,
    /// The text so far.
    pub(super) text: String,
    /// The complete summaries, separated by commas.
    pub(super) summaries: String,
    /// The number of complete summaries.
    pub(super) count: usize,
    /// The summary that is being written.
    pub(super) summary: Option<String>,
}

/// The kind of an item.
#[derive(Debug)]
pub(super) enum What {
    Answer,
    Preamble,
    Reasoning { is_raw: bool },
    Call { tool: String, call_id: String },
}

/// The progress of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    InProgress,
    Completed,
    Incomplete,
}

impl Status {
    const fn as_str(self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Incomplete => "incomplete",
        }
    }
}

/// The names that the protocol uses for a kind of item and for the events of its text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Words {
    /// The prefix of the ids of such items.
    pub(super) id: &'static str,
    pub(super) delta: &'static str,
    pub(super) done: &'static str,
    /// The field with the whole text.
    pub(super) text: &'static str,
}

pub(super) static MESSAGE: Words = Words {
    id: "msg",
    delta: "response.output_text.delta",
    done: "response.output_text.done",
    text: "text",
};

pub(super) static REASONING: Words = Words {
    id: "rs",
    delta: "response.reasoning_text.delta",
    done: "response.reasoning_text.done",
    text: "text",
};

pub(super) static CALL: Words = Words {
    id: "fc",
    delta: "response.function_call_arguments.delta",
    done: "response.function_call_arguments.done",
    text: "arguments",
};

impl What {
    pub(super) const fn words(&self) -> &'static Words {
        match self {
            Self::Answer | Self::Preamble => &MESSAGE,
            Self::Reasoning { .. } => &REASONING,
            Self::Call { .. } => &CALL,
        }
    }

    /// Whether the text is a part of the content.
    pub(super) const fn has_part(&self) -> bool {
        match self {
            Self::Answer | Self::Preamble => true,
            Self::Reasoning { is_raw } => *is_raw,
            Self::Call { .. } => false,
        }
    }
}

impl Item {
    pub(super) fn new(id: String, what: What, place: usize) -> Self {
        Self {
            id,
            what,
            place,
            is_added: false,
            text: String::new(),
            summaries: String::new(),
            count: 0,
            summary: None,
        }
    }

    /// Writes the item, with the fields of this status.
    pub(super) fn write(&self, out: &mut String, status: Status) {
        let object = Object::new(out).text("id", &self.id);
        let content = |out: &mut String| {
            out.push('[');
            if status != Status::InProgress {
                self.write_part(out, &self.text);
            }
            out.push(']');
        };
        match &self.what {
            What::Answer | What::Preamble => {
                let is_answer = matches!(self.what, What::Answer);
                object
                    .text("type", "message")
                    .text("status", status.as_str())
                    .text("role", "assistant")
                    .text("phase", if is_answer { "final_answer" } else { "commentary" })
                    .with("content", content)
                    .end();
            }
            What::Reasoning { is_raw } => {
                let object = object.text("type", "reasoning").text("status", status.as_str()).with(
                    "summary",
                    |out| {
                        out.push('[');
                        out.push_str(&self.summaries);
                        out.push(']');
                    },
                );
                if *is_raw { object.with("content", content).end() } else { object.end() }
            }
            What::Call { tool, call_id } => object
                .text("type", "function_call")
                .text("status", status.as_str())
                .text("call_id", call_id)
                .text("name", tool)
                .text("arguments", &self.text)
                .end(),
        }
    }

    /// Writes the only part of the content, with this text.
    pub(super) fn write_part(&self, out: &mut String, text: &str) {
        let object = Object::new(out);
        match self.what {
            What::Reasoning { .. } => {
                object.text("type", "reasoning_text").text("text", text).end();
            }
            _ => object
                .text("type", "output_text")
                .json("annotations", "[]")
                .json("logprobs", "[]")
                .text("text", text)
                .end(),
        }
    }
}

/// Writes a part of a summary, with this text.
pub(super) fn write_summary(out: &mut String, text: &str) {
    Object::new(out).text("type", "summary_text").text("text", text).end();
}
