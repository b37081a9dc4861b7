//! What other projects expect of raw output of gpt-oss, from their own tests: the folder that
//! `OPENCHATML_THIRD_PARTY` names. Where they disagree with us, or with each other, the case is
//! listed here with the reason.

use openchatml::{
    Event, Format, Policy, ReadOptions, RenderOptions, Role, Stream, Visibility, history, parse,
    render,
};
use serde_json::Value;

use crate::third_party::{cases, lines};

/// The cases that we read in another way, and why.
const DIFFERENT: &[(&str, &str)] = &[
    ("vllm-gptoss-017-malformed-recovers-raw", "shows a header that lost its end to the user"),
    ("vllm-gptoss-021-dup-recipient", "drops a call that names its recipient twice, and the same"),
    ("llamacpp-gptoss-005-none-format", "an option shows reasoning as content"),
    ("llamacpp-gptoss-024-none2", "an option shows reasoning as content"),
    ("llamacpp-gptoss-028-stray-header", "reads a message with two channels by the second"),
    ("dynamo-no-header", "gives nothing of an output with one message that lost its header"),
    ("dynamo-truncated-json", "completes the arguments of a call that was cut off"),
    ("ollama-header-3", "reads a header without a role as a tool's"),
];

fn harmony() -> Format {
    "harmony".parse().expect("a format")
}

fn completion() -> ReadOptions {
    let mut options = ReadOptions::default();
    options.continues = Some(Role::Assistant);
    options.open_prompt = true;
    options
}

/// What a chat client gets of an output.
#[derive(Debug, Default, PartialEq)]
struct Chat {
    reasoning: String,
    content: String,
    calls: Vec<(String, String)>,
}

