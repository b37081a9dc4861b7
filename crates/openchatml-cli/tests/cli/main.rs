//! Tests that run the command as its users do.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

mod check;
mod convert;
#[cfg(feature = "data")]
mod data;
mod detect;
mod explain;
mod files;
mod fmt;
mod folders;
mod grammar;
mod guides;
mod help;
mod jsonl;
mod limits;
#[cfg(feature = "run")]
mod mcp;
mod models;
mod output;
mod pairs;
mod readme;
mod render;
mod reports;
#[cfg(feature = "run")]
mod run;
mod show;
mod snapshots;
mod stream;
mod support;
mod templates;
mod tokens;
#[cfg(feature = "run")]
mod tools;
