//! `call_id`.

use super::{Adapted, Lost, MessageRule};
use crate::model::Role;

pub(super) const RULE: MessageRule = MessageRule {
    name: "call_id",
    fits: |message, at| {
        let is_paired = || message.is_call() || message.role == Role::Tool;
        message.call_id.is_none()
            || at.carries.call_ids && (!at.carries.channels.are_fixed() || is_paired())
    },
    adapt: |message, _, _| {
        message.call_id = None;
        Adapted::losing(Lost::CallId)
    },
};
