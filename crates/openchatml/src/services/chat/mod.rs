//! Messages as objects with `role`, `content` and `tool_calls`, as in OpenAI's Chat Completions, in
//! every form that has lists of them. An object is everything that a speaker says at once: reasoning,
//! text and calls become messages of their own, and are joined again.

mod calls;
mod read;
mod unaccepted;
mod write;

pub(crate) use self::read::{KEYS, read};
pub(crate) use self::unaccepted::find as unaccepted;
pub(crate) use self::write::ChatWriter;

use super::calls::is_typed_call;
use crate::model::{End, Role};
use crate::rules::{Carries, Channels, Intents};
use crate::signs::Kind;

/// What the messages carry.
pub(crate) const CARRIES: Carries = Carries {
    needs_call_ids: true,
    needs_names: true,
    tools: true,
    roles: Role::ALL,
    names: |_| true,
    channels: Channels::Turns,
    recipients: true,
    reply_recipients: true,
    call_ids: true,
    reads_json_calls: true,
    intents: Intents::BeforeCalls,
    content_types: is_typed_call,
    ends: &[End::End, End::Call],
    makes_calls: true,
    weights: true,
    ..Carries::NOTHING
};

/// The kinds of `content`.
pub(crate) const CONTENT: &[Kind] = &[Kind::String, Kind::List, Kind::Null];

/// The types of content parts. Data sets also have parts without a type.
pub(crate) const PARTS: &[&str] = &[
    "",
    "text",
    "input_text",
    "output_text",
    "refusal",
    "reasoning",
    "thinking",
    "tool_call",
    "tools",
    "image_url",
    "input_image",
    "image",
    "input_audio",
    "audio",
    "audio_url",
    "video_url",
    "video",
    "file",
    "input_file",
];
