//! Fields of a tool whose key the format uses itself.

use super::{ConversationRule, Loss, Lost};
use crate::model::Tool;
use crate::rules::Carries;

pub(super) const RULE: ConversationRule = ConversationRule {
    name: "tool keys",
    fits: |conversation, carries| conversation.tools.iter().all(|tool| fits(tool, carries)),
    adapt: |conversation, carries, _| {
        let mut losses = Vec::new();
        for tool in conversation.tools.iter_mut().filter(|tool| !fits(tool, carries)) {
            tool.extra.retain(|(key, _)| !carries.tool_keys.contains(&key.as_ref()));
            losses.push(Loss::of_document(Lost::Declaration));
        }
        losses
    },
};

fn fits(tool: &Tool<'_>, carries: &Carries) -> bool {
    tool.extra.iter().all(|(key, _)| !carries.tool_keys.contains(&key.as_ref()))
}
