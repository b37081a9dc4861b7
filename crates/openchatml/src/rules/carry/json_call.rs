//! Calls whose arguments are JSON, without a word about it.

use super::{Adapted, MessageRule};

pub(super) const RULE: MessageRule = MessageRule {
    name: "json call",
    fits: |message, at| {
        !at.carries.json_calls || !message.is_call() || message.content_type.is_some()
    },
    adapt: |message, _, _| {
        // A constraint without a type says nothing; with this one it would.
        message.constrained = false;
        message.content_type = Some("json".into());
        Adapted::Changed(None)
    },
};
