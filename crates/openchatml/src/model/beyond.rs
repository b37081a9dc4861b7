//! What the JSON of a dialect says and the model has no words for: images, weights, items that are
//! no messages.

use std::borrow::Cow;

use crate::json::Value;

/// What is kept so that the same format writes it again. Every other format loses it, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Beyond<'a> {
    /// The key that the text stood under, if that is not the usual one.
    pub(crate) key: &'static str,
    /// The key that the weight stood under, if that is not `weight`.
    pub(crate) weight_key: &'static str,
    /// Further keys of the object, in their order.
    pub(crate) fields: Vec<(Cow<'a, str>, Value<'a>)>,
    /// What stood before the message, and is none; for a document, after the last one.
    pub(crate) items: Vec<Value<'a>>,
}

impl Beyond<'_> {
    pub(crate) fn into_owned(self) -> Beyond<'static> {
        let own = |(key, value): (Cow<'_, str>, Value<'_>)| {
            (Cow::Owned(key.into_owned()), value.into_owned())
        };
        Beyond {
            key: self.key,
            weight_key: self.weight_key,
            fields: self.fields.into_iter().map(own).collect(),
            items: self.items.into_iter().map(Value::into_owned).collect(),
        }
    }
}
