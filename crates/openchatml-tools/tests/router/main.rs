//! Tests of the router through its public interface.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod admission;
mod approval;
mod declare;
mod formats;
mod replies;
mod schedule;
mod simulation;
mod support;
mod time;
