//! OpenChatML 2.2 (release candidate of 2025-08-08).

mod json;
mod tokens;

use super::older;
use crate::Control;
use crate::check::{CheckRules, RULES_2_2};
use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, JsonForm, TextForm};
use crate::grammar::frame::{self, Attribute, RoleWord, Rules, Spaces, Speaker, TypeStyle};
use crate::harmony;
use crate::lex::Mode;
use crate::model::{End, FormId, Message, Role};
use crate::pairing::Pairing;
use crate::rules::History;
use crate::rules::{Carries, Channels, Completion, Composing, Framed, Intents, Markers, Opening};
use crate::signs::{Case, Framing, JsonSigns, Kind, Scan, Sign, TextSigns};

/// OpenChatML 2.2: nine control tokens, an escape, literal blocks, `call_id`, JSON per message.
///
/// ```
/// use openchatml::{Carrier, Format, dialects, parse};
///
/// let format = Format::new(&dialects::OPENCHATML_2_2, Carrier::Text).expect("it has it");
/// let text = "version: 2.2\n\n<|start|>user<|message|>What is <<|end|>?<|end|>\n";
/// let conversation = parse(text, format, &Default::default()).into_conversation();
/// assert_eq!(conversation.messages[0].body.text(), "What is <|end|>?");
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "openchatml-2.2",
    aliases: &[],
    title: "OpenChatML 2.2",
    used_by: "transcripts with channels, call ids and a YAML header",
    carrier: Carrier::Text,
    controls: &tokens::CONTROLS,
    carries: &CARRIES,
    tools: ToolPlace::Types(Role::Developer),
    dated: false,
    opening: Some(&OPENING),
    text: Some(&TEXT),
    json: Some(JsonForm {
        id: FormId::new("openchatml-2.2:json"),
        read: json::read,
        write: json::write,
        pair: None,
        context: None,
        carries: &json::CARRIES,
        composer: Composing::Never,
        signs: &SIGNS,
        contents: None,
        streamed: None,
    }),
};

/// As in HIP-1. No profile has its own writer here.
static OPENING: Opening =
    Opening { system: harmony::open, formats: harmony::ask, left_out: |_, _| Vec::new() };

static CARRIES: Carries = Carries {
    declared_tools: true,
    declares: harmony::declares_tools,
    header: true,
    version: Some("2.2"),
    needs_call_ids: true,
    unique_call_ids: true,
    roles: Role::ALL,
    names: |_| true,
    channels: Channels::All,
    recipients: true,
    call_ids: true,
    intents: Intents::All,
    content_types: |_| true,
    markers: Markers::Analysis,
    ends: End::ALL,
    ..Carries::NOTHING
};

/// How completions are framed.
static FRAMED: Framed = Framed {
    gap: "\n",
    call_ids: true,
    preamble: " intent=preamble",
    constrain: Some(""),
    late_recipients: false,
    builtin_type: "",
};

static TEXT: TextForm = TextForm {
    header: Some("version: 2.2\n\n"),
    legacy: Some(&older::TRANSCRIPTS),
    completion: Mode::Header,
    checks: CHECKS,
    signs: TextSigns { framing: Framing::Frames, look },
    history: |_| History::Answered,
    stops: &[Control::Return],
    framing: Some(Completion::Messages(&FRAMED)),
    ..TextForm::new(RULES.form, &tokens::CONTROLS, &RULES)
};

const CHECKS: CheckRules = CheckRules {
    controls: &tokens::CONTROLS,
    versions: &["2.2", "2.1", "2.0", "1.", "0."],
    pairing: Pairing::ById,
    requires_channels: false,
    rules: RULES_2_2,
};

pub(crate) static RULES: Rules = Rules {
    form: DIALECT.form(),
    controls: &tokens::CONTROLS,
    // SPEC §15, `HEADER`.
    attributes: &[
        Attribute::To,
        Attribute::CallId,
        Attribute::Name,
        Attribute::Intent,
        Attribute::ContentType,
    ],
    // DEVIATION: a reply is written as in the example of SPEC §16.2, not in the order of the
    // grammar.
    reply_attributes: &[
        Attribute::Name,
        Attribute::CallId,
        Attribute::To,
        Attribute::Intent,
        Attribute::ContentType,
    ],
    type_style: TypeStyle::Attribute,
    speaker,
    role_word: |message: &Message<'_>| RoleWord::Role(message.role.as_str()),
    settle: |_| {},
    openings: tokens::OPENINGS,
    gap: "\n",
    stops: &[Control::Return, Control::Call],
    completes_in_body: false,
    spaces: Spaces::One,
    mends_slips: false,
};

/// As in 2.0, but a function as its own role is an old spelling (SPEC §4).
fn speaker(word: &str) -> Option<Speaker<'_>> {
    match frame::speaker(word)? {
        Speaker::Named(role, name) => Some(Speaker::Legacy(role, name)),
        speaker => Some(speaker),
    }
}

/// The features of messages in JSON.
static SIGNS: JsonSigns = JsonSigns {
    holders: &[],
    around: &[],
    keys: &[],
    lists: true,
    required: &["role"],
    message_keys: json::KEYS,
    content: &[Kind::String, Kind::List, Kind::Null],
    parts: &["text", "literal", "marker"],
    signs: &[
        (Sign::Message("tool_call"), 60),
        (Sign::Message("channel"), 40),
        (Sign::Message("intent"), 20),
        (Sign::Message("recipient"), 20),
        (Sign::Message("call_id"), 20),
        (Sign::Message("constrained"), 20),
        (Sign::Message("end"), 20),
        (Sign::Message("thinking"), 5),
        (Sign::Part("literal"), 40),
        (Sign::Part("marker"), 40),
    ],
    usual: 8,
};

/// Adds the evidence for transcripts.
fn look(scan: &Scan<'_>, case: &mut Case) {
    match scan.version {
        Some((version, span)) if matches!(version, "2.2" | "2.1") => {
            case.sign(90, format!("`version: {version}` in the header"), Some(span));
        }
        // The header names the other version.
        Some(("2.0", _)) => return,
        // Transcripts of 1.x are read in this format, in any framing.
        Some((version, span)) if version.starts_with("1.") => {
            case.sign(60, format!("`version: {version}` in the header"), Some(span));
        }
        _ => {}
    }
    if !frame::look(scan, 40, case) {
        return;
    }
    if scan.has_open_block {
        // Text that looks like a block, in a format without literal blocks.
        case.against(20);
    }
    let tokens = [Control::Constrain, Control::Literal].into_iter();
    let tokens = tokens.filter_map(|it| Some((it, tokens::CONTROLS.spelling(it)?)));
    let attributes = [Attribute::CallId, Attribute::Intent, Attribute::ContentType];
    for (what, span) in frame::marks(scan, tokens, attributes) {
        case.sign(15, what, Some(span));
    }
    // Models that write completions like this one use Harmony.
    if scan.begins_inside().is_none() {
        frame::look_between(scan, case);
    }
}
