//! Characters that nobody sees, but that models read: they can hide instructions, or show text in
//! another order than it is read.

use crate::model::Conversation;
use crate::{Code, Diagnostic, Span};

/// Finds the first invisible character in each message.
pub(super) fn hidden(conversation: &Conversation<'_>, found: &mut Vec<Diagnostic>) {
    for message in &conversation.messages {
        let body = message.body.text();
        let mut all = invisible(&body);
        let Some((at, c, what)) = all.next() else { continue };
        let more = all.count();
        let span = message.body_span(Span::new(at, at + c.len_utf8()));
        let others = match more {
            0 => String::new(),
            1 => " (and one more such character in this message)".to_owned(),
            _ => format!(" (and {more} more such characters in this message)"),
        };
        let text = format!("U+{:04X}, {what}{others}", u32::from(c));
        let help = "remove it; `ocml show` displays where it is";
        found.push(Code::HiddenUnicode.at(span, text).help(help));
    }
}

/// Returns the invisible characters of a text, with their places in bytes and what they are. Those
/// that scripts and emoji need are left out.
///
/// ```
/// use openchatml::lint;
///
/// let found: Vec<_> = lint::invisible("sa\u{200b}fe").collect();
/// assert_eq!(found, [(2, '\u{200b}', "a character without width")]);
/// ```
pub fn invisible(text: &str) -> impl Iterator<Item = (usize, char, &'static str)> {
    let mut before = None;
    // ASCII text, the most frequent case, is skipped at the speed of the search for other bytes.
    let first = text.bytes().position(|byte| !byte.is_ascii()).unwrap_or(text.len());
    let start = text[..first].char_indices().next_back().map_or(0, |(at, _)| at);
    let mut rest = text[start..].char_indices().map(move |(at, c)| (start + at, c)).peekable();
    std::iter::from_fn(move || {
        loop {
            let (at, c) = rest.next()?;
            let last = before.replace(c);
            let next = rest.peek().map(|it| it.1);
            if let Some(what) = name(c, last, next) {
                return Some((at, c, what));
            }
        }
    })
}

/// Returns what an invisible character is. Joiners and tags are not reported where scripts and
/// emoji need them.
fn name(c: char, last: Option<char>, next: Option<char>) -> Option<&'static str> {
    let is_ascii = |c: Option<char>| c.is_none_or(|c| c.is_ascii());
    match c {
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            Some("a control character that changes the direction of text")
        }
        '\u{200b}' | '\u{2060}' | '\u{feff}' => Some("a character without width"),
        '\u{200c}' | '\u{200d}' if is_ascii(last) && is_ascii(next) => {
            Some("a joiner without width")
        }
        '\u{2061}'..='\u{2064}' | '\u{206a}'..='\u{206f}' | '\u{180e}' | '\u{3164}' => {
            Some("an invisible character")
        }
        // Flags of regions are a black flag and tags.
        '\u{e0000}'..='\u{e007f}' if !is_flag(last) => Some("an invisible tag character"),
        '\u{e0100}'..='\u{e01ef}' if is_ascii(last) => Some("an invisible variation selector"),
        _ => None,
    }
}

/// Whether a tag can follow this character in the emoji of a flag.
fn is_flag(last: Option<char>) -> bool {
    matches!(last, Some('\u{1f3f4}' | '\u{e0020}'..='\u{e007e}'))
}

#[cfg(test)]
mod tests {
    use super::invisible;

    #[test]
    fn invisible_characters_are_found_and_those_of_scripts_are_not() {
        let places = |text: &str| invisible(text).map(|it| it.0).collect::<Vec<_>>();
        assert!(places("plain").is_empty());
        assert_eq!(places("a\u{200b}b\u{202e}c"), [1, 5]);
        assert_eq!(places("a\u{200d}b"), [1]);
        assert_eq!(places("\u{feff}a"), [0]);
        assert_eq!(places("a\u{e0041}"), [1]);
        // Emoji, flags, Persian and Hindi.
        let fine = [
            "\u{1f469}\u{200d}\u{1f680}",
            "\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
            "\u{645}\u{6cc}\u{200c}\u{62e}",
            "\u{915}\u{94d}\u{200d}\u{937}",
            "\u{2764}\u{fe0f}",
        ];
        for text in fine {
            assert!(places(text).is_empty(), "{text}");
        }
    }
}
