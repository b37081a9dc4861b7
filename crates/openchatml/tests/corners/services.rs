//! Conversations of JSON formats that were changed after they were read, and the wording of the
//! reasons why a record is refused.

use openchatml::convert::convert;
use openchatml::{
    Channel, Conversation, Document, Format, Header, Intent, Message, RenderOptions, detect_stream,
    is_part_of_record, parse, render,
};

fn read(text: &str, format: &str) -> Conversation<'static> {
    let format: Format = format.parse().expect("a format");
    let document = parse(text, format, &Default::default()).document.into_owned();
    let Document::Conversation(conversation) = document else { panic!("{document:?}") };
    conversation
}

fn written(conversation: Conversation<'_>, format: &str) -> String {
    let format: Format = format.parse().expect("a format");
    render(&conversation.into(), format, &RenderOptions::default()).expect("it can be written")
}

/// The losses of a conversion of these messages, without the conversation that they were in.
fn losses(messages: Vec<Message<'_>>, format: &str) -> Vec<String> {
    let document = Conversation::from_messages(messages).into();
    let format: Format = format.parse().expect("a format");
    let converted =
        convert(&document, format, &RenderOptions::default()).expect("it can be written");
    converted.losses.iter().map(ToString::to_string).collect()
}
#[test]
fn signed_thinking_of_white_space_is_accepted() {
    let text = r#"[{"role":"user","content":"q"},{"role":"assistant","content":[
        {"type":"thinking","thinking":" ","signature":"s"},{"type":"text","text":"a"}]}]"#;
    let messages = read(text, "anthropic").messages;
    assert_eq!(losses(messages, "anthropic"), [""; 0]);
}
#[test]
fn reasoning_with_the_id_of_the_service_is_accepted() {
    let text = r#"{"input":[{"type":"message","role":"user","content":"q"},
        {"type":"reasoning","status":"completed","id":"rs","content":[{"type":"reasoning_text","text":"Hm."}]},
        {"type":"message","role":"assistant","content":"a"}]}"#;
    let messages = read(text, "responses").messages;
    assert_eq!(losses(messages, "responses"), [""; 0]);
}
#[test]
fn a_response_with_another_content_is_written_as_contents() {
    let text = r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"a"}]},"finishReason":"STOP"}]}"#;
    let mut conversation = read(text, "gemini");
    conversation.messages.push(Message::answer("b"));
    let expected =
        r#"[{"role":"model","parts":[{"text":"a"}]},{"role":"model","parts":[{"text":"b"}]}]"#;
    assert_eq!(written(conversation, "gemini"), expected);
}
#[test]
fn a_record_of_texts_with_data_of_a_message_is_written_as_lists() {
    let mut conversation = read(r#"{"prompt":"q","completion":"a"}"#, "records");
    let lists = r#"{"prompt":[{"role":"user","content":"q","source":"s"}],"completion":[{"role":"assistant","content":"a"}]}"#;
    conversation.messages[0] = read(lists, "records").messages[0].clone();
    assert_eq!(written(conversation, "records"), lists);
}

/// With them, the writer subtracts 2 from 0
#[test]
fn a_record_can_become_shorter_than_its_prompt() {
    let instruction = r#"{"instruction":"i","output":"o","system":"s"}"#;
    let record = r#"{"prompt":[{"role":"user","content":"q"},{"role":"assistant","content":"a"},
        {"role":"user","content":"r"}],"completion":[{"role":"assistant","content":"b"}]}"#;
    for (text, role, left) in [(instruction, "system", "s"), (record, "user", "q")] {
        let mut conversation = read(text, "records");
        conversation.messages.truncate(1);
        let expected =
            format!(r#"{{"prompt":[{{"role":"{role}","content":"{left}"}}],"completion":[]}}"#);
        assert_eq!(written(conversation, "records"), expected);
    }
}

