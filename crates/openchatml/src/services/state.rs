//! What the readers of services' JSON know of a document while they read its messages.

use std::borrow::Cow;

use super::replies::Replies;
use super::tools::Declared;
use crate::Code;
use crate::diagnostic::quote;
use crate::document::Sheet;
use crate::json::{Data, Json, JsonError, Value};
use crate::limits::Limits;
use crate::model::{Beyond, Conversation, DocumentLayout, FormId, Message};

/// Keys and their values.
pub(crate) type Fields<'a> = Vec<Field<'a>>;

/// A key and its value.
pub(crate) type Field<'a> = (Cow<'a, str>, Value<'a>);

/// What a document says beside its messages.
#[derive(Debug, Default)]
pub(crate) struct State<'a> {
    pub(crate) declared: Declared<'a>,
    pub(crate) replies: Replies,
    /// What is said before all messages, wherever it stands.
    pub(crate) first: Option<Message<'a>>,
    /// Items that are no messages, since the last message.
    pub(crate) items: Vec<Value<'a>>,
    /// Whether the document is the response of a service.
    pub(crate) is_response: bool,
    /// The first message that is the output of a service, if its input may stand beside it.
    pub(crate) first_output: Option<usize>,
    fields: Fields<'a>,
}

impl<'a> State<'a> {
    /// Keeps what is said to the service, or by it, and not in the conversation.
    pub(crate) fn aside(
        &mut self,
        sheet: &mut Sheet<'_>,
        json: &mut Json<'a>,
        key: &'static str,
    ) -> Result<(), JsonError> {
        let value = json.value()?;
        let text = format!("{} is no part of a conversation", quote(key));
        let found = Code::UnknownKey.at(value.span, text);
        sheet.remark(found.help("only this format keeps it"));
        self.keep(key, value);
        Ok(())
    }

    /// Keeps a field of the document that is no part of the conversation.
    pub(crate) fn keep(&mut self, key: &'static str, value: Value<'a>) {
        self.fields.retain(|field| field.0 != key);
        self.fields.push((key.into(), value));
    }

    /// Gives all of it to the conversation, which has its messages.
    pub(crate) fn end(
        mut self,
        conversation: &mut Conversation<'a>,
        form: FormId,
        limits: &Limits,
    ) {
        if let Some(first) = self.first {
            conversation.messages.insert(0, first);
            conversation.messages.truncate(limits.messages);
        }
        conversation.tools = self.declared.functions;
        if !self.declared.hosted.is_empty() {
            self.fields.push(("tools".into(), Data::List(self.declared.hosted).into()));
        }
        if !self.fields.is_empty() || !self.items.is_empty() {
            let beyond = Beyond { fields: self.fields, items: self.items, ..Beyond::default() };
            let beyond = Some(Box::new(beyond));
            let layout = DocumentLayout { form, beyond, ..DocumentLayout::default() };
            conversation.layout = Some(Box::new(layout));
        }
    }
}
