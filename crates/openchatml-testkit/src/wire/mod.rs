//! The events of other protocols, as a client checks them: what may follow what, and what must
//! agree.

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

/// What becomes of reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thoughts {
    /// It is dropped.
    Drop,
    /// Each paragraph becomes its first word.
    FirstWord,
    /// Each paragraph becomes the same word.
    Constant,
    /// It is written.
    Raw,
}

impl Thoughts {
    /// All of them.
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

/// How a stream is read and written.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The format.
    pub format: Format,
    /// How it is read.
    pub options: ReadOptions,
    /// What becomes of reasoning.
    pub thoughts: Thoughts,
    /// Whether only what a user may see is written.
    pub for_user: bool,
    /// Whether the reader keeps bodies.
    pub keep: Keep,
}

impl Setup {
    /// What the Responses API says of a text that arrives in these chunks, an event on a line.
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

    /// The chunks of Chat Completions for a text that arrives in these chunks, each on a line.
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

    /// Gives the events that are written.
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

/// Joins neighbours that are deltas of the same text, which stands at the pointer that `text` gives.
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

/// What a stream says, text by text.
#[derive(Debug, Default, PartialEq, Eq)]
struct Said {
    /// What a user sees, each message by itself.
    shown: Vec<String>,
    arguments: String,
    reasoning: String,
}

impl Said {
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

/// However a text is cut, the writers write the same; it keeps the rules of its protocol, and says
/// what the stream says.
///
/// # Panics
///
/// If it does not.
pub fn writes(text: &str, cuts: &[usize], setup: &Setup) {
    let bytes = text.as_bytes();
    let chunks = chunks(bytes, cuts);
    let said = Said::by(setup, text);
    let reasoning = if setup.thoughts == Thoughts::Raw { said.reasoning.as_str() } else { "" };

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
    if matches!(setup.thoughts, Thoughts::Raw | Thoughts::Drop) {
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
    if setup.thoughts == Thoughts::Raw {
        assert_eq!(of("/reasoning_content").replace('\n', ""), reasoning.replace('\n', ""));
    }
}

/// What is written of two documents that differ in hidden text only is the same, byte for byte; or
/// it differs in how often reasoning was summarized, if it is.
///
/// # Panics
///
/// If it is not.
pub fn hides(one: &Document<'_>, two: &Document<'_>, setup: &Setup) {
    let options = RenderOptions::default();
    let render = |document: &Document<'_>| render(document, setup.format, &options);
    let name = setup.format.to_string();
    let Some((documents, [one, two])) = secrets::both(one, two, &render, &name) else { return };
    if documents.iter().any(|it| secrets::takes(it, setup.format, &options)) {
        // What a tool says took something of the answer, by name: then less is shown.
        return;
    }
    let types = |out: &str| -> Vec<Value> {
        lines(out).into_iter().map(|mut event| event["type"].take()).collect()
    };
    // Where a tool says what is no JSON, it may show late what the assistant says to the user.
    let is_late = setup.format.carries().channels == Channels::Sections;
    let [one_out, two_out] = [&one, &two].map(|text| setup.responses([text.as_bytes()]));
    if setup.thoughts == Thoughts::Drop || types(&one_out) == types(&two_out) {
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
