//! The YAML header of a transcript (OpenChatML 2.2 §2): reading, writing, and its settings.

mod capabilities;
mod emit;
mod preamble;
mod settings;
mod yaml;

pub use self::capabilities::{Capabilities, Negotiation};
pub(crate) use self::emit::emit;
pub(crate) use self::preamble::{Preamble, Scan};
pub use self::settings::{HarmonyProfile, Settings};
pub(crate) use self::settings::{is_builtin, is_builtin_tool};
pub(crate) use self::yaml::read;
