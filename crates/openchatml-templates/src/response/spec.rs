//! What a response template says.

use super::anchor::Anchor;
use super::content::Content;
use super::transform::Transform;

/// What a template says.
#[derive(Debug)]
pub(super) struct Spec {
    pub(super) fields: Vec<Field>,
    /// The field of the text outside of all regions.
    pub(super) implicit: Option<usize>,
    /// Where the message begins in a prompt.
    pub(super) start: Option<Anchor>,
}

/// A field: the regions with one meaning.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) meaning: Meaning,
    pub(super) open: Option<Anchor>,
    pub(super) close: Option<Anchor>,
    /// Whether the end of the text is a proper end.
    pub(super) ends_with_text: bool,
    pub(super) content: Content,
    pub(super) transform: Option<Transform>,
    pub(super) transform_each: bool,
    pub(super) is_required: bool,
}

/// What a field is in the model of conversations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Answer,
    Reasoning,
    Calls,
    Role,
    /// There is no place for it.
    Other,
}

impl Meaning {
    pub(super) fn of(name: &str) -> Self {
        match name {
            "content" => Self::Answer,
            "thinking" | "reasoning" | "reasoning_content" => Self::Reasoning,
            "tool_calls" => Self::Calls,
            "role" => Self::Role,
            _ => Self::Other,
        }
    }
}
