//! Servers of the Model Context Protocol, from the outside.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod everything;
mod scripted;
mod support;
