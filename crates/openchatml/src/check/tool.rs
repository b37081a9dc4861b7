//! Function names: `functions.` and a word of the grammar (SPEC 2.2 §15).

use super::CheckContext;
use crate::diagnostic::quote;
use crate::model::{Message, Role};
use crate::{Code, Diagnostic};

pub(super) fn check(
    context: &CheckContext<'_>,
    message: &Message<'_>,
    found: &mut Vec<Diagnostic>,
) {
    let name = match message.role {
        Role::Tool => message.name.as_deref(),
        _ => message.recipient.as_deref(),
    };
    let Some(name) = name else { return };
    let Some(bare) = name.strip_prefix("functions.") else { return };
    // DEVIATION: dots are allowed, as in the example of 2.0, `functions.browser.search`.
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if !bare.is_empty() && bare.bytes().all(is_word) {
        return;
    }
    // Names that are not header values are already reported.
    let is_value = !name.chars().any(|c| c.is_whitespace() || c.is_control())
        && context.controls.find(name).is_none();
    if is_value {
        let text = format!("invalid function name {}", quote(name));
        let found_here = Code::ParseHeader.at(message.header_span(), text);
        let help = "a function name contains only ASCII letters, digits, `_`, `-` and `.`";
        found.push(found_here.help(help).severity(context.tolerated()));
    }
}
