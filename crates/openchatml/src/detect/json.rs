//! JSON formats: what the keys of a document, and of what is in it, speak for.

use super::{Candidate, Case, Look};
use crate::Span;
use crate::dialects::{self, Carrier, Dialect};
use crate::json::Json;
use crate::model::{Data, Value};

/// The formats that JSON may be in.
pub(super) fn detect(text: &str) -> Vec<Candidate> {
    let value = match Json::new(text, &crate::Limits::default()).mending().value() {
        Ok(value) => value,
        Err(_) => return broken(text),
    };
    let is_list = matches!(value.data, Data::List(_));
    let items = match &value.data {
        Data::List(items) => items.as_slice(),
        _ => std::slice::from_ref(&value),
    };
    let key = |key: &str| {
        let place = |item: &Value<'_>| Some((item.span, item.get(key)?.span));
        // A key of the document itself stands for its value, that of an item for the item.
        items.iter().find_map(place).map(|(item, value)| if is_list { item } else { value })
    };
    let inside = match value.get("messages").and_then(Value::as_list) {
        Some(messages) => messages,
        // A message by itself is as good as a list of it.
        None if is_list || value.get("role").is_some() => items,
        None => &[],
    };
    let is_whole = !is_list && value.get("role").is_none();
    let of_body = ["input", "output"].iter().find_map(|key| value.get(key)?.as_list());
    let mut candidates = if is_list { items } else { of_body.unwrap_or_default() }.iter();
    let item = candidates.find(|item| is_item(item, is_list)).map(|item| item.span);
    let mapping = inside.iter().filter_map(|it| it.get("content"));
    let mapping = mapping.filter(|it| is_mapping(it)).map(|it| it.span).next();
    by_keys(is_list, key, &signs(inside, is_whole), Only { item, mapping })
}

/// JSON that is cut off, or not quite JSON, as the wire list in the ChatML specification, where a
/// curly quote ends a string: the keys in it speak all the same.
fn broken(text: &str) -> Vec<Candidate> {
    let mut bytes = text.bytes().filter(|byte| !byte.is_ascii_whitespace());
    let (is_list, second) = (bytes.next() == Some(b'['), bytes.next());
    if !matches!(second, Some(b'"' | b'{')) {
        return Vec::new();
    }
    let look = Look { text };
    let find = |key: &str| look.find(&format!("\"{key}\":"));
    // The keys of messages speak only where these are not inside of something else.
    let of_whole = ["messages", "infill", "files", "conversations", "choices", "input", "output"];
    let is_whole = !is_list && of_whole.iter().any(|key| find(key).is_some());
    let is_open = |key: &str| !is_whole || of_whole.contains(&key);
    // A part is `{"type", "text"}` elsewhere, too; a block is not.
    let mapping = find("blocks").filter(|_| find("role").is_some());
    let only = Only { item: None, mapping };
    by_keys(is_list, |key| find(key).filter(|_| is_open(key)), &[], only)
}

/// What only one format has, and where.
#[derive(Clone, Copy)]
struct Only {
    /// An item of the Responses API.
    item: Option<Span>,
    /// Content of Apertus that is a mapping.
    mapping: Option<Span>,
}

/// Content as Apertus has it: a mapping with the parts, or blocks, of a message, or its text.
fn is_mapping(content: &Value<'_>) -> bool {
    let are_maps = |key| {
        let items = content.get(key).and_then(Value::as_list);
        items.is_some_and(|items| items.iter().all(|it| it.as_map().is_some()))
    };
    let is_text = || content.get("text").and_then(Value::as_str).is_some();
    are_maps("blocks") || are_maps("parts") || is_text()
}

/// An item of the Responses API. In the body of a request messages need not say that they are one.
fn is_item(item: &Value<'_>, is_list: bool) -> bool {
    match item.get("type").and_then(Value::as_str) {
        Some("message" | "reasoning" | "item_reference") => true,
        Some(kind) => kind.strip_suffix("_output").unwrap_or(kind).ends_with("_call"),
        None => !is_list && item.get("role").is_some(),
    }
}

