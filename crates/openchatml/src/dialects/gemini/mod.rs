//! The contents of Google's Gemini API.

mod content;
mod events;
mod part;
mod read;
mod tools;
mod unaccepted;
mod write;

use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, JsonForm};
use crate::document::NO_TOKENS;
use crate::model::{End, FormId, Message, Role};
use crate::rules::{Carries, Channels, Composing, ContentRules, Intents, is_json_call};
use crate::services::{self, blocks::BlockForm, calls::is_inline_object};
use crate::signs::{JsonSigns, Kind, Sign};

/// Google's Gemini API: the body of a `generateContent` request, a response, a list of contents, or
/// a single content.
///
/// ```
/// use openchatml::{Carrier, Format, dialects, parse};
///
/// // The content of one turn is a list of parts. Here, each part becomes a message.
/// let format = Format::new(&dialects::GEMINI, Carrier::Json).expect("it has it");
/// let text = r#"[{"role":"model","parts":[
///     {"text":"I look it up.","thought":true},
///     {"functionCall":{"name":"weather","args":{"city":"Tokyo"}}}]}]"#;
/// let messages = parse(text, format, &Default::default()).into_conversation().messages;
/// assert!(messages[0].is_reasoning() && messages[1].is_call());
/// ```
pub static DIALECT: Dialect = Dialect {
    id: FORM.name(),
    aliases: &[],
    title: "Gemini contents",
    used_by: "the Gemini API",
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
            lost: part::lost_all,
            lost_item: part::lost,
            text_part: part::of_text,
            unaccepted: unaccepted::find,
        }),
        streamed: Some(events::find),
    }),
};

const FORM: FormId = FormId::new("gemini");

static BLOCKS: BlockForm = BlockForm { form: FORM, own_keys: part::OWN_KEYS, late_result: None };

static CARRIES: Carries = Carries {
    needs_names: true,
    tools: true,
    tool_keys: &["parametersJsonSchema", "parameters_json_schema"],
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

/// Whether a call has the arguments that the API requires: an object.
fn takes_object(call: &Message<'_>) -> bool {
    is_json_call(call) && call.body.as_plain().is_some_and(is_inline_object)
}

/// The features of requests and responses.
static SIGNS: JsonSigns = JsonSigns {
    holders: &["contents", "candidates", "promptFeedback"],
    around: &["candidates"],
    keys: read::KEYS,
    lists: true,
    required: &["parts"],
    message_keys: &["role"],
    content: &[],
    parts: &[],
    signs: &[
        (Sign::KeyOf("contents", Kind::List), 50),
        (Sign::KeyOf("candidates", Kind::List), 60),
        (Sign::Key("promptFeedback"), 60),
        (Sign::Key("systemInstruction"), 30),
        (Sign::Key("system_instruction"), 30),
        (Sign::Key("generationConfig"), 30),
        (Sign::Key("usageMetadata"), 30),
        (Sign::Message("parts"), 40),
        (Sign::Word("role", "model"), 20),
    ],
    usual: 0,
};
