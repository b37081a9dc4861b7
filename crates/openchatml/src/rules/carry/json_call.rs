//! Calls with JSON arguments, without a content type.

use super::{Adapted, MessageRule};

pub(super) const RULE: MessageRule = MessageRule {
    name: "json call",
    fits: |message, at| {
        !at.carries.json_calls || !message.is_call() || message.content_type.is_some()
    },
    adapt: |message, _, _| {
        // A constraint without a type has no meaning, but with this type it would have one.
        message.constrained = false;
        message.content_type = Some("json".into());
        Adapted::Changed(None)
    },
};