/// Looks at a message.
type Has = fn(&Value<'_>) -> bool;

/// What the messages of Chat Completions have, and those of other formats have not.
const SIGNS: &[(&str, Has)] = &[
    ("content that is `null`", |it| it.get("content").is_some_and(|it| it.data == Data::Null)),
    ("content in parts", |it| {
        let parts = it.get("content").and_then(Value::as_list).unwrap_or_default();
        !parts.is_empty() && parts.iter().all(is_part)
    }),
    ("content and calls", |it| it.get("content").is_some() && it.get("tool_calls").is_some()),
    ("key `reasoning_content`", |it| it.get("reasoning_content").is_some()),
    ("key `refusal`", |it| it.get("refusal").is_some()),
    ("key `function_call`", |it| it.get("function_call").is_some()),
];

/// What they have in an object of messages. Others may be the turns of OpenChatML 2.0, which have
/// it, too.
const SIGNS_IN_OBJECTS: &[(&str, Has)] = &[
    ("key `tool_calls`", |it| it.get("tool_calls").is_some()),
    ("key `tool_call_id`", |it| it.get("tool_call_id").is_some()),
    ("key `thinking`", |it| it.get("thinking").is_some()),
    ("key `reasoning`", |it| it.get("reasoning").is_some()),
];

/// What of that these messages have, which are those of a whole object or not.
fn signs(messages: &[Value<'_>], is_whole: bool) -> Vec<(&'static str, Span)> {
    let more = if is_whole { SIGNS_IN_OBJECTS } else { &[] };
    let first = |has: Has| messages.iter().find(|message| has(message));
    let found = SIGNS.iter().chain(more).filter_map(|(what, has)| Some((*what, first(*has)?.span)));
    found.collect()
}

/// A part of content, and no segment of canonical JSON.
fn is_part(part: &Value<'_>) -> bool {
    let kind = part.get("type").and_then(Value::as_str);
    !matches!(kind, Some("literal" | "marker" | "system_content" | "developer_content"))
}

type Weights = &'static [(&'static str, u32)];

/// What the keys of a document, or of the items of a list, speak for.
fn by_keys(
    is_list: bool,
    key: impl Fn(&str) -> Option<Span>,
    signs: &[(&'static str, Span)],
    only: Only,
) -> Vec<Candidate> {
    let whole: Weights = &[("messages", 60), ("infill", 80), ("files", 80), ("header", 20)];
    let wire: Weights = &[("token", 90)];
    let message: Weights =
        &[("role", 30), ("tool_call", 50), ("channel", 40), ("intent", 10), ("thinking", 5)];
    let turn: Weights = &[("role", 30), ("tool_calls", 50), ("thinking", 30), ("tool_call_id", 20)];
    let chat_list: Weights = &[("role", 25), ("tool_calls", 45), ("tool_call_id", 20)];
    let chat: Weights = &[
        ("messages", 50),
        ("choices", 80),
        // A message by itself.
        ("role", 25),
        ("tool_calls", 45),
        ("tool_call_id", 20),
    ];
    let turns: Weights = &[("from", 45), ("value", 45)];
    let record: Weights = &[("conversations", 90), ("conversation", 50)];
    let body: Weights = &[("instructions", 20)];
    let thinking: Weights = if is_list { &[] } else { &[("enable_thinking", 65)] };
    let (document, chat, turns) = match is_list {
        true => ((&dialects::CHATML, wire), chat_list, turns),
        false => ((&dialects::JSON, whole), chat, record),
    };
    let is_chat = !signs.is_empty();
    let mut cases = vec![
        document,
        (&dialects::OPENCHATML_2_2, message),
        (&dialects::OPENCHATML_2_0, turn),
        (&dialects::OPENAI, chat),
        (&dialects::SHAREGPT, turns),
        (&dialects::RESPONSES, body),
        (&dialects::APERTUS, thinking),
    ];
    let case = |(dialect, weights): (&'static Dialect, Weights)| {
        let mut case = Case::new(dialect, Carrier::Json);
        for (name, weight) in weights {
            if let Some(span) = key(name) {
                case.speaks(*weight, format!("key `{name}`"), span);
            }
        }
        if let Some(span) = only.item.filter(|_| dialect.id == dialects::RESPONSES.id) {
            case.speaks(75, "an item", span);
        }
        let is_apertus = dialect.id == dialects::APERTUS.id;
        if let Some(span) = only.mapping.filter(|_| is_apertus) {
            case.speaks(90, "content that is a mapping", span);
        } else if only.mapping.is_some() {
            // No other format has that.
            case.score = case.score.min(40);
        }
        if case.score > 0 && dialect.id == dialects::OPENAI.id {
            for (what, span) in signs {
                case.speaks(15, *what, *span);
            }
        } else if is_chat {
            // They have none of this.
            case.score = case.score.min(60).saturating_sub(5);
        }
        case.finish()
    };
    cases.drain(..).filter_map(case).collect()
}
