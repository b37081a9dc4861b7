//! Model outputs of many families with the expected reasoning, content and calls, if the folder
//! `OPENCHATML_TOOL_CALLS` is available: the folder `fixtures` of the Python package `canitoolcall`.
//!
//! `cargo test -p openchatml --test api tool_calls -- --nocapture` prints a table, and
//! `OPENCHATML_TOOL_CALLS_SHOW` names a family whose failures it prints, too.

use std::collections::BTreeMap;
use std::path::Path;

use openchatml::dialects::Completion;
use openchatml::{
    Control, End, Event, Message, ReadOptions, Section, Stream, TextFormat, Tool, parse,
};
use openchatml_testkit::external_files;
use serde_json::{Value, json};

/// The formats of the variants of models, and the number of fixtures that must agree. A variant is
/// named by the beginning of its name, or by its name and `$`.
const VARIANTS: &[(&str, &str, &str, usize)] = &[
    ("deepseek", "deepseek-v3$", "deepseek-v3", 17),
    ("deepseek", "deepseek-v31", "deepseek-v3.1", 12),
    ("deepseek", "deepseek-v32", "deepseek-v3.2", 16),
    ("deepseek", "deepseek-v4$", "deepseek-v4", 17),
    ("deepseek", "deepseek-v41", "deepseek-v4.1", 20),
    ("gemma4", "gemma4", "gemma-4", 47),
    ("glm", "glm45", "glm-4.5", 18),
    ("glm", "glm47", "glm-4.7", 28),
    ("glm", "glm53", "glm-4.7", 4),
    ("gpt-oss", "gpt-oss", "harmony", 48),
    ("llama", "llama3", "llama-3", 24),
    ("llama", "llama4", "llama-4", 10),
    ("mistral", "devstral", "mistral-v11", 2),
    ("mistral", "v11", "mistral-v11", 10),
    ("mistral", "v13", "mistral-v13", 25),
    ("mistral", "v3", "mistral-v7", 10),
    ("kimi", "kimi-k2", "kimi-k2", 25),
    ("kimi", "kimi-k3", "kimi-k3", 23),
    ("qwen3-hermes", "qwen3", "qwen3", 49),
    ("qwen3-xml", "qwen3-coder", "qwen3-coder", 17),
    ("qwen3-xml", "qwen3.5", "qwen3.5", 10),
    ("qwen3-xml", "qwen3.8", "qwen3.8", 24),
];

#[test]
fn tool_calls_are_read_as_expected() {
    let Some(folder) = external_files::folder("OPENCHATML_TOOL_CALLS", None, "469 tool calls")
    else {
        return;
    };
    let shown = std::env::var("OPENCHATML_TOOL_CALLS_SHOW").unwrap_or_default();
    let mut below = Vec::new();
    println!("{:14} {:16} {:>8} {:>9} {:>5}", "family", "variant", "whole", "streamed", "of");
    for &(family, variant, format, least) in VARIANTS {
        let format: TextFormat = format.parse().expect("a text format");
        let [mut whole, mut streamed, mut count] = [0; 3];
        for fixture in fixtures(&folder, family, variant) {
            let case = Case::of(&fixture, format);
            let read = case.whole();
            let is_right = case.agrees(&read);
            let told = case.streamed();
            count += 1;
            whole += usize::from(is_right);
            streamed += usize::from(is_right && told == read);
            if (!is_right || told != read) && shown == family {
                println!("{}\n  {:?}\n  {read}", fixture["id"], case.text);
                println!("  {}", fixture.get("expected").unwrap_or(&fixture["expected_error"]));
                if told != read {
                    println!("  streamed: {told}");
                }
            }
        }
        println!("{family:14} {variant:16} {whole:8} {streamed:9} {count:5}");
        if whole.min(streamed) < least {
            below.push((family, variant, whole, streamed, least));
        }
    }
    assert_eq!(below, [], "fewer fixtures agree than before");
}

/// Returns the fixtures of a variant of a family, each with the data of its family.
fn fixtures(folder: &Path, family: &str, variant: &str) -> Vec<Value> {
    let folder = folder.join(family);
    let text = std::fs::read_to_string(folder.join("family.json")).expect("a family");
    let about: Value = serde_json::from_str(&text).expect("JSON");
    let models = about["reference_models"].as_array().expect("models").iter();
    let models: BTreeMap<_, _> = models.map(|it| (it["repo"].as_str(), it)).collect();
    let files = std::fs::read_dir(&folder).expect("a folder").map(|it| it.expect("a file").path());
    let mut files: Vec<_> =
        files.filter(|it| it.extension().is_some_and(|it| it == "jsonl")).collect();
    files.sort();
    let mut found = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(file).expect("a file of fixtures");
        for line in text.lines() {
            let mut fixture: Value = serde_json::from_str(line).expect("a fixture");
            let Some(model) = models.get(&fixture["models"][0].as_str()) else { continue };
            let is_of_variant = |it: &str| match variant.strip_suffix('$') {
                Some(name) => it == name,
                None => it.starts_with(variant),
            };
            if !model["variant"].as_str().is_some_and(is_of_variant) {
                continue;
            }
            if fixture["generation_prompt"].is_null() {
                fixture["generation_prompt"] = model["default_generation_prompt"].clone();
            }
            found.push(fixture);
        }
    }
    found
}

/// A fixture as a completion in a format.
struct Case<'f> {
    fixture: &'f Value,
    format: TextFormat,
    options: ReadOptions,
    text: String,
}

