//! ChatML, as OpenAI has described it.

mod json;
mod tokens;

use self::tokens::CONTROLS;
use crate::Control;
use crate::check::CheckRules;
use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, JsonForm, TextForm};
use crate::grammar::frame::{RoleWord, Rules, Spaces, Speaker, TypeStyle};
use crate::model::{End, FormId, Message, Role};
use crate::pairing::Pairing;
use crate::rules::History;
use crate::rules::{Carries, Completion, Composing};
use crate::signs::{Case, Framing, JsonSigns, Scan, Sign, TextSigns};

/// ChatML: `<|start|>`role`<|message|>`text`<|end_message|>`. Its canonical form is a JSON wire
/// list.
///
/// ```
/// use openchatml::{Carrier, Format, dialects, parse};
///
/// // In the wire list, strings are text whatever they spell, and objects are tokens.
/// let format = Format::new(&dialects::CHATML_WIRE, Carrier::Json).expect("it has it");
/// let text = r#"[{"token":"<|start|>"},"user",{"token":"<|message|>"},"<|start|>?",
///     {"token":"<|end_message|>"}]"#;
/// let conversation = parse(text, format, &Default::default()).into_conversation();
/// assert_eq!(conversation.messages[0].body.text(), "<|start|>?");
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "chatml-wire",
    aliases: &[],
    title: "the wire list of OpenAI's first ChatML document",
    used_by: "the document of 2023, as a JSON list",
    carrier: Carrier::Json,
    controls: &CONTROLS,
    carries: &CARRIES,
    tools: ToolPlace::Json(Role::System),
    dated: false,
    opening: None,
    text: Some(&TEXT),
    json: Some(JsonForm {
        id: FormId::new("chatml-wire:json"),
        read: json::read,
        write: json::write,
        pair: None,
        context: None,
        carries: &CARRIES,
        composer: Composing::Never,
        signs: &SIGNS,
        contents: None,
        streamed: None,
    }),
};

static CARRIES: Carries = Carries {
    roles: &[Role::System, Role::User, Role::Assistant],
    names: |message| {
        message.role == Role::System
            && matches!(message.name.as_deref(), Some("example_user" | "example_assistant"))
    },
    ends: &[End::End, End::Open, End::Prompt],
    ..Carries::NOTHING
};

static TEXT: TextForm = TextForm {
    checks: CHECKS,
    signs: TextSigns { framing: Framing::Frames, look },
    history: |_| History::Answered,
    stops: &[Control::End],
    framing: Some(Completion::Text { header: Some(Control::Message), close: None }),
    ..TextForm::new(RULES.form, &CONTROLS, &RULES)
};

const CHECKS: CheckRules = CheckRules {
    controls: &CONTROLS,
    versions: &[],
    pairing: Pairing::None,
    requires_channels: false,
    rules: &[],
};

pub(crate) static RULES: Rules = Rules {
    form: DIALECT.form(),
    controls: &CONTROLS,
    attributes: &[],
    reply_attributes: &[],
    type_style: TypeStyle::Attribute,
    speaker,
    role_word,
    settle: |_| {},
    openings: tokens::OPENINGS,
    gap: "",
    stops: &[Control::End],
    completes_in_body: true,
    spaces: Spaces::None,
    mends_slips: true,
};

/// Reads `RoleName` of the specification's grammar. The specification has two typing errors:
/// `Assistant` in its grammar, and `assistant:example_user` in its example.
fn speaker(word: &str) -> Option<Speaker<'_>> {
    Some(match word {
        "user" => Speaker::Role(Role::User),
        "assistant" => Speaker::Role(Role::Assistant),
        "system" => Speaker::Role(Role::System),
        "system:example_user" => Speaker::Named(Role::System, "example_user"),
        "system:example_assistant" => Speaker::Named(Role::System, "example_assistant"),
        "assistant:example_user" | "assistant:example_assistant" => {
            Speaker::Slip(Role::System, Some("example_assistant"))
        }
        "user:example_user" => Speaker::Slip(Role::System, Some("example_user")),
        _ => Speaker::Slip(Role::from_word(&word.to_ascii_lowercase()).filter(has_word)?, None),
    })
}

fn has_word(role: &Role) -> bool {
    CARRIES.roles.contains(role)
}

fn role_word<'m>(message: &'m Message<'_>) -> RoleWord<'m> {
    match (message.role, message.name.as_deref()) {
        (role, _) if !has_word(&role) => RoleWord::Refused("this dialect has no such role"),
        (Role::System, Some(name)) => RoleWord::Joined("system", name),
        (role, _) => RoleWord::Role(role.as_str()),
    }
}

/// The features of the wire list.
static SIGNS: JsonSigns = JsonSigns {
    holders: &[],
    around: &[],
    keys: &[],
    lists: true,
    required: &["token"],
    message_keys: &[],
    content: &[],
    parts: &[],
    signs: &[(Sign::Message("token"), 55)],
    usual: 0,
};

/// Adds the evidence: no other framing ends messages with this token.
fn look(scan: &Scan<'_>, case: &mut Case) {
    let spelling = |control| CONTROLS.spelling(control).unwrap_or_default();
    let token = |control| format!("`{}`", spelling(control));
    let is_first =
        |control| scan.begins_with(control).or_else(|| scan.line_begins_with(control)).is_some();
    if !is_first(Control::Start) && !is_first(Control::Message) {
        return;
    }
    // Messages can quote the end token of another format, but no frame follows it.
    let start = spelling(Control::Start);
    let others = [Control::End, Control::Call, Control::Return].into_iter();
    let others: Vec<_> = others.flat_map(|control| scan.spelled_elsewhere(control)).collect();
    let ends = [&[spelling(Control::End)][..], &others[..]].map(|it| scan.frame_end(it, start));
    let end = match ends {
        [Some(ours), Some(theirs)] if theirs.start < ours.start => None,
        [None, Some(_)] => None,
        [ours, _] => ours.or_else(|| scan.token(Control::End)),
    };
    case.sign(70, token(Control::End), end);
    if case.score > 0 {
        case.sign(15, token(Control::Start), scan.token(Control::Start));
        case.sign(10, token(Control::Message), scan.token(Control::Message));
    }
}
