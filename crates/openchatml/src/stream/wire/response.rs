//! The fields of a whole response, for all protocols.

use std::borrow::Cow;

use super::Api;
use super::object::Object;
use crate::json::{Value, write_value};

/// The identity of a response, and the fields of its request that it repeats.
///
/// ```
/// use openchatml::wire::{Api, Response, Writer};
/// use openchatml::{Data, Value};
///
/// let mut response = Response::new("resp_1", "gpt-oss-20b", 1_763_000_000);
/// let temperature = Value::from(Data::Number("0.7".into()));
/// response.request.push(("temperature".into(), temperature));
/// let mut out = String::new();
/// Writer::new(Api::Responses, response).start(&mut out);
/// assert!(out.contains(r#""temperature":0.7"#));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Response {
    /// The id.
    pub id: String,
    /// The name of the model.
    pub model: String,
    /// The creation time, in seconds since the beginning of 1970.
    pub created_at: u64,
    /// The part that distinguishes the ids of its items and calls from those of other responses:
    /// the first item has the id `msg_`, this part, and `0`.
    pub items: String,
    /// The fields of the request that the Responses API repeats in the response: `tools`,
    /// `instructions`, `temperature`, … Fields that clients rely on have defaults. The other
    /// protocols repeat nothing.
    ///
    /// If a field is given twice, the first one is used. The fields of the writer cannot be
    /// replaced.
    pub request: Vec<(Cow<'static, str>, Value<'static>)>,
}

/// The defaults of fields that the request does not contain.
const DEFAULTS: [(&str, &str); 7] = [
    ("instructions", "null"),
    ("metadata", "{}"),
    ("parallel_tool_calls", "true"),
    ("temperature", "null"),
    ("tool_choice", "\"auto\""),
    ("tools", "[]"),
    ("top_p", "null"),
];

/// The fields of the writer.
const OWN: [&str; 9] = [
    "id",
    "object",
    "created_at",
    "status",
    "error",
    "incomplete_details",
    "model",
    "output",
    "usage",
];

impl Response {
    /// Creates a response with this id and model, and the creation time in seconds since the
    /// beginning of 1970.
    ///
    /// The ids of its items are derived from its id.
    ///
    /// ```
    /// use openchatml::wire::Response;
    ///
    /// assert_eq!(Response::new("resp_ab", "m", 0).items, "ab_");
    /// assert_eq!(Response::new("chatcmpl-ab", "m", 0).items, "ab_");
    /// ```
    pub fn new(id: impl Into<String>, model: impl Into<String>, created_at: u64) -> Self {
        let id = id.into();
        let own = Api::ALL.into_iter().find_map(|api| id.strip_prefix(api.id_prefix()));
        let items = format!("{}_", own.unwrap_or(&id));
        Self { id, model: model.into(), created_at, items, request: Vec::new() }
    }

    /// Returns the id of the item at `place`.
    pub(super) fn item_id(&self, kind: &str, place: usize) -> String {
        format!("{kind}_{}{place}", self.items)
    }

    /// Writes the response for the Responses API.
    pub(super) fn write(&self, out: &mut String, state: &State<'_>) {
        let mut object = Object::new(out)
            .text("id", &self.id)
            .text("object", "response")
            .number("created_at", self.created_at)
            .text("status", state.status);
        object = match state.error {
            Some(error) => object.object("error", |object| {
                object.text("code", "server_error").text("message", error)
            }),
            None => object.json("error", "null"),
        };
        object = match state.incomplete {
            Some(why) => object.object("incomplete_details", |object| match why {
                Some(why) => object.text("reason", why.as_str()),
                None => object,
            }),
            None => object.json("incomplete_details", "null"),
        };
        object = object.text("model", &self.model).with("output", |out| {
            out.push('[');
            out.push_str(state.output);
            out.push(']');
        });
        object = self.write_request(object);
        match state.usage {
            Some(usage) => object.object("usage", |object| usage.write(object, &RESPONSES)).end(),
            None => object.json("usage", "null").end(),
        }
    }

    fn write_request<'o>(&self, mut object: Object<'o>) -> Object<'o> {
        let says = |name: &str| self.request.iter().any(|(key, _)| key == name);
        for (key, value) in DEFAULTS.into_iter().filter(|(key, _)| !says(key)) {
            object = object.json(key, value);
        }
        for (place, (key, value)) in self.request.iter().enumerate() {
            let is_told = self.request[..place].iter().any(|(before, _)| before == key);
            if !is_told && !OWN.contains(&key.as_ref()) {
                object = object.with(key, |out| write_value(out, value));
            }
        }
        object
    }
}

/// The progress of a response.
#[derive(Clone, Copy, Default)]
pub(super) struct State<'s> {
    pub(super) status: &'static str,
    pub(super) error: Option<&'s str>,
    /// Whether the response is incomplete, and the reason if known.
    pub(super) incomplete: Option<Option<Incomplete>>,
    /// The items, separated by commas.
    pub(super) output: &'s str,
    pub(super) usage: Option<Usage>,
}

