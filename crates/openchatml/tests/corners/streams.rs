//! Evidence for formats, streams of pieces, and writers that are used directly.

use openchatml::lex::{Escape, TokenTable};
use openchatml::render::{Escaper, JsonStyle, PlainOpening, Sink, SinkError, TextSink, render_to};
use openchatml::wire::{Api, Response, Writer};
use openchatml::{
    Body, Candidate, Code, Control, Conversation, Data, Event, Keep, Lines, Marker, Message, Mode,
    Policy, ReadOptions, RenderOptions, Role, Section, Segment, Span, Stream, TextFormat,
    UserEvents, Value, detect, detect_records, dialects, lint, parse, render,
};
use openchatml_testkit::property::joined;

/// Returns the evidence for a format: what was found, and its text.
fn evidence<'t>(text: &'t str, format: &str) -> Vec<(String, &'t str)> {
    let found = detect(text).into_iter().find(|it| it.format.to_string() == format);
    let evidence = found.map(|it| it.evidence).unwrap_or_default();
    evidence.into_iter().map(|it| (it.what, &text[it.span.range()])).collect()
}

#[test]
fn evidence_in_marked_up_text_has_its_place() {
    let text = "<|start|>user<|message|>Hi.<|end|>\n";
    assert_eq!(evidence(text, "harmony")[0], ("`<|start|>`".to_owned(), "<|start|>"));
    // The line break after the only message counts.
    let lines = evidence(text, "openchatml-2.2");
    assert!(lines.contains(&("each message begins a line".to_owned(), "\n")), "{lines:?}");
    let text = "model: m\nversion: 2.2\n\n<|start|>user<|message|>Hi.<|end|>\n";
    let found = evidence(text, "openchatml-2.2");
    assert_eq!(found[0], ("`version: 2.2` in the header".to_owned(), "version: 2.2"));
}

