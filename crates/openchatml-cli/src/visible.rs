//! Escapes text from files for a terminal.

use std::borrow::Cow;

use openchatml::lint;

/// Returns `text` without commands for a terminal: control characters other than line breaks and
/// tabs are replaced by a visible sign.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if text.chars().any(is_command) {
        Cow::Owned(text.chars().map(sign).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// Returns `text` with the numbers of invisible characters, such as `<U+200B>`, instead of these
/// characters, which can hide text or change its order.
pub(crate) fn exposed(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut from = 0;
    for (at, c, _) in lint::invisible(text) {
        out.push_str(&text[from..at]);
        out.push_str(&format!("<U+{:04X}>", u32::from(c)));
        from = at + c.len_utf8();
    }
    if from == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[from..]);
    Cow::Owned(out)
}

/// Like `visible`, for a text that must stay on one line, such as the name of a file. It
/// also replaces characters that end a line, have no width or change the direction of text.
pub(crate) fn visible_line(text: &str) -> Cow<'_, str> {
    if text.chars().any(is_invisible) {
        Cow::Owned(text.chars().map(|c| if is_invisible(c) { picture(c) } else { c }).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// Returns the sign for a character: the character itself, unless a terminal would interpret it.
pub(crate) fn sign(c: char) -> char {
    if is_command(c) { picture(c) } else { c }
}

/// Whether a character is a command, is invisible, or changes how the text next to it is shown:
/// Unicode's format characters, line separators, blank letters, and tags and variation selectors,
/// which can spell hidden text. The joiners and U+FE0F are allowed, because emoji and scripts need
/// them.
pub(crate) fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{115f}' | '\u{1160}' | '\u{2800}' | '\u{3164}'
            | '\u{ffa0}' | '\u{fe00}'..='\u{fe0e}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e01ef}')
}

fn is_command(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t')
}

/// Returns the control picture of Unicode for a character, if there is one.
fn picture(c: char) -> char {
    match u32::from(c) {
        code @ 0..=0x1F => char::from_u32(0x2400 + code).unwrap_or(char::REPLACEMENT_CHARACTER),
        0x7F => '\u{2421}',
        _ => char::REPLACEMENT_CHARACTER,
    }
}

#[cfg(test)]
mod tests {
    use super::{exposed, visible, visible_line};

    #[test]
    fn invisible_characters_become_signs() {
        for hidden in ['\u{e0041}', '\u{e0100}', '\u{fe00}', '\u{3164}', '\u{2800}', '\u{1d173}'] {
            assert_eq!(visible_line(&hidden.to_string()), "\u{fffd}", "{:x}", u32::from(hidden));
        }
        assert_eq!(visible_line("\u{2764}\u{fe0f}"), "\u{2764}\u{fe0f}");
    }

    #[test]
    fn hidden_characters_become_numbers() {
        assert_eq!(exposed("sa\u{200b}fe\u{202e}"), "sa<U+200B>fe<U+202E>");
        assert_eq!(exposed("\u{1f469}\u{200d}\u{1f680}"), "\u{1f469}\u{200d}\u{1f680}");
    }

    #[test]
    fn control_characters_become_signs() {
        assert_eq!(visible("a\u{1b}[31mb\u{9b}c\u{7f}\r\n\td"), "a␛[31mb\u{fffd}c␡␍\n\td");
        assert_eq!(visible("é \u{202e}"), "é \u{202e}");
        assert_eq!(visible_line("a\nb\t"), "a␊b␉");
        let signs = "a\u{202e}b\u{2028}\u{2029}\u{200b}\u{feff}é\u{200d}";
        assert_eq!(visible_line(signs), "a\u{fffd}b\u{fffd}\u{fffd}\u{fffd}\u{fffd}é\u{200d}");
    }
}