/// How a response ended, as far as its events do not contain it.
///
/// ```
/// use openchatml::wire::{Api, Ending, Response, Usage, Writer};
///
/// let mut ending = Ending::default();
/// ending.usage = Some(Usage::new(7, 2));
/// ending.error = Some("the engine stopped".to_owned());
/// let mut out = String::new();
/// Writer::new(Api::Responses, Response::new("resp_1", "m", 0)).finish(&ending, &mut out);
/// assert!(out.contains(r#""type":"response.failed""#));
/// assert!(out.contains(r#""total_tokens":9"#));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ending {
    /// The reason why the response is incomplete, if the server knows it. Without it, the reason is
    /// [`MaxOutputTokens`](Incomplete::MaxOutputTokens) for output that is cut off or exceeds a
    /// limit of the reader. It is omitted for a cancelled response, and for one with an uncertain
    /// call.
    pub incomplete: Option<Incomplete>,
    /// The token usage, if it is to be written. It also reveals the amount of reasoning.
    pub usage: Option<Usage>,
    /// The error that stopped the server, if any. Clients show it.
    pub error: Option<String>,
}

/// Why a response is incomplete. The protocols have no other reasons. For an unknown reason, the
/// Responses API omits it, Chat Completions write `length`, and the Messages API `max_tokens`.
///
/// ```
/// use openchatml::wire::Incomplete;
///
/// let words = [Incomplete::MaxOutputTokens, Incomplete::ContentFilter].map(Incomplete::as_str);
/// assert_eq!(words, ["max_output_tokens", "content_filter"]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Incomplete {
    /// The output ended too early, or exceeded a limit: `max_output_tokens`, or `length`.
    #[default]
    MaxOutputTokens,
    /// A filter stopped the output: `content_filter`.
    ContentFilter,
}

impl Incomplete {
    /// Returns the reason in the Responses API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MaxOutputTokens => "max_output_tokens",
            Self::ContentFilter => "content_filter",
        }
    }

    /// Returns the reason in the Messages API.
    pub(super) const fn stop_reason(self) -> &'static str {
        match self {
            Self::MaxOutputTokens => "max_tokens",
            Self::ContentFilter => "refusal",
        }
    }

    /// Returns the reason in Chat Completions.
    pub(super) const fn finish_reason(self) -> &'static str {
        match self {
            Self::MaxOutputTokens => "length",
            Self::ContentFilter => "content_filter",
        }
    }
}

/// The number of tokens of a response.
///
/// ```
/// use openchatml::wire::{Api, Ending, Response, Usage, Writer};
///
/// let mut ending = Ending::default();
/// let mut usage = Usage::new(70, 9);
/// (usage.cached, usage.reasoning) = (64, 5);
/// ending.usage = Some(usage);
/// let mut out = String::new();
/// let response = Response::new("chatcmpl-1", "m", 0);
/// Writer::new(Api::ChatCompletions, response).finish(&ending, &mut out);
/// let usage = out.lines().last().unwrap();
/// assert!(usage.contains(r#""choices":[],"usage":{"prompt_tokens":70,"#));
/// assert!(usage.contains(r#""completion_tokens_details":{"reasoning_tokens":5}"#));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Usage {
    /// Tokens of the prompt.
    pub input: u64,
    /// Tokens of the prompt that were cached.
    pub cached: u64,
    /// Tokens of the output, including reasoning.
    pub output: u64,
    /// Tokens of reasoning.
    pub reasoning: u64,
}

impl Usage {
    /// Creates a usage with these numbers of prompt and output tokens.
    ///
    /// ```
    /// use openchatml::wire::Usage;
    ///
    /// assert_eq!(Usage::new(7, 2).output, 2);
    /// ```
    pub const fn new(input: u64, output: u64) -> Self {
        Self { input, cached: 0, output, reasoning: 0 }
    }
}

/// The names of the fields of a [`Usage`] in a protocol.
pub(super) struct Names {
    input: &'static str,
    input_details: &'static str,
    /// The field for tokens that were written to the cache, if the protocol has one.
    written: Option<&'static str>,
    output: &'static str,
    output_details: &'static str,
}

const RESPONSES: Names = Names {
    input: "input_tokens",
    input_details: "input_tokens_details",
    written: Some("cache_write_tokens"),
    output: "output_tokens",
    output_details: "output_tokens_details",
};

pub(super) const CHAT: Names = Names {
    input: "prompt_tokens",
    input_details: "prompt_tokens_details",
    written: None,
    output: "completion_tokens",
    output_details: "completion_tokens_details",
};

impl Usage {
    pub(super) fn write<'o>(self, object: Object<'o>, names: &Names) -> Object<'o> {
        object
            .number(names.input, self.input)
            .object(names.input_details, |object| {
                let object = object.number("cached_tokens", self.cached);
                match names.written {
                    Some(written) => object.number(written, 0),
                    None => object,
                }
            })
            .number(names.output, self.output)
            .object(names.output_details, |object| {
                object.number("reasoning_tokens", self.reasoning)
            })
            .number("total_tokens", self.input.saturating_add(self.output))
    }
}
