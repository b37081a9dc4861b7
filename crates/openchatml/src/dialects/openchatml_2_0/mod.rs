//! OpenChatML 2.0 (release candidate of 2025-08-05).

mod json;
mod tokens;

use super::older;
use crate::check::{CheckRules, RULES_2_0};
use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, JsonForm, TextForm};
use crate::grammar::frame::{self, Attribute, RoleWord, Rules, Spaces, TypeStyle};
use crate::lex::Mode;
use crate::model::{End, FormId, Message, Role};
use crate::pairing::Pairing;
use crate::rules::History;
use crate::rules::{Carries, Channels, Completion, Composing, Framed, Markers};
use crate::signs::{Case, Framing, JsonSigns, Kind, Scan, Sign, TextSigns};
use crate::{Control, Span, function_name};

/// OpenChatML 2.0: six control tokens, JSON per turn.
///
/// ```
/// use openchatml::{Carrier, Format, dialects, parse};
///
/// // One turn in JSON is several messages in text.
/// let format = Format::new(&dialects::OPENCHATML_2_0, Carrier::Json).expect("it has it");
/// let text = r#"[{"role":"assistant","thinking":"Easy.","content":"4."}]"#;
/// let messages = parse(text, format, &Default::default()).into_conversation().messages;
/// assert!(messages[0].is_reasoning() && messages[1].is_answer());
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "openchatml-2.0",
    aliases: &[],
    title: "OpenChatML 2.0",
    used_by: "transcripts with channels and a YAML header",
    carrier: Carrier::Text,
    controls: &tokens::CONTROLS,
    carries: &CARRIES,
    tools: ToolPlace::Types(Role::Developer),
    dated: false,
    opening: None,
    text: Some(&TEXT),
    json: Some(JsonForm {
        id: FormId::new("openchatml-2.0:json"),
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

static CARRIES: Carries = Carries {
    header: true,
    header_keys: &["capabilities", "profiles"],
    version: Some("2.0"),
    roles: Role::ALL,
    names: |_| true,
    channels: Channels::All,
    recipients: true,
    markers: Markers::Analysis,
    reply_recipients: true,
    ends: End::ALL,
    ..Carries::NOTHING
};

/// How completions are framed.
static FRAMED: Framed = Framed {
    gap: "\n",
    call_ids: false,
    preamble: "",
    constrain: None,
    late_recipients: false,
    builtin_type: "",
};

static TEXT: TextForm = TextForm {
    header: Some("version: 2.0\n\n"),
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
    versions: &["2.0", "1.", "0."],
    pairing: Pairing::ByOrder,
    requires_channels: false,
    rules: RULES_2_0,
};

pub(crate) static RULES: Rules = Rules {
    form: DIALECT.form(),
    controls: &tokens::CONTROLS,
    // SPEC §6.
    attributes: &[Attribute::To, Attribute::Name],
    reply_attributes: &[Attribute::Name, Attribute::To],
    type_style: TypeStyle::Attribute,
    speaker: frame::speaker,
    role_word,
    settle: |_| {},
    openings: tokens::OPENINGS,
    gap: "\n",
    stops: &[Control::Return, Control::Call],
    completes_in_body: false,
    spaces: Spaces::One,
    mends_slips: false,
};

/// Returns the role word. A function that replies is its own role (SPEC §4); `tool` is an alias.
fn role_word<'m>(message: &'m Message<'_>) -> RoleWord<'m> {
    match (message.role, message.name.as_deref()) {
        (Role::Tool, Some(name)) if function_name(name).is_some_and(|tool| !tool.is_empty()) => {
            RoleWord::Name(name)
        }
        (role, _) => RoleWord::Role(role.as_str()),
    }
}

/// The features of turns in JSON.
static SIGNS: JsonSigns = JsonSigns {
    holders: &[],
    around: &[],
    keys: &[],
    lists: true,
    required: &["role"],
    message_keys: json::KEYS,
    content: &[Kind::String, Kind::Null],
    parts: &[],
    signs: &[
        (Sign::Message("thinking"), 35),
        (Sign::Message("tool_calls"), 20),
        (Sign::Message("tool_call_id"), 10),
    ],
    usual: 6,
};

/// Adds the evidence for transcripts.
fn look(scan: &Scan<'_>, case: &mut Case) {
    match scan.version {
        Some((version, span)) if version == "2.0" => {
            case.sign(90, format!("`version: {version}` in the header"), Some(span));
        }
        // The header names the other version.
        Some((version, _)) if version.starts_with("2.") => return,
        _ => {}
    }
    if !frame::look(scan, 30, case) {
        return;
    }
    // Tokens and attributes that only other dialects have.
    let tokens = [Control::Constrain, Control::Literal].into_iter();
    let tokens = tokens.filter_map(|it| Some((it, scan.spelled_elsewhere(it).next()?)));
    let unknown = |it: &Attribute| !RULES.attributes.contains(it);
    let attributes = Attribute::ALL.iter().copied().filter(unknown);
    let unknown = frame::marks(scan, tokens, attributes).count();
    case.against(15 * u32::try_from(unknown).unwrap_or(u32::MAX).min(9));
    let calls = scan.header(|header| header.starts_with("assistant to=functions."));
    let has_ids = scan.header(|header| header.contains(" call_id=")).is_some();
    case.sign(15, "a call without `call_id`", calls.filter(|_| !has_ids));
    let own_lines = format!("{}\n", RULES.controls.spelling(Control::Message).unwrap_or_default());
    let at = scan.text.find(&own_lines).map(|at| Span::new(at, at + own_lines.len()));
    case.sign(10, "the text of a message begins a line", at);
    frame::look_between(scan, case);
}
