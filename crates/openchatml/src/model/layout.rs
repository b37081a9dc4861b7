//! The layout of a message, so that it can be written again byte for byte.
//!
//! `None` is the canonical layout of the dialect. A layout has no meaning: comparisons ignore it. A
//! writer uses it only in the same dialect, and only if it still matches the message.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Beyond, Conversation, FormId};
use crate::Control;
use crate::json::Value;

/// A piece between the bodies of two messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LayoutPiece<'a> {
    Control(Control),
    Text(Cow<'a, str>),
}

impl LayoutPiece<'_> {
    fn borrowed(&self) -> LayoutPiece<'_> {
        match self {
            Self::Control(control) => LayoutPiece::Control(*control),
            Self::Text(text) => LayoutPiece::Text(Cow::Borrowed(text)),
        }
    }

    fn into_owned(self) -> LayoutPiece<'static> {
        match self {
            Self::Control(control) => LayoutPiece::Control(control),
            Self::Text(text) => LayoutPiece::Text(Cow::Owned(text.into_owned())),
        }
    }
}

/// The layout of one message.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout<'a> {
    /// The form that it was read in.
    pub(crate) form: FormId,
    /// The text between the token that opens the header and the body.
    pub(crate) header: Option<Cow<'a, str>>,
    /// The text between the body and its end token (only in the `<|im_start|>` framing).
    pub(crate) close: Option<Cow<'a, str>>,
    /// The text between the end token and the next message.
    pub(crate) after: Option<Cow<'a, str>>,
    /// The pieces between the body of the previous message and this one.
    pub(crate) before: Option<Vec<LayoutPiece<'a>>>,
    /// The content in the dialect's JSON, if it contains more than the body.
    pub(crate) content: Option<Value<'a>>,
    /// The token ids that the message was read from.
    pub(crate) ids: Option<Arc<[u32]>>,
    /// Data of the dialect's JSON that the model has no field for.
    pub(crate) beyond: Option<Box<Beyond<'a>>>,
}

impl Layout<'_> {
    /// Returns the layout with borrowed text, without the data that only the dialect's JSON can
    /// express.
    pub(crate) fn borrowed(&self) -> Layout<'_> {
        Layout {
            form: self.form,
            header: self.header.as_deref().map(Cow::Borrowed),
            close: self.close.as_deref().map(Cow::Borrowed),
            after: self.after.as_deref().map(Cow::Borrowed),
            before: self.before.as_ref().map(|it| it.iter().map(LayoutPiece::borrowed).collect()),
            content: None,
            ids: self.ids.clone(),
            beyond: None,
        }
    }

    pub(crate) fn into_owned(self) -> Layout<'static> {
        let own = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        Layout {
            form: self.form,
            header: self.header.map(own),
            close: self.close.map(own),
            after: self.after.map(own),
            before: self.before.map(own_pieces),
            content: self.content.map(Value::into_owned),
            ids: self.ids,
            beyond: self.beyond.map(|beyond| Box::new(beyond.into_owned())),
        }
    }
}

fn own_pieces(pieces: Vec<LayoutPiece<'_>>) -> Vec<LayoutPiece<'static>> {
    pieces.into_iter().map(LayoutPiece::into_owned).collect()
}

/// The layout around the messages.
#[derive(Clone, Debug, Default)]
pub(crate) struct DocumentLayout<'a> {
    /// The form that it was read in.
    pub(crate) form: FormId,
    /// The text before the first message, after the header if there is one.
    pub(crate) lead: Option<Cow<'a, str>>,
    /// The text after the last message.
    pub(crate) tail: Option<Cow<'a, str>>,
    /// The same as pieces, from the end of the last body.
    pub(crate) close: Option<Vec<LayoutPiece<'a>>>,
    /// Data of the dialect's JSON about the document that the model has no field for.
    pub(crate) beyond: Option<Box<Beyond<'a>>>,
    /// The structure of the JSON.
    pub(crate) shape: Shape,
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
        let own = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        DocumentLayout {
            form: self.form,
            lead: self.lead.map(own),
            tail: self.tail.map(own),
            close: self.close.map(own_pieces),
            beyond: self.beyond.map(|beyond| Box::new(beyond.into_owned())),
            shape: self.shape,
        }
    }
}