#[test]
fn evidence_in_json_has_its_place() {
    let text = r#"[{"role": "assistant", "content": null, "tool_calls": []}]"#;
    let found = evidence(text, "openai");
    assert_eq!(found[0], ("a list".to_owned(), "["));
    assert_eq!(found[2].0, "key `tool_calls` of a message");
    let text = r#"{"files": []}"#;
    assert_eq!(evidence(text, "json"), [("key `files`".to_owned(), "\"files\"")]);
    let found = detect(r#"{"messages": [{"role": "user", "content": "Hi."}]}"#);
    assert_eq!(
        (found[0].evidence[0].what.as_str(), found[0].evidence[0].span.start),
        ("key `messages`", 1)
    );
}

#[test]
fn evidence_has_the_number_of_its_record() {
    let plain = r#"[{"role":"user","content":"Hi."}]"#;
    let call = r#"[{"role":"assistant","tool_call":{"recipient":"functions.f","arguments":"{}"}}]"#;
    let found = detect_records(["", plain, call]);
    assert_eq!(found[0].format.to_string(), "openchatml-2.2:json");
    let records: Vec<_> = found[0].evidence.iter().map(|it| it.record).collect();
    assert_eq!(records[..2], [1, 2]);
}

#[test]
fn signs_of_one_format_are_no_evidence_for_another_one() {
    let chat =
        r#"{"messages":[{"role":"user","content":"Hi."},{"role":"assistant","content":"A."}]}"#;
    let pair = format!(r#"{{"chosen":{chat},"rejected":{chat}}}"#);
    let records = evidence(&pair, "records");
    assert!(records.iter().all(|(what, _)| !what.starts_with("keys ")), "{records:?}");
    let text = r#"[{"from":"human","value":"Hi."},{"from":"function_call","value":"{}"}]"#;
    assert!(evidence(text, "responses").is_empty());
}

#[test]
fn formats_that_nothing_speaks_against_are_certain() {
    for text in [
        // Nothing is between the header and the first message.
        "version: 2.3\n\n<|start|>user<|message|>Hi.<|end|>",
        // The block contains no whole frame.
        "<|start|>user<|message|>Write <|literal|><|end|><|endliteral|> now.<|end|>",
        // A list of texts is no list of objects without the keys of messages.
        r#"{"input": ["Hi.", "Yo."]}"#,
    ] {
        let found = detect(text);
        assert!(found.first().is_some_and(Candidate::is_certain), "{text}: {found:?}");
    }
}

#[test]
fn a_format_is_certain_from_its_threshold_on() {
    let mut found = detect("<|user_start|>Q<|user_end|>").remove(0);
    found.confidence = Candidate::CERTAIN;
    assert!(found.is_certain());
    found.confidence -= 1;
    assert!(!found.is_certain());
}

#[test]
fn every_record_decides_between_formats() {
    // Both formats read the first record alike. Only one reads the second one as a header.
    let records = ["<|start|>assistant<|channel|>analysis<|message|>Hm.<|return|>", "version: 2.0"];
    let is_certain = |records: &[&str]| detect_records(records.iter().copied())[0].is_certain();
    assert!(is_certain(&records[..1]));
    assert!(!is_certain(&records));
}

#[test]
fn formats_with_the_same_errors_are_no_equals() {
    let found = detect("<|start|>user  name=x{\n<|start|><|message|>Q<|return|>");
    assert!(found[0].is_certain(), "{found:?}");
}

#[test]
fn columns_of_long_lines_are_counted_in_characters() {
    let text = "é".repeat(5000);
    let place = Lines::new(&text).locate(9000);
    assert_eq!((place.line, place.column), (1, 4501));
}

#[test]
fn no_event_for_a_user_has_text_after_a_marker() {
    let body = Body::from_segments([
        Segment::Text("4.".into()),
        Segment::Marker(Marker::Reason),
        Segment::Text("secret".into()),
    ]);
    let answer = Message::answer(body);
    let event = Event::MessageDone { index: 0, message: (&answer).into() };
    let seen = event.for_user(Policy::default()).unwrap().to_json();
    assert!(seen.contains("4.") && !seen.contains("secret"), "{seen}");
}

#[test]
fn events_can_be_read_from_their_end() {
    let mut stream = Stream::new(TextFormat::CHATML, &ReadOptions::default());
    let mut events = stream.feed("<|im_start|>assistant\nHi!<|im_end|>");
    assert_eq!(events.next_back().map(|it| it.name()), Some("message.done"));
}

#[test]
fn a_stream_need_not_keep_text() {
    let mut stream = Stream::new(TextFormat::CHATML, &ReadOptions::default()).keep(Keep::Nothing);
    for event in stream.feed("<|im_start|>assistant\nHi!<|im_end|>\n") {
        if let Event::MessageDone { message, .. } = event {
            assert!(message.body.is_empty());
        }
    }
}

/// Returns the text that the pieces of a completion with reasoning say, and the end of the stream.
fn said(mut stream: Stream) -> (String, usize) {
    let mut said = String::new();
    let mut hear = |event: Event<'_>| match event {
        Event::Delta { text, .. } | Event::ReasoningDelta { text, .. } => said.push_str(&text),
        _ => {}
    };
    for (channel, text) in [("analysis", "Hm."), ("final", "4 <|end|>")] {
        stream.feed_control_with(Control::Start, &mut hear);
        stream.feed_text_with("assistant", &mut hear);
        stream.feed_control_with(Control::Channel, &mut hear);
        stream.feed_text_with(channel, &mut hear);
        stream.feed_control_with(Control::Message, &mut hear);
        stream.feed_text_with(text, &mut hear);
        stream.feed_control_with(Control::End, &mut hear);
    }
    let offset = stream.offset();
    (said, offset)
}

#[test]
fn pieces_have_places_and_are_filtered_for_users() {
    let text = "<|start|>assistant<|channel|>analysis<|message|>Hm.<|end|>\
        <|start|>assistant<|channel|>final<|message|>4 <|end|><|end|>";
    let stream = || Stream::of_pieces(TextFormat::HARMONY, &[], &ReadOptions::default());
    assert_eq!(said(stream()), ("Hm.4 <|end|>".to_owned(), text.len()));
    let user = stream().for_user(Policy::default());
    assert_eq!(said(user), ("4 <|end|>".to_owned(), text.len()));
}

/// The header is read in the same way, whatever its parts and the limit.
#[test]
fn a_header_in_pieces_is_read_like_its_text() {
    let format = TextFormat::OPENCHATML_2_2;
    for front in ["version: 2.2\n\n", "words\n", "version: 2.2\nmodel: m\n\nwords\n", ""] {
        for (limit, cut) in
            (10..=24).flat_map(|limit| (0..=front.len()).map(move |cut| (limit, cut)))
        {
            let mut options = ReadOptions::default();
            options.limits.header_bytes = limit;
            let mut pieces = Vec::new();
            let mut hear = |event: Event<'_>| pieces.push(event.to_json());
            let mut stream = Stream::of_pieces(format, &[], &options);
            stream.feed_text_with(&front[..cut], &mut hear);
            stream.feed_text_with(&front[cut..], &mut hear);
            for (control, text) in [(Control::Start, "user"), (Control::Message, "Hi.")] {
                stream.feed_control_with(control, &mut hear);
                stream.feed_text_with(text, &mut hear);
            }
            stream.feed_control_with(Control::End, &mut hear);
            stream.finish_with(&mut hear);
            let mut whole = Vec::new();
            let mut hear = |event: Event<'_>| whole.push(event.to_json());
            let mut stream = Stream::new(format, &options);
            stream.feed_with(format!("{front}<|start|>user<|message|>Hi.<|end|>"), &mut hear);
            stream.finish_with(&mut hear);
            let [pieces, whole] = [pieces, whole].map(joined);
            assert_eq!(pieces, whole, "{front:?}, cut at {cut}, {limit} bytes");
        }
    }
}

#[test]
fn a_header_in_pieces_is_given_up_at_its_limit() {
    let mut options = ReadOptions::default();
    options.limits.header_bytes = 8;
    let mut stream = Stream::of_pieces(TextFormat::OPENCHATML_2_2, &[], &options);
    assert_eq!(stream.feed_text("12345678").len(), 0);
    assert!(stream.feed_text("90").len() > 0);
}

#[test]
fn a_token_that_is_only_spelled_does_not_end_a_header() {
    let mut stream = Stream::of_pieces(TextFormat::OPENCHATML_2_2, &[], &ReadOptions::default());
    let mut found = Vec::new();
    let mut hear = |event: Event<'_>| {
        if let Event::Diagnostic { diagnostic, .. } = event {
            found.push(diagnostic.code);
        }
    };
    stream.feed_text_with("version: 2.2\n\n<|im_start|>user\nHi.", &mut hear);
    stream.feed_control_with(Control::Start, &mut hear);
    stream.feed_text_with("user", &mut hear);
    stream.feed_control_with(Control::Message, &mut hear);
    stream.feed_control_with(Control::End, &mut hear);
    stream.finish_with(&mut hear);
    assert_eq!(found, [Code::ParseYaml]);
}

