//! The messages of Anthropic's Messages API.

mod block;
mod events;
mod message;
mod read;
mod tools;
mod unaccepted;
mod write;

use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, JsonForm};
use crate::document::NO_TOKENS;
use crate::model::{End, FormId, Message, Role};
use crate::rules::{Carries, Channels, Composing, ContentRules, Intents, is_json_call};
use crate::services::{self, blocks::BlockForm, calls::is_inline_object, parts};
use crate::signs::{JsonSigns, Kind, Sign};

/// Anthropic's Messages API: the body of a request, a response, a list of messages, a single
/// message, or the events of a streamed response.
///
/// ```
/// use openchatml::{Carrier, Format, dialects, parse};
///
/// // The content of one turn is a list of blocks. Here, each block becomes a message.
/// let format = Format::new(&dialects::ANTHROPIC, Carrier::Json).expect("it has it");
/// let text = r#"[{"role":"assistant","content":[
///     {"type":"thinking","thinking":"I look it up.","signature":"Eq0B"},
///     {"type":"tool_use","id":"toolu_1","name":"weather","input":{"city":"Tokyo"}}]}]"#;
/// let messages = parse(text, format, &Default::default()).into_conversation().messages;
/// assert!(messages[0].is_reasoning() && messages[1].is_call());
/// ```
pub static DIALECT: Dialect = Dialect {
    id: FORM.name(),
    aliases: &["claude"],
    title: "Anthropic Messages",
    used_by: "the Messages API",
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
            still_says: |it, places| {
                services::still_say(it, places, FORM, services::unless_reasoning)
            },
            lost: parts::lost,
            lost_item: block::lost,
            text_part: |_, text| Some(parts::typed("text", text)),
            unaccepted: unaccepted::find,
        }),
        streamed: Some(events::find),
    }),
};

const FORM: FormId = FormId::new("anthropic");

static BLOCKS: BlockForm = BlockForm {
    form: FORM,
    own_keys: &["signature", "cache_control", "caller", "toolset_name", "is_error"],
    late_result: Some("the service accepts results of calls only at the beginning of a message"),
};

static CARRIES: Carries = Carries {
    needs_call_ids: true,
    needs_names: true,
    tools: true,
    tool_keys: &["type", "input_schema", "function"],
    roles: &[Role::System, Role::User, Role::Assistant, Role::Tool],
    names: |message| message.role == Role::Tool,
    channels: Channels::Turns,
    recipients: true,
    reply_recipients: true,
    call_ids: true,
    reads_json_calls: true,
    intents: Intents::BeforeCalls,
    content_types: takes_object,
    ends: &[End::End, End::Call],
    stops: Some(FORM),
    makes_calls: true,
    ..Carries::NOTHING
};

/// Whether a call has the input that the API requires: an object.
fn takes_object(call: &Message<'_>) -> bool {
    is_json_call(call) && call.body.as_plain().is_some_and(is_inline_object)
}

/// The features of requests and responses. Plain messages are detected as another format.
static SIGNS: JsonSigns = JsonSigns {
    holders: &["messages"],
    around: &[],
    keys: read::KEYS,
    lists: true,
    required: &["role"],
    message_keys: message::KEYS,
    content: &[Kind::String, Kind::List],
    parts: block::KINDS,
    signs: &[
        (Sign::KeyOf("system", Kind::String), 55),
        (Sign::KeyOf("system", Kind::List), 59),
        (Sign::Key("stop_sequences"), 60),
        (Sign::Key("stop_reason"), 90),
        (Sign::Key("anthropic_version"), 90),
        (Sign::KeyOf("thinking", Kind::Map), 60),
        (Sign::SchemaOfInput, 90),
        (Sign::Message("stop_reason"), 90),
        (Sign::Part("tool_use"), 90),
        (Sign::Part("tool_result"), 90),
        (Sign::Part("server_tool_use"), 90),
        (Sign::Part("redacted_thinking"), 90),
        (Sign::PartKey("signature"), 90),
        (Sign::PartKey("cache_control"), 90),
        (Sign::PartKey("source"), 60),
        (Sign::PartKey("citations"), 60),
        (Sign::Part("document"), 60),
    ],
    usual: 0,
};
