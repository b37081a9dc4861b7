//! The constraint on a body. A format can carry the content type without the constraint.

use super::{Adapted, Lost, MessageRule};

pub(super) const RULE: MessageRule = MessageRule {
    name: "constraint",
    fits: |message, at| {
        message.content_type.is_none()
            || !message.constrained
            || (at.carries.content_types)(message)
    },
    adapt: |message, _, _| {
        message.constrained = false;
        Adapted::losing(Lost::Constraint)
    },
};
