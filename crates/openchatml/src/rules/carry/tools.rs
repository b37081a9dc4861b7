//! Declarations of tools.

use super::{ConversationRule, Loss, Lost};

pub(super) const RULE: ConversationRule = ConversationRule {
    name: "tools",
    fits: |conversation, carries| {
        carries.tools || conversation.tools.is_empty() || (carries.declares)(conversation)
    },
    adapt: |conversation, _, _| {
        conversation.tools.clear();
        vec![Loss::of_document(Lost::Tools)]
    },
};
