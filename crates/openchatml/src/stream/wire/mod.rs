//! Writes the events of a stream in other protocols: the streams of the Responses API, of Chat
//! Completions and of the Messages API, for clients of these APIs.
//!
//! A [`Writer`] reads the events of a [`Stream`](crate::Stream) and appends its output to a
//! `String`. Ids, the name of the model and the time are parameters, so the same events always give
//! the same bytes. `docs/guide/responses-and-chat.md` lists what each event becomes, and which
//! events have no counterpart.
//!
//! ```
//! use openchatml::wire::{Api, Ending, Framing, Response, Writer};
//! use openchatml::{ReadOptions, Role, Stream, TextFormat};
//!
//! let mut options = ReadOptions::default();
//! options.continues = Some(Role::Assistant);
//! let mut stream = Stream::new(TextFormat::HARMONY, &options);
//! let response = Response::new("chatcmpl-1", "gpt-oss-20b", 1_763_000_000);
//! let mut writer = Writer::new(Api::ChatCompletions, response).framing(Framing::Sse);
//!
//! let mut out = String::new();
//! writer.start(&mut out);
//! for chunk in ["<|channel|>analysis<|message|>Easy.<|end|>",
//!     "<|start|>assistant<|channel|>final<|message|>4.<|return|>"]
//! {
//!     stream.feed_with(chunk, |event| writer.push(&event, &mut out));
//!     // Here a server sends what is in `out`, and clears it.
//! }
//! stream.finish_with(|event| writer.push(&event, &mut out));
//! writer.finish(&Ending::default(), &mut out);
//! assert!(out.contains(r#""delta":{"content":"4."}"#));
//! assert!(!out.contains("Easy"));
//! assert!(out.ends_with("data: [DONE]\n\n"));
//! # Ok::<(), openchatml::UnknownName>(())
//! ```

mod chat;
mod item;
mod messages;
mod numbered;
mod object;
mod progress;
mod reasoning;
mod response;
mod responses;
mod writer;

pub use self::reasoning::Reasoning;
pub use self::response::{Ending, Incomplete, Response, Usage};
pub use self::writer::Writer;

/// An API whose stream a [`Writer`] writes.
///
/// ```
/// use openchatml::wire::Api;
///
/// let prefixes = Api::ALL.map(Api::id_prefix);
/// assert_eq!(prefixes, ["resp_", "chatcmpl-", "msg_"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Api {
    /// OpenAI's Responses API. An answer or a preamble becomes an item `message`, a call a
    /// `function_call`, and reasoning a `reasoning`.
    Responses,
    /// OpenAI's Chat Completions. The output is one message: visible text is its `content`, calls
    /// are its `tool_calls`, and reasoning and its summaries are its `reasoning_content`. An empty
    /// line separates the texts of several messages. Server-sent events end with `[DONE]`.
    ChatCompletions,
    /// Anthropic's Messages API. The output is one message: an answer or a preamble becomes a block
    /// `text`, a call a block `tool_use`, and reasoning and its summaries a block `thinking` without
    /// a signature.
    ///
    /// A call is written when it is complete, because clients run each block `tool_use`. A call
    /// that is uncertain, or whose arguments are not an object, is not written, and the message
    /// ends with `max_tokens`.
    Messages,
}

impl Api {
    /// All APIs.
    pub const ALL: [Self; 3] = [Self::Responses, Self::ChatCompletions, Self::Messages];

    /// Returns how the ids of responses begin.
    pub const fn id_prefix(self) -> &'static str {
        match self {
            Self::Responses => "resp_",
            Self::ChatCompletions => "chatcmpl-",
            Self::Messages => "msg_",
        }
    }
}

/// How events are separated.
///
/// ```
/// use openchatml::wire::{Api, Framing, Response, Writer};
///
/// let begins = |framing| {
///     let mut out = String::new();
///     let response = Response::new("resp_1", "gpt-oss-20b", 0);
///     Writer::new(Api::Responses, response).framing(framing).start(&mut out);
///     out.lines().next().map(|line| line[..23].to_owned())
/// };
/// assert_eq!(begins(Framing::Lines).unwrap(), r#"{"type":"response.creat"#);
/// assert_eq!(begins(Framing::Sse).unwrap(), "event: response.created");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Framing {
    /// One event per line.
    #[default]
    Lines,
    /// Server-sent events.
    Sse,
}

impl Framing {
    /// Appends one event, which `write` writes on one line.
    fn write(self, out: &mut String, name: Option<&str>, write: impl FnOnce(&mut String)) {
        if self == Self::Lines {
            write(out);
            return out.push('\n');
        }
        if let Some(name) = name {
            out.push_str("event: ");
            out.push_str(name);
            out.push('\n');
        }
        out.push_str("data: ");
        write(out);
        out.push_str("\n\n");
    }
}
