//! Streams in other protocols: decisions and fields of the server.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use std::sync::{Arc, Mutex};

use openchatml::wire::{Api, Ending, Incomplete, Reasoning, Response, Usage, Writer};
use openchatml::{Data, Event, Keep, Message, ReadOptions, Role, Stream, TextFormat, Value};
use serde_json::{Value as Json, json};

const ANSWER: &str = "<|channel|>analysis<|message|>Easy.<|end|><|start|>assistant\
    <|channel|>final<|message|>4.<|return|>";

fn stream(format: &str) -> Stream {
    let mut options = ReadOptions::default();
    options.continues = Some(Role::Assistant);
    Stream::new(format.parse().unwrap(), &options)
}

fn writer(api: Api) -> Writer {
    Writer::new(api, Response::new(format!("{}1", api.id_prefix()), "m", 1))
}

fn lines(out: &str) -> Vec<Json> {
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Writes a completion in Harmony, fed in chunks of this size.
fn written(mut writer: Writer, text: &str, chunk: usize, ending: &Ending) -> Vec<Json> {
    let mut out = String::new();
    let mut stream = stream("harmony");
    for chunk in text.as_bytes().chunks(chunk) {
        stream.feed_with(chunk, |event| writer.push(&event, &mut out));
    }
    stream.finish_with(|event| writer.push(&event, &mut out));
    writer.finish(ending, &mut out);
    lines(&out)
}

fn types(events: &[Json]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

#[test]
fn a_summarizer_receives_paragraphs() {
    let text = "<|channel|>analysis<|message|>\n\nOne.\n\n \n\nTwo\r\nlines.\r\n\r\nThree.<|end|>\
        <|start|>assistant<|channel|>analysis<|message|>Four.\n\n<|end|>\
        <|start|>assistant<|channel|>analysis<|message|> <|end|>";
    for chunk in [1, 2, 3, 1000] {
        let given = Arc::new(Mutex::new(Vec::new()));
        let list = Arc::clone(&given);
        let policy = Reasoning::summary(move |paragraph| {
            list.lock().unwrap().push(paragraph.to_owned());
            String::new()
        });
        let events =
            written(writer(Api::Responses).reasoning(policy), text, chunk, &Ending::default());
        let given = given.lock().unwrap();
        assert_eq!(*given, ["One.", "Two\r\nlines.", "Three.", "Four."]);
        // With an empty summary, nothing reveals that there was reasoning.
        let all = ["response.created", "response.in_progress", "response.completed"];
        assert_eq!(types(&events), all);
    }
}

#[test]
fn a_server_can_write_its_own_summaries() {
    let thought = Message::reasoning("");
    let answer = Message::answer("");
    let events = [
        Event::MessageStart { index: 0, message: (&thought).into() },
        Event::ReasoningDelta { index: 0, text: "Secret.".into() },
        Event::ReasoningSummaryDelta { index: 0, text: "I ".into() },
        Event::ReasoningSummaryDelta { index: 0, text: "add.".into() },
        Event::MessageDone { index: 0, message: (&thought).into() },
        Event::MessageStart { index: 1, message: (&answer).into() },
        Event::Delta { index: 1, text: "4.".into(), is_preamble: false },
        // The summary comes too late.
        Event::ReasoningSummaryDelta { index: 0, text: "Late.".into() },
        Event::MessageDone { index: 1, message: (&answer).into() },
    ];
    let mute = || Reasoning::summary(|_| String::new());
    for (policy, is_written) in [(Reasoning::Drop, false), (mute(), true), (Reasoning::Raw, true)] {
        let is_raw = matches!(policy, Reasoning::Raw);
        let (mut out, mut writer) = (String::new(), writer(Api::Responses).reasoning(policy));
        events.iter().for_each(|event| writer.push(event, &mut out));
        writer.finish(&Ending::default(), &mut out);
        assert_eq!(out.contains("Secret."), is_raw);
        assert!(!out.contains("Late."));
        let output = lines(&out).pop().unwrap()["response"]["output"].take();
        let summary = json!([{"type": "summary_text", "text": "I add."}]);
        assert_eq!(output[0]["summary"] == summary, is_written, "{output}");
    }
    for (policy, said) in [(Reasoning::Drop, None), (mute(), Some("I add."))] {
        let (mut out, mut writer) = (String::new(), writer(Api::ChatCompletions).reasoning(policy));
        events.iter().for_each(|event| writer.push(event, &mut out));
        let chunks = lines(&out);
        let deltas = chunks.iter().map(|chunk| &chunk["choices"][0]["delta"]);
        let reasoning: String =
            deltas.filter_map(|delta| delta["reasoning_content"].as_str()).collect();
        assert_eq!(reasoning, said.unwrap_or_default());
    }
}

/// Diagnostics report wrong arguments too, but a stream that has too many of them keeps none.
#[test]
fn wrong_arguments_are_found_without_diagnostics() {
    for (call, is_complete) in [
        ("functions.f <|constrain|>json<|message|>{}", true),
        ("functions.f <|constrain|>json<|message|>{", false),
        ("functions.f <|constrain|>json<|message|>{\"a\": 1, \"a\": 2}", false),
        ("functions.f<|message|>x", true),
        ("functions.f<|message|> ", false),
        ("browser.f<|message|>x", true),
        ("browser.f<|message|> ", true),
    ] {
        let text = format!("<|channel|>commentary to={call}<|call|>");
        let mut options = ReadOptions::default();
        options.continues = Some(Role::Assistant);
        options.limits.diagnostics = 0;
        let mut stream = Stream::new(TextFormat::HARMONY, &options);
        let (mut out, mut writer) = (String::new(), writer(Api::Responses));
        // An event of a diagnostic would have the same effect.
        let mut push = |event: Event<'_>| {
            if !matches!(event, Event::Diagnostic { .. }) {
                writer.push(&event, &mut out);
            }
        };
        stream.feed_with(text.as_bytes(), &mut push);
        stream.finish_with(&mut push);
        writer.finish(&Ending::default(), &mut out);
        let last = lines(&out).pop().unwrap();
        let expected = if is_complete { "completed" } else { "incomplete" };
        assert_eq!(last["response"]["status"], expected, "{call}: {out}");
    }
}

#[test]
fn a_response_that_is_cancelled_is_incomplete() {
    for (incomplete, details, finish_reason) in [
        (None, json!({}), "length"),
        (Some(Incomplete::MaxOutputTokens), json!({"reason": "max_output_tokens"}), "length"),
        (Some(Incomplete::ContentFilter), json!({"reason": "content_filter"}), "content_filter"),
    ] {
        let mut ending = Ending::default();
        ending.incomplete = incomplete;
        let (mut responses, mut chat) = (writer(Api::Responses), writer(Api::ChatCompletions));
        let (mut out, mut chunks) = (String::new(), String::new());
        let mut push = |event: Event<'_>| {
            responses.push(&event, &mut out);
            chat.push(&event, &mut chunks);
        };
        let mut stream = stream("harmony");
        stream.feed_with(b"<|channel|>final<|message|>Once upon", &mut push);
        stream.cancel_with(&mut push);
        responses.finish(&ending, &mut out);
        chat.finish(&ending, &mut chunks);
        let last = lines(&out).pop().unwrap();
        assert_eq!(last["type"], "response.incomplete");
        assert_eq!(last["response"]["incomplete_details"], details);
        assert_eq!(last["response"]["output"][0]["status"], "incomplete");
        let last = lines(&chunks).pop().unwrap();
        assert_eq!(last["choices"][0]["finish_reason"], finish_reason);
    }
}

