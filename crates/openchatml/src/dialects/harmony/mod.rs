//! Harmony, the format of the gpt-oss models, and HIP-1, its profile in OpenChatML 2.2 (SPEC 2.2
//! §12).

mod json;
mod profile;
mod stripped;
mod template;
mod tokens;

use crate::Control;
use crate::check::{CheckRules, RULES_OF_HARMONY};
use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, Grammar, JsonForm, TextForm};
use crate::grammar::frame::{self, Attribute, RoleWord, Rules, Spaces, Speaker, TypeStyle};
use crate::harmony::{self, declares_tools};
use crate::lex::Mode;
use crate::model::{Document, End, FormId, Intent, Marker, Message, Role};
use crate::options::{Profile, ReadOptions, RenderOptions};
use crate::pairing::Pairing;
use crate::reading::Reader;
use crate::rules::{
    Carries, Channels, Completion, Composing, ContentRules, Framed, Intents, Opening,
};
use crate::signs::{Case, Framing, JsonSigns, Kind, Scan, Sign, TextSigns};
use crate::writing::{RenderError, Sink};

/// Harmony: seven control tokens, no escape, and tools as their own roles.
///
/// ```
/// use openchatml::{Carrier, Format, dialects, parse};
///
/// let format = Format::new(&dialects::HARMONY, Carrier::Text).expect("it has it");
/// let text = "<|start|>functions.f to=assistant<|channel|>commentary<|message|>20<|end|>";
/// let conversation = parse(text, format, &Default::default()).into_conversation();
/// assert_eq!(conversation.messages[0].name.as_deref(), Some("functions.f"));
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "harmony",
    aliases: &["gpt-oss"],
    title: "Harmony (gpt-oss)",
    used_by: "gpt-oss",
    carrier: Carrier::Text,
    controls: &tokens::CONTROLS,
    carries: &CARRIES,
    tools: ToolPlace::Conversation,
    dated: true,
    opening: Some(&OPENING),
    text: Some(&TEXT),
    json: Some(JsonForm {
        id: FormId::new("harmony:json"),
        read: json::read,
        write: json::write,
        pair: None,
        context: None,
        carries: &json::CARRIES,
        composer: Composing::Never,
        signs: &SIGNS,
        contents: Some(ContentRules {
            still_says: harmony::still_say,
            lost: harmony::lost,
            ..ContentRules::PLAIN
        }),
        streamed: None,
    }),
};

/// The beginning of prompts.
static OPENING: Opening =
    Opening { system: harmony::open, formats: harmony::ask, left_out: profile::left_out };

static CARRIES: Carries = Carries {
    declared_tools: true,
    declares: declares_tools,
    needs_channels: true,
    needs_names: true,
    roles: Role::ALL,
    names: |_| true,
    channels: Channels::All,
    recipients: true,
    reply_recipients: true,
    intents: Intents::Implied,
    // Commentary with a content type and without a recipient would be a call.
    content_types: |message| {
        !message.is_commentary() && (message.constrained || frame::is_type_word(message))
    },
    ends: End::ALL,
    ..Carries::NOTHING
};

/// How completions are framed.
static FRAMED: Framed = Framed {
    gap: "",
    call_ids: false,
    preamble: "",
    constrain: Some(" "),
    late_recipients: true,
    builtin_type: " code",
};

static TEXT: TextForm = TextForm {
    completion: Mode::Header,
    checks: CHECKS,
    composer: Composing::If(|conversation, options| {
        let is_due = options.profile.is_template() && conversation.origin != template::ORIGIN;
        is_due.then_some(&template::COMPOSER)
    }),
    signs: TextSigns { framing: Framing::Frames, look },
    stripped: Some(&stripped::STRIPPED),
    history: profile::history,
    stops: &[Control::Return, Control::Call],
    framing: Some(Completion::Messages(&FRAMED)),
    ..TextForm::new(RULES.form, &tokens::CONTROLS, &Harmony)
};

/// The grammar of frames, and the writers of the profiles.
struct Harmony;

impl Grammar for Harmony {
    fn reader<'a>(&'static self, options: &ReadOptions) -> Box<dyn Reader<'a> + Send + Sync + 'a> {
        RULES.reader(options)
    }

    fn write(
        &'static self,
        document: &Document<'_>,
        options: &RenderOptions,
        sink: &mut dyn Sink,
    ) -> Result<(), RenderError> {
        match options.profile {
            // The document already contains what the template adds.
            Profile::Documented | Profile::HfTemplate | Profile::HfTemplateStrings => {
                RULES.write(document, options, sink)
            }
            profile => profile::write(profile, document, options, sink),
        }
    }
}

const CHECKS: CheckRules = CheckRules {
    controls: &tokens::CONTROLS,
    versions: &[],
    pairing: Pairing::ByOrder,
    requires_channels: true,
    rules: RULES_OF_HARMONY,
};

static RULES: Rules = Rules {
    form: DIALECT.form(),
    controls: &tokens::CONTROLS,
    attributes: &[Attribute::To],
    reply_attributes: &[Attribute::To],
    type_style: TypeStyle::Word,
    speaker,
    role_word,
    settle,
    openings: tokens::OPENINGS,
    gap: "",
    stops: &[Control::Return, Control::Call],
    completes_in_body: false,
    spaces: Spaces::Any,
    mends_slips: false,
};

