//! Expectations of other projects about streamed outputs of gpt-oss.

use openchatml::{Event, Message, ReadOptions, Recover, Role, Stream, TextFormat};
use serde_json::Value;

use super::chat::{Chat, ChatDelta, Deltas, completion, expected, same, text_of};
use super::score::Score;

fn chunks(input: &Value) -> Vec<&str> {
    let chunks = input["chunks"].as_array().expect("chunks");
    chunks.iter().map(|chunk| chunk.as_str().expect("text")).collect()
}

/// Returns the deltas of an output in these chunks. The last one includes the events of its end.
fn deltas(chunks: &[&str], options: &ReadOptions) -> Vec<ChatDelta> {
    let mut stream = Stream::new(TextFormat::HARMONY, options);
    let mut deltas = Deltas::default();
    for chunk in chunks {
        deltas.chunk();
        stream.feed_with(chunk, |event| deltas.event(event));
    }
    stream.finish_with(|event| deltas.event(event));
    deltas.chunks
}

#[test]
fn streams_equal_those_of_other_projects() {
    let mut score = Score::new("harmony.text_stream");
    for case in score.cases(&["ollama_harmony.jsonl"]) {
        let input = &case["input"];
        let options = match input["implicit_start"] == true {
            true => completion(),
            false => ReadOptions::default(),
        };
        let mut stream = Stream::new(TextFormat::HARMONY, &options);
        let mut content: Vec<String> = Vec::new();
        let mut messages = 0;
        for chunk in chunks(input) {
            let mut said = String::new();
            stream.feed_with(chunk, |event| match event {
                Event::Delta { text, .. }
                | Event::ReasoningDelta { text, .. }
                | Event::ToolCallDelta { text, .. } => said.push_str(&text),
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
    score.finish();
}

/// Whether a delta has the expected fields.
fn is_delta(delta: &ChatDelta, wanted: &Value) -> bool {
    let text = |text: &str, key: &str| {
        wanted.get(key).is_none_or(|wanted| wanted.as_str().unwrap_or_default() == text)
    };
    let calls = |calls: &Value| {
        let calls = calls.as_array().map(Vec::as_slice).unwrap_or_default();
        let call = |call: &Value| {
            let index = call["index"].as_u64().and_then(|it| usize::try_from(it).ok());
            let name = call["name"].as_str().map(str::to_owned);
            (index.expect("a place"), name, text_of(&call["arguments"]))
        };
        calls.iter().map(call).collect::<Vec<_>>() == delta.calls
    };
    match wanted {
        Value::Null => *delta == ChatDelta::default(),
        wanted => {
            text(&delta.reasoning, "reasoning")
                && text(&delta.content, "content")
                && wanted.get("tool_calls").is_none_or(calls)
        }
    }
}

#[test]
fn deltas_equal_those_of_other_projects() {
    let mut score = Score::new("gptoss.chat_stream");
    for case in score.cases(&["vllm_gptoss.jsonl"]) {
        let chunks = case["input"]["deltas"].as_array().expect("deltas").iter();
        let chunks: Vec<_> = chunks.map(|chunk| chunk["text"].as_str().expect("text")).collect();
        let told = deltas(&chunks, &completion());
        let wanted = case["expected"]["deltas"].as_array().expect("deltas");
        let is_same = told.len() == wanted.len()
            && told.iter().zip(wanted).all(|(delta, wanted)| is_delta(delta, wanted));
        score.take(&case["id"], is_same, || format!("{told:#?}\n  {wanted:?}"));
    }
    score.finish();
}

#[test]
fn deltas_with_whole_calls_equal_those_of_other_projects() {
    let mut score = Score::new("gptoss.chat_text_stream");
    for case in score.cases(&["ollama_harmony.jsonl"]) {
        let told = deltas(&chunks(&case["input"]), &completion());
        let wanted = case["expected"]["per_chunk"].as_array().expect("deltas");
        // This project emits a call only when it is complete.
        let without_calls = |delta: &ChatDelta| Chat {
            reasoning: delta.reasoning.clone(),
            content: delta.content.clone(),
            calls: Vec::new(),
        };
        let mut calls = Chat::default();
        for (_, name, arguments) in told.iter().flat_map(|delta| delta.calls.clone()) {
            match (name, calls.calls.last_mut()) {
                (None, Some((_, all))) => all.push_str(&arguments),
                (name, _) => calls.calls.push((name.unwrap_or_default(), arguments)),
            }
        }
        let mut wanted_calls = Chat::default();
        let mut is_same = told.len() == wanted.len();
        for (delta, wanted) in told.iter().zip(wanted) {
            let mut wanted = expected(wanted);
            wanted_calls.calls.append(&mut wanted.calls);
            is_same &= same(&without_calls(delta), &wanted);
        }
        is_same &= same(&calls, &wanted_calls);
        score.take(&case["id"], is_same, || format!("{told:#?}\n  {wanted:?}"));
    }
    score.finish();
}

/// Returns the stream as three kinds of text, with adjacent texts of one kind joined.
fn semantic(chunks: &[&str]) -> Vec<(&'static str, String)> {
    let mut options = completion();
    options.recover = Recover::Drop;
    let mut stream = Stream::new(TextFormat::HARMONY, &options);
    let mut told = Vec::new();
    let mut hear = |event: Event<'_>| match event {
        Event::Delta { text, .. } => told.push(("normal", text.into_owned())),
        Event::ReasoningDelta { text, .. } => told.push(("reasoning", text.into_owned())),
        Event::ToolCallDelta { text, .. } => told.push(("tool_call", text.into_owned())),
        _ => {}
    };
    for chunk in chunks {
        stream.feed_with(chunk, &mut hear);
    }
    stream.finish_with(&mut hear);
    joined(told)
}

fn joined(texts: Vec<(&'static str, String)>) -> Vec<(&'static str, String)> {
    let mut runs: Vec<(&'static str, String)> = Vec::new();
    for (kind, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
        match runs.last_mut() {
            Some((last, run)) if *last == kind => run.push_str(&text),
            _ => runs.push((kind, text)),
        }
    }
    runs
}

fn semantic_score(kind: &'static str) {
    let mut score = Score::new(kind);
    for case in score.cases(&["sglang_gptoss.jsonl"]) {
        let told = semantic(&chunks(&case["input"]));
        let events = case["expected"]["events"].as_array().expect("events");
        let wanted = events.iter().map(|event| {
            let known = ["normal", "reasoning", "tool_call"];
            let kind = known.into_iter().find(|kind| event["type"] == **kind);
            (kind.expect("a kind"), text_of(&event["text"]))
        });
        let wanted = joined(wanted.collect());
        score.take(&case["id"], told == wanted, || format!("{told:?}\n  {wanted:?}"));
    }
    score.finish();
}

#[test]
fn kinds_of_text_equal_those_of_other_projects() {
    semantic_score("gptoss.semantic_events");
}

/// Without control tokens nothing about a text is certain, so it is not shown.
#[test]
fn text_without_control_tokens_is_hidden() {
    semantic_score("gptoss.stripped_text_recovery");
}

#[test]
fn reasoning_ends_as_in_other_projects() {
    let mut score = Score::new("gptoss.is_reasoning_end");
    for case in score.cases(&["vllm_gptoss.jsonl"]) {
        let mut stream = Stream::new(TextFormat::HARMONY, &ReadOptions::default());
        stream.feed_with(text_of(&case["input"]["text"]).as_bytes(), |_| {});
        let is_answer = stream.open_message().is_some_and(Message::is_answer);
        let wanted = &case["expected"]["reasoning_ended"];
        score.take(&case["id"], *wanted == is_answer, || format!("{}", case["input"]["text"]));
    }
    score.finish();
}

#[test]
fn the_same_text_is_held_back_as_in_other_projects() {
    let mut score = Score::new("stream.prefix_hold");
    for case in score.cases(&["sglang_gptoss.jsonl"]) {
        let mut stream = Stream::new(TextFormat::HARMONY, &completion());
        stream.feed_with(b"<|channel|>final<|message|>", |_| {});
        let (mut told, mut is_done) = (String::new(), false);
        let text = text_of(&case["input"]["text"]);
        stream.feed_with(&text, |event| match event {
            Event::Delta { text, .. } => told.push_str(&text),
            Event::MessageDone { .. } => is_done = true,
            _ => {}
        });
        let mut emit = text_of(&case["expected"]["emit"]);
        // A complete marker is not text, and takes effect.
        for marker in case["input"]["markers"].as_array().expect("markers") {
            let marker = text_of(marker);
            assert_eq!(is_done, emit.contains(&marker), "{}", case["id"]);
            emit = emit.replace(&marker, "");
        }
        score.take(&case["id"], told == emit, || format!("{told:?} of {text:?}"));
    }
    score.finish();
}
