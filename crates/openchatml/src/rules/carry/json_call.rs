//! Calls with JSON arguments, without a content type.

use crate::json::check;
use crate::limits::Limits;

use super::{Adapted, Lost, MessageRule};

pub(super) const RULE: MessageRule = MessageRule {
    name: "json call",
    fits: |message, at| {
        !at.carries.json_calls || !message.is_call() || message.content_type.is_some()
    },
    adapt: |message, _, _| {
        // A constraint without a type has no meaning, but with this type it would have one.
        message.constrained = false;
        message.content_type = Some("json".into());
        let input = message.body.text();
        let is_json = input.is_empty() || check(&input, &Limits::default()).error.is_none();
        Adapted::Changed((!is_json).then_some(Lost::CustomInput))
    },
};
