//! A response template.

use std::sync::Arc;

use super::error::ResponseTemplateError;
use super::load;
use super::spec::Spec;

/// A response template: JSON that describes how the output of a model becomes a message.
///
/// Published models have it in `tokenizer_config.json`, under the key `response_template`, for the
/// Python library `transformers` and for vLLM. This reader never fails and drops nothing: what
/// `transformers` raises an error for is a diagnostic here, and its text is kept in a hidden message.
///
/// Patterns match in linear time. A template with look-around or back-references is refused.
///
/// ```
/// use openchatml::{End, ReadOptions};
/// use openchatml_templates::ResponseTemplate;
///
/// let template = ResponseTemplate::from_json(r#"{
///     "start_anchor": "<|assistant|>",
///     "fields": {
///         "thinking": {"open": "<think>", "close": "</think>"},
///         "tool_calls": {
///             "open": "<tool_call>", "close": "</tool_call>", "repeats": true, "content": "json",
///             "transform": {"type": "function", "function": "{content}"}
///         },
///         "content": {"close": "<|end|>"}
///     }
/// }"#)?;
/// let output = "It is 4.</think>\n<tool_call>{\"name\": \"say\", \"arguments\": {\"n\": 4}}</tool_call>";
/// let read = template.read(Some("<|user|>2+2?<|assistant|><think>"), output, &ReadOptions::default());
/// let messages = read.into_conversation().messages;
/// assert!(messages[0].is_reasoning() && messages[0].body.text() == "It is 4.");
/// assert_eq!(messages[1].recipient.as_deref(), Some("functions.say"));
/// assert_eq!((messages[1].body.text().as_ref(), messages[1].end), (r#"{"n":4}"#, End::Call));
/// # Ok::<(), openchatml_templates::ResponseTemplateError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ResponseTemplate {
    pub(super) spec: Arc<Spec>,
}

impl ResponseTemplate {
    /// Loads a template from its JSON. The JSON can also be a `tokenizer_config.json` that has it
    /// under the key `response_template`.
    ///
    /// # Errors
    ///
    /// The text is no JSON, a key is unknown or has a wrong value, or a pattern needs backtracking.
    pub fn from_json(json: &str) -> Result<Self, ResponseTemplateError> {
        load::load(json).map(|spec| Self { spec: Arc::new(spec) })
    }
}
