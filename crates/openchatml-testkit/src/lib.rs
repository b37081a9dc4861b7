//! Random hostile conversations, the properties that must hold for them, and tests that keep
//! documentation current.
//!
//! Tests run the properties with seeds, fuzzers with bytes. Both are a [`Source`].

pub mod bytes;
pub mod completion;
pub mod conversion;
pub mod document;
pub mod examples;
pub mod external_files;
pub mod fixes;
pub mod grammar;
pub mod hints;
pub mod ids;
mod inputs;
pub mod laws;
pub mod markdown;
pub mod mutate;
pub mod property;
pub mod run;
pub mod secrets;
mod sections;
pub mod shell;
mod source;
pub mod text;
pub mod turns;
pub mod upstream;
pub mod wire;

pub use self::source::{Source, cases, one_in, pick, seeds};