#[test]
fn an_end_of_text_after_a_conversation_is_no_error() {
    let text = "<|im_start|>user\nQ<|im_end|>\n<|im_start|>assistant\nA.<|im_end|>\n<|endoftext|>";
    let mut options = ReadOptions::default();
    options.mode = Mode::Strict;
    let parsed = parse(text, TextFormat::QWEN3.into(), &options);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
}

#[test]
fn bodies_in_pieces_are_read_like_their_text() {
    let (think, thought) =
        (Control::OpenSection(Section::Reasoning), Control::CloseSection(Section::Reasoning));
    let (opens, closes) = (Control::Open(Role::Assistant), Control::Close(Role::Assistant));
    let turn: &[_] = &[Ok(Control::Start), Err("assistant\n"), Ok(think), Err("\nHm."), Err("\n")];
    let answer = [Ok(thought), Err("\n\n"), Err("A."), Err("\n"), Err("B"), Err("\n")];
    let qwen3 = [turn, &answer, &[Ok(Control::End), Err("\n")]].concat();
    let deepseek = [Ok(opens), Ok(think), Err("Hm."), Err("\n")];
    let deepseek = [&deepseek[..], &answer, &[Ok(closes)]].concat();
    for (format, parts) in [(TextFormat::QWEN3, qwen3), (TextFormat::DEEPSEEK_V3_1, deepseek)] {
        let (mut pieces, mut whole, mut text) = (Vec::new(), Vec::new(), String::new());
        let mut hear = |event: Event<'_>| pieces.push(event.to_json());
        let mut stream = Stream::of_pieces(format, &[], &ReadOptions::default());
        for part in parts {
            match part {
                Ok(control) => {
                    stream.feed_control_with(control, &mut hear);
                    text.push_str(format.controls().spelling(control).unwrap());
                }
                Err(words) => {
                    stream.feed_text_with(words, &mut hear);
                    text.push_str(words);
                }
            }
        }
        stream.finish_with(&mut hear);
        let mut hear = |event: Event<'_>| whole.push(event.to_json());
        let mut stream = Stream::new(format, &ReadOptions::default());
        stream.feed_with(&text, &mut hear);
        stream.finish_with(&mut hear);
        let [pieces, whole] = [pieces, whole].map(joined);
        assert_eq!(pieces, whole, "{text}");
    }
}

