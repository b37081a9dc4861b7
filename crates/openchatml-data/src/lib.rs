//! Data sets of chat conversations: JSONL, Parquet and Arrow files of any size.
//!
//! - [`kernel`] is one function from Arrow batches to Arrow batches: conversations in, texts, token
//!   ids with masks, findings or counts out.
//! - [`convert`], [`tokenize`], [`check`], [`stats`], [`dedup`], [`sample`] and [`split`] run over
//!   whole data sets: in order, on all cores, in bounded memory. Those that write files write them
//!   in shards, with a manifest. A run that was interrupted continues when the same function is
//!   called again, and gives the same bytes.
//! - [`record`] says what one record is: the document in it, its format, and what may be lost.
//!
//! ```
//! # #[cfg(feature = "tables")] {
//! use openchatml::TextFormat;
//! use openchatml_data::kernel::{KernelOptions, Task, TokenizeOptions, Tokens};
//! use openchatml_data::record::Purpose;
//! use openchatml_data::{Fields, FileFormat, RunOptions, tokenize};
//! use openchatml_tokens::O200kHarmony;
//!
//! let folder = tempfile::tempdir()?;
//! let path = |name: &str| folder.path().join(name).display().to_string();
//! let sample = r#"{"messages":[{"role":"user","content":"2 + 2?"},{"role":"assistant","content":"4."}]}"#;
//! std::fs::write(path("train.jsonl"), sample)?;
//!
//! let tokens = Tokens::new(TextFormat::HARMONY, || Box::new(O200kHarmony::default()));
//! let mut kernel = KernelOptions::new(Task::Tokenize(TokenizeOptions::new(tokens)));
//! kernel.purpose = Purpose::Training;
//! let mut run = RunOptions::new([path("train.jsonl")], path("ids"));
//! run.format = Some(FileFormat::Parquet);
//! let summary = tokenize(&run, &Fields::default(), kernel, None)?;
//! assert_eq!((summary.rows, summary.tally.rejected), (1, 0));
//! assert!(std::fs::exists(path("ids/part-00000.parquet"))?);
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! - `tables` (default): everything but [`record`].
//! - `object-store`: inputs and outputs in object stores.

#![forbid(unsafe_code)]

#[cfg(feature = "tables")]
mod commands;
#[cfg(feature = "tables")]
mod error;
mod foreign;
#[cfg(feature = "tables")]
mod input;
#[cfg(feature = "tables")]
pub mod kernel;
#[cfg(feature = "tables")]
mod output;
#[cfg(feature = "tables")]
mod pool;
pub mod record;
#[cfg(feature = "tables")]
mod rows;
#[cfg(feature = "tables")]
mod run;
#[cfg(feature = "tables")]
mod store;

#[cfg(feature = "tables")]
pub use self::commands::{
    Checked, Example, Finding, Histogram, Near, RoleStats, RowFinding, RowFindings, Share, Size,
    Stats, check, check_rows, convert, dedup, sample, split, stats, tokenize,
};
#[cfg(feature = "tables")]
pub use self::error::DataError;
pub use self::foreign::foreign_kind;
#[cfg(feature = "tables")]
pub use self::output::FileFormat;
#[cfg(feature = "tables")]
pub use self::run::{Fields, OnReject, Progress, ProgressFn, RunOptions, Summary};

/// The example of the README, as a doc test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod guide {}
