//! Encodes ordinary text as ids of `o200k_base`, which are also those of `o200k_harmony`.
//!
//! The ids are always those of OpenAI's tiktoken. Text is split into pieces, and byte pair encoding
//! converts a piece to ids. It is fast for these reasons:
//!
//! - Sixty-four bytes of ASCII are classified and split at once (`split`).
//! - The ids of earlier pieces are in a cache of fixed size (`cache`).
//! - A piece that is a token is found by its hash. Any other piece is merged from its bytes with a
//!   table of pairs (`vocabulary`, `merge`). The time is linear in the text, up to logarithms, for
//!   every text.
//!
//! ```
//! let encoder = openchatml_o200k::Encoder::default();
//! let mut ids = Vec::new();
//! encoder.encode("Hello, world!", &mut ids);
//! assert_eq!(ids, [13225, 11, 2375, 0]);
//! assert_eq!(encoder.token(13225), Some(b"Hello".as_slice()));
//! ```

#![forbid(unsafe_code)]

mod batch;
mod cache;
mod classes;
mod encoder;
mod few;
mod hash;
mod index;
mod joins;
mod merge;
mod split;
mod tokens;
mod vocabulary;

pub use self::encoder::Encoder;
pub use self::split::pieces;

/// The example of the README, as a doc test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
