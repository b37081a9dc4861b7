//! Data sets of chat conversations.

#![forbid(unsafe_code)]

#[cfg(feature = "tables")]
mod commands;
#[cfg(feature = "tables")]
mod error;
#[cfg(feature = "tables")]
mod input;
#[cfg(feature = "tables")]
pub mod kernel;
#[cfg(feature = "tables")]
mod output;
pub mod record;
#[cfg(feature = "tables")]
mod rows;
#[cfg(feature = "tables")]
mod run;
#[cfg(feature = "tables")]
mod store;

#[cfg(feature = "tables")]
pub use self::commands::{
    Checked, Example, Finding, Histogram, Near, RoleStats, Share, Size, Stats, check, convert,
    dedup, sample, split, stats, tokenize,
};
#[cfg(feature = "tables")]
pub use self::error::DataError;
#[cfg(feature = "tables")]
pub use self::output::FileFormat;
#[cfg(feature = "tables")]
pub use self::run::{Fields, OnReject, Progress, ProgressFn, RunOptions, Summary};
