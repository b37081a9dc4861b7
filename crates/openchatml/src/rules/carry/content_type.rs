//! The content type of a body.

use super::{Adapted, Lost, MessageRule};

pub(super) const RULE: MessageRule = MessageRule {
    name: "content_type",
    fits: |message, at| {
        // With a constraint, the previous rule handles it.
        message.content_type.is_none() || message.constrained || (at.carries.content_types)(message)
    },
    adapt: |message, _, home| {
        let content_type = message.content_type.take();
        // Converted back, calls are read as JSON.
        let comes_back = message.is_call()
            && content_type.as_deref() == Some("json")
            && home.is_some_and(|home| home.reads_json_calls);
        Adapted::Changed((!comes_back).then_some(Lost::ContentType))
    },
};
