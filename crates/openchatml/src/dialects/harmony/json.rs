//! The JSON of the reference library: a `Conversation` of messages with text, or text and
//! declarations.

use crate::document::{DocumentReader, Root, write_shaped, write_string_field};
use crate::grammar::frame;
use crate::harmony::{Contents, declare, parts};
use crate::json::{Json, JsonError, write_string, write_value};
use crate::model::{Conversation, Document, End, Layout, Message, Role};
use crate::options::{ReadOptions, RenderOptions};
use crate::reading::Parsed;
use crate::rules::Carries;
use crate::writing::{Place, RenderError};
use crate::{Code, Control};

type Result<T> = std::result::Result<T, JsonError>;

pub(super) static CARRIES: Carries = Carries {
    declarations: true,
    makes_calls: true,
    ends: &[End::End, End::Call],
    ..super::CARRIES
};

pub(super) fn read<'a>(text: &'a str, options: &ReadOptions) -> Parsed<'a> {
    let mut reader = DocumentReader::new(options);
    reader.header = Some(super::CHECKS.controls);
    let mut json = reader.json(text);
    let mut conversation = Conversation { origin: super::RULES.form, ..Conversation::default() };
    let messages = &mut conversation.messages;
    let root = Root::of(&mut json, &["role"], &["messages"]);
    let read = match root {
        Root::List => reader.messages(&mut json, messages, message),
        Root::Message => reader.message(&mut json, messages, message),
        Root::Object => held(&mut reader, &mut json, messages),
        Root::Other => reader.no_conversation(&mut json),
    };
    declare(&mut conversation);
    conversation.set_shape(super::RULES.form, root.shape());
    reader.finish(json, read, conversation.into(), |_| Some(&super::CHECKS))
}

/// Reads the messages of an object.
fn held<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    messages: &mut Vec<Message<'a>>,
) -> Result<()> {
    let start = json.offset();
    let mut has_messages = false;
    reader.object(json, &["messages"], |reader, json, _| {
        has_messages = true;
        reader.messages(json, messages, message)
    })?;
    if !has_messages {
        reader.lacks("the object has no `messages`", start);
    }
    Ok(())
}

pub(super) const KEYS: &[&str] =
    &["role", "name", "recipient", "content", "channel", "content_type"];

fn message<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    messages: &mut Vec<Message<'a>>,
) -> Result<()> {
    let mut message = Message::new(Role::User, "");
    let (mut speaker, mut written, mut content_type) = (None, None, None);
    let (mut declared, mut has_content) = (None, false);
    let span = reader.object(json, KEYS, |reader, json, key| {
        match key {
            "role" => speaker = reader.speaker(json, false)?,
            "content_type" => {
                // It can contain the constraint token, and is checked below.
                let header = reader.header.take();
                content_type = reader.value(json, key, &mut message)?;
                reader.header = header;
            }
            "content" => {
                (declared, written) = (None, None);
                has_content = json.peek() != Some(b'n');
                match json.peek() {
                    Some(b'[') => declared = parts::read(reader, json)?,
                    _ => written = reader.written(json)?,
                }
            }
            _ => reader.field(json, key, &mut message)?,
        }
        Ok(())
    })?;
    let Some(span) = span else { return Ok(()) };
    message.span = span;
    message.in_json = true;
    let speaker = reader.spoken(speaker, span);
    if let Some(content) = &mut declared {
        parts::keep_own(reader, content, speaker.role());
    }
    if !has_content {
        reader.tolerate(Code::ParseJson.at(span, "the message has no `content`"));
    }
    reader.speak(speaker, &mut message);
    written.unwrap_or_default().say(&mut message);
    if message.is_call() {
        message.end = End::Call;
    }
    if let Some(raw) = content_type {
        typed(&mut message, &raw);
    }
    if declared.is_some() {
        let layout = message.layout.get_or_insert_default();
        layout.form = super::RULES.form;
        layout.content = declared;
    }
    (super::RULES.settle)(&mut message);
    if message.recovered {
        reader.report(frame::lost_call(span));
    }
    if message.content_type.is_some() && !(super::CARRIES.content_types)(&message) {
        let found = Code::ParseHeader.at(span, "the `content_type` cannot be written in a header");
        reader.tolerate(found.help("change or remove it before you write the text form"));
    }
    messages.push(message);
    Ok(())
}

/// Reads a content type, which can be a constraint: `<|constrain|>json`.
fn typed(message: &mut Message<'_>, raw: &str) {
    let mark = super::RULES.controls.spelling(Control::Constrain).unwrap_or_default();
    let Some(constraint) = raw.strip_prefix(mark) else {
        message.content_type = Some(raw.to_owned().into());
        return;
    };
    message.constrained = true;
    message.content_type = Some(constraint.trim_ascii().to_owned().into());
    if constraint == constraint.trim_ascii() {
        return;
    }
    // It keeps the space that was read.
    let Some(mut header) = frame::raw_header(message, &super::RULES) else { return };
    header.truncate(header.as_str().len() - constraint.trim_ascii().len());
    header.push_text(constraint);
    let layout = Layout { form: super::RULES.form, ..Layout::default() };
    message.layout = Some(Box::new(Layout { header: Some(header), ..layout }));
}

pub(super) fn write(
    document: &Document<'_>,
    options: &RenderOptions,
) -> std::result::Result<String, RenderError> {
    let Some(conversation) = document.as_conversation() else {
        return Err(RenderError::not_a_conversation("harmony"));
    };
    if options.generation_prompt.is_some() || options.continue_final {
        let text = "Harmony JSON cannot express an open message";
        let help = "write the text form or token ids";
        return Err(unsaid(conversation.messages.len(), text).help(help));
    }
    let messages = |out: &mut String| write_messages(out, conversation);
    let shape = conversation.shape(super::RULES.form);
    write_shaped(shape, "messages", 256, messages, |_| {})
}

/// Writes the messages of a list. Returns their number.
fn write_messages(
    out: &mut String,
    conversation: &Conversation<'_>,
) -> std::result::Result<usize, RenderError> {
    let contents = Contents::of(conversation);
    for (index, message) in conversation.messages.iter().enumerate() {
        if message.is_call() != (message.end == End::Call) {
            let text = "Harmony JSON cannot express a call that does not end with `<|call|>`";
            return Err(unsaid(index, text).at(Place::End, crate::Span::default()));
        }
        out.push_str(if index == 0 { "" } else { "," });
        write_message(out, message, &contents);
    }
    Ok(conversation.messages.len())
}

fn unsaid(index: usize, text: &str) -> RenderError {
    RenderError::new(Code::RenderUnsupported, Some(index), text)
}

fn write_message(out: &mut String, message: &Message<'_>, contents: &Contents) {
    out.push_str(r#"{"role":""#);
    out.push_str(message.role.as_str());
    out.push('"');
    write_string_field(out, "name", message.name.as_deref());
    write_string_field(out, "recipient", message.recipient.as_deref());
    out.push_str(r#","content":"#);
    match contents.unchanged(message) {
        Some(content) => write_value(out, content),
        None => write_string(out, &message.body.text()),
    }
    write_string_field(out, "channel", message.channel.map(|channel| channel.as_str()));
    let mark = super::RULES.controls.spelling(Control::Constrain).unwrap_or_default();
    let content_type = message.content_type.as_deref().map(|it| match message.constrained {
        true => format!("{mark}{it}"),
        false => it.to_owned(),
    });
    write_string_field(out, "content_type", content_type.as_deref());
    out.push('}');
}
