//! Declarations of tools: those of other programs, and those that the model receives.

mod read;
mod write;

pub use self::read::read;
