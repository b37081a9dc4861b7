//! The structure of a JSON document: an object with messages under a key, a list of messages, or a
//! single message.

use super::DocumentReader;
use crate::check::CheckRules;
use crate::json::{Json, Result, write_string};
use crate::model::{Conversation, FormId, Message, Shape};
use crate::options::ReadOptions;
use crate::reading::Parsed;

/// The structure of a JSON document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Root {
    /// An array of messages.
    List,
    /// A single message.
    Message,
    /// An object with messages under a key.
    Object,
    /// Another value, which is not a conversation.
    Other,
}

impl Root {
    /// Detects the structure of the next document. An object is a message if it has a string under
    /// one of these `keys`, before any of the `holders`.
    pub(crate) fn of(json: &mut Json<'_>, keys: &[&str], holders: &[&str]) -> Self {
        match json.peek() {
            Some(b'[') => Self::List,
            // Nearly all documents begin like this.
            Some(b'{') if json.begins_with(holders) => Self::Object,
            Some(b'{') if json.ahead(keys, holders).is_some() => Self::Message,
            Some(b'{') => Self::Object,
            _ => Self::Other,
        }
    }

    /// Returns the shape of a conversation with this structure.
    pub(crate) fn shape(self) -> Shape {
        match self {
            Self::List => Shape::List,
            Self::Message => Shape::Message,
            Self::Object | Self::Other => Shape::Object,
        }
    }
}

impl DocumentReader<'_> {
    /// Drops a document that is not a conversation. It is never read as an empty one.
    pub(crate) fn no_conversation(&mut self, json: &mut Json<'_>) -> Result<()> {
        self.wrong(json, "an object or an array")
    }
}

/// Reads a document that is an object with messages, or an array of such objects. Everything that
/// its text form cannot express is reported.
pub(crate) fn read_messages<'a>(
    form: FormId,
    text: &'a str,
    options: &ReadOptions,
    checks: &'static CheckRules,
    item: impl FnMut(&mut DocumentReader<'_>, &mut Json<'a>, &mut Vec<Message<'a>>) -> Result<()>,
) -> Parsed<'a> {
    let mut reader = DocumentReader::new(options);
    reader.header = Some(checks.controls);
    let mut json = reader.json(text);
    let mut conversation = Conversation::default();
    let messages = &mut conversation.messages;
    let root = Root::of(&mut json, &["role"], &[]);
    let read = match root {
        Root::List => reader.messages(&mut json, messages, item),
        Root::Message | Root::Object => reader.message(&mut json, messages, item),
        Root::Other => reader.no_conversation(&mut json),
    };
    reader.check_ends(&conversation.messages);
    conversation.set_shape(form, root.shape());
    reader.finish(json, read, conversation.into(), |_| Some(checks))
}

/// Writes messages in their original shape, if they still fit it.
///
/// `messages` writes the objects of the list, separated by commas, and returns their number. `rest`
/// writes `,"key":value` for all other fields, which require an object.
///
/// # Errors
///
/// The errors of `messages`.
pub(crate) fn write_shaped<E>(
    shape: Shape,
    key: &str,
    capacity: usize,
    messages: impl FnOnce(&mut String) -> std::result::Result<usize, E>,
    rest: impl FnOnce(&mut String),
) -> std::result::Result<String, E> {
    let mut out = String::with_capacity(capacity);
    if shape == Shape::Object {
        out.push('{');
        write_string(&mut out, key);
        out.push_str(":[");
        messages(&mut out)?;
        out.push(']');
        rest(&mut out);
        out.push('}');
        return Ok(out);
    }
    let mut beside = String::new();
    rest(&mut beside);
    let count = messages(&mut out)?;
    if shape == Shape::Message && count == 1 && beside.is_empty() {
        return Ok(out);
    }
    if beside.is_empty() {
        return Ok(format!("[{out}]"));
    }
    Ok(format!("{{\"{key}\":[{out}]{beside}}}"))
}