#[test]
fn text_after_a_part_of_a_character_ends_the_character() {
    let mut stream = Stream::new(TextFormat::CHATML, &ReadOptions::default());
    let mut said = String::new();
    let mut hear = |event: Event<'_>| {
        if let Event::Delta { text, .. } = event {
            said.push_str(&text);
        }
    };
    stream.feed_with(b"<|im_start|>assistant\n\xC3", &mut hear);
    stream.feed_text_with("a", &mut hear);
    stream.feed_with(b"\xC3", &mut hear);
    stream.feed_control_with(Control::End, &mut hear);
    assert_eq!(said, "\u{FFFD}a\u{FFFD}");
}

#[test]
fn empty_text_is_no_event() {
    let mut stream = Stream::of_pieces(TextFormat::HARMONY, &[], &ReadOptions::completion());
    drop(stream.feed_control(Control::Channel));
    drop(stream.feed_text("analysis"));
    drop(stream.feed_control(Control::Message));
    drop(stream.feed_text("Hm."));
    assert_eq!(stream.feed_text("").len(), 0);
}

#[test]
fn users_are_told_that_a_text_was_not_for_them() {
    let answer = Message::answer("4.");
    let mut hidden = answer.clone();
    hidden.foreign = true;
    let done = |index, message| Event::MessageDone { index, message };
    let start = |index| Event::MessageStart { index, message: (&answer).into() };
    let is_told = |event: Option<Event<'_>>| {
        matches!(event, Some(Event::UserDiagnostic { code: Code::ParseFrame, .. }))
    };
    let mut user = UserEvents::new(Policy::default());
    assert!(user.push(start(0)).is_some());
    // Another message is hidden, and nothing of it was shown.
    assert!(user.push(done(1, (&hidden).into())).is_none());
    assert!(is_told(user.push(done(0, (&hidden).into()))));
    assert!(user.push(start(2)).is_some());
    assert!(user.push(done(2, (&answer).into())).is_some());
    assert!(user.push(Event::MessageHidden { index: 1 }).is_none());
    assert!(is_told(user.push(Event::MessageHidden { index: 2 })));
}

#[test]
fn a_call_that_is_hidden_after_all_is_not_certain() {
    let call = Message::call("f", "{}");
    let wrong = Code::ParseToken.at(Span::default(), "elsewhere");
    let mut writer = Writer::new(Api::Responses, Response::new("resp_1", "m", 1));
    let mut out = String::new();
    for event in [
        Event::MessageStart { index: 0, message: (&call).into() },
        Event::ToolCallDelta { index: 0, text: "{}".into() },
        // It is not about the call.
        Event::Diagnostic { index: None, diagnostic: (&wrong).into() },
        Event::MessageDone { index: 0, message: (&call).into() },
    ] {
        writer.push(&event, &mut out);
    }
    assert!(!writer.has_uncertain_call());
    writer.push(&Event::MessageHidden { index: 0 }, &mut out);
    assert!(writer.has_uncertain_call());
}

