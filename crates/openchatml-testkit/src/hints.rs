//! Messages that are marked as hidden in a way that their format does not define.

use openchatml::{Carrier, Control, Document, Format, Policy, ReadOptions, Role, dialects, parse};

use crate::{Source, one_in, pick};

/// The text that must not be visible.
const SECRET: &str = "s1x";

/// JSON keys with values that hide a message in some format.
const KEYS: &[&str] = &["channel", "Channel", "CHANNEL", "recipient", "to", "To", "phase"];
const VALUES: &[&str] = &[
    r#""analysis""#,
    r#""Analysis""#,
    r#""thinking""#,
    r#""functions.f""#,
    r#"["analysis"]"#,
    r#"{"a":1}"#,
    "5",
    "true",
];

/// Parts of content that are reasoning.
const PARTS: &[&str] = &[
    r#"[{"type":"reasoning_text","text":"$"}]"#,
    r#"[{"type":"summary_text","text":"$"},{"type":"text","text":"A."}]"#,
    r#"[{"type":"reasoning","text":"$"}]"#,
    r#"[{"type":"thinking","thinking":"$"}]"#,
];

/// Segments that may be markers.
const SEGMENTS: &[&str] = &[
    r#"[{"type":"text","text":"A."},{"type":"marker","marker":"Reason"},{"type":"text","text":"$"}]"#,
    r#"[{"type":"text","text":"A."},{"type":"marker","marker":"reason","text":"$"}]"#,
    r#"[{"type":"text","text":"A."},{"marker":5},{"type":"text","text":"$"}]"#,
];

/// Header words that may be a channel or a recipient.
const WORDS: &[&str] = &[
    " channel=analysis",
    " Channel=commentary",
    " analysis",
    " TO=functions.f",
    " to functions.f",
    " recipient=functions.f",
];

/// A message is not shown unless it is certain that a user may see it.
///
/// # Panics
///
/// The message is shown.
pub fn hide(source: &mut Source<'_>) {
    let formats: Vec<_> = Format::all().collect();
    let format = pick(source, &formats);
    let text = match format.carrier() {
        // A wire list is not a list of messages.
        Carrier::Json if std::ptr::eq(format.dialect(), &dialects::CHATML_WIRE) => tokens(source),
        Carrier::Json => json(source, format.dialect().id),
        _ => match header(source, format) {
            Some(text) => text,
            // The format has no headers with words.
            None => return,
        },
    };
    let mut options = ReadOptions::default();
    options.continues = None;
    let parsed = parse(&text, format, &options);
    let Document::Conversation(conversation) = &parsed.document else { return };
    let view = Policy::default().view(conversation);
    let mut shown = view.messages().filter(|message| message.role() == Role::Assistant);
    let shown = shown.find(|message| message.text().contains(SECRET));
    assert!(shown.is_none(), "{format} shows it: {text:?}");
}

/// Generates a message with such a mark in its header, for formats with channels.
fn header(source: &mut Source<'_>, format: Format) -> Option<String> {
    let spelled = |control| format.dialect().controls.spelling(control);
    let start = spelled(Control::Start)?;
    let body = format!("{}{SECRET}{}", spelled(Control::Message)?, spelled(Control::End)?);
    let on_final = format!("{}final", spelled(Control::Channel)?);
    let word = pick(source, WORDS);
    let channel = pick(source, &["", &on_final]);
    Some(match one_in(source, 2) {
        true => format!("{start}assistant{word}{channel}{body}"),
        false => format!("{start}assistant{on_final}{word}{body}"),
    })
}

/// Generates a wire list with an unknown token.
fn tokens(source: &mut Source<'_>) -> String {
    let token = pick(
        source,
        &[
            r#"{"token":"<|start_reason|>"}"#,
            r#"{"token":"<|channel|>"},"analysis",{"token":"<|message|>"}"#,
            r#"{"token":5}"#,
            r#"{"tok":"<|end_message|>"}"#,
            r#"{"token":null}"#,
        ],
    );
    format!(
        r#"[{{"token":"<|start|>"}},"assistant",{{"token":"<|message|>"}},"A ",{token},"{SECRET}",{{"token":"<|end_message|>"}}]"#
    )
}

/// Generates a JSON message with such a mark next to its content or inside it. The keys of each
/// format are listed here independently of the library.
fn json(source: &mut Source<'_>, dialect: &str) -> String {
    let (role, content, speaker, holder) = match dialect {
        "sharegpt" => ("from", "value", "gpt", "conversations"),
        "responses" => ("role", "content", "assistant", "input"),
        _ => ("role", "content", "assistant", "messages"),
    };
    let kind = if dialect == "responses" { r#""type":"message","# } else { "" };
    let said = format!("\"{SECRET}\"");
    let (said, hint) = match one_in(source, 2) {
        true => {
            let has_markers = matches!(dialect, "json" | "openchatml-2.2");
            let parts = if has_markers { SEGMENTS } else { PARTS };
            (pick(source, parts).replace('$', SECRET), String::new())
        }
        false => {
            let (key, value) = (pick(source, KEYS), pick(source, VALUES));
            (said, format!(",\"{key}\":{value}"))
        }
    };
    // Harmony and canonical JSON have channels: every channel except `final` is hidden.
    let message = format!("{{{kind}\"{role}\":\"{speaker}\",\"{content}\":{said}{hint}}}");
    match dialect {
        "openchatml-2.0" | "openchatml-2.2" => format!("[{message}]"),
        _ => format!("{{\"{holder}\":[{message}]}}"),
    }
}
