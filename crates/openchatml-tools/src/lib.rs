//! Runs the tools that models call: concurrently, on time, and never twice (OpenChatML 2.2 §8, §9,
//! §11; OpenChatML 2.0 §8).

#![forbid(unsafe_code)]

mod call;
#[cfg(any(feature = "completions", feature = "session"))]
mod completions;
mod function;
mod tool;
mod toolbox;

pub use self::call::{Call, Progress};
#[cfg(any(feature = "completions", feature = "session"))]
pub use self::completions::{
    Completion, NextPiece, Opening, Piece, Prompt, Request, Upstream, UpstreamError,
};
#[cfg(feature = "completions")]
pub use self::completions::{Completions, CompletionsOptions};
pub use self::function::{Function, function};
pub use self::tool::{Failure, Outcome, Output, Provenance, Run, Tool};
pub use self::toolbox::{Entry, NotAName, Toolbox};