#[test]
fn fields_that_a_request_does_not_have_keep_their_defaults() {
    let mut response = Response::new("resp_1", "m", 1);
    response.request.push(("temperature".into(), Value::from(Data::Number("0.7".into()))));
    let mut out = String::new();
    Writer::new(Api::Responses, response).start(&mut out);
    assert!(out.contains(r#""top_p":null"#), "{out}");
    assert_eq!(out.matches("temperature").count(), out.matches("top_p").count());
}

#[test]
fn the_help_for_reasoning_in_a_text_says_what_can_be_split() {
    for (text, can_split) in [("<think>Easy.</think>4.", true), ("Write <think> first.", false)] {
        let document = Conversation::from_messages([Message::answer(text)]).into();
        let found = lint::check(&document, &[Code::VisibleReasoning]);
        let help = found[0].help.as_deref().unwrap();
        assert!(help.starts_with("write reasoning as a message"), "{help}");
        assert_eq!(help.contains("--split-reasoning"), can_split, "{help}");
    }
}

#[test]
fn a_completion_can_begin_in_reasoning() {
    let begins = |text| TextFormat::QWEN3.begins_in_reasoning(text);
    assert!(begins("Easy.\n</think>\n\n4.<|im_end|>"));
    for text in [
        "<think>\nEasy.\n</think>\n\n4.<|im_end|>",
        "4.<|im_end|>",
        "\n</think>\n\n4.",
        "Write `</think>` at the end.<|im_end|>",
        "Write:\n    </think>\n",
        "Write:\n  \t</think>\n",
    ] {
        assert!(!begins(text), "{text}");
    }
    assert_ne!(TextFormat::QWEN3, TextFormat::CHATML);
}

#[test]
fn the_help_for_a_hidden_message_counts_messages_with_text() {
    let messages = [Message::user("Hi."), Message::answer("Hello."), Message::answer("")];
    let conversation = Conversation::from_messages(messages);
    let error = Policy::default().view(&conversation).message(7).unwrap_err();
    assert_eq!(error.help.as_deref(), Some("2 messages are visible"));
}

#[test]
fn refusals_say_what_helps_and_have_a_place_only_in_what_was_read() {
    let mut named = Message::user("Hi.");
    named.name = Some("a b".into());
    for (message, format, help) in [
        (Message::user("say <|im_end|>"), TextFormat::CHATML, "remove these characters"),
        (named, TextFormat::OPENCHATML_2_2, "remove white space and control tokens"),
    ] {
        let conversation = Conversation::from_messages([message]);
        let document = conversation.clone().into();
        let error = render(&document, format.format(), &RenderOptions::default()).unwrap_err();
        let found = error.to_diagnostic(&conversation);
        assert!(found.help.is_some_and(|it| it.starts_with(help)), "{error}");
        assert!(found.span.is_empty(), "{error}");
    }
}

/// A sink without an id for the beginning of messages.
struct Headless;

impl Sink for Headless {
    fn control(&mut self, control: Control) -> Result<(), SinkError> {
        match control {
            Control::Start => Err(SinkError::new(Span::default(), "<|start|>", "no id stands for")),
            _ => Ok(()),
        }
    }

    fn text(&mut self, _: &str) -> Result<(), SinkError> {
        Ok(())
    }

    fn preamble(&mut self, _: &str) -> Result<(), SinkError> {
        Ok(())
    }
}

#[test]
fn a_token_that_a_sink_lacks_is_no_unsupported_role() {
    let document = Conversation::from_messages([Message::user("Hi.")]).into();
    let options = RenderOptions::default();
    let error = render_to(&document, TextFormat::HARMONY, &options, &mut Headless).unwrap_err();
    assert_eq!(error.code, Code::RenderControl, "{error}");
}

#[test]
fn an_escaper_says_what_it_holds_and_whether_it_wrote_blocks() {
    let mut out = String::new();
    let mut escaper = Escaper::new(dialects::OPENCHATML_2_2.controls);
    escaper.text("<|end|>", &mut out).unwrap();
    assert!(!escaper.has_blocks());
    escaper.text_among_markers("<|start_reason|>", &mut out).unwrap();
    assert!(escaper.has_blocks());
    escaper.text("a<|en", &mut out).unwrap();
    assert_eq!(escaper.held(), 4);
}

#[test]
fn text_before_an_opening_stays_before_it() {
    let opening =
        PlainOpening { text: "<|start|>user<|message|>", role: Role::User, channel: None };
    let mut out = String::new();
    let mut sink = TextSink::new(dialects::OPENCHATML_2_2.controls, &mut out);
    sink.text("a <|e").unwrap();
    sink.opening(&opening).unwrap();
    sink.finish().unwrap();
    assert_eq!(out, "a <|e<|start|>user<|message|>");
}

#[test]
fn a_literal_block_says_that_it_cannot_contain_its_end() {
    let mut out = String::new();
    let mut sink = TextSink::new(dialects::OPENCHATML_2_2.controls, &mut out);
    for control in [Control::Start, Control::Message, Control::Literal] {
        sink.control(control).unwrap();
    }
    let error = sink.text("a<|endliteral|>").unwrap_err();
    assert_eq!(error.to_string(), "a literal block cannot contain `<|endliteral|>`");
}

static BRACKETS: TokenTable =
    TokenTable::new(&[(Control::Start, "[turn]"), (Control::End, "[/turn]")], Escape::None);

#[test]
fn words_are_searched_if_tokens_begin_with_another_character() {
    let mut out = String::new();
    assert!(Escaper::new(&BRACKETS).word("[turn]", &mut out).is_err());
    assert!(Escaper::new(&BRACKETS).word("turn", &mut out).is_ok());
}

/// A marker begins another token, so a text with the marker is not certain.
static NESTED: TokenTable = TokenTable::new(
    &[(Control::Start, "<a>"), (Control::Marker(Marker::Reason), "<m>"), (Control::End, "<m>x")],
    Escape::None,
);

#[test]
fn a_marker_in_text_is_text_also_before_a_token() {
    let mut out = String::new();
    let mut escaper = Escaper::new(&NESTED);
    escaper.text("<m>", &mut out).unwrap();
    escaper.control(Control::Start, &mut out).unwrap();
    escaper.finish(&mut out).unwrap();
    assert_eq!(out, "<m><a>");
    let mut escaper = Escaper::new(&NESTED);
    assert!(escaper.text_among_markers("<m>", &mut out).is_err());
}

#[test]
fn a_token_that_begins_a_longer_one_is_refused_with_its_text() {
    let mut out = String::new();
    let mut escaper = Escaper::new(dialects::KIMI_K3.controls);
    escaper.text("<|ope", &mut out).unwrap();
    let error = escaper.text("n|>thin", &mut out).unwrap_err();
    assert_eq!(error.to_string(), "this dialect cannot escape `<|open|>`");
    // It is part of a token that is written.
    let mut escaper = Escaper::new(dialects::KIMI_K3.controls);
    escaper.control(Control::OpenSection(Section::Call), &mut out).unwrap();
    escaper.text(" tool=", &mut out).unwrap();
}

#[test]
fn a_token_that_is_not_spelled_does_not_combine_with_text() {
    let mut out = String::new();
    let mut escaper = Escaper::only(&NESTED, &[Control::End]);
    assert!(!escaper.control(Control::Marker(Marker::Reason), &mut out).unwrap());
    escaper.text("x", &mut out).unwrap();
    assert_eq!(out, "x");
}

#[test]
fn the_first_colon_and_the_first_comma_decide_the_style() {
    for (text, json) in [
        (r#"{"a":{"b": 1}}"#, r#"{"c":[1,2]}"#),
        (r#"[1,2, {"a":1}]"#, r#"{"c":[1,2]}"#),
        (r#"{"a":1, "b": 2}"#, r#"{"c":[1, 2]}"#),
    ] {
        assert_eq!(JsonStyle::of(text).apply(r#"{"c":[1,2]}"#), json, "{text}");
    }
}
