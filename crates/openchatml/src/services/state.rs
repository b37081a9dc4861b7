//! The state of readers of services' JSON while they read messages.

use std::borrow::Cow;
use std::collections::HashSet;

use super::replies::Replies;
use super::tools::Declared;
use super::training;
use crate::diagnostic::quote;
use crate::document::DocumentReader;
use crate::json::{Data, Json, JsonError, Value};
use crate::model::{Beyond, Conversation, FormId, Message};
use crate::{Code, Span};

/// Keys and their values.
pub(crate) type Fields<'a> = Vec<Field<'a>>;

/// A key and its value.
pub(crate) type Field<'a> = (Cow<'a, str>, Value<'a>);

/// The data of a document outside of its messages.
#[derive(Debug, Default)]
pub(crate) struct State<'a> {
    pub(crate) declared: Declared<'a>,
    pub(crate) replies: Replies,
    /// The message before all others, wherever it is in the document.
    pub(crate) first: Option<Message<'a>>,
    /// Items since the last message that are not messages.
    pub(crate) items: Vec<Value<'a>>,
    /// Whether the document is the response of a service.
    pub(crate) is_response: bool,
    /// Whether the document is a record with a prompt and a completion.
    pub(crate) has_completion: bool,
    /// The first message that is output of a service, if the document can also contain its input.
    pub(crate) first_output: Option<usize>,
    /// The number of messages up to the end of an answer that is incomplete.
    pub(super) stopped: Option<usize>,
    fields: Fields<'a>,
}

impl<'a> State<'a> {
    /// Keeps data of a request or response that is not part of the conversation. A conversion to
    /// another format reports it as a loss.
    pub(crate) fn aside(
        &mut self,
        json: &mut Json<'a>,
        key: &'static str,
    ) -> Result<(), JsonError> {
        let value = json.value()?;
        self.keep(key, value);
        Ok(())
    }

    /// Keeps a field of the document that is not part of the conversation.
    pub(crate) fn keep(&mut self, key: impl Into<Cow<'a, str>>, value: Value<'a>) {
        let key = key.into();
        self.fields.retain(|field| field.0 != key);
        self.fields.push((key, value));
    }

    /// Keeps another column of a record, unless it is another conversation.
    pub(crate) fn other(
        &mut self,
        reader: &mut DocumentReader<'_>,
        json: &mut Json<'a>,
        key: Cow<'a, str>,
    ) -> Result<(), JsonError> {
        if !CONVERSATIONS.contains(&key.as_ref()) || json.peek() != Some(b'[') {
            return self.column(json, key);
        }
        let start = json.offset();
        json.skip()?;
        let span = Span::new(start, json.position());
        let text = format!("{} is another conversation in the same record", quote(&key));
        let found = Code::ParseJson.at(span, text);
        reader.drop_item(found.help("it will be dropped; write a record for each"));
        Ok(())
    }

    /// Keeps another column of a record.
    pub(crate) fn column(
        &mut self,
        json: &mut Json<'a>,
        key: Cow<'a, str>,
    ) -> Result<(), JsonError> {
        self.fields.push((key, json.value()?));
        Ok(())
    }

    /// Puts messages before all others.
    pub(crate) fn put_first(&mut self, messages: &mut Vec<Message<'a>>, first: Vec<Message<'a>>) {
        self.stopped = self.stopped.map(|count| count + first.len());
        messages.splice(0..0, first);
    }

    /// Returns a field that is kept.
    pub(crate) fn field(&self, key: &str) -> Option<&Value<'a>> {
        self.fields.iter().rev().find(|field| field.0 == key).map(|field| &field.1)
    }

    /// Moves everything to the conversation, which already has its messages.
    pub(crate) fn end(
        mut self,
        conversation: &mut Conversation<'a>,
        form: FormId,
        reader: &mut DocumentReader<'_>,
    ) {
        let is_stopped = self.mark_stopped(&mut conversation.messages);
        if let Some(first) = self.first {
            conversation.messages.insert(0, first);
            conversation.messages.truncate(reader.options.limits.messages);
        }
        let messages = &mut conversation.messages;
        training::apply(&self.fields, self.has_completion, messages, form, reader);
        conversation.tools = self.declared.functions;
        if !self.declared.hosted.is_empty() {
            self.fields.push(("tools".into(), Data::List(self.declared.hosted).into()));
        }
        if is_stopped {
            let layout = conversation.layout.get_or_insert_default();
            (layout.form, layout.is_stopped) = (form, true);
        }
        if !self.fields.is_empty() || !self.items.is_empty() {
            let beyond = Beyond {
                fields: last_of_each(self.fields),
                items: self.items,
                ..Beyond::default()
            };
            let layout = conversation.layout.get_or_insert_default();
            (layout.form, layout.beyond) = (form, Some(Box::new(beyond)));
        }
    }
}

/// The keys under which data sets have a conversation.
const CONVERSATIONS: &[&str] = &["messages", "conversations", "conversation"];

/// Returns the fields, but of two with the same key only the last one.
pub(crate) fn last_of_each(mut fields: Fields<'_>) -> Fields<'_> {
    if fields.len() < 2 {
        return fields;
    }
    let mut keys = HashSet::new();
    let mut is_last: Vec<bool> =
        fields.iter().rev().map(|field| keys.insert(field.0.clone())).collect();
    fields.retain(|_| is_last.pop().unwrap_or(true));
    fields
}

/// The keys of the weight of a message.
pub(crate) const WEIGHT_KEYS: &[&str] = &[
    "weight",
    "loss_weight",
    "loss_scale",
    "loss",
    "train",
    "trainable",
    "training",
    "train_on_turn",
];

/// Those of them whose values are booleans.
pub(crate) const IS_TRAINED: &[&str] = &["loss", "train", "trainable", "training", "train_on_turn"];

/// Reads another column of an object.
pub(crate) fn push_column<'a>(
    fields: &mut Fields<'a>,
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    key: Cow<'a, str>,
) -> Result<(), JsonError> {
    let value = json.value()?;
    if ["loss_mask", "mask", "masked", "train_detail"].contains(&&*key) {
        let found = Code::ParseJson.at(value.span, format!("`{key}` has several meanings"));
        let help = "write `weight`: 0 for a message that is not trained, and 1 for others";
        reader.drop_value(found.help(help));
        return Ok(());
    }
    fields.push((key, value));
    Ok(())
}
