//! What a prompt in Harmony says where the conversation does not.

use super::{ResponseFormat, SystemContent};
use crate::options::{DialectOptions, RenderOptions};

/// What a prompt in Harmony says where the conversation does not.
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
    /// The system message of a conversation that has none. It is put in where it is given, and then
    /// what a `system` message says in words of its own becomes the developer's instructions. Its
    /// date is [`RenderOptions::date`](crate::RenderOptions::date) if it names none; where that alone
    /// is given, the system message is the usual one with this date.
    pub system: Option<SystemContent<'static>>,
    /// The forms that the answer may have, where the developer names none.
    pub response_formats: Vec<ResponseFormat<'static>>,
}

impl PromptOptions {
    /// The system message that options ask for: if nobody says what is in it, the one that tells the date.
    pub(crate) fn system(options: &RenderOptions) -> Option<SystemContent<'static>> {
        let system = options.get::<Self>().and_then(|it| it.system.clone());
        let date = options.date.as_ref();
        if system.is_none() && date.is_none() {
            return None;
        }
        let mut system = system.unwrap_or_default();
        system.current_date = system.current_date.or_else(|| date.cloned());
        Some(system)
    }

    /// The forms of the answer that options ask for.
    pub(crate) fn response_formats(options: &RenderOptions) -> &[ResponseFormat<'static>] {
        options.get::<Self>().map_or(&[], |it| &it.response_formats)
    }
}

impl DialectOptions for PromptOptions {}