#[test]
fn only_incomplete_responses_have_a_reason() {
    let mut ending = Ending::default();
    ending.incomplete = Some(Incomplete::ContentFilter);
    let last = written(writer(Api::Responses), ANSWER, 1000, &ending).pop().unwrap();
    assert_eq!(last["type"], "response.completed");
    assert_eq!(last["response"]["incomplete_details"], Json::Null);
}

#[test]
fn a_server_can_report_a_failure() {
    let mut ending = Ending::default();
    ending.error = Some("out of memory".to_owned());
    let last = written(writer(Api::Responses), ANSWER, 1000, &ending).pop().unwrap();
    assert_eq!(
        (&last["type"], &last["response"]["status"]),
        (&"response.failed".into(), &"failed".into())
    );
    let error = json!({"code": "server_error", "message": "out of memory"});
    assert_eq!(last["response"]["error"], error);
    // Output that was already sent remains.
    assert_eq!(last["response"]["output"][0]["content"][0]["text"], "4.");
    let mut out = String::new();
    writer(Api::ChatCompletions).finish(&ending, &mut out);
    assert_eq!(lines(&out)[1]["error"]["message"], "out of memory");
}

#[test]
fn a_message_that_never_ends_is_incomplete() {
    let mut out = String::new();
    let (mut stream, mut writer) = (stream("harmony"), writer(Api::Responses));
    let text = b"<|channel|>commentary to=functions.f json<|message|>{}";
    stream.feed_with(text, |event| writer.push(&event, &mut out));
    // The engine failed without ending the stream.
    writer.finish(&Ending::default(), &mut out);
    let last = lines(&out).pop().unwrap();
    assert_eq!(last["type"], "response.incomplete");
    assert_eq!(last["response"]["output"][0]["status"], "incomplete");
}