impl<'f> Case<'f> {
    fn of(fixture: &'f Value, format: TextFormat) -> Self {
        let mut options = ReadOptions::completion();
        // The text is all that the model has written.
        options.past_stop = true;
        options.in_reasoning =
            thinks(fixture["generation_prompt"].as_str().unwrap_or_default(), format);
        let tools = fixture["tools"].as_array().expect("tools");
        options.tools = tools.iter().map(tool).collect();
        let mut text = fixture["raw_output"].as_str().expect("a text").to_owned();
        let is_truncated =
            fixture["tags"].as_array().is_some_and(|it| it.contains(&json!("truncated")));
        if !is_truncated {
            // The fixtures end before the token at which the model has stopped.
            let calls = fixture["expected"]["tool_calls"].as_array();
            text.push_str(stop(format, calls.is_some_and(|it| !it.is_empty())));
        }
        Self { fixture, format, options, text }
    }

    fn whole(&self) -> Value {
        result(parse(&self.text, self.format.into(), &self.options).into_conversation().messages)
    }

    /// Reads the text character by character. The deltas of each message must be its text.
    fn streamed(&self) -> Value {
        let mut stream = Stream::new(self.format, &self.options);
        let (mut messages, mut told) = (Vec::new(), BTreeMap::<usize, String>::new());
        let mut take = |event: Event<'_>| match event {
            Event::Delta { index, text, .. }
            | Event::ReasoningDelta { index, text }
            | Event::ToolCallDelta { index, text } => {
                told.entry(index).or_default().push_str(&text)
            }
            Event::MessageDone { message, .. } => {
                messages.push(Message::clone(&message).into_owned())
            }
            Event::MessageHidden { index } => messages[index].recovered = true,
            _ => {}
        };
        let mut bytes = [0; 4];
        for c in self.text.chars() {
            stream.feed_with(c.encode_utf8(&mut bytes), &mut take);
        }
        stream.finish_with(&mut take);
        // What follows the stop token of a completion has no deltas.
        for (index, message) in messages.iter().enumerate().filter(|(_, it)| !it.foreign) {
            let deltas = told.get(&index).map(String::as_str).unwrap_or_default();
            assert_eq!(deltas, message.body.text(), "{}", self.fixture["id"]);
        }
        result(messages)
    }

    /// Whether a result is the expected one.
    fn agrees(&self, read: &Value) -> bool {
        let Some(expected) = self.fixture.get("expected") else {
            let accepted = self.fixture["expected_error"]["accept"].as_array().expect("outcomes");
            let calls_nothing = read["tool_calls"] == json!([]);
            return calls_nothing
                && (accepted.contains(&json!("no_tool_calls")) || read["content"] == self.text);
        };
        let text = |key: &str| expected[key].as_str().unwrap_or_default();
        let same = |key: &str| read[key].as_str() == Some(text(key));
        let [calls, wanted] =
            [read, expected].map(|it| it["tool_calls"].as_array().expect("calls"));
        same("content")
            && same("reasoning_content")
            && calls.len() == wanted.len()
            && calls.iter().zip(wanted).all(|(one, two)| one["name"] == two["name"])
            && calls
                .iter()
                .zip(wanted)
                .all(|(one, two)| is_equal(&one["arguments"], &two["arguments"]))
    }
}

/// Whether a prompt ends inside of reasoning.
fn thinks(prompt: &str, format: TextFormat) -> bool {
    let controls = format.dialect().controls;
    let last = |control| controls.spelling(control).and_then(|it| prompt.rfind(it));
    let open = last(Control::OpenSection(Section::Reasoning));
    open.is_some() && open > last(Control::CloseSection(Section::Reasoning))
}

/// Returns the token at which a model stops.
fn stop(format: TextFormat, calls: bool) -> &'static str {
    let control = match format.completion() {
        Ok(Completion::Sections(sections)) => sections.close,
        _ if calls => Control::Call,
        _ => Control::Return,
    };
    format.dialect().controls.spelling(control).unwrap_or_default()
}

fn tool(tool: &Value) -> Tool<'static> {
    let function = &tool["function"];
    let mut tool = Tool::new(function["name"].as_str().expect("a name").to_owned());
    let parameters = function["parameters"].to_string();
    let parameters = openchatml::Value::from_json(&parameters, &Default::default());
    tool.parameters = parameters.ok().map(openchatml::Value::into_owned);
    tool
}

/// Returns the reasoning, the content and the certain calls.
fn result(messages: Vec<Message<'_>>) -> Value {
    let text = |is: fn(&Message<'_>) -> bool| -> String {
        messages.iter().filter(|it| is(it)).map(|it| it.body.text().into_owned()).collect()
    };
    let is_content = |it: &Message<'_>| it.visibility() == openchatml::Visibility::User;
    let calls = messages.iter().filter(|it| it.is_call() && !it.recovered && it.end == End::Call);
    let calls = calls.map(|it| {
        let recipient = it.recipient.as_deref().unwrap_or_default();
        let name = openchatml::function_name(recipient).unwrap_or(recipient);
        let arguments: Value = serde_json::from_str(&it.body.text()).unwrap_or_default();
        json!({"name": name, "arguments": arguments})
    });
    json!({
        "content": text(is_content),
        "reasoning_content": text(|it| it.is_reasoning()),
        "tool_calls": calls.collect::<Vec<_>>(),
    })
}

/// Whether two values are the same JSON. `1` and `1.0` are the same number.
fn is_equal(one: &Value, two: &Value) -> bool {
    match (one, two) {
        (Value::Number(one), Value::Number(two)) => one == two || one.as_f64() == two.as_f64(),
        (Value::Array(one), Value::Array(two)) => {
            one.len() == two.len() && one.iter().zip(two).all(|(one, two)| is_equal(one, two))
        }
        (Value::Object(one), Value::Object(two)) => {
            let same =
                |(key, one): (&String, &Value)| two.get(key).is_some_and(|two| is_equal(one, two));
            one.len() == two.len() && one.iter().all(same)
        }
        _ => one == two,
    }
}
