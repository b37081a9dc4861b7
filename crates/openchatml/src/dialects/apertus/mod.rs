//! Apertus, the format of the Swiss AI models, as its reference chat template renders it.

mod compose;
mod declare;
mod json;
mod settle;
mod tokens;

use self::tokens::CONTROLS;
use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, JsonForm, TextForm};
use crate::grammar::paired::Lists;
use crate::grammar::sections::{
    Array, Calls, InnerCalls, Mark, NoReasoning, Opening, Owner, Piece, PromptEnd, Prompts,
    Reasoning, Replies, Rules, Sections, Turn,
};
use crate::model::{End, FormId, Role};
use crate::rules::{Carries, Composing, ContentRules};
use crate::services;
use crate::signs::{Case, Framing, JsonSigns, Kind, Scan, Sign, TextSigns};
use crate::{Control, Section};

/// Apertus: a pair of tokens for each role, and pairs for reasoning and calls in the assistant's
/// turn.
///
/// ```
/// use openchatml::{Channel, Format, parse};
///
/// let text = "<s><|user_start|>2 + 2?<|user_end|>\
///     <|assistant_start|><|inner_prefix|>Easy.<|inner_suffix|>4.<|assistant_end|>";
/// let format: Format = "apertus".parse()?;
/// let messages = parse(text, format, &Default::default()).into_conversation().messages;
/// let channels: Vec<_> = messages.iter().map(|message| message.channel).collect();
/// assert_eq!(channels, [None, Some(Channel::Analysis), Some(Channel::Final)]);
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "apertus",
    aliases: &[],
    title: "Apertus",
    used_by: "the Apertus models of the Swiss AI Initiative",
    carrier: Carrier::Text,
    controls: &CONTROLS,
    carries: &CARRIES,
    tools: ToolPlace::Conversation,
    dated: true,
    opening: None,
    text: Some(&TEXT),
    json: Some(JsonForm {
        id: FormId::new("apertus:json"),
        read: json::read,
        write: json::write,
        pair: None,
        context: None,
        carries: &json::CARRIES,
        composer: Composing::If(|conversation, _| {
            (conversation.origin != json::ORIGIN).then_some(&json::COMPOSER)
        }),
        signs: &SIGNS,
        contents: Some(ContentRules {
            still_says: |it, places| services::still_say(it, places, RULES.form, |_| Some("")),
            lost: services::parts::lost,
            ..ContentRules::PLAIN
        }),
        streamed: None,
    }),
};

static CARRIES: Carries = Carries { roles: Role::ALL, ends: End::ALL, ..Carries::SECTIONS };

static TEXT: TextForm = TextForm {
    composer: Composing::UnlessRead(&compose::COMPOSER),
    signs: TextSigns { framing: Framing::Pairs, look },
    stops: &[Control::Return],
    ..TextForm::new(RULES.form, &CONTROLS, &Lists(&RULES))
};

static SECTIONS: Sections = Sections {
    reasoning: Reasoning {
        open: Mark::plain(Control::OpenSection(Section::Reasoning)),
        close: Mark::plain(Control::CloseSection(Section::Reasoning)),
        none: NoReasoning::Nothing,
        stays_open: true,
        calls: InnerCalls::Uncertain,
        ended_by: &["display_answers"],
    },
    answer: None,
    calls: Calls {
        item: (
            Mark::plain(Control::OpenSection(Section::Calls)),
            Some(Mark::plain(Control::CloseSection(Section::Calls))),
        ),
        array: Some(Array { open: "[", between: ", ", close: "}]" }),
        pieces: &[
            Piece::Json("{\""),
            Piece::PlainName,
            Piece::Json("\": "),
            Piece::Arguments,
            Piece::Json("}"),
        ],
        namespace: "functions",
        ..Calls::NONE
    },
    close: Control::Close(Role::Assistant),
    prompts: Prompts { thinks: false, ends: [PromptEnd::Turn; 2], ..Prompts::NONE },
};

pub(super) static RULES: Rules = Rules {
    form: DIALECT.form(),
    controls: &CONTROLS,
    bos: Some((Control::Bos, Owner::Before)),
    turns: &[turn(Role::Assistant), turn(Role::User), turn(Role::System), turn(Role::Developer)],
    sections: &SECTIONS,
    replies: Replies {
        turn: Some(Role::Assistant),
        array: Some(Array { open: "[", between: ", ", close: "]" }),
        ..Replies::NONE
    },
    stops: &[Control::Return, Control::CloseSection(Section::Calls)],
};

const fn turn(role: Role) -> Turn {
    let close = Mark::plain(Control::Close(role));
    Turn {
        role,
        opening: Opening::Mark(Control::Open(role)),
        close: Some(close),
        may_stay_open: false,
    }
}

/// The signs of messages in JSON.
static SIGNS: JsonSigns = JsonSigns {
    holders: &["messages"],
    around: &[],
    keys: &["tools", "enable_thinking"],
    lists: true,
    required: &["role"],
    message_keys: &["content", "tool_calls", "tool_call_id", "name"],
    // Objects are recognized by their keys, in `signs`.
    content: &[Kind::String, Kind::Null],
    parts: &[],
    signs: &[
        (Sign::Content("parts", Kind::Map), 80),
        (Sign::Content("blocks", Kind::Map), 80),
        (Sign::Content("text", Kind::String), 80),
        (Sign::Key("enable_thinking"), 40),
    ],
    usual: 1,
};

/// Finds the signs of conversations and completions.
fn look(scan: &Scan<'_>, case: &mut Case) {
    let opens = [Role::System, Role::Developer, Role::User, Role::Assistant].map(Control::Open);
    // A completion, or a turn without its beginning, has only these.
    let inside = [
        Control::OpenSection(Section::Reasoning),
        Control::CloseSection(Section::Reasoning),
        Control::OpenSection(Section::Calls),
    ];
    let begins = opens.into_iter().chain(inside).chain([Control::Bos]);
    let spelling = |control| tokens::CONTROLS.spelling(control).unwrap_or_default();
    let token = |control| format!("`{}`", spelling(control));
    let first = match begins.clone().any(|control| scan.begins_with(control).is_some()) {
        true => 55,
        false if begins.clone().any(|control| scan.line_begins_with(control).is_some()) => 20,
        // Other formats can quote these tokens, but they do not begin with them.
        false => return,
    };
    for (control, weight) in opens.map(|it| (it, 15)).into_iter().chain(inside.map(|it| (it, 10))) {
        let bonus = if case.score == 0 { first } else { 0 };
        case.sign(weight + bonus, token(control), scan.token(control));
    }
}
