//! How a message was laid out, so that it can be written again byte for byte.
//!
//! `None` is the canonical layout of the dialect. A layout says nothing about meaning: it is left
//! out of every comparison, and a writer uses it only in its own dialect and only as long as it
//! still says what the message says.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Beyond, Conversation, FormId, Raw};
use crate::json::Value;

/// The layout of one message.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout<'a> {
    /// The dialect that it was read in.
    pub(crate) form: FormId,
    /// What stood between the body of the last message and this one, in formats whose messages have no
    /// frame of their own.
    pub(crate) before: Option<Raw<'a>>,
    /// What stood between the token that opens the header and the body.
    pub(crate) header: Option<Raw<'a>>,
    /// The line break between the body and the token that ends it (the `<|im_start|>` framing only).
    pub(crate) close: Option<Cow<'a, str>>,
    /// What stood between that token and the next message.
    pub(crate) after: Option<Raw<'a>>,
    /// The content in the JSON of the dialect, where that says more than the body.
    pub(crate) content: Option<Value<'a>>,
    /// The token ids that it was.
    pub(crate) ids: Option<Arc<[u32]>>,
    /// What the JSON of the dialect says and the model does not.
    pub(crate) beyond: Option<Box<Beyond<'a>>>,
}

impl Layout<'_> {
    /// The same layout, borrowing its text; without what only the JSON of its dialect says.
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
        }
    }
}

/// The layout of what stands around the messages.
#[derive(Clone, Debug, Default)]
pub(crate) struct DocumentLayout<'a> {
    /// The dialect that it was read in.
    pub(crate) form: FormId,
    /// What stood before the first message, after a header if there was one.
    pub(crate) lead: Option<Raw<'a>>,
    /// What stood after the last one, or after its body in formats whose messages have no frame of
    /// their own.
    pub(crate) tail: Option<Raw<'a>>,
    /// What the JSON of the dialect says of the document and the model does not.
    pub(crate) beyond: Option<Box<Beyond<'a>>>,
    /// What the JSON was as a whole.
    pub(crate) shape: Shape,
}

/// What the JSON of a conversation is as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Shape {
    /// An object that holds the messages under a key.
    #[default]
    Object,
    /// An array of messages.
    List,
    /// One message by itself.
    Message,
    /// The response of a service, which holds one message.
    Response,
    /// A request and its response: so many messages belong to the request.
    Exchange(usize),
}

impl<'a> Conversation<'a> {
    /// What its JSON is as a whole, if it was read in this dialect.
    pub(crate) fn shape(&self, form: FormId) -> Shape {
        let layout = self.layout.as_deref().filter(|layout| layout.form == form);
        layout.map_or(Shape::Object, |layout| layout.shape)
    }

    /// Keeps what its JSON was as a whole, in this dialect.
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
        }
    }
}
