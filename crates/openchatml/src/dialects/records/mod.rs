//! Records of data sets that are a prompt and its completion: as texts, as lists of messages, or as
//! an instruction with its output.

mod read;
mod write;

use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, JsonForm, PairForm};
use crate::document::NO_TOKENS;
use crate::model::{FormId, Message};
use crate::rules::{Composing, ContentRules};
use crate::services::{self, beyond_of, chat, parts};
use crate::signs::{JsonSigns, Kind, Sign};

/// Records of data sets: `{"prompt": …, "completion": …}`,
/// `{"instruction": …, "input": …, "output": …}`, and preference pairs:
/// `{"prompt": …, "chosen": …, "rejected": …}`.
///
/// ```
/// use openchatml::{Carrier, Format, Role, dialects, parse};
///
/// let format = Format::new(&dialects::RECORDS, Carrier::Json).expect("it has it");
/// let text = r#"{"instruction":"Add.","input":"2 and 2","output":"4."}"#;
/// let messages = parse(text, format, &Default::default()).into_conversation().messages;
/// assert_eq!(messages[0].body.text(), "Add.\n2 and 2");
/// assert!(messages[0].role == Role::User && messages[1].is_answer());
/// ```
pub static DIALECT: Dialect = Dialect {
    id: FORM.name(),
    aliases: &[],
    title: "prompts and completions",
    used_by: "data sets with `prompt` and `completion`, or `instruction` and `output`",
    carrier: Carrier::Json,
    controls: &NO_TOKENS,
    carries: &chat::CARRIES,
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
        carries: &chat::CARRIES,
        composer: Composing::Never,
        signs: &SIGNS,
        contents: Some(ContentRules {
            still_says: |it, places| services::still_say(it, places, FORM, between),
            lost: parts::lost,
            ..ContentRules::PLAIN
        }),
        streamed: None,
    }),
};

const FORM: FormId = FormId::new("records");

/// The text between an instruction and its input.
const BETWEEN: &str = "\n";

/// The text between the parts of a message.
fn between(message: &Message<'_>) -> Option<&'static str> {
    let is_instruction = beyond_of(message, FORM).is_some_and(|it| it.key == read::INSTRUCTION);
    if is_instruction { Some(BETWEEN) } else { services::unless_reasoning(message) }
}

/// Lists, texts and messages are sides of one record.
static PAIR: PairForm =
    PairForm { is_of_documents: read::is_of_documents, write: write::write_pair };

const HOLDERS: &[&str] = &["completion", "instruction", "chosen", "rejected", "output"];

/// The features of records. A `prompt` alone is a request of another kind.
static SIGNS: JsonSigns = JsonSigns {
    holders: HOLDERS,
    around: HOLDERS,
    keys: read::KEYS,
    lists: false,
    required: &[],
    message_keys: chat::KEYS,
    content: chat::CONTENT,
    parts: chat::PARTS,
    signs: &[
        (Sign::Key("prompt"), 40),
        (Sign::KeyOf("chosen", Kind::String), 30),
        (Sign::KeyOf("chosen", Kind::List), 30),
        (Sign::KeyOf("rejected", Kind::String), 30),
        (Sign::KeyOf("rejected", Kind::List), 30),
        (Sign::Both("messages", "chosen"), 60),
        (Sign::KeyOf("instruction", Kind::String), 10),
        (Sign::KeyOf("output", Kind::String), 50),
        (Sign::Both("question", "answer"), 60),
        (Sign::Both("question", "response"), 60),
        (Sign::Both("prompt", "answer"), 60),
        (Sign::Both("prompt", "response"), 60),
    ],
    usual: 0,
};
