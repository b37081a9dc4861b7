//! Parses, checks, renders, converts and streams chat-markup conversations.
//!
//! OpenChatML 0.1, 2.0 and 2.2, Harmony, Apertus, OpenAI's ChatML, the `<|im_start|>` framing and
//! the JSON of chat services share one model: [`Conversation`].
//!
//! - Readers never fail and lose no byte. Each [`Diagnostic`] says what is malformed and where, and
//!   the reader keeps every message that it can read.
//! - Content cannot become structure. Writers escape text that spells a control token, or refuse
//!   it.
//! - Each part of a conversation that a format cannot express is reported by name, as a
//!   [`Loss`](convert::Loss).
//! - Text for users has its own type, [`UserView`], so hidden text cannot be shown by accident.
//!
//! # Examples
//!
//! Parse a text and iterate over its messages:
//!
//! ```
//! use openchatml::{Format, parse};
//!
//! let text = "<|im_start|>user\nWhat is 2 + 2?<|im_end|>\n<|im_start|>assistant\n4.<|im_end|>\n";
//! let parsed = parse(text, Format::CHATML, &Default::default());
//! for found in &parsed.diagnostics {
//!     eprintln!("{found}");
//! }
//! for message in parsed.into_conversation().messages {
//!     println!("{}: {}", message.role, message.body.text());
//! }
//! ```
//!
//! Convert a completion of gpt-oss to messages of OpenAI's API:
//!
//! ```
//! use openchatml::{Format, ReadOptions, convert, parse};
//!
//! let sampled = "<|channel|>analysis<|message|>Easy.<|end|>\
//!     <|start|>assistant<|channel|>final<|message|>4.<|return|>";
//! let completion = parse(sampled, Format::HARMONY, &ReadOptions::completion()).document;
//! let openai = convert::convert(&completion, Format::OPENAI, &Default::default())?;
//! for loss in &openai.losses {
//!     eprintln!("{loss}");
//! }
//! assert!(openai.output.contains(r#""content":"4.""#), "{}", openai.output);
//! # Ok::<(), openchatml::RenderError>(())
//! ```
//!
//! Show an answer while its token ids arrive, with the crate `openchatml-tokens`:
//!
//! ```
//! use openchatml::{Event, Policy, ReadOptions, TextFormat};
//! use openchatml_tokens::{O200kHarmony, Tokenizer};
//!
//! # if cfg!(miri) { return } // It is too slow for a vocabulary.
//! let tokenizer = Tokenizer::new(TextFormat::HARMONY, O200kHarmony::default());
//! let mut stream = tokenizer.stream(&ReadOptions::completion()).for_user(Policy::default());
//! # let (mut shown, sampled) = (String::new(), [200005, 17196, 200008, 13225, 200002]);
//! for id in sampled {
//!     for event in stream.feed(&[id]) {
//!         if let Event::Delta { text, .. } = event {
//!             print!("{text}");
//! #           shown.push_str(&text);
//!         }
//!     }
//! }
//! # assert_eq!(shown, "Hello");
//! ```
//!
//! Write a training sample as token ids, with the mask of the trained ids:
//!
//! ```
//! use openchatml::{Conversation, Message, TextFormat};
//! use openchatml_tokens::{MaskPolicy, O200kHarmony, Tokenizer};
//!
//! # if cfg!(miri) { return Ok(()) } // It is too slow for a vocabulary.
//! let tokenizer = Tokenizer::new(TextFormat::HARMONY, O200kHarmony::default());
//! let sample = Conversation::from_messages([Message::user("2 + 2?"), Message::answer("4.")]);
//! let rendered = tokenizer.render(&sample.clone().into(), &Default::default())?;
//! let mask = MaskPolicy::default().mask(&sample, &rendered);
//! for (id, is_trained) in rendered.ids.iter().zip(mask) {
//!     println!("{id} {is_trained}");
//! }
//! # Ok::<(), openchatml::RenderError>(())
//! ```
//!
//! Run the calls of a model until it answers. The crate `openchatml-tools` has this loop with
//! limits, approval and an HTTP client:
//!
//! ```
//! use openchatml::prompt::Prompt;
//! use openchatml::{Conversation, Format, Message, ReadOptions, RenderOptions, Tool, parse};
//!
//! # fn complete(prompt: &str) -> String {
//! #     assert!(prompt.contains("type weather = () => any;"), "{prompt}");
//! #     match prompt.contains("Sunny.") {
//! #         true => "<|channel|>final<|message|>It is sunny.<|return|>".to_owned(),
//! #         false => "<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{}<|call|>".to_owned(),
//! #     }
//! # }
//! let mut chat = Conversation::from_messages([Message::user("How is the weather?")]);
//! chat.tools.push(Tool::new("weather").with_description("The weather of today."));
//! let options = RenderOptions::prompt();
//! while !chat.messages.last().is_some_and(Message::is_answer) {
//!     let prompt = Prompt::new(&chat, Format::HARMONY, &options).convert(&options)?.output;
//!     let sampled = complete(&prompt); // Asks the model.
//!     let said = parse(&sampled, Format::HARMONY, &ReadOptions::completion()).into_conversation();
//!     chat.messages.extend(said.into_owned().messages);
//!     if chat.messages.last().is_some_and(Message::is_call) {
//!         chat.messages.push(Message::reply("weather", "Sunny."));
//!     }
//! }
//! # assert_eq!(chat.messages.last().unwrap().body.text(), "It is sunny.");
//! # Ok::<(), openchatml::RenderError>(())
//! ```
//!
//! The folder `examples` has two programs: `parse_and_print` reads a file of any format, and
//! `convert_data_set` converts JSONL and rejects lines with their reasons.
//!
//! # Design
//!
//! The core does no I/O and has no clock and no global state: the same input always gives the same
//! bytes. [`Stream`] reads text while it arrives and gives the same messages as [`parse`].
//! Functions that require a text form take a [`TextFormat`]; other functions take any [`Format`].
//!
//! Each operation has its own error type: [`FormatError`] for the choice of a format,
//! [`RenderError`] for writing, [`Diagnostic`] for invalid input. [`Error`] is any of them.
//!
//! # Features
//!
//! - `serde_json`: converts conversations, arguments, parameters and replies to and from
//!   `serde_json::Value`. Off by default.

