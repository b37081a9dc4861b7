//! JSON content that contains more than the text of a message.

use super::Loss;
use crate::json::Value;
use crate::model::Conversation;

/// How to convert JSON content of a dialect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ContentRules {
    /// Whether the original content of the messages at these positions still matches the messages.
    pub(crate) still_says: fn(&Conversation<'_>, &[usize]) -> Vec<bool>,
    /// Adds the losses if content becomes text.
    pub(crate) lost: fn(&Value<'_>, &mut Vec<Loss>),
}
