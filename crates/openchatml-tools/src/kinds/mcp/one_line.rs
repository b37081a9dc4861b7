//! Removes line breaks and invisible characters from errors.

/// Returns a text on one line, with control characters escaped: `\n`, `\u{1b}`.
pub(super) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if is_invisible(c) {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    line
}

/// Whether a character is a control character, ends a line, or changes the display of other
/// characters.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0001}')
}

#[cfg(test)]
mod tests {
    use super::one_line;

    #[test]
    fn errors_are_on_one_line() {
        assert_eq!(one_line("a\r\n\u{1b}[1m\u{202e}é\u{2028}"), r"a\r\n\u{1b}[1m\u{202e}é\u{2028}");
    }
}
