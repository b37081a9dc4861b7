//! Declarations, headers, fixes, histories and sidecars of conversations that a program makes.

use openchatml::convert::{Loss, Lost, Sidecar, convert, convert_with_sidecar, losses};
use openchatml::declare::{Namespace, Style, ToolPlace, typescript};
use openchatml::prompt::Prompt;
use openchatml::render::Profile;
use openchatml::{
    Applicability, Code, Control, Conversation, Document, Edit, Event, Fix, Format, HarmonyProfile,
    Header, Message, ReadOptions, RenderOptions, Role, Span, Stream, TextFormat, Tool, Value,
    apply_fixes, dialects, fix, fix_if, history, is_part_of_record, parse, recognize,
};
use openchatml_testkit::bytes;
use openchatml_tokens::{ByteEncoding, Tokenizer};

fn schema(json: &str) -> Value<'static> {
    Value::from_json(json, &Default::default()).expect("JSON").into_owned()
}

#[test]
fn types_have_a_bound() {
    // Each definition doubles the next one.
    let mut definitions = vec![r#""20": {"type": "string"}"#.to_owned()];
    for level in 0..20 {
        let next = format!(r##"{{"$ref": "#/$defs/{}"}}"##, level + 1);
        definitions
            .push(format!(r#""{level}": {{"type": "array", "prefixItems": [{next}, {next}]}}"#));
    }
    let json = format!(r##"{{"$ref": "#/$defs/0", "$defs": {{{}}}}}"##, definitions.join(", "));
    let (text, unsaid) = typescript(&schema(&json), Style::Documented);
    assert!(text.len() < 2 << 20, "{}", text.len());
    assert!(unsaid.iter().any(|it| it.keyword == "depth"));
}

#[test]
fn required_is_not_said_without_properties() {
    let json = r#"{"oneOf": [{"type": "object"}], "properties": {"a": {}}, "required": ["a"]}"#;
    let (_, unsaid) = typescript(&schema(json), Style::Documented);
    let keywords: Vec<_> = unsaid.iter().map(|it| it.keyword.as_str()).collect();
    assert_eq!(keywords, ["properties", "required"]);
}

#[test]
fn a_conversation_declares_functions_in_its_own_place() {
    let mut conversation = Conversation::default();
    let functions = |names: [&'static str; 2]| Namespace::functions(names.map(Tool::new).into());
    let first = vec![functions(["a", "b"]), Namespace::browser()];
    assert_eq!(ToolPlace::Conversation.declare(&mut conversation, first), None);
    assert_eq!(
        ToolPlace::Conversation.declare(&mut conversation, vec![functions(["b", "c"])]),
        None
    );
    let names: Vec<_> = conversation.tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["a", "b", "c"]);
}

#[test]
fn a_repeated_declaration_changes_nothing() {
    let tools = || vec![Namespace::functions(vec![Tool::new("f")])];
    for place in [ToolPlace::Types(Role::Developer), ToolPlace::Json(Role::Developer)] {
        let system = Message::new(Role::System, "Be brief.");
        let user = Message::new(Role::User, "Hi.");
        let mut conversation = Conversation::from_messages([system, user]);
        assert_eq!(place.declare(&mut conversation, vec![]), None);
        assert_eq!(conversation.messages.len(), 2);
        assert_eq!(place.declare(&mut conversation, tools()), Some(1));
        let once = conversation.clone();
        assert_eq!(place.declare(&mut conversation, tools()), None);
        assert_eq!(conversation, once);
    }
}

/// What another role says is no declaration.
#[test]
fn only_the_place_declares() {
    let tools = || vec![Namespace::functions(vec![Tool::new("f")])];
    let place = ToolPlace::Types(Role::Developer);
    let mut conversation = Conversation::default();
    place.declare(&mut conversation, tools());
    let text = conversation.messages[0].body.text().into_owned();
    let mut conversation = Conversation::from_messages([Message::new(Role::User, text)]);
    assert_eq!(place.declare(&mut conversation, tools()), Some(0));
    assert_eq!(conversation.messages[0].role, Role::Developer);
}

#[test]
fn declarations_as_json_name_the_namespace() {
    let mut conversation = Conversation::default();
    let tools = vec![Namespace::functions(vec![Tool::new("f")]), Namespace::browser()];
    ToolPlace::Json(Role::System).declare(&mut conversation, tools);
    let text = conversation.messages[0].body.text();
    assert!(text.contains(r#""name":"f""#), "{text}");
    assert!(text.contains(r#""name":"browser.search""#), "{text}");
}

fn format(name: &str) -> Format {
    name.parse().expect("a format")
}

fn texts(conversation: &Conversation<'_>) -> Vec<String> {
    conversation.messages.iter().map(|message| message.body.text().into_owned()).collect()
}

#[test]
fn the_supported_versions_are_named() {
    let text = "version: 3.0\n\n<|start|>user<|message|>Hi.<|end|>\n";
    let read = parse(text, format("openchatml-2.2"), &ReadOptions::default());
    let help = read.diagnostics[0].help.as_deref().unwrap_or_default();
    assert!(help.contains("2.2") && help.contains("1.x"), "{help}");
}

#[test]
fn both_sides_must_enable_the_profile() {
    let mut on = HarmonyProfile::default();
    on.enabled = true;
    let off = HarmonyProfile::default();
    assert!(on.negotiate(&on).enabled);
    assert!(!on.negotiate(&off).enabled && !off.negotiate(&on).enabled);
}

#[test]
fn words_of_data_sets_for_roles_are_understood() {
    let words = [
        ("Human", "user"),
        ("prompter", "user"),
        ("chatbot", "assistant"),
        ("Assistant", "assistant"),
        ("System", "system"),
        ("observation", "tool"),
    ];
    for (word, role) in words {
        let text = format!(r#"{{"messages": [{{"role": "{word}", "content": "Hi."}}]}}"#);
        let read = parse(&text, format("json"), &ReadOptions::default());
        let help = read.diagnostics[0].help.as_deref().unwrap_or_default();
        assert!(help.starts_with(&format!("write `{role}`")), "{word}: {help}");
    }
    let read = parse(
        r#"{"messages": [{"role": "wizard", "content": "Hi."}]}"#,
        format("json"),
        &ReadOptions::default(),
    );
    assert_eq!(read.diagnostics[0].help.as_deref(), Some("the message is hidden"));
}

/// The pointer of a marker is that of its segment.
#[test]
fn pointers_count_items() {
    let text = r#"{"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}, {"role": "tool", "name": "f",
        "content": [{"type": "text", "text": "c"}, {"type": "text", "text": "d"}, {"type": "marker", "marker": "reason"}]}]}"#;
    let read = parse(text, format("json"), &ReadOptions::default());
    let pointers: Vec<_> =
        read.diagnostics.iter().filter_map(|found| found.pointer.as_deref()).collect();
    assert!(pointers.contains(&"/messages/2/content/2"), "{pointers:?}");
}

/// The finding names the key that is used.
#[test]
fn the_key_that_is_used_is_named() {
    let text = r#"{"prompt": "A?", "response": "B.", "completion": "C."}"#;
    let read = parse(text, format("records"), &ReadOptions::default());
    let found =
        read.diagnostics.iter().find(|found| found.code == Code::DuplicateKey).expect("one");
    assert_eq!(found.message, "keys `response` and `completion` mean the same");
}

/// A pair that was changed after it was read is written with the prompts that it has.
#[test]
fn a_changed_prompt_of_a_pair_is_written() {
    let text = r#"{"prompt": "A?", "chosen": "B.", "rejected": "C."}"#;
    let mut document = parse(text, format("records"), &ReadOptions::default()).document;
    let Document::Pair(pair) = &mut document else { panic!("a pair") };
    pair.chosen.messages[0].body = "Another?".into();
    let Ok(written) = convert(&document, format("records"), &RenderOptions::default()) else {
        return;
    };
    let read = parse(&written.output, format("records"), &ReadOptions::default()).document;
    let [one, two] =
        [&document, &read].map(|it| it.conversations().into_iter().map(texts).collect::<Vec<_>>());
    assert_eq!(one, two, "{}", written.output);
}

/// A pair whose sides no longer have the same prompt is not written as two continuations of one.
#[test]
fn a_prompt_of_one_side_is_not_that_of_the_other() {
    let openai = r#"{"input":{"messages":[{"role":"user","content":"A?"}]},
        "preferred_output":[{"role":"assistant","content":"B."}],
        "non_preferred_output":[{"role":"assistant","content":"C."}]}"#;
    let sharegpt = r#"{"conversations":[{"from":"human","value":"A?"}],
        "chosen":{"from":"gpt","value":"B."},"rejected":{"from":"gpt","value":"C."}}"#;
    for (text, name) in [(openai, "openai"), (sharegpt, "sharegpt")] {
        let mut document = parse(text, format(name), &ReadOptions::default()).document;
        let Document::Pair(pair) = &mut document else { panic!("a pair") };
        pair.rejected.messages[0].body = "Another?".into();
        let written = convert(&document, format(name), &RenderOptions::default()).expect("written");
        let read = parse(&written.output, format(name), &ReadOptions::default()).document;
        let [one, two] = [&document, &read]
            .map(|it| it.conversations().into_iter().map(texts).collect::<Vec<_>>());
        assert_eq!(one, two, "{}", written.output);
    }
}

/// Fields stay where only another part of a message is lost (the text was changed, so its
/// parts no longer fit it).
#[test]
fn fields_stay_where_the_content_is_lost() {
    let text = r#"{"temperature":0.5,"messages":[{"role":"user","seen":true,"content":[{"type":"text","text":"Look."},{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]}]}"#;
    let mut conversation =
        parse(text, format("openai"), &ReadOptions::default()).into_conversation();
    conversation.messages[0].body = "Look here.".into();
    let converted = convert(&conversation.into(), format("openai"), &RenderOptions::default())
        .expect("it is written");
    assert!(!converted.losses.is_empty());
    let output = converted.output;
    assert!(output.contains("temperature") && output.contains("seen"), "{output}");
}

#[test]
fn losses_in_a_writer_of_ones_own() {
    let messages = [Message::reasoning("Hm."), Message::answer("4.")];
    let document = Conversation::from_messages(messages).into();
    let found = losses(&document, format("chatml").carries());
    assert_eq!(found[0].to_string(), "message 0: analysis dropped");
}

fn named(name: Option<&'static str>) -> Message<'static> {
    let mut message = Message::new(Role::User, "Hi.");
    message.name = name.map(Into::into);
    message
}

#[test]
fn a_sidecar_holds_what_it_stores() {
    let names = [Some("Eric"), None, Some("Eve")];
    let mut original = Conversation::from_messages(names.map(named));
    let target = format("chatml-wire:text");
    let options = RenderOptions::default();
    let (converted, sidecar) =
        convert_with_sidecar(&original.clone().into(), target, &options).expect("it is written");
    assert_eq!(converted.losses, []);
    assert!(!sidecar.is_empty() && Sidecar::default().is_empty());
    let loss = |message, lost| Loss::new(message, Span::default(), lost);
    let held = [0, 1, 2].map(|at| sidecar.holds(&loss(Some(at), Lost::Name)));
    assert_eq!(held, [true, false, true]);
    assert!(!sidecar.holds(&loss(Some(0), Lost::CallId)));
    assert!(!sidecar.holds(&loss(None, Lost::Header)));
    let again = Sidecar::from_json(&sidecar.to_json()).expect("a sidecar");
    assert_eq!(again.to_json(), sidecar.to_json());
    let others = r#"{"messages":[{"call_id":"Eric"},{},{"name":"Eve"}]}"#;
    let same = r#"{"messages":[{"name":"Eric"},{},{"name":"Eve"}]}"#;
    assert_eq!(again, Sidecar::from_json(same).expect("a sidecar"));
    assert_ne!(again, Sidecar::from_json(others).expect("a sidecar"));

    original.header = Some(Header::new("2.2"));
    original.messages.truncate(2);
    original.messages.remove(0);
    let (converted, sidecar) =
        convert_with_sidecar(&original.into(), target, &options).expect("it is written");
    assert_eq!(converted.losses, []);
    assert!(!sidecar.is_empty());
    assert!(sidecar.holds(&loss(None, Lost::Header)));
    assert!(!sidecar.holds(&loss(None, Lost::ToolsAsText)));
    let nothing = Sidecar::from_json(r#"{"messages":[{},{}]}"#).expect("a sidecar");
    assert!(nothing.is_empty());
}

#[test]
fn a_sidecar_stores_fields_of_reasoning_with_markers() {
    let text = r#"{"messages": [{"role": "assistant", "channel": "analysis", "intent": "status",
        "content": [{"type": "marker", "marker": "reason"}, {"type": "text", "text": "Hm."}]}]}"#;
    let original = parse(text, format("json"), &ReadOptions::default()).document;
    let (_, sidecar) =
        convert_with_sidecar(&original, format("harmony"), &RenderOptions::default())
            .expect("it is written");
    assert!(sidecar.to_json().contains(r#""intent":"status""#), "{}", sidecar.to_json());
}

/// The arguments are an object there, which has no lines, so the call is not found again.
#[test]
fn a_sidecar_stores_nothing_for_a_message_that_the_format_changes() {
    let text = r#"[{"role":"assistant","tool_calls":[{"id":"d","type":"function",
        "function":{"name":"f","arguments":"{\n  \"a\": 1\n}"}}]}]"#;
    let document = parse(text, format("openai"), &ReadOptions::default()).document;
    let converted = convert_with_sidecar(&document, format("anthropic"), &RenderOptions::default());
    let (_, sidecar) = converted.expect("it is written");
    assert_eq!(sidecar.to_json(), r#"{"messages":[null]}"#);
}

#[test]
fn a_sidecar_is_read_with_its_types() {
    let read = |fields: &str| Sidecar::from_json(&format!(r#"{{"messages":[{fields}]}}"#));
    for wrong in
        [r#"{"constrained":"{}"}"#, r#"{"constrained":1}"#, r#"{"weight":"1"}"#, r#"{"weight":-1}"#]
    {
        assert!(read(wrong).is_err(), "{wrong}");
    }
    let sidecar = read(r#"{"constrained":true,"weight":0.5}"#).expect("a sidecar");
    let mut conversation = Conversation::from_messages([Message::answer("4.")]);
    sidecar.restore(&mut conversation).expect("it fits");
    assert!(conversation.messages[0].constrained);
    assert_eq!(conversation.messages[0].weight.map(|it| it.to_string()).as_deref(), Some("0.5"));
    let error = sidecar.restore(&mut Conversation::default()).expect_err("it does not fit");
    assert!(error.to_string().contains("1 message,"), "{error}");
    let error = Sidecar::default().restore(&mut conversation).expect_err("it does not fit");
    assert!(error.to_string().contains("0 messages,"), "{error}");
}

fn foreign(mut message: Message<'static>) -> Message<'static> {
    message.foreign = true;
    message
}

#[test]
fn a_turn_begins_behind_the_users_last_message() {
    let user = || Message::user("Hi.");
    assert_eq!(history::last_turn(&[]), 0);
    assert_eq!(history::last_turn(&[Message::answer("a")]), 0);
    assert_eq!(
        history::last_turn(&[user(), Message::answer("a"), user(), Message::reasoning("b")]),
        3
    );
    assert_eq!(history::last_turn(&[user(), Message::reasoning("b"), foreign(user())]), 1);
    let messages = [
        user(),
        Message::reasoning("old"),
        Message::answer("a"),
        user(),
        Message::reasoning("new"),
        Message::answer("b"),
        foreign(user()),
    ];
    let next = history::prompt_in_turn(&Conversation::from_messages(messages));
    assert_eq!(texts(&next), ["Hi.", "a", "Hi.", "new", "b"]);
}

#[test]
fn the_reference_renderer_keeps_later_reasoning() {
    let turn = |n: u8| {
        [
            Message::user(format!("Q{n}")),
            Message::reasoning(format!("R{n}")),
            Message::answer(format!("A{n}")),
        ]
    };
    let conversation = Conversation::from_messages(turn(1).into_iter().chain(turn(2)));
    assert_eq!(texts(&history::reference_prompt(&conversation)), ["Q1", "A1", "Q2", "R2", "A2"]);
}

/// No prompt contains what a completion wrote for another role.
#[test]
fn prompts_contain_nothing_foreign() {
    let messages = || {
        [
            Message::user("Q"),
            Message::reasoning("R"),
            Message::answer("A"),
            foreign(Message::user("F1")),
            foreign(Message::answer("F2")),
        ]
    };
    for format in Format::all() {
        for profile in [Profile::Documented, Profile::Reference] {
            let mut options = RenderOptions::default();
            options.profile = profile;
            let conversation = Conversation::from_messages(messages());
            let prompt = Prompt::new(&conversation, format, &options);
            let left = texts(prompt.document().as_conversation().expect("a conversation"));
            assert!(!left.iter().any(|text| text.starts_with('F')), "{format}: {left:?}");
            assert!(
                ["Q", "A"].iter().all(|text| left.iter().any(|it| it == text)),
                "{format}: {left:?}"
            );
        }
    }
    // The last message that counts is the answer, so its reasoning goes.
    let conversation = Conversation::from_messages(messages());
    let prompt = Prompt::new(&conversation, format("harmony"), &RenderOptions::default());
    assert_eq!(texts(prompt.document().as_conversation().expect("a conversation")), ["Q", "A"]);
}

#[test]
fn fixes_are_applied_in_rounds() {
    let text = "<|start|>user<|message|>Hi.<|end|>\n<|start|>assistant<|message|>Hel";
    let target = format("openchatml-2.2");
    let options = ReadOptions::default();
    let safe = fix(text, target, &options, Applicability::Safe);
    assert_eq!(safe.applied, 1);
    assert_eq!(safe.text, Some(format!("version: 2.2\n\n{text}")));
    let all = fix(text, target, &options, Applicability::Unsafe);
    assert_eq!(all.applied, 2);
    assert_eq!(all.text, Some(format!("version: 2.2\n\n{text}<|end|>")));
    let none =
        fix_if(text, target, &options, Applicability::Safe, |text| text.starts_with("<|start|>"));
    assert_eq!((none.text, none.applied, none.refused.len()), (None, 0, 1));
}

#[test]
fn files_can_be_fixed() {
    let text = "Hi.\n<|im_end|>\n<|file_separator|>\nx\n";
    let options = ReadOptions::default();
    let fixed = fix(text, format("openchatml-0.1"), &options, Applicability::Safe);
    assert_eq!((fixed.applied, fixed.refused.len()), (1, 0));
    assert_eq!(fixed.text.as_deref(), Some("Hi.\n<|im_end|>\n</s>\n<|file_separator|>\nx\n"));
}

#[test]
fn fixes_that_are_not_admitted_do_not_stop_others() {
    let message = |name: char, spaces: &str| {
        format!("<|start|>user{spaces}name={name}<|message|>Hi.<|end|>\n")
    };
    let text = |odd: &dyn Fn(char) -> bool| {
        let spaces = |name| if odd(name) { "  " } else { " " };
        let messages = ('a'..='g').map(|name| message(name, spaces(name)));
        format!("version: 2.2\n\n{}", messages.collect::<String>())
    };
    let keeps = |text: &str| text.contains("user  name=c");
    let fixed = fix_if(
        &text(&|_| true),
        format("openchatml-2.2"),
        &ReadOptions::default(),
        Applicability::Safe,
        keeps,
    );
    assert_eq!(fixed.text, Some(text(&|name| name == 'c')));
    assert_eq!((fixed.applied, fixed.refused.len()), (6, 1));
}

#[test]
fn fixes_that_do_not_fit_are_skipped() {
    let fix = |start, end, with: &str| {
        let edit = Edit { span: Span::new(start, end), replacement: with.to_owned() };
        Fix::new(Applicability::Safe, vec![edit])
    };
    let overlapping = [fix(0, 3, "x"), fix(2, 4, "y")];
    assert_eq!(apply_fixes("abcdef", &overlapping), ("xdef".to_owned(), 1));
    let outside = [fix(0, 1, "x"), fix(5, 9, "y")];
    assert_eq!(apply_fixes("abcdef", &outside), ("xbcdef".to_owned(), 1));
    let twice = [fix(2, 2, "x"), fix(2, 2, "x"), fix(2, 2, "y")];
    assert_eq!(apply_fixes("abcdef", &twice), ("abxycdef".to_owned(), 2));
}

#[test]
fn quoted_words_are_short_and_on_one_line() {
    let message = |role: &str| {
        let role = Value::from(role.to_owned()).to_json();
        let text = format!(r#"{{"messages": [{{"role": {role}, "content": "Hi."}}]}}"#);
        parse(&text, format("json"), &ReadOptions::default()).diagnostics[0].message.clone()
    };
    assert_eq!(message(&"a".repeat(64)), format!("unknown role `{}`", "a".repeat(64)));
    assert_eq!(message(&"a".repeat(65)), format!("unknown role `{}…`", "a".repeat(64)));
    assert_eq!(message("a\u{1}"), "unknown role `a\\u{1}`");
}

#[test]
fn long_messages_are_clipped() {
    let clipped = |text: String| Code::ParseJson.at(Span::default(), text).message;
    assert_eq!(clipped("a".repeat(4096)), "a".repeat(4096));
    assert_eq!(clipped("a".repeat(4097)), format!("{}…", "a".repeat(4093)));
    assert_eq!(clipped("é".repeat(3000)), format!("{}…", "é".repeat(2046)));
}

#[test]
fn dialects_say_what_prompts_they_have() {
    assert!(dialects::HARMONY.has_opening() && !dialects::QWEN3.has_opening());
    assert!(
        dialects::CHATML_WIRE.completion().is_some() && dialects::OPENAI.completion().is_none()
    );
    let mut options = RenderOptions::default();
    options.thinking = Some(true);
    let opens =
        |options: &RenderOptions| dialects::QWEN3.prompts_in_reasoning(Some(Role::User), options);
    assert!(!opens(&options));
    options.open_reasoning = true;
    assert!(opens(&options));
    assert!(!dialects::CHATML.prompts_in_reasoning(Some(Role::User), &options));
}

#[test]
fn misplaced_messages_are_recognized() {
    let misspelled = recognize([r#"{"mesages": [{"role": "user", "content": "Hi."}]}"#])
        .expect("it is recognized");
    assert_eq!(misspelled.help, "did you mean `messages`?");
    let misplaced = recognize([r#"{"messages": [{"from": "human", "value": "Hi."}]}"#])
        .expect("it is recognized");
    assert_eq!(misplaced.name, "messages of `sharegpt` under `messages`");
    assert_eq!(misplaced.help, "rename `messages` to `conversations`");
}

#[test]
fn columns_are_no_part_of_a_record() {
    assert!(["messages", "chosen", "label", "tools"].into_iter().all(is_part_of_record));
    assert!(!["source", "id", "model", "title"].into_iter().any(is_part_of_record));
}

/// The ids of a text, in which these control tokens have ids.
fn ids(text: &str) -> Vec<u32> {
    text.bytes().map(u32::from).collect()
}

#[test]
fn half_a_spelled_token_is_text() {
    let read = |ids: &[u32]| {
        let controls = ["<|end|>".to_owned()];
        bytes::read(ids, format("openchatml-2.2"), &controls, &ReadOptions::default())
            .into_conversation()
    };
    let text = "version: 2.2\n\n<|start|>user<|message|>a<|sta";
    assert_eq!(texts(&read(&[ids(text), vec![256]].concat())), ["a<|sta"]);
    assert_eq!(texts(&read(&ids(text))), ["a<|sta"]);
}

/// Ids give the same events as their text.
#[test]
fn streams_of_ids_say_the_same_as_text() {
    let summary = |events: &mut dyn Iterator<Item = Event<'static>>| {
        let (mut said, mut found) = (String::new(), Vec::new());
        for event in events {
            match event {
                Event::Delta { text, .. } => said.push_str(&text),
                Event::Diagnostic { diagnostic, .. } => {
                    found.push((diagnostic.code, diagnostic.span))
                }
                _ => {}
            }
        }
        (said, found)
    };
    let tokenizer = Tokenizer::new(TextFormat::OPENCHATML_2_2, ByteEncoding::default());
    let id = |control| tokenizer.id(control).expect("it has an id");
    let mut stream = tokenizer.stream(&ReadOptions::default());
    let mut events: Vec<_> = stream.feed(&ids("version: 2.2\n\n")).collect();
    for part in [
        vec![id(Control::Start)],
        ids("assistant"),
        vec![id(Control::Message)],
        ids("He"),
        ids("llo."),
        vec![id(Control::End)],
        ids("stray"),
    ] {
        events.extend(stream.feed(&part));
    }
    events.extend(stream.finish());
    let mut stream = Stream::new(TextFormat::OPENCHATML_2_2, &ReadOptions::default());
    let text = "version: 2.2\n\n<|start|>assistant<|message|>Hello.<|end|>stray";
    let mut expected: Vec<_> = stream.feed(text).collect();
    expected.extend(stream.finish());
    let [one, two] = [events, expected].map(|events| summary(&mut events.into_iter()));
    assert_eq!(one.0, "Hello.");
    assert_eq!(one, two);
}
