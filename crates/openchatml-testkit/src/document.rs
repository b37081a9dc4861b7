//! Random documents whose fields a format can carry. Their text may still be impossible to write.

use std::borrow::Cow;

use openchatml::convert::{Channels, Intents, Markers};
use openchatml::{
    Body, Carrier, Channel, Content, Conversation, Data, Document, End, Format, Header, Infill,
    InfillOrder, Intent, Marker, Message, Pair, Part, Role, Segment, Tool, Value, Weight,
};

use crate::{Source, one_in, pick, text};

/// Generates a document whose fields `format` can carry.
pub fn document(source: &mut Source<'_>, format: Format) -> Document<'static> {
    let carries = format.carries();
    if carries.infill && one_in(source, 8) {
        return Document::Infill(infill(source));
    }
    if carries.files && one_in(source, 8) {
        return files(source, format);
    }
    if format.carrier() == Carrier::Json && one_in(source, 8) {
        return pair(source, format);
    }
    Document::Conversation(conversation(source, format))
}

fn infill(source: &mut Source<'_>) -> Infill<'static> {
    let mut infill = Infill::new(text::hostile(source), text::hostile(source));
    if one_in(source, 2) {
        infill.middle = Some(text::hostile(source)).filter(|text| !text.is_empty()).map(Cow::Owned);
    }
    infill.order = pick(
        source,
        &[
            InfillOrder::PrefixMiddleSuffix,
            InfillOrder::PrefixSuffixMiddle,
            InfillOrder::SuffixPrefixMiddle,
        ],
    );
    infill
}

/// Generates at least two files, because a sequence of one file is the file itself.
fn files(source: &mut Source<'_>, format: Format) -> Document<'static> {
    let count = source.int_in_range(2..=4).unwrap_or(2);
    let part = |source: &mut Source<'_>| match source.int_in_range(0..=3).unwrap_or(0) {
        0 => Content::Infill(infill(source)),
        1 => {
            let mut conversation = conversation(source, format);
            if conversation.messages.is_empty() {
                conversation.messages.push(Message::new(Role::User, "x"));
            }
            for message in &mut conversation.messages {
                message.end = End::End;
            }
            Content::Conversation(conversation)
        }
        _ => Content::Text(text::hostile(source).into()),
    };
    Document::Files((0..count).map(|_| Part::from(part(source))).collect())
}

/// Generates a pair, usually with the same prompt and different answers.
fn pair(source: &mut Source<'_>, format: Format) -> Document<'static> {
    let chosen = conversation(source, format);
    let mut rejected = match one_in(source, 4) {
        true => conversation(source, format),
        false => chosen.clone(),
    };
    // A prompt has no text, the arguments of a call can be limited to JSON, and some formats have no
    // empty messages.
    if let Some(last) = rejected.messages.last_mut()
        && (last.end, &last.role) == (End::End, &Role::Assistant)
        && !last.is_call()
    {
        let other = text::hostile(source);
        last.body = if other.is_empty() { "x".into() } else { other.into() };
    }
    let mut pair = Pair::new(chosen, rejected);
    if ["records", "openai", "sharegpt"].contains(&format.dialect().id) {
        // These can write what both sides begin with as a prompt.
        let shared = pair.shared();
        for side in [&mut pair.chosen, &mut pair.rejected] {
            untrain(&mut side.messages[..shared]);
        }
    }
    Document::Pair(pair.into())
}

/// Generates a conversation whose fields `format` can carry.
pub fn conversation(source: &mut Source<'_>, format: Format) -> Conversation<'static> {
    let carries = format.carries();
    if carries.channels == Channels::Sections {
        return crate::sections::conversation(source, format);
    }
    let mut conversation = Conversation::default();
    if carries.header && (format.dialect().id != "json" || one_in(source, 2)) {
        conversation.header = Some(header(source, carries.version.unwrap_or("2.2")));
    }
    if carries.tools && one_in(source, 4) {
        conversation.tools.push(tool(source));
    }
    let count = source.int_in_range(0..=6).unwrap_or(0);
    for index in 0..count {
        let mut one = message(source, format);
        if matches!(one.end, End::Open | End::Prompt) && index + 1 < count {
            one.end = End::End;
        }
        conversation.messages.push(one);
    }
    if carries.intents == Intents::BeforeCalls {
        lead_calls(source, &mut conversation.messages);
    }
    if format.dialect().id == "records" {
        untrain_prompt(&mut conversation.messages);
    }
    conversation
}

/// Gives the answers before the last turn of the assistant the weight that they have in the prompt of
/// a record.
fn untrain_prompt(messages: &mut [Message<'static>]) {
    let last = messages.iter().rev().take_while(|it| it.role == Role::Assistant).count();
    let before = messages.len() - last;
    untrain(&mut messages[..before]);
}

fn untrain(messages: &mut [Message<'static>]) {
    for message in messages.iter_mut().filter(|it| it.role == Role::Assistant) {
        message.weight = Some(Weight::ZERO);
    }
}

/// Converts some answers before calls to preambles.
fn lead_calls(source: &mut Source<'_>, messages: &mut [Message<'static>]) {
    for at in 1..messages.len() {
        let (before, after) = messages.split_at_mut(at);
        let (one, call) = (&mut before[at - 1], &after[0]);
        let leads = one.is_answer() && call.is_call() && one.name == call.name;
        if leads && !one.body.is_empty() && one_in(source, 2) {
            one.channel = Some(Channel::Commentary);
            one.intent = Some(Intent::Preamble);
        }
    }
}

fn header(source: &mut Source<'_>, version: &'static str) -> Header<'static> {
    let mut header = Header::new(version);
    const KEYS: &[&str] =
        &["model", "x", "a key", "é", "<|start|>", "1", "true", "- x", "a: b", ""];
    for _ in 0..source.int_in_range(0..=3).unwrap_or(0) {
        let key = pick(source, KEYS);
        let value = value(source, 0);
        if key != "model" || value.as_str().is_some() {
            header.insert(key, value);
        }
    }
    header
}

/// Generates a value that both YAML and JSON can carry.
fn value(source: &mut Source<'_>, depth: usize) -> Value<'static> {
    const NUMBERS: &[&str] = &["0", "-1", "0.7", "1e400", "2.0", "12345678901234567890"];
    let kinds = if depth < 3 { 6 } else { 4 };
    let data = match source.int_in_range(0..=kinds).unwrap_or(0) {
        0 => Data::Null,
        1 => Data::Bool(one_in(source, 2)),
        2 => Data::Number((pick(source, NUMBERS)).into()),
        3 => Data::String(text::hostile(source).into()),
        4 => Data::String(text::value(source).into()),
        5 => {
            let count = source.int_in_range(0..=3).unwrap_or(0);
            Data::List((0..count).map(|_| value(source, depth + 1)).collect())
        }
        _ => {
            let mut entries: Vec<(Cow<'static, str>, Value<'static>)> = Vec::new();
            for _ in 0..source.int_in_range(0..=3).unwrap_or(0) {
                let key = text::value(source);
                if entries.iter().all(|entry| entry.0 != key) {
                    entries.push((key.into(), value(source, depth + 1)));
                }
            }
            Data::Map(entries)
        }
    };
    data.into()
}

fn tool(source: &mut Source<'_>) -> Tool<'static> {
    let mut tool = Tool::new(text::value(source));
    if one_in(source, 2) {
        tool.description = Some(text::hostile(source).into());
    }
    if one_in(source, 2) {
        tool.parameters = Some(value(source, 1));
    }
    if one_in(source, 4) {
        tool.extra.push(("strict".into(), Value::from(true)));
    }
    tool
}

/// Generates a message whose fields `format` can carry.
pub fn message(source: &mut Source<'_>, format: Format) -> Message<'static> {
    let carries = format.carries();
    let mut message = Message::new(pick(source, carries.roles), "");
    match carries.channels {
        Channels::All => all_fields(source, format, &mut message),
        Channels::Turns | Channels::Calls | Channels::Sections => {
            turn_fields(source, format, &mut message);
        }
        Channels::None => {
            message.end = pick(source, carries.ends);
        }
    }
    if format.dialect().id == "chatml-wire" && message.role == Role::System && one_in(source, 2) {
        message.name = Some((pick(source, &["example_user", "example_assistant"])).into());
    }
    if one_in(source, 4) && message.name.is_none() {
        message.name = Some(text::value(source).into());
        if !(carries.names)(&message) {
            message.name = None;
        }
    }
    if carries.needs_names && message.role == Role::Tool {
        let is_fixed = carries.channels != Channels::All;
        let space = if is_fixed && one_in(source, 3) { "" } else { "functions." };
        message.name = Some(format!("{space}{}", text::value(source)).into());
    }
    message.body = body(source, format, &message);
    if carries.channels != Channels::All {
        call_type(source, format, &mut message);
    }
    if message.end == End::Prompt {
        message.body = Body::default();
    }
    message
}

fn all_fields(source: &mut Source<'_>, format: Format, message: &mut Message<'static>) {
    let carries = format.carries();
    if one_in(source, 2) {
        message.channel = Some(pick(source, Channel::ALL));
    }
    if one_in(source, 3) {
        message.recipient = Some(text::value(source).into());
    }
    if carries.needs_channels && message.role == Role::Assistant {
        message.channel.get_or_insert(Channel::Final);
    }
    if carries.reply_recipients && message.role == Role::Tool {
        message.recipient = Some("assistant".into());
    }
    if carries.call_ids && one_in(source, 3) {
        message.call_id = Some(text::value(source).into());
    }
    if one_in(source, 3) {
        let content_type = if one_in(source, 2) { "json".to_owned() } else { text::value(source) };
        message.content_type = Some(content_type.into());
        message.constrained = one_in(source, 2);
        if !(carries.content_types)(message) {
            (message.content_type, message.constrained) = (None, false);
        }
    }
    intent(source, format, message);
    message.end = pick(source, carries.ends);
    if carries.recovered && one_in(source, 8) {
        message.recovered = true;
    }
    // In the JSON of 2.2, the end of a message determines whether it is a call.
    if carries.makes_calls {
        message.end = if message.is_call() { End::Call } else { End::End };
    }
    let is_json_2_2 = format.to_string() == "openchatml-2.2:json";
    if is_json_2_2 && message.end == End::Call && !message.is_call() {
        message.end = End::End;
    }
}

fn intent(source: &mut Source<'_>, format: Format, message: &mut Message<'static>) {
    match format.carries().intents {
        Intents::All if one_in(source, 4) => message.intent = Some(pick(source, Intent::ALL)),
        Intents::Implied | Intents::BeforeCalls => {
            let is_preamble = message.role == Role::Assistant
                && message.channel == Some(Channel::Commentary)
                && message.recipient.is_none();
            message.intent = is_preamble.then_some(Intent::Preamble);
        }
        _ => {}
    }
}

/// In a turn, the content type of a call follows from its text.
fn call_type(source: &mut Source<'_>, format: Format, message: &mut Message<'static>) {
    if !message.is_call() {
        return;
    }
    if one_in(source, 2) {
        message.body = Body::from(text::json(source));
    }
    message.content_type = Some("json".into());
    let is_carried = (format.carries().content_types)(message);
    let may_be_text = !message.body.text().starts_with('{');
    if !is_carried || may_be_text && one_in(source, 2) {
        message.content_type = None;
    }
}

/// Adjusts a message to the kinds that a turn in JSON can contain.
fn turn_fields(source: &mut Source<'_>, format: Format, message: &mut Message<'static>) {
    let carries = format.carries();
    match message.role {
        Role::Tool => {
            message.channel = Some(Channel::Commentary);
            message.recipient = Some("assistant".into());
            if carries.call_ids && one_in(source, 2) {
                message.call_id = Some(text::value(source).into());
            }
        }
        Role::Assistant => match source.int_in_range(0..=2).unwrap_or(0) {
            0 if carries.channels == Channels::Turns => message.channel = Some(Channel::Analysis),
            1 if carries.intents == Intents::Implied && one_in(source, 2) => {
                message.channel = Some(Channel::Commentary);
                message.intent = Some(Intent::Preamble);
            }
            0 | 1 => message.channel = Some(Channel::Final),
            _ => {
                message.channel = Some(Channel::Commentary);
                message.recipient = Some(text::value(source).into());
                message.end = End::Call;
                if carries.call_ids && one_in(source, 2) {
                    message.call_id = Some(text::value(source).into());
                }
            }
        },
        _ => {}
    }
}

fn body(source: &mut Source<'_>, format: Format, message: &Message<'_>) -> Body<'static> {
    if message.content_type.as_deref() == Some("json") && one_in(source, 2) {
        return Body::from(text::json(source));
    }
    let marks = message.is_reasoning() || message.channel == Some(Channel::Analysis);
    let marks = marks && message.role == Role::Assistant;
    let marks = marks && format.carries().markers != Markers::None;
    let count = source.int_in_range(1..=3).unwrap_or(1);
    let segments = (0..count).map(|_| match source.int_in_range(0..=3).unwrap_or(0) {
        0 if marks => Segment::Marker(pick(source, Marker::ALL)),
        1 if format.dialect().id == "openchatml-2.2" || format.dialect().id == "json" => {
            Segment::Literal(text::hostile(source).into())
        }
        _ => Segment::Text(text::hostile(source).into()),
    });
    Body::from_segments(segments.collect::<Vec<_>>())
}
