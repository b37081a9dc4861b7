//! Losses of declarations and of JSON fields.

use crate::Span;
use crate::declare::{self, Namespace, Style, ToolPlace};
use crate::json::{Data, Value};
use crate::model::{Conversation, Tool};

use super::{Loss, Lost};

/// Returns the tools that a declaration in this style cannot express completely, as losses.
pub(crate) fn partly_expressed(tools: &[Tool<'_>], style: Style) -> Vec<Loss> {
    let lost = tools.iter().filter(|tool| !declare::says_all(tool, style)).map(|tool| {
        let span = tool.parameters.as_ref().map_or(Span::default(), |schema| schema.span);
        Loss::new(None, span, Lost::Declaration)
    });
    lost.collect()
}

/// Removes the tools of a conversation and declares them as text, if `place` is for text. Returns
/// the position of a message that was added, and the losses.
pub(crate) fn declare_as_text(
    conversation: &mut Conversation<'_>,
    place: ToolPlace,
    style: Style,
) -> (Option<usize>, Vec<Loss>) {
    let tools = std::mem::take(&mut conversation.tools);
    let mut losses = vec![Loss::of_document(Lost::ToolsAsText)];
    if !matches!(place, ToolPlace::Json(_)) {
        losses.append(&mut partly_expressed(&tools, style));
    }
    (place.say(conversation, vec![Namespace::functions(tools)], style), losses)
}

/// Returns the loss of a key, or `None` for an empty value.
pub(crate) fn lost_field(key: &str, value: &Value<'_>) -> Option<Loss> {
    let is_empty = match &value.data {
        Data::Null => true,
        Data::List(items) => items.is_empty(),
        _ => false,
    };
    let found = match key {
        _ if is_empty => return None,
        "audio" => Lost::Audio,
        "annotations" | "citations" => Lost::Annotations,
        "summary" => Lost::Summary,
        "encrypted_content" => Lost::Encrypted,
        _ => return Some(lost(Lost::Field, value.span).of(key)),
    };
    Some(lost(found, value.span))
}

/// Creates a loss whose message is not known yet.
pub(crate) fn lost(lost: Lost, span: Span) -> Loss {
    Loss::new(None, span, lost)
}

/// Returns the loss of a medium.
pub(crate) fn medium(word: &str) -> Lost {
    let media = [
        ("image", Lost::Image),
        ("audio", Lost::Audio),
        ("video", Lost::Video),
        ("file", Lost::File),
        ("document", Lost::File),
    ];
    media.iter().find(|(medium, _)| word.contains(medium)).map_or(Lost::Part, |(_, lost)| *lost)
}
