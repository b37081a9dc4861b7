//! Replaces spellings of control tokens in text, for formats without an escape.

use openchatml::convert::convert;
use openchatml::lex::{Escape, TokenTable};
use openchatml::{Carrier, Conversation, Format, Message, RenderOptions};

/// Changes the text of a message so that it contains no spelling of a control token, for formats
/// without an escape (OpenChatML 2.0, Harmony, Apertus). The change is reversible.
///
/// In JSON, the first character of the token becomes an escape such as `\u003c`, which is the same
/// string. In other text, it becomes a character reference such as `&lt;`. If the text already
/// contains such a reference, it gets one more `amp;`, so that every result has exactly one
/// original.
pub(super) fn respell(message: &mut Message<'static>, format: Format) {
    let controls = &format.dialect().controls;
    if format.carrier() != Carrier::Text || controls.escape() != Escape::None {
        return;
    }
    let text = message.body.text();
    let has_token = controls.find(&text).is_some();
    if !has_token && !text.contains('&') || has_token && is_quoted(message, format) {
        return;
    }
    let is_json = serde_json::from_str::<&serde_json::value::RawValue>(&text).is_ok();
    let spelled = replaced(&text, controls, |first, rest| match is_json {
        true => is_control(rest, controls).then(|| escape(first)),
        false if is_control(rest, controls) => Some(reference(first)),
        false => is_respelled(rest, controls).then(|| "&amp;".to_owned()),
    });
    if spelled != text {
        message.body = spelled.into();
    }
}

/// Whether the format reads the control tokens of a message as text, because they are quoted code.
fn is_quoted(message: &Message<'static>, format: Format) -> bool {
    let messages = [Message::user("-"), message.clone()];
    let document = Conversation::from_messages(messages).into();
    message.is_answer() && convert(&document, format, &RenderOptions::default()).is_ok()
}

/// Makes the end of a reply visible in a format that does not mark it: text that is not JSON
/// becomes a JSON string.
pub(super) fn delimit(reply: &mut Message<'static>, format: Format) {
    if format.carrier() != Carrier::Text || !format.carries().json_calls {
        return;
    }
    let text = reply.body.text();
    if serde_json::from_str::<&serde_json::value::RawValue>(&text).is_err() {
        reply.body = serde_json::Value::from(&*text).to_string().into();
    }
}

/// Replaces each `&` and each first character of a control token for which `instead` returns a
/// replacement. `instead` receives the character and the text from it on.
fn replaced(
    text: &str,
    controls: &TokenTable,
    instead: impl Fn(char, &str) -> Option<String>,
) -> String {
    let firsts = controls.entries().iter().filter_map(|(_, spelling)| spelling.chars().next());
    let places: Vec<char> = firsts.chain(['&']).collect();
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        match places.contains(&c).then(|| instead(c, &text[at..])).flatten() {
            Some(other) => out.push_str(&other),
            None => out.push(c),
        }
    }
    out
}

/// Spells a character as a JSON escape.
fn escape(c: char) -> String {
    c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
}

/// Spells a character as a character reference.
fn reference(c: char) -> String {
    match c {
        '<' => "&lt;".to_owned(),
        c => format!("&#x{:x};", u32::from(c)),
    }
}

/// Whether text begins with a control token.
fn is_control(text: &str, controls: &TokenTable) -> bool {
    controls.entries().iter().any(|(_, spelling)| text.starts_with(spelling))
}

/// Whether text begins with a replaced control token, with any number of `amp;`.
fn is_respelled(text: &str, controls: &TokenTable) -> bool {
    let Some(mut rest) = text.strip_prefix('&') else { return false };
    while let Some(after) = rest.strip_prefix("amp;") {
        rest = after;
    }
    controls.entries().iter().any(|(_, spelling)| {
        let mut spelling = spelling.chars();
        let first = spelling.next().map(reference).unwrap_or_default();
        let rest = rest.strip_prefix(&first[1..]);
        rest.is_some_and(|rest| rest.starts_with(spelling.as_str()))
    })
}

#[cfg(test)]
mod tests {
    use openchatml::{Message, Role};

    use super::respell;

    fn respelled(text: &str) -> String {
        let mut message = Message::new(Role::Tool, text.to_owned());
        respell(&mut message, "harmony".parse().expect("a format"));
        message.body.text().into_owned()
    }

    /// Restores the text as the guide describes: `&lt;` in `&lt;|end|>` becomes `<`, and
    /// `&amp;lt;|end|>` loses one `amp;`.
    fn read_back(text: &str) -> String {
        let mut text = text.to_owned();
        let mut from = 0;
        while let Some(at) = text[from..].find('&').map(|at| from + at) {
            let rest = &text[at + 1..];
            let amps = rest.split("amp;").take_while(|part| part.is_empty()).count();
            let is_token = rest[4 * amps..]
                .strip_prefix("lt;")
                .is_some_and(|rest| rest.starts_with("|end|>") || rest.starts_with("|start|>"));
            match (is_token, amps) {
                (false, _) => {}
                (true, 0) => text.replace_range(at..at + 4, "<"),
                (true, _) => text.replace_range(at + 1..at + 5, ""),
            }
            from = at + 1;
        }
        text
    }

    #[test]
    fn respelling_is_reversible() {
        for (text, spelled) in [
            ("a <|end|> b", "a &lt;|end|> b"),
            ("<<|end|>", "<&lt;|end|>"),
            ("&lt;|end|> &amp;lt;|end|>", "&amp;lt;|end|> &amp;amp;lt;|end|>"),
            ("1 < 2 && <|im_end|> &lt;b>", "1 < 2 && <|im_end|> &lt;b>"),
            ("&amp;amp;<|start|>", "&amp;amp;&lt;|start|>"),
        ] {
            assert_eq!(respelled(text), spelled);
            assert_eq!(read_back(spelled), text);
        }
    }

    #[test]
    fn respelled_json_has_the_same_value() {
        let text = r#"{"ok":"<b><|end|>"}"#;
        let spelled = respelled(text);
        assert_eq!(spelled, r#"{"ok":"<b>\u003c|end|>"}"#);
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
        assert_eq!(read(&spelled), read(text));
    }
}