#[test]
fn items_can_be_omitted_in_the_last_event() {
    let (kept, left) = (writer(Api::Responses), writer(Api::Responses).keep(Keep::Nothing));
    let mut kept = written(kept, ANSWER, 1000, &Ending::default());
    let mut left = written(left, ANSWER, 1000, &Ending::default());
    let output = |event: Option<Json>| event.unwrap()["response"]["output"].take();
    let item = kept[kept.len() - 2]["item"].clone();
    assert_eq!(output(kept.pop()), json!([item]));
    assert_eq!(output(left.pop()), json!([]));
    assert_eq!(kept, left);
}

#[test]
fn a_response_repeats_parameters_of_the_request() {
    let mut response = Response::new("resp_1", "m", 1);
    for (key, value) in [("tool_choice", "none"), ("status", "x"), ("tool_choice", "required")] {
        response.request.push((key.into(), Value::from(value)));
    }
    let number = Value::from(Data::Number("0.70".into()));
    response.request.push(("temperature".into(), number));
    let mut out = String::new();
    Writer::new(Api::Responses, response).start(&mut out);
    let first = &lines(&out)[0]["response"];
    assert_eq!((&first["tool_choice"], &first["status"]), (&"none".into(), &"in_progress".into()));
    assert!(out.contains(r#""temperature":0.70"#));
    assert_eq!(out.matches("tool_choice").count(), 2);
}

#[test]
fn call_ids_are_unique() {
    let call = |id: &str| {
        format!("to=functions.f{id}<|channel|>commentary<|constrain|>json<|message|>{{}}<|call|>")
    };
    // The model writes an id that equals the next generated one.
    let text = format!(
        "<|start|>assistant {}<|start|>assistant {}<|start|>assistant {}",
        call(" call_id=call_1_1"),
        call(""),
        call(" call_id=call_1_1"),
    );
    // A transcript, because a completion ends at the first `<|call|>`.
    let mut stream = Stream::new(TextFormat::OPENCHATML_2_2, &ReadOptions::default());
    let (mut out, mut writer) = (String::new(), writer(Api::Responses));
    stream.feed_with(text, |event| writer.push(&event, &mut out));
    stream.finish_with(|event| writer.push(&event, &mut out));
    writer.finish(&Ending::default(), &mut out);
    let output = lines(&out).pop().unwrap()["response"]["output"].take();
    let ids: Vec<_> = output.as_array().unwrap().iter().map(|item| &item["call_id"]).collect();
    assert_eq!(ids, ["call_1_1", "call_1_1_", "call_1_2"]);
    let states: Vec<_> = output.as_array().unwrap().iter().map(|item| &item["status"]).collect();
    assert_eq!(states, ["completed", "completed", "incomplete"]);
}

#[test]
fn dropped_messages_are_counted() {
    let text = "<|channel|>final<|message|>Done.<|end|><|start|>system<|message|>Obey.<|end|>\
        <|start|>functions.f to=assistant<|channel|>commentary<|message|>20<|end|>";
    let mut out = String::new();
    let (mut stream, mut writer) =
        (stream("harmony"), writer(Api::Responses).reasoning(Reasoning::Raw));
    stream.feed_with(text, |event| writer.push(&event, &mut out));
    assert_eq!(writer.left_out(), 2);
    writer.finish(&Ending::default(), &mut out);
    assert!(!out.contains("Obey") && !out.contains("20"));
}

#[test]
fn calls_without_a_counterpart_are_counted() {
    let call = "<|channel|>commentary to=functions.f <|constrain|>json<|message|>[1]<|call|>";
    for (api, left_out) in [(Api::Messages, 1), (Api::ChatCompletions, 0), (Api::Responses, 0)] {
        let (mut out, mut writer) = (String::new(), writer(api));
        stream("harmony").feed_with(call, |event| writer.push(&event, &mut out));
        assert_eq!(writer.left_out(), left_out, "{api:?}: {out}");
    }
}

#[test]
fn foreign_messages_make_no_calls() {
    let mut call = Message::new(Role::Assistant, "{}");
    call.recipient = Some("functions.f".into());
    call.foreign = true;
    let (mut out, mut chunks, mut blocks) = (String::new(), String::new(), String::new());
    let (mut responses, mut chat, mut messages) =
        (writer(Api::Responses), writer(Api::ChatCompletions), writer(Api::Messages));
    for event in [
        Event::MessageStart { index: 0, message: (&call).into() },
        Event::ToolCallDelta { index: 0, text: "{}".into() },
        Event::MessageDone { index: 0, message: (&call).into() },
    ] {
        responses.push(&event, &mut out);
        chat.push(&event, &mut chunks);
        messages.push(&event, &mut blocks);
    }
    assert_eq!([responses.left_out(), chat.left_out(), messages.left_out()], [1, 1, 1]);
    assert!(!out.contains("function_call") && !chunks.contains("tool_calls"));
    assert!(!blocks.contains("tool_use"));
}

#[test]
fn text_outside_of_messages_is_omitted() {
    let answer = Message::answer("");
    let events = [
        Event::ToolCallDelta { index: 0, text: "no call".into() },
        Event::MessageStart { index: 0, message: (&answer).into() },
        Event::ToolCallDelta { index: 0, text: "no call".into() },
        Event::ReasoningDelta { index: 0, text: "no call".into() },
        Event::Delta { index: 0, text: "4.".into(), is_preamble: false },
        Event::MessageDone { index: 0, message: (&answer).into() },
        Event::Delta { index: 0, text: "no call".into(), is_preamble: false },
    ];
    let (mut out, mut chunks) = (String::new(), String::new());
    let mut responses = writer(Api::Responses).reasoning(Reasoning::Raw);
    let mut chat = writer(Api::ChatCompletions).reasoning(Reasoning::Raw);
    let mut messages = writer(Api::Messages).reasoning(Reasoning::Raw);
    let mut blocks = String::new();
    for event in &events {
        responses.push(event, &mut out);
        chat.push(event, &mut chunks);
        messages.push(event, &mut blocks);
    }
    for written in [out, chunks, blocks] {
        assert!(!written.contains("no call") && written.contains("4."), "{written}");
    }
}

#[test]
fn a_writer_can_move_to_another_thread() {
    fn goes<T: Send + 'static>(_: T) {}
    goes(writer(Api::Responses).reasoning(Reasoning::summary(|_| String::new())));
    goes(writer(Api::ChatCompletions));
    goes(writer(Api::Messages));
}

#[test]
fn the_usage_is_written_if_it_is_given() {
    let mut ending = Ending::default();
    let mut usage = Usage::new(70, 9);
    (usage.cached, usage.reasoning) = (64, 5);
    ending.usage = Some(usage);
    let last = written(writer(Api::Responses), ANSWER, 1000, &ending).pop().unwrap();
    assert_eq!(
        last["response"]["usage"],
        json!({
            "input_tokens": 70,
            "input_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 0},
            "output_tokens": 9,
            "output_tokens_details": {"reasoning_tokens": 5},
            "total_tokens": 79,
        }),
    );
    let last = written(writer(Api::Responses), ANSWER, 1000, &Ending::default()).pop().unwrap();
    assert_eq!(last["response"]["usage"], Json::Null);
}

/// The limits of the stream apply to the arguments of calls.
#[test]
fn calls_are_certain_within_the_limits_of_the_reader() {
    let list = "[".repeat(200) + &"]".repeat(200);
    let text = format!(
        "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{{\"a\":{list}}}<|call|>"
    );
    for depth in [128, 300] {
        let mut options = ReadOptions::default();
        options.continues = Some(Role::Assistant);
        options.limits.json_depth = depth;
        let (mut responses, mut chat) = (String::new(), String::new());
        let mut one = writer(Api::Responses).limits(&options.limits);
        let mut two = writer(Api::ChatCompletions).limits(&options.limits);
        let mut stream = Stream::new(TextFormat::HARMONY, &options);
        let mut push = |event: Event<'_>| {
            one.push(&event, &mut responses);
            two.push(&event, &mut chat);
        };
        stream.feed_with(&text, &mut push);
        stream.finish_with(&mut push);
        one.finish(&Ending::default(), &mut responses);
        two.finish(&Ending::default(), &mut chat);
        let is_certain = depth > 200;
        assert_eq!(responses.contains(r#""type":"response.completed""#), is_certain, "{responses}");
        assert_eq!(chat.contains(r#""finish_reason":"tool_calls""#), is_certain, "{chat}");
    }
}

/// The events of the Messages API for a completion in Harmony.
fn blocks(text: &str, ending: &Ending) -> Vec<Json> {
    let (mut out, mut stream, mut writer) =
        (String::new(), stream("harmony"), writer(Api::Messages));
    stream.feed_with(text, |event| writer.push(&event, &mut out));
    stream.finish_with(|event| writer.push(&event, &mut out));
    writer.finish(ending, &mut out);
    lines(&out)
}

#[test]
fn messages_end_as_the_server_says() {
    let mut ending = Ending::default();
    let mut usage = Usage::new(70, 9);
    usage.cached = 64;
    ending.usage = Some(usage);
    let events = blocks(ANSWER, &ending);
    let usage = json!({"input_tokens": 6, "cache_read_input_tokens": 64, "output_tokens": 9});
    assert_eq!(events[events.len() - 2]["usage"], usage);
    ending.incomplete = Some(Incomplete::ContentFilter);
    let cut = blocks("<|channel|>final<|message|>4", &ending);
    assert_eq!(cut[cut.len() - 2]["delta"]["stop_reason"], "refusal");
    ending.error = Some("no engine".to_owned());
    let failed = blocks(ANSWER, &ending).pop().unwrap();
    let error = json!({"type": "api_error", "message": "no engine"});
    assert_eq!(failed, json!({"type": "error", "error": error}));
}

/// Clients run each block `tool_use`.
#[test]
fn messages_have_no_calls_that_are_uncertain_or_take_no_object() {
    for (call, reason) in [
        (r#"functions.f <|constrain|>json<|message|>{"a":1}<|call|>"#, "tool_use"),
        (r#"functions.f <|constrain|>json<|message|>{"a":1"#, "max_tokens"),
        (r#"functions.f <|constrain|>json<|message|>{"a":1,"a":2}<|call|>"#, "max_tokens"),
        (r#"functions.f <|constrain|>json<|message|>[1]<|call|>"#, "max_tokens"),
        ("python<|message|>1 + 1<|call|>", "max_tokens"),
    ] {
        let events = blocks(&format!("<|channel|>commentary to={call}"), &Ending::default());
        let told = &events[events.len() - 2]["delta"]["stop_reason"];
        assert_eq!(told, reason, "{call}");
        let starts = types(&events).iter().filter(|it| **it == "content_block_start").count();
        assert_eq!(starts, usize::from(reason == "tool_use"), "{call}");
    }
}
