//! The JSON of services and data sets: what these dialects share.
//!
//! Their differences are parameters: the [`FormId`](crate::model::FormId) of their layout, the text
//! between content parts, and the [form of blocks](blocks::BlockForm).

mod beyond;
pub(crate) mod blocks;
pub(crate) mod calls;
pub(crate) mod captured;
pub(crate) mod chat;
pub(crate) mod cut;
pub(crate) mod events;
mod marks;
pub(crate) mod parts;
mod replies;
mod state;
mod tools;
mod training;
pub(crate) mod unaccepted;
mod write;

pub(crate) use self::beyond::{beyond, beyond_of, content_of, joins, still_say, unless_reasoning};
pub(crate) use self::marks::hide_marked;
pub(crate) use self::replies::Replies;
pub(crate) use self::state::{Fields, State, WEIGHT_KEYS, last_of_each, push_column};
pub(crate) use self::tools::Declared;
pub(crate) use self::training::is_of_training;
pub(crate) use self::write::{
    aside_of, conversation, estimate, write_document, write_field, write_fields,
};

use crate::check::{CheckRules, RULES_OF_ALL};
use crate::document::NO_TOKENS;
use crate::model::Conversation;
use crate::pairing::Pairing;

/// Returns the rules for a conversation. If no call has an id, calls and replies are paired by
/// order.
pub(crate) fn checks(conversation: &Conversation<'_>) -> Option<&'static CheckRules> {
    Some(if has_ids(conversation) { &BY_ID } else { &BY_ORDER })
}

/// Whether a call or a reply has an id.
pub(crate) fn has_ids(conversation: &Conversation<'_>) -> bool {
    conversation.messages.iter().any(|message| message.call_id.is_some())
}

static BY_ID: CheckRules = CheckRules {
    controls: &NO_TOKENS,
    versions: &[],
    pairing: Pairing::ByLastId,
    requires_channels: false,
    rules: RULES_OF_ALL,
};

static BY_ORDER: CheckRules = CheckRules { pairing: Pairing::ByOrder, ..BY_ID };
