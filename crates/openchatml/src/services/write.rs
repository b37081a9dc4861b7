//! Writing what stands around and beside messages.

use std::fmt::Write as _;

use super::beyond::beyond_of;
use super::state::Field;
use super::tools;
use crate::json::{write_string, write_value};
use crate::model::{Conversation, Document, FormId, Message};
use crate::options::RenderOptions;
use crate::writing::RenderError;
use crate::{Code, Value, Weight};

type Result<T> = std::result::Result<T, RenderError>;

/// The conversation that is to be written in a format that has no open messages.
pub(crate) fn conversation<'d, 'a>(
    document: &'d Document<'a>,
    options: &RenderOptions,
    form: FormId,
) -> Result<&'d Conversation<'a>> {
    let Some(conversation) = document.as_conversation() else {
        return Err(RenderError::not_a_conversation(form.name()));
    };
    if options.generation_prompt.is_some() || options.continue_final {
        let text = format!("`{}` has no open messages", form.name());
        let help = "write a text form, or token ids";
        return Err(RenderError::new(Code::RenderUnsupported, None, text).help(help));
    }
    Ok(conversation)
}

/// About how long the JSON will be.
pub(crate) fn estimate(conversation: &Conversation<'_>) -> usize {
    64 + conversation.messages.iter().map(|message| message.body.len() + 64).sum::<usize>()
}

/// Writes what stands around the messages: tools, and what else the document said.
pub(crate) fn write_document(out: &mut String, conversation: &Conversation<'_>, form: FormId) {
    let (fields, hosted) = aside_of(conversation, form);
    if !conversation.tools.is_empty() || !hosted.is_empty() {
        out.push_str(",\"tools\":");
        tools::write(out, &conversation.tools, hosted);
    }
    for (key, value) in fields.iter().filter(|field| field.0 != "tools") {
        write_field(out, key, value);
    }
}

/// What a document said beside its messages, and the tools among that.
pub(crate) fn aside_of<'c, 'a>(
    conversation: &'c Conversation<'a>,
    form: FormId,
) -> (&'c [Field<'a>], &'c [Value<'a>]) {
    let layout = conversation.layout.as_deref().filter(|layout| layout.form == form);
    let beyond = layout.and_then(|layout| layout.beyond.as_deref());
    let fields = beyond.map_or(&[][..], |beyond| &beyond.fields);
    let hosted = fields.iter().find(|field| field.0 == "tools");
    (fields, hosted.and_then(|field| field.1.as_list()).unwrap_or_default())
}

/// Writes `,"key":value`.
pub(crate) fn write_field(out: &mut String, key: &str, value: &Value<'_>) {
    out.push(',');
    write_string(out, key);
    out.push(':');
    write_value(out, value);
}

/// Writes how much a message counts in training, and what the JSON of the dialect said of it beyond
/// the model.
pub(crate) fn write_fields(out: &mut String, message: &Message<'_>, form: FormId) {
    if let Some(weight) = message.weight {
        let key = beyond_of(message, form).map_or("", |beyond| beyond.weight_key);
        // Writing to a `String` cannot fail.
        let _ = match (key, weight.get() == 0.0, weight == Weight::ONE) {
            // This key has a boolean.
            ("loss", true, _) => write!(out, ",\"loss\":false"),
            ("loss", _, true) => write!(out, ",\"loss\":true"),
            ("", ..) => write!(out, ",\"weight\":{weight}"),
            _ => write!(out, ",\"{key}\":{weight}"),
        };
    }
    for (key, value) in beyond_of(message, form).map_or(&[][..], |beyond| &beyond.fields) {
        write_field(out, key, value);
    }
}
