//! Tests with servers of the Model Context Protocol through the public interface.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod broken;
mod everything;
mod http;
mod lists;
mod login;
mod oauth;
mod scripted;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../server/mod.rs"]
mod server;
mod support;
