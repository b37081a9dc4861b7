//! Conversations as token ids.
//!
//! An [`Encoding`] turns ordinary text into ids, and knows the ids of control tokens. A
//! [`Tokenizer`] binds an encoding to a format: it writes conversations as ids, reads
//! them back, and streams them. Text of a message is always encoded as ordinary text, so no content
//! can become a control token.
//!
//! `o200k_harmony` is part of the crate (feature `o200k`, on by default). Others are read from files:
//! a `tokenizer.json` (feature `huggingface`) or a rank file (feature `tiktoken`).
//!
//! ```
//! use openchatml::{Conversation, Message, Role, TextFormat};
//! use openchatml_tokens::{ByteEncoding, Tokenizer};
//!
//! let tokenizer = Tokenizer::new(TextFormat::HARMONY, ByteEncoding::default());
//! let messages = [Message::new(Role::User, "<|end|>"), Message::answer("4.")];
//! let document = Conversation::from_messages(messages.clone()).into();
//! let rendered = tokenizer.render(&document, &Default::default())?;
//! let read = tokenizer.parse(&rendered.ids, &Default::default());
//! assert_eq!(read.into_conversation().messages, messages);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The folder `examples` has three programs: `stream_to_openai` reads sampled ids and writes
//! messages of OpenAI's API, `loss_mask` writes a training sample with its mask, and
//! `custom_encoding` uses a vocabulary of its own.

#![forbid(unsafe_code)]

mod boundaries;
mod cache;
mod encoding;
mod first_difference;
mod ids;
mod mask;
mod read;
mod sampled_ids;
mod sink;
mod stream;
mod tokenizer;
mod truncate;

pub use self::cache::{CacheStatistics, PromptCache};
#[cfg(any(feature = "huggingface", feature = "tiktoken"))]
pub use self::encoding::EncodingError;
#[cfg(feature = "huggingface")]
pub use self::encoding::HuggingFace;
#[cfg(feature = "o200k")]
pub use self::encoding::O200kHarmony;
#[cfg(feature = "tiktoken")]
pub use self::encoding::Tiktoken;
pub use self::encoding::{ByteEncoding, Encoding, Token};
pub use self::first_difference::{Difference, FirstDifference};
pub use self::mask::{MaskPolicy, TrainedHeaders, TrainedMessages, TrainedTurns};
pub use self::read::ParsedIds;
pub use self::sink::{Counted, MessageSpan, Rendered};
pub use self::stream::TokenStream;
pub use self::tokenizer::Tokenizer;
pub use self::truncate::{Cut, OldestFirst, Scheme, TruncateError, Truncated, Truncation, Unit};

/// The examples of the guide and of the README, as doc tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/tokens.md")]
#[doc = include_str!("../README.md")]
mod guide {}

/// All error types can be boxed and sent to other threads.
const _: () = {
    const fn is_error<E: std::error::Error + Send + Sync + 'static>() {}
    #[cfg(any(feature = "huggingface", feature = "tiktoken"))]
    is_error::<EncodingError>();
    is_error::<TruncateError>();
};
