//! Every possible loss of a conversion occurs at least once.

use openchatml::convert::{Lost, adapt, convert, convert_with_sidecar, prepare};
use openchatml::declare::{Style, typescript};
use openchatml::render::{Profile, Values};
use openchatml::{
    Body, Channel, Conversation, Document, End, Format, Header, Intent, Marker, Message,
    ReadOptions, RenderOptions, Role, Segment, Tool, Value, Visibility, Weight, parse,
};

/// A message of this role and channel.
fn on(role: Role, channel: Option<Channel>) -> Message<'static> {
    let mut message = Message::new(role, "x");
    message.channel = channel;
    message
}

fn call() -> Message<'static> {
    let mut call = on(Role::Assistant, Some(Channel::Commentary));
    call.recipient = Some("functions.f".into());
    call.end = End::Call;
    call
}

/// A message with every field that a message of the user can have in 2.2.
fn laden() -> Message<'static> {
    let mut message = on(Role::User, Some(Channel::Final));
    message.name = Some("Eric".into());
    message.recipient = Some("assistant".into());
    message.call_id = Some("c".into());
    message.intent = Some(Intent::Status);
    message.content_type = Some("json".into());
    message.constrained = true;
    message.recovered = true;
    message.weight = Some(Weight::ZERO);
    message.unread = Some("mood=sad".into());
    message
}

fn marked() -> Message<'static> {
    let mut marked = on(Role::Assistant, Some(Channel::Final));
    let marker = Segment::Marker(Marker::Reason);
    marked.body =
        Body::from_segments([Segment::Text("a".into()), marker, Segment::Literal("b".into())]);
    marked
}

