//! Roles that a format does not have: `developer` becomes `system`, and messages of other roles are
//! dropped.

use super::{Adapted, Lost, MessageRule};
use crate::model::Role;

pub(super) const RULE: MessageRule = MessageRule {
    name: "role",
    fits: |message, at| at.carries.roles.contains(&message.role),
    adapt: |message, _, _| match message.role {
        Role::Developer => {
            message.role = Role::System;
            Adapted::losing(Lost::Developer)
        }
        _ => Adapted::Dropped(Lost::Reply),
    },
};
