//! Options for the contents of a Harmony prompt.

use super::{Effort, ResponseFormat, SystemContent};
use crate::model::Conversation;
use crate::options::{DialectOptions, RenderOptions};

/// The contents that a Harmony prompt gets if the conversation does not have them.
///
/// ```
/// use openchatml::harmony::{PromptOptions, SystemContent};
/// use openchatml::{Conversation, Message, RenderOptions, Role, render};
///
/// let mut prompt = PromptOptions::default();
/// prompt.system = Some(SystemContent::default());
/// let mut options = RenderOptions::default();
/// options.set(prompt);
/// let question = Conversation::from_messages([Message::new(Role::User, "Hi.")]).into();
/// let text = render(&question, "harmony".parse()?, &options)?;
/// assert!(text.starts_with("<|start|>system<|message|>You are ChatGPT"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct PromptOptions {
    /// The system message for a conversation without one. If it is set, the text of an ordinary
    /// `system` message becomes the developer's instructions. Without a date, it uses
    /// [`RenderOptions::date`](crate::RenderOptions::date). If only that date is set, the default
    /// system message with this date is used.
    pub system: Option<SystemContent<'static>>,
    /// The response formats, if the developer message has none.
    pub response_formats: Vec<ResponseFormat<'static>>,
}

impl PromptOptions {
    /// Returns the system message of the options: without one, the default message if there is a
    /// date.
    /// If the options say nothing about its content, the reasoning effort is that of the request.
    pub(crate) fn system(
        options: &RenderOptions,
        conversation: &Conversation<'_>,
    ) -> Option<SystemContent<'static>> {
        let system = options.get::<Self>().and_then(|it| it.system.clone());
        let date = options.date.as_ref();
        if system.is_none() && date.is_none() {
            return None;
        }
        let mut system = system.unwrap_or_else(|| {
            let default = SystemContent::default();
            let reasoning_effort = effort(conversation).or(default.reasoning_effort);
            SystemContent { reasoning_effort, ..default }
        });
        system.current_date = system.current_date.or_else(|| date.cloned());
        Some(system)
    }

    /// Returns the response formats of the options.
    pub(crate) fn response_formats(options: &RenderOptions) -> &[ResponseFormat<'static>] {
        options.get::<Self>().map_or(&[], |it| &it.response_formats)
    }
}

impl DialectOptions for PromptOptions {}

/// Returns the reasoning effort that a request asks for: `reasoning_effort` of Chat Completions, or
/// `reasoning.effort` of Responses.
fn effort(conversation: &Conversation<'_>) -> Option<Effort> {
    let fields = &conversation.layout.as_deref()?.beyond.as_deref()?.fields;
    let field = |key: &str| fields.iter().find(|field| field.0 == key).map(|field| &field.1);
    let nested = || field("reasoning").and_then(|reasoning| reasoning.get("effort"));
    let word = field("reasoning_effort").or_else(nested)?;
    word.as_str().and_then(Effort::from_word)
}
