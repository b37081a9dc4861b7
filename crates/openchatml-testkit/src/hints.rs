//! Messages that say, in a way that their format does not know, that they are not for the user.

use openchatml::{Carrier, Control, Document, Format, Policy, ReadOptions, Role, dialects, parse};

use crate::{Source, one_in, pick};

/// What nobody may see.
const SECRET: &str = "s1x";

/// Keys of JSON that hide a message in one format or another, with values.
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

/// Segments of which one may be a marker, where there are markers.
const SEGMENTS: &[&str] = &[
    r#"[{"type":"text","text":"A."},{"type":"marker","marker":"Reason"},{"type":"text","text":"$"}]"#,
    r#"[{"type":"text","text":"A."},{"type":"marker","marker":"reason","text":"$"}]"#,
    r#"[{"type":"text","text":"A."},{"marker":5},{"type":"text","text":"$"}]"#,
];

/// Words of a header that may be a channel or a recipient.
const WORDS: &[&str] = &[
    " channel=analysis",
    " Channel=commentary",
    " analysis",
    " TO=functions.f",
    " to functions.f",
    " recipient=functions.f",
];

/// What nobody can be sure that a user may see is not shown.
///
/// # Panics
///
/// If it is.
pub fn hide(source: &mut Source<'_>) {
    let formats: Vec<_> = Format::all().collect();
    let format = pick(source, &formats);
    let text = match format.carrier() {
        // A wire list is no list of messages.
        Carrier::Json if std::ptr::eq(format.dialect(), &dialects::CHATML_WIRE) => tokens(source),
        Carrier::Json => json(source, format.dialect().id),
        _ => match header(source, format) {
            Some(text) => text,
            // It has no headers with words in them.
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

/// A message with a hint in its header, where a format has headers with channels.
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

/// A wire list with a token that the format does not have.
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

/// A message of JSON with a hint beside its content, or in it. Each format of JSON has keys of its
/// own: they are named here once more, and not asked of the library.
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
    // Harmony and canonical JSON know channels: on another one than final, all is hidden.
    let message = format!("{{{kind}\"{role}\":\"{speaker}\",\"{content}\":{said}{hint}}}");
    match dialect {
        "openchatml-2.0" | "openchatml-2.2" => format!("[{message}]"),
        _ => format!("{{\"{holder}\":[{message}]}}"),
    }
}
