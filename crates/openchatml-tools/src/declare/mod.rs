//! Declarations of tools: what other programs say of theirs, and what the model reads of ours.

mod read;
mod write;

#[cfg(feature = "session")]
pub(crate) use self::write::declare_as_text;

pub use self::read::read;
