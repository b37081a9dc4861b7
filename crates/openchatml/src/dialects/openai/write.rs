//! Writes the body of a request: messages and tools.

use std::fmt::Write as _;

use super::FORM;
use super::read::INPUT_KEYS;
use crate::Value;
use crate::document::{continued_at, write_shaped};
use crate::json::{Data, write_string, write_value};
use crate::model::{Conversation, Document, Pair, Role, Shape};
use crate::options::RenderOptions;
use crate::services::chat::ChatWriter;
use crate::services::{self, Fields, aside_of, estimate, write_document, write_field};
use crate::writing::RenderError;

type Result<T> = std::result::Result<T, RenderError>;

pub(super) fn write(document: &Document<'_>, options: &RenderOptions) -> Result<String> {
    let conversation = services::conversation(document, options, FORM)?;
    let messages = |out: &mut String| ChatWriter::new(FORM).messages(out, &conversation.messages);
    let shape = conversation.shape(FORM);
    if shape == Shape::Response {
        let mut message = String::with_capacity(estimate(conversation));
        match messages(&mut message)? {
            0 if conversation.tools.is_empty() => return Ok(response(None, conversation)),
            1 if conversation.tools.is_empty() => {
                return Ok(response(Some(&message), conversation));
            }
            _ => {}
        }
    }
    // With more messages than the choice, it is no response any more.
    let rest = |out: &mut String| write_document(out, conversation, FORM, CHOICES);
    write_shaped(shape, "messages", estimate(conversation), messages, rest)
}

/// Writes a pair as a record for fine-tuning by preference: an input, and two outputs of one object.
/// Pairs that were read in another form keep it.
pub(super) fn write_pair(pair: &Pair<'_>, options: &RenderOptions) -> Result<Option<String>> {
    let Some((asked, [preferred, other])) = outputs(pair)? else { return Ok(None) };
    let mut input = pair.chosen.prompt(FORM, asked);
    // Fields of the record are beside the input.
    let beyond = input.layout.as_mut().and_then(|layout| layout.beyond.as_mut());
    let fields = beyond.map(|beyond| {
        let all = std::mem::take(&mut beyond.fields).into_iter();
        let (own, rest) = all.partition(|field| INPUT_KEYS.contains(&field.0.as_ref()));
        beyond.fields = own;
        rest
    });
    let input = write(&input.into(), options)?;
    let mut out = format!(r#"{{"input":{input}"#);
    let _ = write!(out, r#","preferred_output":[{preferred}],"non_preferred_output":[{other}]"#);
    for (key, value) in fields.iter().flat_map(|fields: &Fields<'_>| fields) {
        write_field(&mut out, key, value);
    }
    out.push('}');
    Ok(Some(out))
}

/// Returns the number of messages in the input of a pair, which are only context.
pub(super) fn context(document: &Document<'_>) -> usize {
    let Document::Pair(pair) = document else { return 0 };
    // A pair that cannot be written has no context.
    outputs(pair).ok().flatten().map_or(0, |(asked, _)| asked)
}

/// Writes both outputs of a pair, if each is one object. Returns the number of messages in its input,
/// too.
fn outputs(pair: &Pair<'_>) -> Result<Option<(usize, [String; 2])>> {
    let Some(asked) = continued_at(pair, FORM) else { return Ok(None) };
    let mut writer = ChatWriter::new(FORM);
    writer.messages(&mut String::new(), &pair.chosen.messages[..asked])?;
    let mut outputs = [String::new(), String::new()];
    for (output, side) in outputs.iter_mut().zip([&pair.chosen, &pair.rejected]) {
        let own = &side.messages[asked..];
        let is_output = own.iter().all(|message| message.role == Role::Assistant);
        if !is_output || writer.clone().messages(output, own)? != 1 {
            return Ok(None);
        }
    }
    Ok(Some((asked, outputs)))
}

/// Returns the response of a service with this message, if there is one.
fn response(message: Option<&str>, conversation: &Conversation<'_>) -> String {
    let (fields, _) = aside_of(conversation, FORM);
    let choices = fields.iter().find(|field| field.0 == CHOICES).and_then(|it| it.1.as_list());
    let mut out = String::from("{");
    match (message, choices) {
        (None, choices) => {
            write_string(&mut out, CHOICES);
            out.push(':');
            write_value(&mut out, &Data::List(choices.unwrap_or_default().to_vec()).into());
        }
        (Some(message), choices) => {
            let _ = write!(out, r#""choices":[{{"message":{message}"#);
            let choice = choices.and_then(|it| it.first()).and_then(Value::as_map);
            for (key, value) in choice.unwrap_or_default() {
                write_field(&mut out, key, value);
            }
            out.push_str("}]");
        }
    }
    for (key, value) in fields.iter().filter(|field| field.0 != CHOICES) {
        write_field(&mut out, key, value);
    }
    out.push('}');
    out
}

/// The key of a response with the output of the model.
pub(super) const CHOICES: &str = "choices";
