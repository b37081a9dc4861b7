//! The events of other protocols, with the checks of a client: their order and their consistency.

mod chat;
mod messages;
mod read_back;
mod responses;

use crate::property::chunks;
use crate::secrets;
use openchatml::convert::Channels;
pub use openchatml::wire::Api;
use openchatml::wire::{Ending, Reasoning, Response, Writer};
use openchatml::{
    Document, Event, Format, Keep, Policy, ReadOptions, RenderOptions, Stream, TextFormat, render,
};
use serde_json::Value;

use self::chat::chat;
use self::messages::messages;
use self::read_back::read_back;
use self::responses::responses;

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
    /// Writes a text in these chunks as the stream of an API, one event per line.
    pub fn written<'c>(&self, api: Api, chunks: impl IntoIterator<Item = &'c [u8]>) -> String {
        let response = Response::new(format!("{}1", api.id_prefix()), "m", 1);
        let mut writer = Writer::new(api, response)
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

/// Checks the stream of an API as its clients do, and returns its events without numbers and with
/// adjacent deltas joined.
///
/// # Panics
///
/// The events are inconsistent.
pub fn checked(api: Api, text: &str) -> Vec<Value> {
    match api {
        Api::Responses => responses(text),
        Api::ChatCompletions => chat(text),
        Api::Messages => messages(text),
        api => panic!("no checks for {api:?}"),
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
        let (mut said, mut last, mut guessed) = (Self::default(), None, None);
        setup.stream([text.as_bytes()], |event| match event {
            Event::Delta { index, text, .. } => {
                if last.replace(*index) != Some(*index) {
                    said.shown.push(String::new());
                }
                said.shown.last_mut().expect("there is one").push_str(text);
            }
            // It is known from the start that this call must not be run.
            Event::MessageStart { index, message } if message.recovered => guessed = Some(*index),
            Event::ToolCallDelta { index, text } if guessed != Some(*index) => {
                said.arguments.push_str(text);
            }
            Event::ReasoningDelta { text, .. } => said.reasoning.push_str(text),
            _ => {}
        });
        said
    }
}

/// Returns JSON without the white space between its parts. Input with line breaks is written anew.
fn compact(json: &str) -> String {
    let (mut in_string, mut is_escaped) = (false, false);
    let is_part = |c: &char| {
        if !is_escaped && *c == '"' {
            in_string = !in_string;
        }
        is_escaped = in_string && !is_escaped && *c == '\\';
        in_string || !c.is_ascii_whitespace()
    };
    json.chars().filter(is_part).collect()
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

    let [of_responses, of_messages, of_chat] =
        [Api::Responses, Api::Messages, Api::ChatCompletions].map(|api| {
            let whole = checked(api, &setup.written(api, [bytes]));
            let in_chunks = checked(api, &setup.written(api, chunks.clone()));
            assert_eq!(in_chunks, whole, "{text:?} at {cuts:?}");
            whole
        });

    let back = |api| read_back(api, &setup.written(api, [bytes]));
    let whole = of_responses;
    let of = |name: &str| -> String {
        let deltas = whole.iter().filter(|event| event["type"] == name);
        deltas.filter_map(|event| event["delta"].as_str()).collect()
    };
    assert_eq!(of("response.output_text.delta"), said.shown.concat(), "{text:?}");
    assert_eq!(of("response.function_call_arguments.delta"), said.arguments, "{text:?}");
    assert_eq!(of("response.reasoning_text.delta"), reasoning, "{text:?}");
    let [shown, arguments, thinking] = back(Api::Responses);
    assert_eq!([shown, arguments], [said.shown.concat(), said.arguments.clone()], "{text:?}");
    if matches!(setup.thoughts, ReasoningMode::Raw | ReasoningMode::Drop) {
        assert_eq!(thinking, reasoning, "{text:?}");
    }

    let whole = of_messages;
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
    let [shown, arguments, thinking] = back(Api::Messages);
    assert_eq!(shown, said.shown.concat(), "{text:?}");
    let inputs = of("/delta/partial_json").into_iter();
    // White space around the input is not part of it.
    let inputs: String = inputs.map(|it| it.trim_matches([' ', '\t', '\r', '\n'])).collect();
    assert_eq!(compact(&arguments), compact(&inputs), "{text:?}");
    assert_eq!(thinking, of("/delta/thinking").concat(), "{text:?}");

    let whole = of_chat;
    let of = |place: &str| -> String {
        let deltas = whole.iter().filter_map(|chunk| chunk.pointer("/choices/0/delta"));
        deltas.filter_map(|delta| delta.pointer(place)?.as_str()).collect()
    };
    assert_eq!(of("/content"), said.shown.join("\n\n"), "{text:?}");
    assert_eq!(of("/tool_calls/0/function/arguments"), said.arguments, "{text:?}");
    if setup.thoughts == ReasoningMode::Raw {
        assert_eq!(of("/reasoning_content").replace('\n', ""), reasoning.replace('\n', ""));
    }
    let texts = ["/content", "/tool_calls/0/function/arguments", "/reasoning_content"].map(of);
    assert_eq!(back(Api::ChatCompletions), texts, "{text:?}");
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
    let written = |api| [&one, &two].map(|text| setup.written(api, [text.as_bytes()]));
    let [one_out, two_out] = written(Api::Responses);
    if setup.thoughts != ReasoningMode::Drop && types(&one_out) != types(&two_out) {
        return;
    }
    for api in Api::ALL {
        let [one_out, two_out] = written(api);
        match is_late {
            true => {
                assert_eq!(checked(api, &one_out), checked(api, &two_out), "{one:?} and {two:?}");
            }
            false => assert_eq!(one_out, two_out, "{one:?} and {two:?}"),
        }
    }
}
