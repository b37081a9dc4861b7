//! The speaker in the first word of a header.

use super::Speaker;
use crate::function_name;
use crate::header::is_builtin_tool;
use crate::model::Role;

/// Returns the speaker for a word that is a role or the name of a tool: `functions.search`, or a
/// built-in tool. The name of a function can contain dots, as in the example of SPEC 2.0 §11,
/// although the grammar of SPEC 2.2 §15 does not allow them.
pub(crate) fn speaker(word: &str) -> Option<Speaker<'_>> {
    if let Some(role) = Role::from_word(word) {
        return Some(Speaker::Role(role));
    }
    if function_name(word).is_some_and(|tool| !tool.is_empty()) {
        return Some(Speaker::Named(Role::Tool, word));
    }
    is_builtin_tool(word).then_some(Speaker::Builtin(word))
}
