//! Characters that nobody sees, but that models read: they can hide instructions, or show text in
//! another order than it is read.

use crate::diagnostic::quote;
use crate::json::{Data, Json, Value};
use crate::model::{Conversation, Message, Role, Tool};
use crate::{Code, Diagnostic, Limits, Span};

/// Finds the first invisible character in each message, and in the declarations of tools. In JSON,
/// such as the arguments of calls, a character can be escaped.
pub(super) fn hidden(conversation: &Conversation<'_>, found: &mut Vec<Diagnostic>) {
    let tool = conversation.tools.iter().find_map(|tool| Some((tool, invisible_in(tool)?)));
    if let Some((tool, (c, what))) = tool {
        let name = quote(&tool.name);
        let text = format!("U+{:04X}, {what}, in the declaration of tool {name}", u32::from(c));
        let span = tool.parameters.as_ref().map_or(Span::at(0), |schema| schema.span);
        found.push(Code::HiddenUnicode.at(span, text).help("remove it: a model reads it"));
    }
    for message in &conversation.messages {
        let body = message.body.text();
        let mut all = invisible(&body);
        let Some((at, c, what)) = all.next() else {
            if let Some((c, what, place)) = invisible_aside(message, &body) {
                let text = format!("U+{:04X}, {what}, in {place}", u32::from(c));
                let span = message.body_span(Span::at(0));
                found.push(Code::HiddenUnicode.at(span, text).help("remove it: a model reads it"));
            }
            continue;
        };
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

/// An invisible character, and what it is.
type Invisible = (char, &'static str);

fn first(text: &str) -> Option<Invisible> {
    invisible(text).next().map(|(_, c, what)| (c, what))
}

/// Returns the first invisible character in the header of a message or behind an escape of its JSON,
/// and where it is.
fn invisible_aside(
    message: &Message<'_>,
    body: &str,
) -> Option<(char, &'static str, &'static str)> {
    let fields = [
        (&message.name, "the name"),
        (&message.recipient, "the recipient"),
        (&message.call_id, "the id of the call"),
        (&message.content_type, "the content type"),
    ];
    let in_fields = fields.into_iter().find_map(|(field, place)| {
        let (c, what) = first(field.as_deref()?)?;
        Some((c, what, place))
    });
    in_fields.or_else(|| {
        let is_json = message.is_call() || message.role == Role::Tool;
        if !is_json || !body.contains("\\u") {
            return None;
        }
        let value = Json::new(body, &Limits::default()).value().ok()?;
        let (c, what) = invisible_in_values(vec![&value])?;
        Some((c, what, "an escape of the JSON"))
    })
}

/// Returns the first invisible character in the declaration of a tool.
fn invisible_in(tool: &Tool<'_>) -> Option<Invisible> {
    let texts = [Some(&tool.name), tool.description.as_ref()];
    let extra = tool.extra.iter().map(|field| &field.1);
    texts
        .into_iter()
        .flatten()
        .find_map(|text| first(text))
        .or_else(|| invisible_in_values(tool.parameters.iter().chain(extra).collect()))
}

/// Returns an invisible character in JSON.
fn invisible_in_values(mut values: Vec<&Value<'_>>) -> Option<Invisible> {
    while let Some(value) = values.pop() {
        let found = match &value.data {
            Data::String(text) => first(text),
            Data::List(list) => {
                values.extend(list);
                None
            }
            Data::Map(fields) => {
                values.extend(fields.iter().map(|field| &field.1));
                fields.iter().find_map(|field| first(&field.0))
            }
            _ => None,
        };
        if found.is_some() {
            return found;
        }
    }
    None
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
    let (mut before, mut flag) = (None, 0);
    // ASCII text, the most frequent case, is skipped at the speed of the search for other bytes.
    let first = text.bytes().position(|byte| !byte.is_ascii()).unwrap_or(text.len());
    let start = text[..first].char_indices().next_back().map_or(0, |(at, _)| at);
    let mut rest = text[start..].char_indices().map(move |(at, c)| (start + at, c)).peekable();
    std::iter::from_fn(move || {
        loop {
            let (at, c) = rest.next()?;
            if c == BLACK_FLAG {
                flag = flag_end(text, at + c.len_utf8());
            }
            let last = before.replace(c);
            let next = rest.peek().map(|it| it.1);
            if at >= flag
                && let Some(what) = name(c, last, next)
            {
                return Some((at, c, what));
            }
        }
    })
}

/// The emoji of flags of regions are this character, the name of the region in tags, and a tag at
/// the end.
const BLACK_FLAG: char = '\u{1f3f4}';

/// Returns the end of the flag of a region whose tags begin at `start`, or `start` if it is none.
fn flag_end(text: &str, start: usize) -> usize {
    // The letters of a country, and up to three letters or digits of a part of it.
    const LONGEST: usize = 6;
    let tags = text[start..].chars().take(LONGEST + 1);
    let region: Vec<_> = tags
        .take_while(|c| matches!(c, '\u{e0030}'..='\u{e0039}' | '\u{e0061}'..='\u{e007a}'))
        .collect();
    let end = start + region.iter().map(|c| c.len_utf8()).sum::<usize>();
    let is_flag = (3..=LONGEST).contains(&region.len()) && text[end..].starts_with('\u{e007f}');
    if is_flag { end + '\u{e007f}'.len_utf8() } else { start }
}

/// Returns what an invisible character is. Joiners, marks of direction and variation selectors are
/// not reported where scripts and emoji need them.
fn name(c: char, last: Option<char>, next: Option<char>) -> Option<&'static str> {
    let is_ascii = |c: Option<char>| c.is_none_or(|c| c.is_ascii());
    match c {
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Some(DIRECTION),
        '\u{61c}' | '\u{200e}' | '\u{200f}' if is_ascii(last) && is_ascii(next) => Some(DIRECTION),
        '\u{200b}' | '\u{2060}' | '\u{feff}' => Some("a character without width"),
        '\u{200c}' | '\u{200d}'
            if is_ascii(last) && is_ascii(next) || last.is_some_and(is_joiner) =>
        {
            Some("a joiner without width")
        }
        '\u{ad}' | '\u{34f}' if is_ascii(last) && is_ascii(next) => Some("an invisible character"),
        '\u{2061}'..='\u{2064}'
        | '\u{206a}'..='\u{206f}'
        | '\u{180e}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{3164}'
        | '\u{ffa0}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{2065}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' => Some("an invisible character"),
        // Vowels that are written with others, and shapes of Mongolian letters.
        '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180d}' | '\u{180f}'
            if is_ascii(last) && is_ascii(next) =>
        {
            Some("an invisible character")
        }
        '\u{2028}' | '\u{2029}' => Some("a line break that most programs do not know"),
        '\u{2800}' if is_ascii(last) && is_ascii(next) => Some("a blank character of Braille"),
        '\u{e0000}'..='\u{e007f}' => Some("an invisible tag character"),
        '\u{fe00}'..='\u{fe0f}' if last.is_none_or(takes_no_variation) => {
            Some("an invisible variation selector")
        }
        '\u{e0100}'..='\u{e01ef}' if !last.is_some_and(is_ideograph) => {
            Some("an invisible variation selector")
        }
        _ => None,
    }
}

const DIRECTION: &str = "a control character that changes the direction of text";

fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

/// Whether no standard variation of this character exists. Digits have one, as keys of a telephone.
fn takes_no_variation(c: char) -> bool {
    c.is_ascii_alphabetic()
        || matches!(c, ' ' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
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
        // Tags after a flag that are no region, or without an end.
        assert_eq!(places("\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}"), [4, 8, 12]);
        assert_eq!(places("\u{1f3f4}\u{e0069}\u{e0020}\u{e007f}").len(), 3);
        assert_eq!(places("\u{1f600}\u{e0100}"), [4]);
        assert_eq!(places("\u{2764}\u{fe0f}\u{fe0f}"), [6]);
        assert_eq!(places("\u{1f469}\u{200d}\u{200d}"), [7]);
        assert_eq!(places("a\u{200f}b\u{ad}c\u{1d173}"), [1, 5, 8]);
        // Emoji, flags, Persian and Hindi.
        let fine = [
            "\u{1f469}\u{200d}\u{1f680}",
            "\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
            "\u{645}\u{6cc}\u{200c}\u{62e}",
            "\u{915}\u{94d}\u{200d}\u{937}",
            "\u{2764}\u{fe0f}",
            "1\u{fe0f}\u{20e3}",
            "\u{908a}\u{e0101}",
            "\u{5d0}\u{200f}!",
        ];
        for text in fine {
            assert!(places(text).is_empty(), "{text}");
        }
    }
}
