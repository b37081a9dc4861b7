//! JSON content that contains more than the text of a message.

use std::borrow::Cow;

use super::{Loss, Lost};
use crate::json::Value;
use crate::model::{Conversation, Role};

/// How to convert JSON content of a dialect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ContentRules {
    /// Whether the original content of the messages at these positions still matches the messages.
    pub(crate) still_says: fn(&Conversation<'_>, &[usize]) -> Vec<bool>,
    /// Adds the losses if content becomes text.
    pub(crate) lost: fn(&Value<'_>, &mut Vec<Loss>),
    /// Adds the losses if an item is dropped that is not a message.
    pub(crate) lost_item: fn(&Value<'_>, &mut Vec<Loss>),
    /// Returns a part with this text, if messages of this role can have parts.
    pub(crate) text_part: for<'a> fn(Role, Cow<'a, str>) -> Option<Value<'a>>,
    /// What is written although the service does not accept it. Nothing is lost by it.
    pub(crate) unaccepted: fn(&Conversation<'_>) -> Vec<Unaccepted>,
}

/// Something that a service does not accept.
pub(crate) struct Unaccepted {
    /// The position of the message.
    pub(crate) at: Option<usize>,
    pub(crate) reason: Cow<'static, str>,
}

impl Unaccepted {
    pub(crate) fn of(at: usize, reason: &'static str) -> Self {
        Self { at: Some(at), reason: Cow::Borrowed(reason) }
    }

    pub(crate) fn of_document(reason: &'static str) -> Self {
        Self { at: None, reason: Cow::Borrowed(reason) }
    }
}

impl ContentRules {
    /// The rules of a form that keeps no items, and whose service accepts everything.
    pub(crate) const PLAIN: Self = Self {
        still_says: |_, _| Vec::new(),
        lost: |_, _| {},
        lost_item: |item, losses| losses.push(Loss::new(None, item.span, Lost::Item)),
        text_part: |_, _| None,
        unaccepted: |_| Vec::new(),
    };
}
