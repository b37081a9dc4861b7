//! Who speaks, by the first word of a header.

use super::Speaker;
use crate::function_name;
use crate::header::is_builtin_tool;
use crate::model::Role;

/// What a word says that is a role, or the name of a tool: `functions.search`, or one that is built in. A
/// function's name may have dots, as in the example of SPEC 2.0 §11, though the grammar of SPEC 2.2 §15 leaves
/// them out.
pub(crate) fn speaker(word: &str) -> Option<Speaker<'_>> {
    if let Some(role) = Role::from_word(word) {
        return Some(Speaker::Role(role));
    }
    if function_name(word).is_some_and(|tool| !tool.is_empty()) {
        return Some(Speaker::Named(Role::Tool, word));
    }
    is_builtin_tool(word).then_some(Speaker::Builtin(word))
}
