//! Data sets of chat conversations.

#![forbid(unsafe_code)]

pub mod record;
