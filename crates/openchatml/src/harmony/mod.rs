//! The contents of system and developer messages in Harmony: text with fixed headings, which
//! conversations in OpenChatML 2.2 can also have (HIP-1).

mod builtin;
mod content;
mod declared;
mod opening;
mod options;
pub(crate) mod parts;
mod response;

pub use self::content::{DeveloperContent, Effort, SystemContent};
pub use self::options::PromptOptions;
pub use self::response::ResponseFormat;
pub use crate::declare::Namespace;

pub(crate) use self::content::INSTRUCTIONS;
pub(crate) use self::declared::{Contents, declare, declares_tools, lost, still_say};
pub(crate) use self::opening::{ask, is_system, open};
pub(crate) use self::response::Sections;

use crate::model::{Conversation, FormId};

/// The form of the stored contents of messages.
pub(crate) const FORM: FormId = FormId::new("harmony");

/// Whether the conversation has a system message of Harmony. Then a prompt keeps it, and the system
/// message of [`PromptOptions`] is not written.
///
/// ```
/// use openchatml::{Conversation, Format, Message, Role, harmony, parse};
///
/// let usual = Conversation::from_messages([Message::new(Role::System, "Be brief.")]);
/// assert!(!harmony::has_system_message(&usual));
///
/// let text = "<|start|>system<|message|>Reasoning: low<|end|>";
/// let own = parse(text, Format::HARMONY, &Default::default()).into_conversation();
/// assert!(harmony::has_system_message(&own));
/// ```
pub fn has_system_message(conversation: &Conversation<'_>) -> bool {
    conversation.messages.iter().any(|message| is_system(message, conversation))
}