/// Returns the meaning of a role word: a role, a role with a name, or the name of a tool that
/// replies.
fn speaker(word: &str) -> Option<Speaker<'_>> {
    if let Some(role) = Role::from_word(word) {
        return Some(Speaker::Role(role));
    }
    if let Some((role, name)) = word.split_once(':')
        && let Some(role) = Role::from_word(role)
        && !name.is_empty()
    {
        return Some(Speaker::Named(role, name));
    }
    Some(match frame::speaker(word) {
        Some(Speaker::Named(..) | Speaker::Builtin(_)) => Speaker::Named(Role::Tool, word),
        _ => Speaker::Addressed(word),
    })
}

/// Returns the role word. A tool that replies is its own role. A tool with the name of a role
/// cannot be, because it would be read as that role.
fn role_word<'m>(message: &'m Message<'_>) -> RoleWord<'m> {
    let name = message.name.as_deref();
    match (message.role, name, name.and_then(speaker)) {
        (Role::Tool, None, _) => RoleWord::Refused("a reply must name its tool"),
        (Role::Tool, Some(name), Some(Speaker::Named(Role::Tool, whole))) if whole == name => {
            RoleWord::Name(name)
        }
        (Role::Tool, Some(name), Some(Speaker::Addressed(_))) if message.recipient.is_some() => {
            RoleWord::Name(name)
        }
        (Role::Tool, Some(_), Some(Speaker::Addressed(_))) => {
            RoleWord::Refused("a reply of a tool with this name must have a recipient")
        }
        (Role::Tool, Some(_), _) => {
            RoleWord::Refused("the name of a tool cannot be the name of a role")
        }
        (role, None, _) => RoleWord::Role(role.as_str()),
        (role, Some(name), _) => RoleWord::Joined(role.as_str(), name),
    }
}

/// Makes commentary without a recipient a preamble, which the user sees (HIP-1 §6). With a content
/// type it is a call whose tool is missing, so it is hidden.
fn settle(message: &mut Message<'_>) {
    let is_bare = message.is_commentary() && !message.recovered;
    if is_bare && message.content_type.is_some() {
        message.recovered = true;
    } else if is_bare {
        message.intent = Some(Intent::Preamble);
    }
}

/// The features of the reference library's conversations.
static SIGNS: JsonSigns = JsonSigns {
    holders: &["messages"],
    around: &[],
    keys: &[],
    lists: true,
    required: &["role"],
    message_keys: json::KEYS,
    content: &[Kind::String, Kind::List],
    parts: &["text", "system_content", "developer_content"],
    signs: &[
        (Sign::Part("system_content"), 60),
        (Sign::Part("developer_content"), 60),
        (Sign::WordStart("content_type", "<|constrain|>"), 60),
        (Sign::Message("channel"), 20),
        (Sign::Message("recipient"), 20),
        (Sign::Message("content_type"), 15),
        (Sign::Part("text"), 30),
    ],
    usual: 2,
};

/// Adds the evidence of prompts and outputs.
fn look(scan: &Scan<'_>, case: &mut Case) {
    // Only OpenChatML has a header.
    if scan.version.is_some() || !frame::look(scan, 35, case) {
        return case.rule_out();
    }
    // Only OpenChatML has literal blocks, but a message can quote one.
    if scan.has_block {
        case.against(10);
    }
    // Only OpenChatML has escaped tokens and markers, and text after them can be hidden there.
    let markers = [Marker::Reason, Marker::Reflect, Marker::Introspect].map(Control::Marker);
    let markers = markers.into_iter().flat_map(|marker| scan.spelled_elsewhere(marker));
    let start = RULES.controls.spelling(Control::Start).unwrap_or_default();
    let is_escaped = scan.text.contains(&format!("<{start}"));
    if is_escaped || markers.into_iter().any(|marker| scan.text.contains(marker)) {
        case.against(15);
    }
    // The models that write such completions use this format.
    let is_completion = scan.begins_inside().is_some();
    if is_completion {
        case.score += 20;
    }
    let joined = scan.gaps.iter().find(|gap| gap.is_empty()).copied();
    case.sign(25, "no text between messages", joined);
    let constrain = RULES.controls.spelling(Control::Constrain).unwrap_or_default();
    let spaced = scan.header(|header| header.contains(&format!(" {constrain}")));
    case.sign(20, format!("a space before `{constrain}`"), spaced);
    let role = scan.header(|header| header.starts_with("functions."));
    case.sign(10, "a function name as role", role);
    let channel = RULES.controls.spelling(Control::Channel).unwrap_or_default();
    let after = scan.header(|header| {
        header.split_once(channel).is_some_and(|(_, after)| after.contains(" to="))
    });
    case.sign(15, "the recipient follows the channel", after);
    for attribute in [" call_id=", " intent="] {
        if scan.header(|header| header.contains(attribute)).is_some() {
            case.against(20);
        }
    }
}
