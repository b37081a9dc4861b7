//! What a JSON document is as a whole: an object with a key for the messages, a list of them, or one
//! of them by itself.

use super::Sheet;
use crate::check::Book;
use crate::json::{Json, Result, write_string};
use crate::model::{Conversation, FormId, Message, Shape};
use crate::options::ReadOptions;
use crate::reading::Parsed;

/// What a JSON document is as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Root {
    /// An array of messages.
    List,
    /// One message by itself.
    Message,
    /// An object that holds the messages under a key.
    Object,
    /// A value that is no conversation.
    Other,
}

impl Root {
    /// What comes next as a whole document. An object is a message if it has a string under one of
    /// these `keys`, and none of `holders` before that.
    pub(crate) fn of(json: &mut Json<'_>, keys: &[&str], holders: &[&str]) -> Self {
        match json.peek() {
            Some(b'[') => Self::List,
            // Nearly all documents begin so.
            Some(b'{') if json.begins_with(holders) => Self::Object,
            Some(b'{') if json.ahead(keys, holders).is_some() => Self::Message,
            Some(b'{') => Self::Object,
            _ => Self::Other,
        }
    }

    /// The shape of a conversation that is read so.
    pub(crate) fn shape(self) -> Shape {
        match self {
            Self::List => Shape::List,
            Self::Message => Shape::Message,
            Self::Object | Self::Other => Shape::Object,
        }
    }
}

impl Sheet<'_> {
    /// Drops a document that is no conversation: it is never an empty one.
    pub(crate) fn no_conversation(&mut self, json: &mut Json<'_>) -> Result<()> {
        self.wrong(json, "an object or an array")
    }
}

/// Reads a document that is an object that stands for messages, or an array of such objects. What
/// its text form cannot say is reported.
pub(crate) fn read_messages<'a>(
    form: FormId,
    text: &'a str,
    options: &ReadOptions,
    book: &'static Book,
    item: impl FnMut(&mut Sheet<'_>, &mut Json<'a>, &mut Vec<Message<'a>>) -> Result<()>,
) -> Parsed<'a> {
    let mut sheet = Sheet::new(options);
    sheet.header = Some(book.controls);
    let mut json = sheet.json(text);
    let mut conversation = Conversation::default();
    let messages = &mut conversation.messages;
    let root = Root::of(&mut json, &["role"], &[]);
    let read = match root {
        Root::List => sheet.messages(&mut json, messages, item),
        Root::Message | Root::Object => sheet.message(&mut json, messages, item),
        Root::Other => sheet.no_conversation(&mut json),
    };
    sheet.check_ends(&conversation.messages);
    conversation.set_shape(form, root.shape());
    sheet.finish(json, read, conversation.into(), |_| Some(book))
}

/// Writes messages in the shape that they were read in, as far as they still fit it.
///
/// `messages` writes the objects of the list, with commas between them, and gives how many there
/// are. `rest` writes `,"key":value` for everything that stands beside them; there must be an object
/// to hold that.
///
/// # Errors
///
/// What `messages` refuses.
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
