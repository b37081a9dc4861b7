//! Chat-markup conversations: parsed, checked, rendered, converted and streamed.
//!
//! OpenChatML 0.1, 2.0 and 2.2, OpenAI's ChatML and the `<|im_start|>` framing share one
//! [`Conversation`]. Readers never fail and lose no byte: what is malformed is a [`Diagnostic`]
//! with a code and a place, and what can be saved is saved. Writers cannot be injected: content
//! that spells a control token is escaped or refused. What a format cannot carry is a
//! [`Loss`](convert::Loss) by name. What a user may see is a type of its own, [`UserView`].
//!
//! ```
//! use openchatml::{Policy, RenderOptions, convert, parse};
//!
//! let text = "\
//! version: 2.2
//!
//! <|start|>user<|message|>What is 2 + 2?<|end|>
//! <|start|>assistant<|channel|>analysis<|message|>Simple arithmetic.<|end|>
//! <|start|>assistant<|channel|>final<|message|>4.<|return|>
//! ";
//! let parsed = parse(text, "openchatml-2.2".parse()?, &Default::default());
//! assert!(parsed.diagnostics.is_empty());
//!
//! let conversation = parsed.document.as_conversation().unwrap();
//! let view = Policy::default().view(conversation);
//! let seen: Vec<_> = view.messages().map(|message| message.text()).collect();
//! assert_eq!(seen, ["What is 2 + 2?", "4."]);
//!
//! let chatml = convert::convert(&parsed.document, "chatml".parse()?, &RenderOptions::default())?;
//! assert!(chatml.losses.iter().any(|loss| loss.to_string() == "message 1: analysis dropped"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What most programs do
//!
//! Read a text, whatever is wrong with it, and go through its messages:
//!
//! ```
//! use openchatml::{Format, Role, parse};
//!
//! let text = "<|im_start|>user\nWhat is 2 + 2?<|im_end|>\n<|im_start|>assistant\n4.<|im_end|>\n";
//! for message in parse(text, Format::IM, &Default::default()).into_conversation().messages {
//!     assert!(message.role == Role::User || message.body.text() == "4.");
//! }
//! ```
//!
//! Take what gpt-oss sampled to the messages of OpenAI's API:
//!
//! ```
//! use openchatml::{Format, ReadOptions, RenderOptions, Role, convert, parse};
//!
//! let mut options = ReadOptions::default();
//! options.continues = Some(Role::Assistant);
//! let sampled = "<|channel|>analysis<|message|>Easy.<|end|>\
//!     <|start|>assistant<|channel|>final<|message|>4.<|return|>";
//! let document = parse(sampled, Format::HARMONY, &options).document;
//! let openai = convert::convert(&document, Format::OPENAI, &RenderOptions::default())?;
//! assert!(openai.output.contains(r#""content":"4.""#), "{}", openai.output);
//! # Ok::<(), openchatml::RenderError>(())
//! ```
//!
//! Ask a model, with a tool that it may call:
//!
//! ```
//! use openchatml::prompt::Prompt;
//! use openchatml::{Conversation, Format, Message, RenderOptions, Role, Tool};
//!
//! let mut conversation = Conversation::from_messages([
//!     Message::user("How is the weather?"),
//!     Message::call("weather", r#"{"city":"Paris"}"#),
//!     Message::reply("weather", "Sunny."),
//! ]);
//! conversation.tools.push(Tool::new("weather").with_description("The weather of today."));
//! let mut options = RenderOptions::default();
//! options.generation_prompt = Some(Role::Assistant);
//! let prompt = Prompt::new(&conversation, Format::HARMONY, &options).convert(&options)?.output;
//! assert!(prompt.contains("type weather = () => any;") && prompt.ends_with("<|start|>assistant"));
//! # Ok::<(), openchatml::RenderError>(())
//! ```
//!
//! [`Stream`] reads a completion as it arrives. Token ids, and which of them are trained, are in the crate
//! `openchatml-tokens`; the loop that runs the tools that a model calls is in `openchatml-tools`.
//!
//! The core does no I/O, has no clock and no global state: the same input gives the same bytes,
//! always and everywhere.

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
mod fix;
mod grammar;
pub mod harmony;
mod header;
pub mod history;
mod json;
pub mod lex;
mod limits;
mod model;
mod options;
mod pairing;
mod parse;
pub mod prompt;
mod reading;
pub mod render;
mod reply;
mod roles;
mod rules;
mod services;
mod signs;
mod span;
mod stream;
mod view;
mod words;
mod writing;

pub use self::control::{Control, Section};
pub use self::detect::{Candidate, Evidence, Recognized, detect, detect_records, recognize};
pub use self::diagnostic::{
    Applicability, Code, Diagnostic, Dropped, Edit, Fix, Severity, UnknownName, apply_fixes,
};
pub use self::dialect::{Carrier, Dialect, Format};
pub use self::fix::{Fixed, fix, fix_if};
pub use self::header::{Capabilities, HarmonyProfile, Negotiation, Settings};
pub use self::json::{Data, Value};
pub use self::limits::Limits;
pub use self::model::{
    Body, Channel, Content, Conversation, Document, End, Header, Infill, InfillOrder, Intent,
    Marker, Message, Part, Role, Segment, Segments, Tool, Visibility, Weight, function_name,
};
pub use self::options::{Mode, ReadOptions, Recover, RenderOptions};
pub use self::parse::{parse, parse_tape};
pub use self::reading::Parsed;
pub use self::render::render;
pub use self::reply::Reply;
pub use self::span::{Lines, Location, Span};
pub use self::stream::{Done, Event, Keep, Stream, UserEvents, wire};
pub use self::view::{DebugMessage, Policy, Preambles, UserMessage, UserView};
pub use self::writing::RenderError;

/// The examples of a guide, which `cargo test` runs.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/responses-and-chat.md")]
mod guide {}