fn chat(text: &str) -> Chat {
    let conversation = parse(text, harmony(), &completion()).into_conversation();
    let mut chat = Chat::default();
    for message in &conversation.messages {
        let body = message.body.text();
        match message.recipient.as_deref() {
            _ if message.foreign || message.role != Role::Assistant => {}
            Some(tool) => {
                let is_builtin = tool == "python" || tool.starts_with("browser.");
                if !is_builtin && !matches!(tool, "assistant" | "user") {
                    let name = tool.strip_prefix("functions.").unwrap_or(tool);
                    chat.calls.push((name.to_owned(), body.into_owned()));
                }
            }
            None if Policy::default().visibility(message) == Visibility::User => {
                chat.content.push_str(&body);
            }
            // Text that lost its place is hidden, and no reasoning.
            None if message.is_reasoning() && !message.recovered => chat.reasoning.push_str(&body),
            None => {}
        }
    }
    chat
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn expected(value: &Value) -> Chat {
    let calls = value["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
    let call = |call: &Value| {
        let arguments = [&call["arguments"], &call["arguments_json"]];
        let arguments = arguments.into_iter().find(|it| !it.is_null()).unwrap_or(&Value::Null);
        let arguments = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
        (text_of(&call["name"]), arguments)
    };
    Chat {
        reasoning: text_of(&value["reasoning"]),
        content: text_of(&value["content"]),
        calls: calls.iter().map(call).collect(),
    }
}

/// Arguments are compared as JSON where they are JSON.
fn same(one: &Chat, two: &Chat) -> bool {
    let json = |text: &str| serde_json::from_str::<Value>(text).map_err(|_| text.trim().to_owned());
    let calls = |chat: &Chat| {
        chat.calls.iter().map(|(name, args)| (name.clone(), json(args))).collect::<Vec<_>>()
    };
    // Some join several messages by a line break.
    let joined = |text: &str| text.replace('\n', "");
    one.reasoning == two.reasoning
        && joined(&one.content) == joined(&two.content)
        && calls(one) == calls(two)
}

struct Score {
    same: usize,
    all: usize,
    wrong: Vec<String>,
}

impl Score {
    fn new() -> Self {
        Self { same: 0, all: 0, wrong: Vec::new() }
    }

    fn take(&mut self, id: &Value, is_same: bool, told: impl FnOnce() -> String) {
        let id = id.as_str().expect("an id");
        let listed = DIFFERENT.iter().any(|(name, _)| *name == id);
        self.all += 1;
        self.same += usize::from(is_same);
        match (is_same, listed) {
            (false, false) => self.wrong.push(format!("{id}: {}", told())),
            (true, true) => self.wrong.push(format!("{id} is listed as different, and is not")),
            _ => {}
        }
    }

    fn finish(self, least: usize) {
        assert!(self.wrong.is_empty(), "{} of {}\n{}", self.same, self.all, self.wrong.join("\n"));
        assert!(self.same >= least, "{} of {}", self.same, self.all);
    }
}

#[test]
fn outputs_say_what_others_read_in_them() {
    let files = ["vllm_gptoss.jsonl", "llamacpp_gptoss.jsonl", "dynamo_gptoss.jsonl"];
    let mut score = Score::new();
    for file in files {
        let Some(cases) = cases(file) else { return };
        for case in cases.iter().filter(|case| case["kind"] == "gptoss.chat_output") {
            let text = case["input"]["text"].as_str().expect("a text");
            let (read, wanted) = (chat(text), expected(&case["expected"]));
            score.take(&case["id"], same(&read, &wanted), || {
                format!("{text:?}\n  {read:?}\n  {wanted:?}")
            });
        }
    }
    score.finish(53);
}

#[test]
fn headers_say_what_others_read_in_them() {
    let Some(cases) = cases("ollama_harmony.jsonl") else { return };
    let mut score = Score::new();
    for case in cases.iter().filter(|case| case["kind"] == "harmony.header_text") {
        let header = case["input"]["header"].as_str().expect("a header");
        let text = format!("<|start|>{header}<|message|>{{}}<|end|>");
        let conversation = parse(&text, harmony(), &ReadOptions::default()).into_conversation();
        let message = &conversation.messages[0];
        let wanted = &case["expected"];
        let is_same = wanted["role"] == message.role.as_str()
            && wanted["channel"].as_str() == message.channel.map(|channel| channel.as_str())
            && wanted["recipient"].as_str() == message.recipient.as_deref();
        score.take(&case["id"], is_same, || format!("{header:?} is {message:?}, not {wanted}"));
    }
    score.finish(8);
}

#[test]
fn streams_tell_what_others_tell() {
    let Some(cases) = cases("ollama_harmony.jsonl") else { return };
    let mut score = Score::new();
    for case in cases.iter().filter(|case| case["kind"] == "harmony.text_stream") {
        let input = &case["input"];
        let options = match input["implicit_start"] == true {
            true => completion(),
            false => ReadOptions::default(),
        };
        let mut stream = Stream::new(harmony(), &options).expect("a text format");
        let mut content: Vec<String> = Vec::new();
        let mut messages = 0;
        for chunk in input["chunks"].as_array().expect("chunks") {
            let mut said = String::new();
            stream.feed(chunk.as_str().expect("text").as_bytes(), |event| match event {
                Event::Delta { text, .. }
                | Event::ReasoningDelta { text, .. }
                | Event::ToolCallDelta { text, .. } => said.push_str(text),
                Event::MessageDone { message, .. } => {
                    messages += 1;
                    if message.role != Role::Assistant {
                        said.push_str(&message.body.text());
                    }
                }
                _ => {}
            });
            content.push(said);
        }
        let events = case["expected"]["events_per_chunk"].as_array().expect("events");
        let of = |kind: &str| {
            let is = move |event: &&Value| event["event"] == *kind;
            events.iter().flat_map(|chunk| chunk.as_array().expect("events")).filter(is).count()
        };
        let texts = events.iter().flat_map(|chunk| chunk.as_array().expect("events"));
        let wanted: String = texts.map(|event| text_of(&event["text"])).collect();
        let is_same = content.concat() == wanted && messages == of("message_end");
        score.take(&case["id"], is_same, || format!("{content:?}, {messages} messages"));
    }
    score.finish(1);
}

/// The conversation of a case, as it is spelled.
fn raw_conversation(line: &str) -> String {
    #[derive(serde::Deserialize)]
    struct Case {
        input: Input,
    }
    #[derive(serde::Deserialize)]
    struct Input {
        conversation: Box<serde_json::value::RawValue>,
    }
    let case: Case = serde_json::from_str(line).expect("a case");
    case.input.conversation.get().to_owned()
}

#[test]
fn prompts_are_those_of_the_reference() {
    let Some(cases) = cases("harmony_upstream.jsonl") else { return };
    let json: Format = "harmony:json".parse().expect("a format");
    let mut score = Score::new();
    let raw = lines("harmony_upstream.jsonl");
    let rendered = |(_, case): &(usize, &Value)| case["kind"] == "harmony.render";
    for (index, case) in cases.iter().enumerate().filter(rendered) {
        let input = &case["input"];
        // As it is spelled: the order of keys counts.
        let text = raw_conversation(&raw[index]);
        let parsed = parse(&text, json, &ReadOptions::default());
        assert!(!parsed.has_errors(), "{}: {:?}", case["id"], parsed.diagnostics);
        let conversation = parsed.into_conversation();
        let kept = match input["auto_drop_analysis"] == true {
            true => history::next_prompt(&conversation),
            false => conversation.clone(),
        };
        let mut options = RenderOptions::default();
        if input["mode"] == "completion" {
            options.generation_prompt = Some(Role::Assistant);
        }
        let prompt = render(&kept.into(), harmony(), &options).expect("a prompt");
        let wanted = case["expected"]["text"].as_str().expect("a text");
        score.take(&case["id"], prompt == wanted, || format!("{prompt}\n--- wanted\n{wanted}"));
        let again = render(&conversation.into(), json, &RenderOptions::default()).expect("JSON");
        let (again, read): (Value, Value) = (
            serde_json::from_str(&again).expect("JSON"),
            serde_json::from_str(&text).expect("JSON"),
        );
        assert_eq!(
            again["messages"].as_array().map(Vec::len),
            read["messages"].as_array().map(Vec::len)
        );
    }
    score.finish(14);
}