fn conversation(messages: impl IntoIterator<Item = Message<'static>>) -> Document<'static> {
    let mut conversation = Conversation::from_messages(messages);
    let mut header = Header::new("2.2");
    header.insert("capabilities", Value::from(true));
    header.insert("profiles", Value::from(true));
    conversation.header = Some(header);
    conversation.tools.push(Tool::new("f"));
    conversation.into()
}

/// Returns the losses of a conversion to a format.
fn lost(messages: impl IntoIterator<Item = Message<'static>>, to: &str) -> Vec<Lost> {
    let to: Format = to.parse().expect("a format");
    let (_, losses) = adapt(&conversation(messages), to);
    losses.iter().map(|loss| loss.lost).collect()
}

/// The losses of ids that are used again, and of late messages of the system.
fn lost_of_ids_and_systems() -> Vec<Lost> {
    let mut all: Vec<Lost> = Vec::new();
    let twice = [(Role::Assistant, "1"), (Role::Tool, "1"), (Role::Assistant, "2")];
    let again = convert(
        &conversation(twice.map(|(role, text)| {
            let mut message = if role == Role::Tool { on(role, None) } else { call() };
            (message.call_id, message.body) = (Some("c".into()), text.into());
            message
        })),
        "openchatml-2.2".parse().expect("a format"),
        &RenderOptions::default(),
    );
    all.extend(again.expect("it can be written").losses.iter().map(|loss| loss.lost));
    let late = [on(Role::User, None), on(Role::System, None)];
    let moved = convert(
        &conversation(late),
        "deepseek-v3.1".parse().expect("a format"),
        &RenderOptions::default(),
    );
    all.extend(moved.expect("it can be written").losses.iter().map(|loss| loss.lost));
    all
}

/// The losses of values of parameters.
fn lost_of_parameters() -> Vec<Lost> {
    let mut all = Vec::new();
    for arguments in ["{\"a\":1}", "{\"a\": \"1\"}"] {
        let mut spelled = call();
        spelled.body = arguments.into();
        let format = "qwen3-coder".parse().expect("a format");
        let converted = convert(&conversation([spelled]), format, &RenderOptions::default());
        all.extend(converted.expect("it can be written").losses.iter().map(|loss| loss.lost));
    }
    all
}

#[test]
fn every_kind_of_loss_occurs() {
    let mut foreign = on(Role::User, None);
    foreign.foreign = true;
    let mut reply = on(Role::Tool, Some(Channel::Commentary));
    reply.name = Some("functions.f".into());
    let mut answer = on(Role::Assistant, Some(Channel::Final));
    answer.end = End::Return;
    let mut open = on(Role::User, None);
    open.end = End::Open;
    let mut kept_call = call();
    kept_call.role = Role::User;
    let mut typed = on(Role::User, None);
    typed.content_type = Some("markdown".into());
    let mut preamble = on(Role::Assistant, Some(Channel::Commentary));
    preamble.intent = Some(Intent::Preamble);
    let messages = vec![
        preamble,
        typed,
        on(Role::Developer, None),
        on(Role::Assistant, Some(Channel::Analysis)),
        on(Role::Assistant, Some(Channel::Commentary)),
        on(Role::User, Some(Channel::Analysis)),
        call(),
        reply,
        foreign,
        laden(),
        marked(),
        answer,
        kept_call,
        open,
    ];
    let mut all: Vec<Lost> = Vec::new();
    for format in Format::all() {
        all.extend(lost(messages.clone(), &format.to_string()));
    }
    all.extend(lost_of_services());
    all.extend(lost_of_sections());
    all.extend(lost_of_order_and_of_data());
    all.extend(lost_of_parameters());
    // These losses occur when token ids are counted, when tools are declared (see below), and in
    // prompts. The last one is a name for what is not accepted, and loses nothing.
    all.extend([Lost::Truncated, Lost::Cut, Lost::Declaration, Lost::ToolsAsText, Lost::History]);
    all.push(Lost::Unaccepted);
    let mut spaced = call();
    spaced.recipient = Some("functions.a b".into());
    let mut options = RenderOptions::default();
    options.values = Values::Sanitize;
    let sanitized =
        convert(&conversation([spaced]), "harmony".parse().expect("a format"), &options);
    all.extend(sanitized.expect("it can be written").losses.iter().map(|loss| loss.lost));
    all.extend(lost_of_ids_and_systems());
    let older = convert(
        &conversation([]),
        "openchatml-2.0".parse().expect("a format"),
        &RenderOptions::default(),
    );
    all.extend(older.expect("it can be written").losses.iter().map(|loss| loss.lost));
    for kind in Lost::ALL {
        assert!(all.contains(kind), "`{}` is never lost", kind.as_str());
    }
}

/// What goes on the message before, says nothing, or comes too late, on the way to Apertus.
fn lost_of_sections() -> Vec<Lost> {
    let mut messages = vec![on(Role::System, None), on(Role::User, None)];
    let mut empty = on(Role::Assistant, Some(Channel::Final));
    empty.body = "".into();
    messages.extend([on(Role::Assistant, Some(Channel::Final)), empty]);
    messages.push(on(Role::Assistant, Some(Channel::Final)));
    let late = Conversation::from_messages([on(Role::User, None), on(Role::System, None)]);
    let conversations =
        [("apertus", Conversation::from_messages(messages)), ("apertus:json", late)];
    let losses = conversations.into_iter().flat_map(|(format, conversation)| {
        let format = format.parse().expect("a format");
        let converted = convert(&conversation.into(), format, &RenderOptions::default());
        converted.expect("it can be written").losses
    });
    losses.map(|loss| loss.lost).collect()
}

/// The order of replies, a prompt, and declarations, where a format has no place for them.
fn lost_of_order_and_of_data() -> Vec<Lost> {
    let calls = r#"{"messages":[{"role":"system","content":"S"},{"role":"assistant","tool_calls":[
        {"id":"1","function":{"name":"f","arguments":"{}"}},
        {"id":"2","function":{"name":"g","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"2","content":"b"},
        {"role":"tool","tool_call_id":"1","content":"a"}]}"#;
    let prompt = r#"{"messages":[{"role":"assistant","name":"Eve","end":"open"}]}"#;
    let declared = r#"[{"role":"system","content":[{"type":"system_content"}]}]"#;
    let comment = "# A comment.\nversion: 2.2\n\n";
    let documents = [
        ("openchatml-2.2", comment, "json", Lost::Comments),
        ("openai", calls, "apertus:json", Lost::Order),
        ("json", prompt, "openai", Lost::Prompt),
        ("harmony:json", declared, "json", Lost::DeclaredAsText),
    ];
    let losses = documents.into_iter().map(|(from, text, to, lost)| {
        let document = parse(text, from.parse().expect("a format"), &ReadOptions::default());
        let to = to.parse().expect("a format");
        let converted = convert(&document.document, to, &RenderOptions::default());
        let losses = converted.expect("it can be written").losses;
        assert_eq!(losses.iter().map(|loss| loss.lost).collect::<Vec<_>>(), [lost], "{text}");
        lost
    });
    losses.chain(lost_of_pairs()).chain(lost_of_bad_answers()).collect()
}

/// A reply to the second of two calls of one function, where a reply has no id.
fn lost_of_pairs() -> Vec<Lost> {
    let text = r#"{"messages":[{"role":"assistant","tool_calls":[
        {"id":"1","function":{"name":"f","arguments":"{}"}},
        {"id":"2","function":{"name":"f","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"2","content":"b"}]}"#;
    let document = parse(text, "openai".parse().expect("a format"), &ReadOptions::default());
    let qwen3 = "qwen3".parse().expect("a format");
    let converted = convert(&document.document, qwen3, &RenderOptions::default());
    converted.expect("it can be written").losses.iter().map(|loss| loss.lost).collect()
}

/// The label of a bad answer, where messages have no weights.
fn lost_of_bad_answers() -> Vec<Lost> {
    let text = r#"{"messages":[{"role":"assistant","content":"5."}],"label":false}"#;
    let document = parse(text, "openai".parse().expect("a format"), &ReadOptions::default());
    let losses = adapt(&document.document, "chatml".parse().expect("a format")).1;
    losses.iter().map(|loss| loss.lost).collect()
}

/// What only the formats of services have, on the way to canonical JSON.
fn lost_of_services() -> Vec<Lost> {
    let chat = r#"{"messages":[
        {"role":"user","content":[{"type":"image_url"},{"type":"input_audio"},{"type":"file"},
            {"type":"video_url"},{"type":"hologram"},{"type":"text","text":"a"},
            {"type":"text","text":"b"}]},
        {"role":"assistant","refusal":"No.","annotations":[1],"weight":0}
    ],"tools":[{"type":"custom"}],"model":"m"}"#;
    let mut all = Vec::new();
    let items = r#"[{"type":"reasoning","summary":[1],"encrypted_content":"A"},
        {"type":"item_reference"},{"type":"web_search_call"},{"type":"compaction"},
        {"role":"user","content":"Hi."}]"#;
    let documents = [(chat, "openai"), (items, "responses")];
    for (text, format) in documents {
        let format = format.parse().expect("a format");
        let document = parse(text, format, &ReadOptions::default()).document;
        assert_eq!(adapt(&document, format).1, [], "{text}");
        let losses = adapt(&document, Format::JSON).1;
        all.extend(losses.iter().map(|loss| loss.lost));
    }
    all
}

