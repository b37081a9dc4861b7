//! The JSON of services and data sets as plain structs without any chat logic: the best possible
//! result of `serde_json`. The structs borrow as much as possible.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// A string with its own type, as in [`plain`](crate::plain).
#[derive(Deserialize, Serialize)]
#[serde(transparent)]
pub struct Word<'a>(#[serde(borrow)] Cow<'a, str>);

/// Chat Completions.
#[derive(Deserialize, Serialize)]
pub struct OpenAi<'a> {
    #[serde(borrow)]
    messages: Vec<Said<'a>>,
}

#[derive(Deserialize, Serialize)]
struct Said<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    name: Option<Word<'a>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<Word<'a>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<Word<'a>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    content: Option<Content<'a>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    tool_calls: Option<Vec<ToolCall<'a>>>,
}

#[derive(Deserialize, Serialize)]
struct ToolCall<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    function: Function<'a>,
}

#[derive(Deserialize, Serialize)]
struct Function<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    arguments: Cow<'a, str>,
    /// The id of an Apertus call.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    id: Option<Word<'a>>,
}

/// The Responses API. One struct for all kinds of items: an enum by `type` would be read twice.
#[derive(Deserialize, Serialize)]
pub struct Responses<'a> {
    #[serde(borrow)]
    input: Vec<Item<'a>>,
}

#[derive(Deserialize, Serialize)]
struct Item<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    role: Option<Word<'a>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    call_id: Option<Word<'a>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    name: Option<Word<'a>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    arguments: Option<Word<'a>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    output: Option<Content<'a>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    summary: Option<Vec<Part<'a>>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    content: Option<Content<'a>>,
}

/// ShareGPT.
#[derive(Deserialize, Serialize)]
pub struct ShareGpt<'a> {
    #[serde(borrow)]
    conversations: Vec<Turn<'a>>,
}

#[derive(Deserialize, Serialize)]
struct Turn<'a> {
    #[serde(borrow)]
    from: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    name: Option<Word<'a>>,
    #[serde(borrow)]
    value: Cow<'a, str>,
}

/// Messages JSON of Apertus.
#[derive(Deserialize, Serialize)]
pub struct Apertus<'a> {
    #[serde(borrow)]
    messages: Vec<Spoken<'a>>,
}

#[derive(Deserialize, Serialize)]
struct Spoken<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<Word<'a>>,
    #[serde(borrow)]
    content: Content<'a>,
}

/// Content: text, a list of parts, or a mapping with blocks.
#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
    Blocks { blocks: Vec<Block<'a>> },
}

#[derive(Deserialize, Serialize)]
struct Part<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    text: Cow<'a, str>,
}

#[derive(Deserialize, Serialize)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    text: Option<Word<'a>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    calls: Option<Vec<Function<'a>>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    outputs: Option<Vec<Output<'a>>>,
}

#[derive(Deserialize, Serialize)]
struct Output<'a> {
    #[serde(borrow)]
    output: Cow<'a, str>,
}

/// Implemented by hand, because an untagged enum is first read into a buffer.
impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OfContent)
    }
}

struct OfContent;

impl<'de> Visitor<'de> for OfContent {
    type Value = Content<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("content")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Content<'de>, E> {
        Ok(Content::Text(text.into()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Content<'de>, E> {
        Ok(Content::Text(text.to_owned().into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Content<'de>, A::Error> {
        let mut parts = Vec::new();
        while let Some(part) = list.next_element()? {
            parts.push(part);
        }
        Ok(Content::Parts(parts))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Content<'de>, A::Error> {
        let mut blocks = Vec::new();
        while map.next_key::<Word<'de>>()?.is_some() {
            blocks = map.next_value()?;
        }
        Ok(Content::Blocks { blocks })
    }
}

/// A format and its plain structs.
pub trait Carrier {
    /// The name of the format.
    const FORMAT: &str;
    /// The type of one line.
    type Plain<'a>: Deserialize<'a> + Serialize;

    /// Wraps text in a list of one part, as services and many clients do. Returns whether the
    /// format has such lists.
    fn part(_: &mut Self::Plain<'_>) -> bool {
        false
    }
}

impl Carrier for OpenAi<'static> {
    const FORMAT: &str = "openai";
    type Plain<'a> = OpenAi<'a>;

    fn part(plain: &mut OpenAi<'_>) -> bool {
        for message in &mut plain.messages {
            message.content.iter_mut().for_each(|content| content.part("text"));
        }
        true
    }
}

impl Carrier for Responses<'static> {
    const FORMAT: &str = "responses";
    type Plain<'a> = Responses<'a>;

    fn part(plain: &mut Responses<'_>) -> bool {
        for item in &mut plain.input {
            let is_answer = item.role.as_ref().is_some_and(|role| role.0 == "assistant");
            let kind = if is_answer { "output_text" } else { "input_text" };
            item.content.iter_mut().for_each(|content| content.part(kind));
        }
        true
    }
}

impl Carrier for ShareGpt<'static> {
    const FORMAT: &str = "sharegpt";
    type Plain<'a> = ShareGpt<'a>;
}

impl Carrier for Apertus<'static> {
    const FORMAT: &str = "apertus:json";
    type Plain<'a> = Apertus<'a>;
}

impl Content<'_> {
    fn part(&mut self, kind: &'static str) {
        if let Self::Text(text) = self {
            *self = Self::Parts(vec![Part { kind: kind.into(), text: std::mem::take(text) }]);
        }
    }
}
