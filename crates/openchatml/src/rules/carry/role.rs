//! Roles that a format lacks: `developer` becomes `system`, and messages of any other one are dropped.

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
