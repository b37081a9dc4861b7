//! Data sets: the kernel, runs over files, and what becomes of bad input.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

mod arrays;
mod bad_input;
mod fields;
mod kernel;
mod resume;
mod rows;
mod runs;
mod support;