/// What a declaration has no words for is lost by name: once for each tool, and no more once it is
/// declared.
#[test]
fn unsupported_parts_of_a_declaration_are_lost() {
    let json = |schema: &str, more: &str| {
        let function = format!(r#"{{"name":"f","parameters":{schema}{more}}}"#);
        let tool = format!(r#"{{"type":"function","function":{function}}}"#);
        format!(r#"{{"tools":[{tool}],"messages":[{{"role":"user","content":"Hi."}}]}}"#)
    };
    let cases = [
        (r#"{"type":"object","properties":{"a":{"type":"string"}}}"#, "", 0),
        (r#"{"type":"object","additionalProperties":false}"#, "", 0),
        ("true", "", 0),
        ("7", "", 1),
        ("true", r#","strict":true"#, 1),
        (r#"{"type":"object","properties":{"a":{"type":"string","minLength":1}}}"#, "", 1),
        (r##"{"type":"array","items":{"$ref":"#/$defs/a"},"$defs":{"a":{"type":"null"}}}"##, "", 0),
        (r##"{"type":"array","items":{"$ref":"#"}}"##, "", 1),
        (r##"{"$ref":"#/nowhere"}"##, "", 1),
        // Whatever a keyword is called, and wherever it stands.
        (r#"{"type":"object","x-order":1}"#, "", 1),
        (r#"{"type":"vector"}"#, "", 1),
        (r#"{"type":"array","items":{"type":"string","description":"A city."}}"#, "", 1),
        (r#"{"type":"object","properties":{},"required":["a"]}"#, "", 1),
        (r##"{"type":"array","$defs":{"a":{"type":"null"}}}"##, "", 1),
        (r#"{"$schema":"s","type":"object","description":"All."}"#, "", 0),
    ];
    for (schema, more, count) in cases {
        let text = json(schema, more);
        let document = parse(&text, Format::JSON, &ReadOptions::default()).document;
        for target in ["harmony", "openchatml-2.2"] {
            let target = target.parse().expect("a format");
            let converted = convert(&document, target, &RenderOptions::default());
            let converted = converted.expect("it can be written");
            let lost: Vec<_> = converted.losses.iter().map(|loss| loss.lost).collect();
            let mut expected = vec![Lost::ToolsAsText];
            expected.resize(count + 1, Lost::Declaration);
            assert_eq!(lost, expected, "{schema} {more}");
            let again = parse(&converted.output, target, &ReadOptions::default()).document;
            let again = convert(&again, target, &RenderOptions::default()).expect("it was read");
            assert_eq!(again.losses, []);
        }
    }
}

/// Other renderers have fewer words.
#[test]
fn unsupported_parts_of_a_profile_tool_are_lost() {
    let lost = |profile: Profile, schema: &str| {
        let function = format!(r#"{{"name":"f","description":"d","parameters":{schema}}}"#);
        let tool = format!(r#"{{"type":"function","function":{function}}}"#);
        let text =
            format!(r#"{{"tools":[{tool}],"messages":[{{"role":"user","content":"Hi."}}]}}"#);
        let document = parse(&text, Format::JSON, &ReadOptions::default()).document;
        let mut options = RenderOptions::default();
        options.profile = profile;
        options.date = Some("2026-01-01".into());
        let converted = convert(&document, "harmony".parse().expect("a format"), &options);
        let losses = converted.expect("it can be written").losses;
        losses.iter().filter(|loss| loss.lost == Lost::Declaration).count()
    };
    let either = r#"{"type":"object","properties":{"a":{"anyOf":[{"type":"string"}]}}}"#;
    let map = r#"{"type":"object","additionalProperties":{"type":"string"}}"#;
    let limit = r#"{"type":"object","properties":{"a":{"type":"string","minLength":1}}}"#;
    for (profile, counts) in [
        (Profile::Documented, [0, 0, 1]),
        (Profile::Reference, [1, 1, 1]),
        (Profile::HfTemplate, [1, 1, 1]),
    ] {
        assert_eq!([either, map, limit].map(|it| lost(profile, it)), counts, "{profile:?}");
    }
}

/// A schema that refers to itself is said once.
#[test]
fn recursive_schemas_end() {
    let schema = r##"{"type":"object","properties":{"next":{"$ref":"#"}}}"##;
    let text = format!(
        r#"{{"tools":[{{"type":"function","function":{{"name":"f","parameters":{schema}}}}}],"messages":[]}}"#
    );
    let document = parse(&text, Format::JSON, &ReadOptions::default()).document;
    let parameters = document.as_conversation().and_then(|it| it.tools[0].parameters.clone());
    let (text, unsaid) = typescript(&parameters.expect("it has some"), Style::Documented);
    assert_eq!(text, "{\nnext?: any,\n}");
    assert_eq!(unsaid[0].pointer, "/properties/next");
}

/// Reasoning in a message for the user is hidden, and stays so: in a message of its own where a
/// format has reasoning, and by being dropped where it has none.
#[test]
fn text_after_a_marker_in_an_answer_stays_hidden() {
    let document = conversation([marked()]);
    for (format, bodies, loss) in [
        ("chatml-wire:text", &["a"][..], Lost::Analysis),
        ("openai", &["a", "b"], Lost::ReasoningMoved),
        ("openchatml-2.2", &["a", "b"], Lost::ReasoningMoved),
        ("json", &["a", "b"], Lost::ReasoningMoved),
    ] {
        let (adapted, losses) = adapt(&document, format.parse().expect("a format"));
        assert!(losses.iter().any(|it| it.lost == loss), "{format}: {losses:?}");
        let adapted = adapted.expect("something is lost");
        let messages = &adapted.as_conversation().expect("a conversation").messages;
        let got: Vec<_> = messages.iter().map(|it| it.body.text()).collect();
        assert_eq!(got, bodies, "{format}");
        let is_seen = |it: &Message<'_>| it.visibility() == Visibility::User;
        assert!(is_seen(&messages[0]) && !messages[1..].iter().any(is_seen), "{format}");
    }
}

/// The fields of an answer are not put back on the reasoning that stood in it.
#[test]
fn a_sidecar_shows_no_reasoning() {
    let document = conversation([marked()]);
    let harmony = "harmony".parse().expect("a format");
    let options = RenderOptions::default();
    let (converted, sidecar) =
        convert_with_sidecar(&document, harmony, &options).expect("it can be written");
    let mut read = parse(&converted.output, harmony, &ReadOptions::default()).into_conversation();
    sidecar.restore(&mut read).expect("it belongs to it");
    let seen: Vec<_> = read.messages.iter().map(Message::visibility).collect();
    assert_eq!(seen, [Visibility::User, Visibility::Hidden]);
}

#[test]
fn hidden_messages_are_not_carried_by_formats_that_show_everything() {
    let mut hidden = on(Role::Assistant, Some(Channel::Final));
    hidden.foreign = true;
    assert!(lost([hidden], "chatml-wire:text").contains(&Lost::Foreign));
    let hidden = on(Role::User, Some(Channel::Analysis));
    assert!(lost([hidden], "chatml").contains(&Lost::Hidden));
}

/// A call that was guessed at is not made, or marked as a guess.
#[test]
fn a_recovered_call_is_never_read_back_as_certain() {
    let mut guess = call();
    guess.recovered = true;
    guess.call_id = Some("c".into());
    guess.body = "{}".into();
    let user = || on(Role::User, None);
    let document = Conversation::from_messages([on(Role::System, None), user(), guess, user()]);
    let document = document.into();
    for format in Format::all() {
        let converted = convert(&document, format, &RenderOptions::default());
        let output = converted.expect("it can be written").output;
        let read = parse(&output, format, &ReadOptions::default()).into_conversation();
        let is_made = |it: &Message<'_>| it.is_call() && it.end == End::Call && !it.recovered;
        assert!(!read.messages.iter().any(is_made), "{format}: {output}");
    }
}

/// What a call says nothing of is filled in where the format reads it so, and that is no loss; what
/// it says otherwise is one.
#[test]
fn calls_are_json_in_formats_that_require_it() {
    for target in ["apertus", "apertus:json"] {
        for (said, losses) in [(None, 0), (Some("json"), 0), (Some("text"), 1)] {
            let mut call = Message::new(Role::Assistant, "{}");
            call.recipient = Some("functions.f".into());
            call.channel = Some(Channel::Commentary);
            call.content_type = said.map(Into::into);
            call.end = End::Call;
            let system = Message::new(Role::System, "S");
            let document = Conversation::from_messages([system, call]).into();
            let target = target.parse().expect("a format");
            let prepared = prepare(&document, target, &RenderOptions::default()).expect("it can");
            let messages = &prepared.document.as_conversation().expect("it is one").messages;
            let call = messages.last().expect("there is a call");
            assert_eq!(call.content_type.as_deref(), Some("json"), "{said:?}");
            assert_eq!(prepared.losses.len(), losses, "{:?}", prepared.losses);
        }
    }
}

/// What else is lost of a conversation does not take tools away that its developer declares.
#[test]
fn tools_that_the_developer_declares_are_not_dropped() {
    let declared = r#"[{"role":"developer","content":[{"type":"developer_content","tools":{
        "functions":{"name":"functions","tools":[{"name":"f","description":"F."}]}}}]},
        {"role":"user","content":"Hi."}]"#;
    let format = "harmony:json".parse().expect("a format");
    let mut document = parse(declared, format, &ReadOptions::default()).document;
    if let Document::Conversation(conversation) = &mut document {
        conversation.messages[1].weight = Some(Weight::ZERO);
    }
    let text = "harmony".parse().expect("a format");
    let (adapted, losses) = adapt(&document, text);
    let lost: Vec<_> = losses.iter().map(|loss| loss.lost).collect();
    assert_eq!(lost, [Lost::DeclaredAsText, Lost::Weight]);
    assert_eq!(adapted.expect("something is lost").into_conversation().tools.len(), 1);
    let converted = convert(&document, text, &RenderOptions::default()).expect("it can be written");
    let lost: Vec<_> = converted.losses.iter().map(|loss| loss.lost).collect();
    assert_eq!(lost, [Lost::ToolsAsText, Lost::DeclaredAsText, Lost::Weight]);
    assert!(converted.output.contains("type f = () => any;"));
}

/// A prompt has no `call_id` in a format with sections.
#[test]
fn a_prompt_loses_its_call_id() {
    let mut prompt = Message::new(Role::Assistant, "");
    (prompt.end, prompt.call_id) = (End::Prompt, Some("c".into()));
    let document = Conversation::from_messages([prompt]).into();
    let (adapted, losses) = adapt(&document, "apertus".parse().expect("a format"));
    assert_eq!(losses.iter().map(|loss| loss.lost).collect::<Vec<_>>(), [Lost::CallId]);
    assert_eq!(adapted.expect("something is lost").into_conversation().messages[0].call_id, None);
}

/// A constraint without a type has no effect, and does not apply to another type.
#[test]
fn a_constraint_without_a_type_has_no_effect() {
    let mut call = call();
    (call.constrained, call.body) = (true, "{}".into());
    let document = Conversation::from_messages([call]).into();
    let apertus = "apertus".parse().expect("a format");
    let (adapted, losses) = adapt(&document, apertus);
    let adapted = adapted.expect("the type is filled in");
    assert_eq!(losses, []);
    let message = &adapted.as_conversation().expect("a conversation").messages[0];
    assert_eq!((message.content_type.as_deref(), message.constrained), (Some("json"), false));
    assert_eq!(adapt(&adapted, apertus), (None, vec![]));
}
