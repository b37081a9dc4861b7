//! The canonical JSON of this project: one object per document, which can express every
//! [`Document`](crate::Document).

mod read;
mod write;

use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, JsonForm, PairForm};
use crate::document::NO_TOKENS;
use crate::model::FormId;
use crate::rules::{Carries, Composing};
use crate::signs::{JsonSigns, Kind, Sign};

/// Canonical JSON.
///
/// ```
/// use openchatml::{Carrier, Conversation, Format, Message, RenderOptions, dialects, render};
///
/// let format = Format::new(&dialects::JSON, Carrier::Json).expect("it has it");
/// let document = Conversation::from_messages([Message::answer("4.")]).into();
/// assert_eq!(
///     render(&document, format, &RenderOptions::default())?,
///     r#"{"messages":[{"role":"assistant","channel":"final","content":"4."}]}"#,
/// );
/// # Ok::<(), openchatml::RenderError>(())
/// ```
pub static DIALECT: Dialect = Dialect {
    id: FORM.name(),
    aliases: &[],
    title: "canonical JSON",
    used_by: "this project: it can express every conversation",
    carrier: Carrier::Json,
    controls: &NO_TOKENS,
    carries: &Carries::EVERYTHING,
    tools: ToolPlace::Conversation,
    dated: false,
    opening: None,
    text: None,
    json: Some(JsonForm {
        id: FORM,
        read: read::read,
        write: write::write,
        pair: Some(&PAIR),
        context: None,
        carries: &Carries::EVERYTHING,
        composer: Composing::Never,
        signs: &SIGNS,
        contents: None,
        streamed: None,
    }),
};

/// A pair is one of its documents.
static PAIR: PairForm = PairForm {
    is_of_documents: |_, _| false,
    write: |pair, options| Ok(Some(write::write_pair(pair, options))),
};

const FORM: FormId = FormId::new("json");

/// Keys that only this JSON has.
static SIGNS: JsonSigns = JsonSigns {
    holders: &["messages"],
    around: &[],
    keys: &["header", "tools", "infill", "files", "chosen", "rejected"],
    lists: false,
    required: &["role"],
    message_keys: read::MESSAGE_KEYS,
    content: &[Kind::String, Kind::List, Kind::Null],
    parts: &["text", "literal", "marker"],
    signs: &[
        (Sign::Key("header"), 30),
        (Sign::Key("infill"), 80),
        (Sign::Key("files"), 80),
        (Sign::Message("channel"), 40),
        (Sign::Message("recipient"), 35),
        (Sign::Message("call_id"), 35),
        (Sign::Message("intent"), 20),
        (Sign::Message("content_type"), 20),
        (Sign::Message("constrained"), 30),
        (Sign::Message("end"), 35),
        (Sign::Message("recovered"), 40),
        (Sign::Message("unread"), 40),
        (Sign::Message("foreign"), 40),
        (Sign::Part("literal"), 50),
        (Sign::Part("marker"), 50),
    ],
    usual: 5,
};
