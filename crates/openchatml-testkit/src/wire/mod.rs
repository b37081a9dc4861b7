//! The events of other protocols, with the checks of a client: their order and their consistency.

mod chat;
mod messages;
mod responses;

use crate::property::chunks;
use crate::secrets;
use openchatml::convert::Channels;
use openchatml::wire::{ChatWriter, Ending, MessagesWriter, Reasoning, Response, ResponsesWriter};
use openchatml::{
    Document, Event, Format, Keep, Policy, ReadOptions, RenderOptions, Stream, TextFormat, render,
};
use serde_json::Value;

pub use self::chat::chat;
pub use self::messages::messages;
pub use self::responses::responses;

/// The handling of reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReasoningMode {
    /// Reasoning is dropped.
    Drop,
    /// Each paragraph becomes its first word.
    FirstWord,
    /// Each paragraph becomes the same word.
    Constant,
    /// Reasoning is written unchanged.
    Raw,
}

impl ReasoningMode {
    /// All modes.
    pub const ALL: [Self; 4] = [Self::Drop, Self::FirstWord, Self::Constant, Self::Raw];

    fn policy(self) -> Reasoning {
        match self {
            Self::Drop => Reasoning::Drop,
            Self::FirstWord => Reasoning::summary(|text| {
                text.split_whitespace().next().unwrap_or_default().to_owned()
            }),
            Self::Constant => Reasoning::summary(|_| "Thinking.".to_owned()),
            Self::Raw => Reasoning::Raw,
        }
    }
}

/// The options for reading and writing a stream.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The format.
    pub format: Format,
    /// The options for reading.
    pub options: ReadOptions,
    /// The handling of reasoning.
    pub thoughts: ReasoningMode,
    /// Whether only user-visible content is written.
    pub for_user: bool,
    /// Whether the reader keeps bodies.
    pub keep: Keep,
}

impl Setup {
    /// Writes a text in these chunks as events of the Responses API, one per line.
    pub fn responses<'c>(&self, chunks: impl IntoIterator<Item = &'c [u8]>) -> String {
        let response = Response::new("resp_1", "m", 1);
        let mut writer = ResponsesWriter::new(response)
            .reasoning(self.thoughts.policy())
            .limits(&self.options.limits);
        let mut out = String::new();
        self.stream(chunks, |event| writer.push(event, &mut out));
        writer.finish(&Ending::default(), &mut out);
        out
    }

    /// Writes a text in these chunks as chunks of Chat Completions, one per line.
    pub fn chat<'c>(&self, chunks: impl IntoIterator<Item = &'c [u8]>) -> String {
        let response = Response::new("chatcmpl-1", "m", 1);
        let mut writer = ChatWriter::new(response)
            .reasoning(self.thoughts.policy())
            .limits(&self.options.limits);
        let mut out = String::new();
        self.stream(chunks, |event| writer.push(event, &mut out));
        writer.finish(&Ending::default(), &mut out);
        out
    }

    /// The events of the Messages API for a text that arrives in these chunks, each on a line.
    pub fn messages<'c>(&self, chunks: impl IntoIterator<Item = &'c [u8]>) -> String {
        let response = Response::new("msg_1", "m", 1);
        let mut writer = MessagesWriter::new(response)
            .reasoning(self.thoughts.policy())
            .limits(&self.options.limits);
        let mut out = String::new();
        self.stream(chunks, |event| writer.push(event, &mut out));
        writer.finish(&Ending::default(), &mut out);
        out
    }

    /// Returns the written events.
    pub fn stream<'c>(
        &self,
        chunks: impl IntoIterator<Item = &'c [u8]>,
        mut take: impl FnMut(&Event<'_>),
    ) {
        let mut take = |event: Event<'_>| match self.for_user {
            false => take(&event),
            true => event.for_user(Policy::default()).iter().for_each(&mut take),
        };
        let format = TextFormat::try_from(self.format).expect("a text format");
        let mut stream = Stream::new(format, &self.options).keep(self.keep);
        for chunk in chunks {
            stream.feed_with(chunk, &mut take);
        }
        stream.finish_with(&mut take);
    }
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("an event is JSON")).collect()
}

/// Joins adjacent deltas of the same text. `text` returns the JSON pointer of the text.
fn joined(events: Vec<Value>, text: fn(&Value) -> Option<&'static str>) -> Vec<Value> {
    let mut out: Vec<Value> = Vec::new();
    for mut event in events {
        let place = text(&event);
        let last = out.last_mut().filter(|last| place.is_some() && text(last) == place);
        let (Some(place), Some(last)) = (place, last) else {
            out.push(event);
            continue;
        };
        let [before, more] = [&mut *last, &mut event]
            .map(|event| event.pointer_mut(place).expect("it has a text").take());
        if *last == event {
            let both = [before, more].map(|text| text.as_str().unwrap_or_default().to_owned());
            *last.pointer_mut(place).expect("it has a text") = both.concat().into();
            continue;
        }
        *last.pointer_mut(place).expect("it has a text") = before;
        *event.pointer_mut(place).expect("it has a text") = more;
        out.push(event);
    }
    out
}

/// The texts of a stream.
#[derive(Debug, Default, PartialEq, Eq)]
struct StreamTexts {
    /// The user-visible messages.
    shown: Vec<String>,
    arguments: String,
    reasoning: String,
}

