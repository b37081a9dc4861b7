//! The messages of OpenAI's Chat Completions, which many services use.

mod events;
mod read;
mod write;

use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, JsonForm, PairForm};
use crate::document::{NO_TOKENS, is_pair};
use crate::model::FormId;
use crate::rules::{Carries, Composing, ContentRules};
use crate::services::{self, chat, parts};
use crate::signs::{JsonSigns, Kind, Sign};

/// OpenAI's Chat Completions: a list of messages, a single message, or the body of a request or a
/// response.
///
/// ```
/// use openchatml::{Carrier, Format, dialects, parse};
///
/// // One object is all that the assistant thinks, says and calls in one go.
/// let format = Format::new(&dialects::OPENAI, Carrier::Json).expect("it has it");
/// let text = r#"[{"role":"assistant","reasoning_content":"Easy.","content":"4."}]"#;
/// let messages = parse(text, format, &Default::default()).into_conversation().messages;
/// assert!(messages[0].is_reasoning() && messages[1].is_answer());
/// ```
pub static DIALECT: Dialect = Dialect {
    id: FORM.name(),
    aliases: &["chat-completions"],
    title: "OpenAI Chat Completions messages",
    used_by: "Chat Completions, fine-tuning files, and most data sets",
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
            still_says: |it, places| {
                services::still_say(it, places, FORM, services::unless_reasoning)
            },
            lost: parts::lost,
            text_part: |_, text| Some(parts::typed("text", text)),
            unaccepted: |conversation| chat::unaccepted(conversation, FORM),
            ..ContentRules::PLAIN
        }),
        streamed: Some(events::find),
    }),
};

const FORM: FormId = FormId::new("openai");

static PAIR: PairForm = PairForm {
    is_of_documents: |text, limits| is_pair(text, SIGNS.holders, limits),
    write: write::write_pair,
};

static CARRIES: Carries = Carries { stops: Some(FORM), ..chat::CARRIES };

/// The features of chats of services and data sets. Plain messages are detected as this format.
static SIGNS: JsonSigns = JsonSigns {
    holders: &["messages", "choices", "preferred_output", "non_preferred_output"],
    around: &["choices", "preferred_output"],
    keys: read::KEYS,
    lists: true,
    required: &["role"],
    message_keys: chat::KEYS,
    content: chat::CONTENT,
    parts: chat::PARTS,
    signs: &[
        (Sign::Key("choices"), 50),
        (Sign::Key("preferred_output"), 50),
        (Sign::Key("functions"), 20),
        (Sign::Key("model"), 10),
        (Sign::MessageOf("content", Kind::Null), 20),
        (Sign::Message("tool_calls"), 30),
        (Sign::Message("tool_call_id"), 30),
        (Sign::Message("reasoning_content"), 40),
        (Sign::Message("refusal"), 30),
        (Sign::Message("function_call"), 30),
        (Sign::Message("weight"), 20),
        (Sign::Part("text"), 25),
        (Sign::Part("image_url"), 30),
        (Sign::Part("input_audio"), 30),
    ],
    usual: 20,
};
