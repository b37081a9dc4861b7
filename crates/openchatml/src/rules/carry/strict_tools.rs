//! Functions without `strict`, in a format where they are strict without the key. In every other
//! format they are not.

use super::ConversationRule;
use crate::model::Tool;

const KEY: &str = "strict";

pub(super) const RULE: ConversationRule = ConversationRule {
    name: "strict tools",
    fits: |conversation, carries| {
        !carries.strict_tools || !conversation.tools.iter().any(lacks_key)
    },
    adapt: |conversation, _, _| {
        for tool in conversation.tools.iter_mut().filter(|tool| lacks_key(tool)) {
            tool.extra.push((KEY.into(), false.into()));
        }
        Vec::new()
    },
};

fn lacks_key(tool: &Tool<'_>) -> bool {
    tool.extra.iter().all(|(key, _)| key != KEY)
}
