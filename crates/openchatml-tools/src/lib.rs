//! Runs the tools that models call: concurrently, with timeouts, and never twice (OpenChatML 2.2
//! §8, §9, §11; OpenChatML 2.0 §8).
//!
//! A [`Tool`] can be called: it is a closure ([`function`]) or a type that implements the trait. A
//! [`Toolbox`] maps names to tools and their JSON Schemas. A [`Router`] checks the calls of a
//! [`Turn`] and runs the valid ones concurrently. Each call gets exactly one reply, even if its
//! tool fails, panics, hangs or returns too much output.
//!
//! ```
//! use openchatml::{Limits, ReadOptions, Value, parse};
//! use openchatml_tools::{Entry, Failure, TurnEvent, Output, Router, RouterOptions, Toolbox, function};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let weather = function(|call| async move {
//!     let arguments = call.parse().map_err(|found| Failure::new(found.message))?;
//!     match arguments.get("city").and_then(Value::as_str) {
//!         Some("Tokyo") => Ok(Output::text("20 °C and sunny")),
//!         _ => Err(Failure::new("no such city")),
//!     }
//! });
//! let schema = r#"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}"#;
//! let mut entry = Entry::new(weather);
//! entry.parameters = Some(Value::from_json(schema, &Limits::default())?.into_owned());
//! let mut tools = Toolbox::default();
//! tools.insert("functions.weather", entry)?;
//! let router = Router::new(tools, RouterOptions::default())?;
//!
//! let text = "\
//! version: 2.2
//!
//! <|start|>assistant to=functions.weather call_id=a<|channel|>commentary<|constrain|>json<|message|>{\"city\":\"Tokyo\"}<|call|>
//! <|start|>assistant to=functions.weather call_id=b<|channel|>commentary<|constrain|>json<|message|>{\"city\":7}<|call|>
//! ";
//! let parsed = parse(text, "openchatml-2.2".parse()?, &ReadOptions::default());
//! let mut conversation = parsed.into_conversation();
//!
//! let mut turn = router.turn([]);
//! for message in &conversation.messages {
//!     assert!(turn.dispatch(message).await);
//! }
//! while let Some(event) = turn.next().await {
//!     if let TurnEvent::Done { reply, .. } = event {
//!         conversation.messages.push(reply);
//!     }
//! }
//! let mut replies = conversation.messages[2..].iter().map(|reply| reply.body.text());
//! // Calls that are refused are answered at once.
//! let refused = replies.next().unwrap();
//! assert!(refused.starts_with(r#"{"ok":false,"content":null,"error":{"code":"E-CALL-SCHEMA""#), "{refused}");
//! assert!(refused.contains(r#""path":"/city""#), "{refused}");
//! let answered = replies.next().unwrap();
//! assert!(answered.starts_with(r#"{"ok":true,"content":"20 °C and sunny""#), "{answered}");
//! # Ok(())
//! # }
//! ```
//!
//! The program `tool_loop` in the folder `examples` is the whole loop: a model that calls a tool
//! until it answers.

#![forbid(unsafe_code)]

mod call;
#[cfg(feature = "client")]
mod client;
#[cfg(any(feature = "completions", feature = "session"))]
mod completions;
#[cfg(feature = "config")]
pub mod config;
pub mod declare;
mod function;
pub mod kinds;
mod router;
mod secrets;
#[cfg(any(feature = "config", feature = "mcp"))]
mod server_features;
#[cfg(feature = "session")]
mod session;
mod tool;
mod toolbox;
mod trace;

pub use self::call::{Call, Progress};
#[cfg(any(feature = "completions", feature = "session"))]
pub use self::completions::{
    Completion, CompletionFuture, Constraint, GrammarSupport, GrammarSupportFuture, Piece,
    PieceFuture, Prompt, Request, Upstream, UpstreamError, Usage,
};
#[cfg(feature = "completions")]
pub use self::completions::{Completions, CompletionsOptions, Engine, UnknownEngine};
pub use self::function::{Function, function};
pub use self::router::{
    Approval, ApprovalFuture, ApprovalRequest, Approver, Envelope, InvalidSchema, Router,
    RouterOptions, Routes, Turn, TurnEvent,
};
#[cfg(any(feature = "config", feature = "mcp"))]
pub use self::server_features::{
    PromptArgument, ServerPrompt, ServerResource, ServerResourceTemplate,
};
#[cfg(feature = "session")]
pub use self::session::{
    CallDecision, ConstraintOptions, Model, Session, SessionError, SessionEvent, SessionOptions,
    StopReason, Transcript, TranscriptLayout, TranscriptStore, TranscriptStoreError,
};
pub use self::tool::{ApprovalPolicy, Failure, Outcome, Output, Provenance, Tool, ToolFuture};
pub use self::toolbox::{Entry, InvalidToolName, Toolbox};
/// Stops the run of a [`Session`].
#[cfg(feature = "session")]
pub use tokio_util::sync::CancellationToken;

/// The example of the README, as a doc test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

/// All error types can be boxed and sent to other threads.
const _: () = {
    const fn is_error<E: std::error::Error + Send + Sync + 'static>() {}
    is_error::<InvalidSchema>();
    is_error::<Failure>();
    is_error::<InvalidToolName>();
    #[cfg(feature = "completions")]
    is_error::<UnknownEngine>();
    #[cfg(any(feature = "completions", feature = "session"))]
    is_error::<UpstreamError>();
    #[cfg(feature = "session")]
    is_error::<TranscriptStoreError>();
    #[cfg(feature = "session")]
    is_error::<SessionError>();
    #[cfg(feature = "config")]
    is_error::<config::ConfigError>();
    #[cfg(feature = "browser")]
    is_error::<kinds::browser::BrowserError>();
    #[cfg(feature = "http")]
    is_error::<kinds::http::OpenApiError>();
    #[cfg(feature = "mcp")]
    is_error::<kinds::mcp::ConnectError>();
};
