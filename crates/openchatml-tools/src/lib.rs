//! Runs the tools that models call: concurrently, on time, and never twice (OpenChatML 2.2 §8, §9,
//! §11; OpenChatML 2.0 §8).

#![forbid(unsafe_code)]

mod call;
#[cfg(feature = "client")]
mod client;
#[cfg(feature = "config")]
pub mod config;
mod function;
pub mod kinds;
mod tool;
mod toolbox;

pub use self::call::{Call, Progress};
pub use self::function::{Function, function};
pub use self::tool::{Failure, Outcome, Output, Provenance, Run, Tool};
pub use self::toolbox::{Entry, NotAName, Toolbox};