impl StreamTexts {
    fn by(setup: &Setup, text: &str) -> Self {
        let (mut said, mut last) = (Self::default(), None);
        setup.stream([text.as_bytes()], |event| match event {
            Event::Delta { index, text, .. } => {
                if last.replace(*index) != Some(*index) {
                    said.shown.push(String::new());
                }
                said.shown.last_mut().expect("there is one").push_str(text);
            }
            Event::ToolCallDelta { text, .. } => said.arguments.push_str(text),
            Event::ReasoningDelta { text, .. } => said.reasoning.push_str(text),
            _ => {}
        });
        said
    }
}

/// The output is the same for all chunks, follows the rules of its protocol, and has the content of
/// the stream.
///
/// # Panics
///
/// The property does not hold.
pub fn writes(text: &str, cuts: &[usize], setup: &Setup) {
    let bytes = text.as_bytes();
    let chunks = chunks(bytes, cuts);
    let said = StreamTexts::by(setup, text);
    let reasoning = if setup.thoughts == ReasoningMode::Raw { said.reasoning.as_str() } else { "" };

    let whole = responses(&setup.responses([bytes]));
    assert_eq!(responses(&setup.responses(chunks.clone())), whole, "{text:?} at {cuts:?}");
    let of = |name: &str| -> String {
        let deltas = whole.iter().filter(|event| event["type"] == name);
        deltas.filter_map(|event| event["delta"].as_str()).collect()
    };
    assert_eq!(of("response.output_text.delta"), said.shown.concat(), "{text:?}");
    assert_eq!(of("response.function_call_arguments.delta"), said.arguments, "{text:?}");
    assert_eq!(of("response.reasoning_text.delta"), reasoning, "{text:?}");

    let whole = messages(&setup.messages([bytes]));
    assert_eq!(messages(&setup.messages(chunks.clone())), whole, "{text:?} at {cuts:?}");
    let of = |place: &str| -> Vec<&str> {
        whole.iter().filter_map(|event| event.pointer(place)?.as_str()).collect()
    };
    assert_eq!(of("/delta/text"), said.shown, "{text:?}");
    for input in of("/delta/partial_json") {
        assert!(said.arguments.contains(input), "{text:?}");
    }
    if matches!(setup.thoughts, ReasoningMode::Raw | ReasoningMode::Drop) {
        assert_eq!(of("/delta/thinking").concat(), reasoning, "{text:?}");
    }

    let whole = chat(&setup.chat([bytes]));
    assert_eq!(chat(&setup.chat(chunks)), whole, "{text:?} at {cuts:?}");
    let of = |place: &str| -> String {
        let deltas = whole.iter().filter_map(|chunk| chunk.pointer("/choices/0/delta"));
        deltas.filter_map(|delta| delta.pointer(place)?.as_str()).collect()
    };
    assert_eq!(of("/content"), said.shown.join("\n\n"), "{text:?}");
    assert_eq!(of("/tool_calls/0/function/arguments"), said.arguments, "{text:?}");
    if setup.thoughts == ReasoningMode::Raw {
        assert_eq!(of("/reasoning_content").replace('\n', ""), reasoning.replace('\n', ""));
    }
}

/// The output of two documents that differ only in hidden text is the same, byte for byte, except
/// for the number of summaries if reasoning is summarized.
///
/// # Panics
///
/// The property does not hold.
pub fn hides(one: &Document<'_>, two: &Document<'_>, setup: &Setup) {
    let options = RenderOptions::default();
    let render = |document: &Document<'_>| render(document, setup.format, &options);
    let name = setup.format.to_string();
    let Some((documents, [one, two])) = secrets::both(one, two, &render, &name) else { return };
    if documents.iter().any(|it| secrets::takes(it, setup.format, &options)) {
        // A reply absorbed a part of the answer, with a reported loss, so less is shown.
        return;
    }
    let types = |out: &str| -> Vec<Value> {
        lines(out).into_iter().map(|mut event| event["type"].take()).collect()
    };
    // After a reply that is not JSON, the text for the user may appear late.
    let is_late = setup.format.carries().channels == Channels::Sections;
    let [one_out, two_out] = [&one, &two].map(|text| setup.responses([text.as_bytes()]));
    if setup.thoughts == ReasoningMode::Drop || types(&one_out) == types(&two_out) {
        match is_late {
            true => assert_eq!(responses(&one_out), responses(&two_out), "{one:?} and {two:?}"),
            false => assert_eq!(one_out, two_out, "{one:?} and {two:?}"),
        }
        let [one_out, two_out] = [&one, &two].map(|text| setup.chat([text.as_bytes()]));
        match is_late {
            true => assert_eq!(chat(&one_out), chat(&two_out), "{one:?} and {two:?}"),
            false => assert_eq!(one_out, two_out, "{one:?} and {two:?}"),
        }
        let [one_out, two_out] = [&one, &two].map(|text| setup.messages([text.as_bytes()]));
        match is_late {
            true => assert_eq!(messages(&one_out), messages(&two_out), "{one:?} and {two:?}"),
            false => assert_eq!(one_out, two_out, "{one:?} and {two:?}"),
        }
    }
}