#[test]
fn a_pair_can_become_shorter_than_its_prompt() {
    let text = r#"{"prompt":[{"role":"user","content":"q"},{"role":"assistant","content":"x"},
        {"role":"user","content":"r"}],"chosen":[{"role":"assistant","content":"a"}],
        "rejected":[{"role":"assistant","content":"b"}]}"#;
    let format: Format = "records".parse().expect("a format");
    let mut document = parse(text, format, &Default::default()).document.into_owned();
    let Document::Pair(pair) = &mut document else { panic!("{document:?}") };
    pair.chosen.messages.drain(1..3);
    pair.rejected.messages.drain(1..3);
    let expected = r#"{"prompt":[{"role":"user","content":"q"}],"chosen":[{"role":"assistant","content":"a"}],"rejected":[{"role":"assistant","content":"b"}]}"#;
    assert_eq!(render(&document, format, &RenderOptions::default()).as_deref(), Ok(expected));
}
#[test]
fn a_preamble_in_the_input_of_a_pair_is_refused_at_its_place() {
    let call = |name: &str| {
        format!(
            r#"[{{"role":"assistant","tool_calls":[{{"id":"c","type":"function","function":{{"name":"{name}","arguments":"{{}}"}}}}]}}]"#
        )
    };
    let text = format!(
        r#"{{"input":{{"messages":[{{"role":"user","content":"q"}},{{"role":"user","content":"r"}},{{"role":"assistant","content":"p"}}]}},"preferred_output":{},"non_preferred_output":{}}}"#,
        call("f"),
        call("g"),
    );
    let mut document = parse(&text, Format::OPENAI, &Default::default()).document.into_owned();
    let Document::Pair(pair) = &mut document else { panic!("{document:?}") };
    for side in [&mut pair.chosen, &mut pair.rejected] {
        side.messages[2].channel = Some(Channel::Commentary);
        side.messages[2].intent = Some(Intent::Preamble);
    }
    let error = render(&document, Format::OPENAI, &RenderOptions::default()).unwrap_err();
    assert_eq!(error.message, Some(2), "{error}");
}
#[test]
fn ids_are_written_with_commas() {
    let text = r#"{"messages":[{"role":"user","content":"q","ids":[1,2,3]}]}"#;
    let mut options = RenderOptions::default();
    options.ids = true;
    let document = read(text, "json").into();
    assert_eq!(render(&document, Format::JSON, &options).as_deref(), Ok(text));
}
#[test]
fn a_single_message_with_a_header_is_a_conversation() {
    let mut conversation = read(r#"{"role":"user","content":"q"}"#, "json");
    conversation.header = Some(Header::new("2.2"));
    let text = written(conversation, "json");
    assert!(text.contains("\"header\"") && text.contains("\"messages\""), "{text}");
}

#[test]
fn what_is_missing_is_named() {
    let cases = [
        ("openai", r#"{"choices":[{"index":0}]}"#, "no choice of the response has a `message`"),
        ("records", r#"{"prompt":"p"}"#, "the object has a `prompt`, but no `completion`"),
        (
            "records",
            r#"{"prompt":"p","instruction":"i"}"#,
            "the object has a `prompt`, but no `completion`",
        ),
        ("records", r#"{"completion":"c"}"#, "the object has a `completion`, but no `prompt`"),
        ("records", r#"{"instruction":"i"}"#, "the object has an `instruction`, but no `output`"),
        ("records", r#"{"output":"o"}"#, "the object has an `output`, but no `instruction`"),
    ];
    for (format, text, expected) in cases {
        let format: Format = format.parse().expect("a format");
        let found = parse(text, format, &Default::default()).diagnostics;
        let told: Vec<&str> = found.iter().map(|found| found.message.as_str()).collect();
        assert!(told.contains(&expected), "{text}: {told:?}");
    }
    let format: Format = "records".parse().expect("a format");
    let found = parse(r#"{"tools":[]}"#, format, &Default::default()).diagnostics;
    let all: Vec<_> = found.iter().filter(|it| it.message.contains("but no")).collect();
    assert!(all.is_empty() && !found.is_empty(), "{found:?}");
}
#[test]
fn the_evidence_of_a_stream_is_its_first_event() {
    for text in [
        "\n [ {\"type\": \"message_start\"}]",
        "event: message_start\ndata: {\"type\": \"message_start\"}\n",
        "\n {\"type\": \"message_start\"}\n",
    ] {
        let found = detect_stream(text).expect("a stream");
        let at = text.find('{').expect("an event");
        assert_eq!(found.evidence[0].span.range(), at..at + 1, "{text}");
    }
}

#[test]
fn keys_about_training_are_part_of_a_record() {
    assert!(
        ["label", "kto_tag", "weight", "train", "is_trained"].into_iter().all(is_part_of_record)
    );
    assert!(!["source", "split", "tags"].into_iter().any(is_part_of_record));
}
