//! Calls with JSON arguments, without a content type.

use crate::json::check;
use crate::limits::Limits;

use super::{Adapted, Lost, MessageRule};

pub(super) const RULE: MessageRule = MessageRule {
    name: "json call",
    fits: |message, at| {
        !at.carries.json_calls || !message.is_call() || message.content_type.is_some()
    },
    adapt: |message, _, home| {
        // A constraint without a type has no meaning, but with this type it would have one.
        message.constrained = false;
        message.content_type = Some("json".into());
        // Where no type says that it is JSON, it comes back as it was.
        let comes_back = home.is_some_and(|home| !(home.content_types)(message));
        let input = message.body.text();
        let is_json = || input.is_empty() || check(&input, &Limits::default()).error.is_none();
        Adapted::Changed((!comes_back && !is_json()).then_some(Lost::CustomInput))
    },
};
