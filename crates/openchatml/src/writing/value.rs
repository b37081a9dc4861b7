//! Checks header values.

use super::SinkError;
use crate::lex::TokenTable;
use crate::{Control, Span};

/// Checks that a value is allowed in a header: not empty, without white space, control characters
/// and control tokens.
pub(crate) fn check_value(value: &str, controls: &'static TokenTable) -> Result<(), SinkError> {
    let refuse = |span, spelling, reason| Err(SinkError::new(span, spelling, reason));
    if value.is_empty() {
        return refuse(Span::default(), "", "a header value is empty");
    }
    // Nearly all values are ASCII words.
    if value.bytes().all(|byte| byte.is_ascii_graphic() && !controls.begins_with(byte)) {
        return Ok(());
    }
    if let Some((at, control, len)) = find_control(value, controls) {
        let spelling = controls.spelling(control).unwrap_or_default();
        return refuse(Span::new(at, at + len), spelling, "a header value cannot contain");
    }
    let bad = |c: char| c.is_whitespace() || c.is_control();
    match value.char_indices().find(|(_, c)| bad(*c)) {
        Some((at, c)) => {
            let span = Span::new(at, at + c.len_utf8());
            refuse(span, "", "a header value cannot contain white space or control characters")
        }
        None => Ok(()),
    }
}

/// Returns the first control token in a header value. A marker in a header is text.
pub(crate) fn find_control(value: &str, controls: &TokenTable) -> Option<(usize, Control, usize)> {
    let mut from = 0;
    loop {
        let (at, control, len) = controls.find(&value[from..])?;
        if !matches!(control, Control::Marker(_)) {
            return Some((from + at, control, len));
        }
        from += at + len;
    }
}
