//! The router, from the outside.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod schedule;
mod simulation;
