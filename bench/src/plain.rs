//! Conversations in JSON as plain structs without any chat logic: the best possible result of
//! `serde_json`.

use std::borrow::Cow;

#[derive(serde::Deserialize, serde::Serialize)]
pub struct PlainConversation<'a> {
    #[serde(borrow)]
    header: PlainHeader<'a>,
    #[serde(borrow)]
    messages: Vec<PlainMessage<'a>>,
}

#[derive(serde::Deserialize, serde::Serialize)]
struct PlainHeader<'a> {
    #[serde(borrow)]
    version: Cow<'a, str>,
}

#[derive(serde::Deserialize, serde::Serialize)]
struct PlainMessage<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    name: Option<Word<'a>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    recipient: Option<Word<'a>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    channel: Option<Word<'a>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    call_id: Option<Word<'a>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    content_type: Option<Word<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    constrained: Option<bool>,
    #[serde(borrow)]
    content: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    end: Option<Word<'a>>,
}

/// A string with its own type, because serde does not borrow through `Option<Cow<str>>`: copying
/// would make `serde_json` look slower than it is.
#[derive(serde::Deserialize, serde::Serialize)]
#[serde(transparent)]
struct Word<'a>(#[serde(borrow)] Cow<'a, str>);
