//! The layout of a message, so that it can be written again byte for byte.
//!
//! `None` is the canonical layout of the dialect. A layout has no meaning: comparisons ignore it. A
//! writer uses it only in the same dialect, and only if it still matches the message.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Beyond, Conversation, FormId, Message, Raw, Role, Weight};
use crate::json::Value;

/// The layout of one message.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout<'a> {
    /// The form that it was read in.
    pub(crate) form: FormId,
    /// The text between the body of the previous message and this one, in formats whose messages
    /// have no frame of their own.
    pub(crate) before: Option<Raw<'a>>,
    /// The text between the token that opens the header and the body.
    pub(crate) header: Option<Raw<'a>>,
    /// The line break between the body and its end token (only in the `<|im_start|>` framing).
    pub(crate) close: Option<Cow<'a, str>>,
    /// The text between the end token and the next message.
    pub(crate) after: Option<Raw<'a>>,
    /// The content in the dialect's JSON, if it contains more than the body.
    pub(crate) content: Option<Value<'a>>,
    /// The token ids that the message was read from.
    pub(crate) ids: Option<Arc<[u32]>>,
    /// Data of the dialect's JSON that the model has no field for.
    pub(crate) beyond: Option<Box<Beyond<'a>>>,
    /// Whether this data says that the message is incomplete.
    pub(crate) is_stopped: bool,
}

impl Layout<'_> {
    /// Returns the layout with borrowed text, without the data that only the dialect's JSON can
    /// express.
    pub(crate) fn borrowed(&self) -> Layout<'_> {
        Layout {
            form: self.form,
            before: self.before.as_ref().map(Raw::borrowed),
            header: self.header.as_ref().map(Raw::borrowed),
            close: self.close.as_deref().map(Cow::Borrowed),
            after: self.after.as_ref().map(Raw::borrowed),
            content: None,
            ids: self.ids.clone(),
            beyond: None,
            is_stopped: false,
        }
    }

    pub(crate) fn into_owned(self) -> Layout<'static> {
        Layout {
            form: self.form,
            before: self.before.map(Raw::into_owned),
            header: self.header.map(Raw::into_owned),
            close: self.close.map(|text| Cow::Owned(text.into_owned())),
            after: self.after.map(Raw::into_owned),
            content: self.content.map(Value::into_owned),
            ids: self.ids,
            beyond: self.beyond.map(|beyond| Box::new(beyond.into_owned())),
            is_stopped: self.is_stopped,
        }
    }
}

impl Message<'_> {
    /// Whether the data about the message, in this form, says that it is incomplete.
    pub(crate) fn is_stopped(&self, form: FormId) -> bool {
        self.layout.as_deref().is_some_and(|layout| layout.form == form && layout.is_stopped)
    }
}

/// Gives the messages of the assistant the weight 0, if they have none: the data around them says
/// that a model is not trained on them.
pub(crate) fn untrain(messages: &mut [Message<'_>], form: FormId) {
    for message in messages.iter_mut().filter(|it| it.role == Role::Assistant) {
        if message.weight.is_none() {
            message.weight = Some(Weight::ZERO);
            let layout = message.layout.get_or_insert_default();
            layout.form = form;
            layout.beyond.get_or_insert_default().weight_key = Beyond::IMPLIED;
        }
    }
}

/// The layout around the messages.
#[derive(Clone, Debug, Default)]
pub(crate) struct DocumentLayout<'a> {
    /// The form that it was read in.
    pub(crate) form: FormId,
    /// The text before the first message, after the header if there is one.
    pub(crate) lead: Option<Raw<'a>>,
    /// The text after the last message. In formats whose messages have no frame of their own, it
    /// begins at the end of the last body.
    pub(crate) tail: Option<Raw<'a>>,
    /// Data of the dialect's JSON about the document that the model has no field for.
    pub(crate) beyond: Option<Box<Beyond<'a>>>,
    /// The structure of the JSON.
    pub(crate) shape: Shape,
    /// Whether the data about the document says that the last message is incomplete.
    pub(crate) is_stopped: bool,
}

/// The structure of the JSON of a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Shape {
    /// An object with the messages under a key.
    #[default]
    Object,
    /// An array of messages.
    List,
    /// A single message.
    Message,
    /// The response of a service, with one message.
    Response,
    /// A request and its response. The number counts the messages of the request.
    Exchange(usize),
}

impl<'a> Conversation<'a> {
    /// Returns the structure of the JSON, if the conversation was read in this form.
    pub(crate) fn shape(&self, form: FormId) -> Shape {
        let layout = self.layout.as_deref().filter(|layout| layout.form == form);
        layout.map_or(Shape::Object, |layout| layout.shape)
    }

    /// Returns the object with the first `count` messages, the tools and the other data of this
    /// conversation.
    pub(crate) fn prompt(&self, form: FormId, count: usize) -> Self {
        let mut prompt = Self { messages: self.messages[..count].to_vec(), ..Self::default() };
        prompt.tools.clone_from(&self.tools);
        prompt.layout = self.layout.clone().filter(|layout| layout.form == form);
        if let Some(layout) = &mut prompt.layout {
            (layout.shape, layout.is_stopped) = (Shape::Object, false);
        }
        prompt
    }

    /// Whether the data about the document, in this form, says that the last message is incomplete.
    pub(crate) fn is_stopped(&self, form: FormId) -> bool {
        self.layout.as_deref().is_some_and(|layout| layout.form == form && layout.is_stopped)
    }

    /// Stores the structure of the JSON of this form.
    pub(crate) fn set_shape(&mut self, form: FormId, shape: Shape) {
        if shape != Shape::Object {
            let layout = self.layout.get_or_insert_default();
            (layout.form, layout.shape) = (form, shape);
        }
    }
}

impl DocumentLayout<'_> {
    pub(crate) fn into_owned(self) -> DocumentLayout<'static> {
        DocumentLayout {
            form: self.form,
            lead: self.lead.map(Raw::into_owned),
            tail: self.tail.map(Raw::into_owned),
            beyond: self.beyond.map(|beyond| Box::new(beyond.into_owned())),
            shape: self.shape,
            is_stopped: self.is_stopped,
        }
    }
}
