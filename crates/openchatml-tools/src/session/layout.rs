//! The layout of a transcript in JSON.

use std::collections::BTreeMap;

use openchatml::render::JsonStyle;
use openchatml::{Carrier, Format};
use serde_json::value::RawValue;

/// The layout of a transcript in JSON: a session writes the same layout that it read.
///
/// ```
/// use openchatml_tools::TranscriptLayout;
///
/// let layout = TranscriptLayout::of("[{\"role\": \"user\", \"content\": \"Hi.\"}]", "openai".parse()?);
/// let written = r#"{"messages":[{"role":"user","content":"Hi."}],"tools":[]}"#;
/// assert_eq!(layout.apply(written.to_owned()), "[{\"role\": \"user\", \"content\": \"Hi.\"}]");
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct TranscriptLayout {
    /// `None` if the format is not JSON.
    style: Option<JsonStyle>,
    /// Whether the transcript is a bare list of messages.
    is_list: bool,
    /// Whether the transcript ends with a line break.
    ends_line: bool,
}

impl TranscriptLayout {
    /// Detects the layout of a transcript in this format.
    pub fn of(text: &str, format: Format) -> Self {
        if format.carrier() != Carrier::Json {
            return Self::default();
        }
        let begins = text.trim_start_matches('\u{feff}').trim_ascii_start();
        Self {
            style: Some(JsonStyle::of(text)),
            is_list: begins.starts_with('['),
            ends_line: text.ends_with('\n'),
        }
    }

    /// Returns a transcript in this layout. If the layout is a list, the tools that the session
    /// declared to the model are omitted; the next session declares them again.
    pub fn apply(&self, text: String) -> String {
        let Some(style) = &self.style else { return text };
        let mut laid_out = match self.is_list.then(|| messages(&text)).flatten() {
            Some(messages) => style.apply(messages),
            None => style.apply(text.trim_ascii_end()),
        };
        if self.ends_line {
            laid_out.push_str(style.line_break());
        }
        laid_out
    }
}

/// Returns the list of messages, if the object contains only messages and optionally tools.
fn messages(json: &str) -> Option<&str> {
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(json).ok()?;
    let mut others = fields.iter().filter(|(key, _)| *key != "tools");
    let (key, messages) = others.next()?;
    let is_alone = others.next().is_none() && matches!(key.as_str(), "messages" | "input");
    is_alone.then(|| messages.get())
}
