//! Declarations of tools: what other programs say of theirs, and what the model reads of ours.

mod read;
mod write;

pub use self::read::read;
