//! Writes the data around messages.

use std::fmt::Write as _;

use super::beyond::beyond_of;
use super::state::{Field, IS_TRAINED};
use super::tools;
use crate::json::{write_string, write_value};
use crate::model::{Beyond, Conversation, Document, FormId, Message};
use crate::options::RenderOptions;
use crate::writing::RenderError;
use crate::{Code, Value, Weight};

type Result<T> = std::result::Result<T, RenderError>;

/// Returns the conversation for a format without open messages.
pub(crate) fn conversation<'d, 'a>(
    document: &'d Document<'a>,
    options: &RenderOptions,
    form: FormId,
) -> Result<&'d Conversation<'a>> {
    let Some(conversation) = document.as_conversation() else {
        return Err(RenderError::not_a_conversation(form.name()));
    };
    if options.generation_prompt.is_some() || options.continue_final {
        let text = format!("`{}` cannot express an open message", form.name());
        let help = "write a text form or token ids";
        return Err(RenderError::new(Code::RenderUnsupported, None, text).help(help));
    }
    Ok(conversation)
}

/// Estimates the length of the JSON.
pub(crate) fn estimate(conversation: &Conversation<'_>) -> usize {
    64 + conversation.messages.iter().map(|message| message.body.len() + 64).sum::<usize>()
}

/// Writes the data around the messages: tools, and other data of the document `except` one field.
pub(crate) fn write_document(
    out: &mut String,
    conversation: &Conversation<'_>,
    form: FormId,
    except: &str,
) {
    let (fields, hosted) = aside_of(conversation, form);
    if !conversation.tools.is_empty() || !hosted.is_empty() {
        out.push_str(",\"tools\":");
        tools::write(out, &conversation.tools, hosted);
    }
    for (key, value) in fields.iter().filter(|field| field.0 != "tools" && field.0 != except) {
        write_field(out, key, value);
    }
}

/// Returns the data of a document outside of its messages, and its other tools.
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

/// Writes the weight of a message, and the data that only this JSON can express.
pub(crate) fn write_fields(out: &mut String, message: &Message<'_>, form: FormId) {
    if let Some(weight) = message.weight {
        let key = beyond_of(message, form).map_or("", |beyond| beyond.weight_key);
        // Writing to a `String` cannot fail.
        let _ = match (key, weight.get() == 0.0, weight == Weight::ONE) {
            // The values of these keys are booleans.
            (Beyond::IMPLIED, true, _) => Ok(()),
            (key, true, _) if IS_TRAINED.contains(&key) => {
                write!(out, ",\"{key}\":false")
            }
            (key, _, true) if IS_TRAINED.contains(&key) => {
                write!(out, ",\"{key}\":true")
            }
            ("" | Beyond::IMPLIED, ..) => write!(out, ",\"weight\":{weight}"),
            _ => write!(out, ",\"{key}\":{weight}"),
        };
    }
    for (key, value) in beyond_of(message, form).map_or(&[][..], |beyond| &beyond.fields) {
        write_field(out, key, value);
    }
}
