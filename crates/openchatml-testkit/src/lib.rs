//! Random hostile conversations, and the properties that must hold for them; documentation that
//! tests keep true.
//!
//! Tests run the properties over seeds, fuzzers over bytes that they search for: both are a
//! [`Source`].

pub mod bytes;
pub mod completion;
pub mod conversion;
pub mod document;
pub mod elsewhere;
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
