//! The items of OpenAI's Responses API.

mod events;
mod item;
mod read;
mod unaccepted;
mod write;

use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, JsonForm};
use crate::document::NO_TOKENS;
use crate::model::{End, FormId, Message, Role};
use crate::rules::{Carries, Channels, Composing, ContentRules, Intents};
use crate::services::{self, calls::is_typed_call, checks};
use crate::signs::{JsonSigns, Kind, Sign};

/// OpenAI's Responses API: a list of items, or the body of a request or a response.
///
/// ```
/// use openchatml::{Carrier, Format, dialects, parse};
///
/// let format = Format::new(&dialects::RESPONSES, Carrier::Json).expect("it has it");
/// let text = r#"[{"type":"reasoning","content":[{"type":"reasoning_text","text":"Easy."}]},
///     {"type":"message","role":"assistant","content":[{"type":"output_text","text":"4."}]}]"#;
/// let messages = parse(text, format, &Default::default()).into_conversation().messages;
/// assert!(messages[0].is_reasoning() && messages[1].is_answer());
/// ```
pub static DIALECT: Dialect = Dialect {
    id: FORM.name(),
    aliases: &[],
    title: "OpenAI Responses items",
    used_by: "the Responses API",
    carrier: Carrier::Json,
    controls: &NO_TOKENS,
    carries: &CARRIES,
    tools: ToolPlace::Conversation,
    dated: false,
    opening: None,
    text: None,
    json: Some(JsonForm {
        id: FORM,
        read: read::read,
        write: write::write,
        pair: None,
        context: None,
        carries: &CARRIES,
        composer: Composing::Never,
        signs: &SIGNS,
        contents: Some(ContentRules {
            still_says: |it, places| services::still_say(it, places, FORM, |it| Some(between(it))),
            lost: services::parts::lost,
            lost_item: item::lost,
            text_part: |_, text| Some(services::parts::typed("input_text", text)),
            unaccepted: unaccepted::find,
        }),
        streamed: Some(events::find),
    }),
};

const FORM: FormId = FormId::new("responses");

static CARRIES: Carries = Carries {
    needs_call_ids: true,
    needs_names: true,
    tools: true,
    tool_keys: &["type", "function"],
    strict_tools: true,
    roles: Role::ALL,
    names: |message| !message.is_call() && !message.is_reasoning(),
    channels: Channels::Turns,
    recipients: true,
    reply_recipients: true,
    call_ids: true,
    reads_json_calls: true,
    intents: Intents::Implied,
    content_types: is_typed_call,
    ends: &[End::End, End::Call],
    stops: Some(FORM),
    makes_calls: true,
    ..Carries::NOTHING
};

/// The text between the parts of reasoning. Other parts are joined directly.
fn between(message: &Message<'_>) -> &'static str {
    between_parts(message.is_reasoning())
}

pub(super) fn between_parts(is_reasoning: bool) -> &'static str {
    if is_reasoning { "\n" } else { "" }
}

/// The features of items, and of requests and responses with items.
static SIGNS: JsonSigns = JsonSigns {
    holders: &["input", "output"],
    around: &[],
    keys: read::KEYS,
    lists: true,
    required: &["type", "role"],
    message_keys: &[],
    content: &[Kind::String, Kind::List, Kind::Null],
    parts: &[],
    signs: &[
        (Sign::KeyOf("input", Kind::String), 25),
        (Sign::KeyOf("input", Kind::List), 15),
        (Sign::KeyOf("output", Kind::List), 30),
        (Sign::Key("instructions"), 20),
        (Sign::Key("previous_response_id"), 30),
        (Sign::Key("model"), 10),
        (Sign::Word("type", "message"), 30),
        (Sign::Word("type", "reasoning"), 40),
        (Sign::Word("type", "item_reference"), 60),
        (Sign::WordEnd("type", "_call"), 60),
        (Sign::WordEnd("type", "_call_output"), 60),
        (Sign::Part("input_text"), 30),
        (Sign::Part("output_text"), 30),
    ],
    usual: 0,
};
