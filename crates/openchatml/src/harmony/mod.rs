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

use crate::model::FormId;

/// The form of the stored contents of messages.
pub(crate) const FORM: FormId = FormId::new("harmony");
