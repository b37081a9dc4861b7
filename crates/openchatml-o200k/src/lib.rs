//! Ordinary text to ids of `o200k_base`, which are those of `o200k_harmony`.
//!
//! The ids are always those of OpenAI's tiktoken. Text is cut into pieces, and a piece
//! becomes ids by byte pair encoding. How this is made fast:
//!
//! - Sixty-four bytes of ASCII at once are classed and cut (`split`).
//! - Ids of pieces that came before are found in a cache of fixed size (`cache`).
//! - A piece that is a token is found by its hash, and any other is merged from its bytes by the
//!   pairs that make each token (`vocabulary`, `merge`). Time is linear in the text but for
//!   logarithms, whatever the text is.
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
