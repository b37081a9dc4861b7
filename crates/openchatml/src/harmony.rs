//! What the system and the developer say in Harmony: text with headings of its own.

pub use crate::dialects::harmony::{
    DeveloperContent, Effort, Namespace, PromptOptions, ResponseFormat, SystemContent,
};
