//! Text and numbers as Python reads them.

use std::borrow::Cow;

use openchatml::{Data, Value};

/// Returns a text as a value.
pub(super) fn string(text: &str) -> Value<'static> {
    Data::String(text.to_owned().into()).into()
}

/// Whether Python removes the character from the ends of a text.
pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\x1c'..='\x1f').contains(&c)
}

/// Removes white space at both ends.
pub(super) fn stripped(text: &str, strip: bool) -> &str {
    if strip { text.trim_matches(is_space) } else { text }
}

/// Reads an integer like Python, and returns it as JSON.
pub(super) fn int(text: &str) -> Option<String> {
    let text = text.trim_matches(is_space);
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => ("-", &text[1..]),
        b'+' => ("", &text[1..]),
        _ => ("", text),
    };
    let digits = without_underscores(digits)?;
    if digits.is_empty() || !digits.bytes().all(|it| it.is_ascii_digit()) {
        return None;
    }
    Some(match digits.trim_start_matches('0') {
        "" => "0".to_owned(),
        digits => format!("{sign}{digits}"),
    })
}

/// Reads a finite float like Python, and returns it as JSON.
pub(super) fn float(text: &str) -> Option<String> {
    let number: f64 = without_underscores(text.trim_matches(is_space))?.parse().ok()?;
    number.is_finite().then(|| format!("{number:?}"))
}

/// Removes underscores between digits.
fn without_underscores(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('_') {
        return Some(text.into());
    }
    let is_digit = |at: Option<usize>| {
        at.and_then(|at| text.as_bytes().get(at)).is_some_and(u8::is_ascii_digit)
    };
    let mut all = text.match_indices('_');
    let is_good = all.all(|(at, _)| is_digit(at.checked_sub(1)) && is_digit(Some(at + 1)));
    is_good.then(|| text.replace('_', "").into())
}
