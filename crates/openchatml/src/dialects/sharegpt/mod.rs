//! ShareGPT: the conversations of data sets, as turns with a speaker.

mod read;
mod write;

use crate::check::CheckRules;
use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, JsonForm, PairForm};
use crate::document::{NO_TOKENS, is_pair};
use crate::model::{End, FormId, Message, Role};
use crate::rules::{Carries, Channels, Composing, ContentRules, is_json_call};
use crate::services::{self, calls};
use crate::signs::{JsonSigns, Kind, Sign};

/// ShareGPT: `{"conversations": [{"from": "human", "value": "…"}]}`.
///
/// ```
/// use openchatml::{Carrier, Format, Role, dialects, parse};
///
/// let format = Format::new(&dialects::SHAREGPT, Carrier::Json).expect("it has it");
/// let text = r#"{"conversations":[{"from":"human","value":"2 + 2?"},{"from":"gpt","value":"4."}]}"#;
/// let messages = parse(text, format, &Default::default()).into_conversation().messages;
/// assert!(messages[0].role == Role::User && messages[1].is_answer());
/// ```
pub static DIALECT: Dialect = Dialect {
    id: FORM.name(),
    aliases: &[],
    title: "ShareGPT",
    used_by: "data sets with `conversations` of `from` and `value`",
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
        pair: Some(&PAIR),
        context: Some(write::context),
        carries: &CARRIES,
        composer: Composing::Never,
        signs: &SIGNS,
        contents: Some(ContentRules {
            still_says: |it, places| services::still_say(it, places, FORM, |_| Some("")),
            lost: services::parts::lost,
            ..ContentRules::PLAIN
        }),
        streamed: None,
    }),
};

const FORM: FormId = FormId::new("sharegpt");

static PAIR: PairForm = PairForm {
    is_of_documents: |text, limits| is_pair(text, SIGNS.holders, limits),
    write: write::write_pair,
};

static CARRIES: Carries = Carries {
    needs_names: true,
    tools: true,
    roles: &[Role::System, Role::User, Role::Assistant, Role::Tool],
    names: |_| true,
    channels: Channels::Calls,
    recipients: true,
    reply_recipients: true,
    reads_json_calls: true,
    content_types: takes_object,
    ends: &[End::End, End::Call],
    makes_calls: true,
    weights: true,
    ..Carries::NOTHING
};

/// Whether the arguments of a call are an object. Other arguments are text.
fn takes_object(call: &Message<'_>) -> bool {
    let is_object = || call.body.as_plain().is_some_and(calls::is_object);
    is_json_call(call) && (call.body.is_empty() || is_object())
}

static CHECKS: CheckRules = CheckRules::by_order(&NO_TOKENS);

/// The features of records with conversations.
static SIGNS: JsonSigns = JsonSigns {
    holders: &["conversations", "conversation"],
    around: &[],
    keys: read::KEYS,
    lists: true,
    required: &["from", "role"],
    message_keys: read::TURN_KEYS,
    content: &[Kind::String, Kind::Null],
    parts: &[],
    signs: &[
        (Sign::Key("conversations"), 40),
        (Sign::Key("conversation"), 40),
        (Sign::Message("from"), 25),
        (Sign::Message("value"), 15),
        // Some records name their keys like OpenAI, but not their roles.
        (Sign::Word("role", "human"), 60),
        (Sign::Word("role", "gpt"), 60),
        (Sign::Word("role", "observation"), 60),
        (Sign::Word("role", "function_call"), 60),
        (Sign::Word("role", "tool_call"), 60),
        (Sign::Word("role", "tool_response"), 60),
    ],
    usual: 0,
};
