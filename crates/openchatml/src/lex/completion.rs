//! How a raw completion begins.

use crate::Control;

/// The attribute that a raw completion can begin with: the recipient of a call.
const RECIPIENT: &[u8] = b"to=";

/// Whether lexemes begin a raw completion of the assistant: one that continues a prompt inside of a
/// message or of a turn. `before` is the text before the first control token. Only white space and
/// a recipient can stand there. `None` if more lexemes are needed to decide.
///
/// ```
/// use openchatml::Control;
/// use openchatml::lex::begins_completion;
///
/// assert_eq!(begins_completion(b" ", Some(Control::Channel)), Some(true));
/// assert_eq!(begins_completion(b"to=functions.f", Some(Control::Channel)), Some(true));
/// assert_eq!(begins_completion(b"t", None), None);
/// assert_eq!(begins_completion(b"t", Some(Control::Channel)), Some(false));
/// assert_eq!(begins_completion(b"", Some(Control::Start)), Some(false));
/// ```
pub fn begins_completion(before: &[u8], first: Option<Control>) -> Option<bool> {
    let text = before.trim_ascii_start();
    let is_header = text.starts_with(RECIPIENT) && !text.contains(&b'\n');
    match first {
        Some(control) => Some((text.is_empty() || is_header) && control.begins_completion()),
        None if is_header || RECIPIENT.starts_with(text) => None,
        None => Some(false),
    }
}