#![forbid(unsafe_code)]

mod check;
mod control;
pub mod convert;
pub mod declare;
mod detect;
mod diagnostic;
mod dialect;
pub mod dialects;
mod document;
mod engine;
mod error;
mod fix;
mod grammar;
pub mod harmony;
mod header;
pub mod history;
mod json;
pub mod lex;
mod limits;
pub mod lint;
mod model;
mod options;
mod pairing;
mod parse;
pub mod prompt;
mod reading;
pub mod render;
mod repair;
mod reply;
mod roles;
mod rules;
#[cfg(feature = "serde_json")]
mod serde_value;
mod services;
mod signs;
mod span;
mod stream;
mod tagged;
mod text_format;
mod view;
mod words;
mod writing;

pub use self::control::{Control, Section};
pub use self::detect::{
    Candidate, Evidence, Recognized, detect, detect_records, detect_stream, is_part_of_record,
    recognize,
};
pub use self::diagnostic::{
    Applicability, Code, Diagnostic, Dropped, Edit, Fix, FormatError, Severity, UnknownName,
    apply_fixes,
};
pub use self::dialect::{Carrier, Dialect, Format};
pub use self::error::Error;
pub use self::fix::{Fixed, fix, fix_if};
pub use self::header::{Capabilities, HarmonyProfile, Negotiation, Settings};
pub use self::json::{Data, Value};
pub use self::limits::Limits;
pub use self::model::{
    Body, Channel, Content, Conversation, Document, End, Header, Infill, InfillOrder, Intent,
    Marker, Message, Pair, Part, Role, Segment, Segments, Tool, Visibility, Weight, function_name,
};
pub use self::options::{Mode, ReadOptions, Recover, RenderOptions, Repair};
pub use self::parse::{parse, parse_tape};
pub use self::reading::Parsed;
pub use self::render::render;
pub use self::repair::repair_call;
pub use self::reply::Reply;
pub use self::span::{Lines, Location, Span};
pub use self::stream::{CowBox, Done, Event, Events, Keep, Stream, UserEvents, wire};
pub use self::text_format::TextFormat;
pub use self::view::{DebugMessage, Policy, Preambles, UserMessage, UserView};
pub use self::writing::RenderError;

/// The examples of a guide and of the READMEs, which `cargo test` runs.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/responses-and-chat.md")]
#[doc = include_str!("../../../README.md")]
#[doc = include_str!("../README.md")]
mod guide {}
