//! What the system and the developer say in Harmony: text with headings of its own, which conversations in
//! OpenChatML 2.2 have, too (HIP-1).

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

use crate::model::FormId;

/// The form that the contents of messages are kept under.
pub(crate) const FORM: FormId = FormId::new("harmony");
