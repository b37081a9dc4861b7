//! Content of JSON that says more than the text of a message.

use super::Loss;
use crate::json::Value;
use crate::model::Conversation;

/// What becomes of the content that messages were read from in the JSON of a dialect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ContentRules {
    /// Whether the content of the messages at these places still says what the messages say.
    pub(crate) still_says: fn(&Conversation<'_>, &[usize]) -> Vec<bool>,
    /// Adds what is lost where content becomes a text.
    pub(crate) lost: fn(&Value<'_>, &mut Vec<Loss>),
}
