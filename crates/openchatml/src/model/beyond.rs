//! Content of a dialect's JSON that the model has no field for: images, weights, items that are not
//! messages.

use std::borrow::Cow;

use crate::json::Value;

/// Data that is kept so that the same format can write it again. A conversion to another format
/// drops it and reports each part by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Beyond<'a> {
    /// The key of the text, if it is not the usual one.
    pub(crate) key: &'static str,
    /// The key of the weight, if it is not `weight`, or [`IMPLIED`](Self::IMPLIED).
    pub(crate) weight_key: &'static str,
    /// Other keys of the object, in order.
    pub(crate) fields: Vec<(Cow<'a, str>, Value<'a>)>,
    /// The items before the message that are not messages; for a document, the items after the last
    /// message.
    pub(crate) items: Vec<Value<'a>>,
    /// The items after the message in the same object.
    pub(crate) after: Vec<Value<'a>>,
}

impl Beyond<'_> {
    /// The key of a weight of 0 that the data around the message implies. It is not written.
    pub(crate) const IMPLIED: &'static str = "(implied)";

    pub(crate) fn into_owned(self) -> Beyond<'static> {
        let own = |(key, value): (Cow<'_, str>, Value<'_>)| {
            (Cow::Owned(key.into_owned()), value.into_owned())
        };
        Beyond {
            key: self.key,
            weight_key: self.weight_key,
            fields: self.fields.into_iter().map(own).collect(),
            items: self.items.into_iter().map(Value::into_owned).collect(),
            after: self.after.into_iter().map(Value::into_owned).collect(),
        }
    }
}
