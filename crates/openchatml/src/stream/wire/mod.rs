//! Writes the events of a stream in other protocols: the streams of the Responses API, of Chat
//! Completions and of the Messages API, for clients of these APIs.
//!
//! A writer reads the events of a [`Stream`](crate::Stream) and appends its output to a `String`.
//! Ids, the name of the model and the time are parameters, so the same events always give the same
//! bytes. `docs/guide/responses-and-chat.md` lists what each event becomes, and which events have
//! no counterpart.
//!
//! ```
//! use openchatml::wire::{ChatWriter, Ending, Framing, Response};
//! use openchatml::{ReadOptions, Role, Stream, TextFormat};
//!
//! let mut options = ReadOptions::default();
//! options.continues = Some(Role::Assistant);
//! let mut stream = Stream::new(TextFormat::HARMONY, &options);
//! let response = Response::new("chatcmpl-1", "gpt-oss-20b", 1_763_000_000);
//! let mut writer = ChatWriter::new(response).framing(Framing::Sse);
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

pub use self::chat::ChatWriter;
pub use self::messages::MessagesWriter;
pub use self::reasoning::Reasoning;
pub use self::response::{Ending, Incomplete, Response, Usage};
pub use self::responses::ResponsesWriter;

/// How events are separated.
///
/// ```
/// use openchatml::wire::{Framing, Response, ResponsesWriter};
///
/// let begins = |framing| {
///     let mut out = String::new();
///     let response = Response::new("resp_1", "gpt-oss-20b", 0);
///     ResponsesWriter::new(response).framing(framing).start(&mut out);
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

/// The error message for clients if the input contains no message.
const NOTHING_SAID: &str = "the output of the model has no message";
