//! Phi-4-mini, as Microsoft's chat template and documentation write it.

mod compose;
mod tokens;

use self::tokens::CONTROLS;
use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, TextForm};
use crate::grammar::sections::{
    Array, CallForm, Calls, Guard, InnerCalls, Mark, NoReasoning, Opening, Piece, Prompts,
    Reasoning, Replies, Rules, Sections, Turn,
};
use crate::model::{End, Role};
use crate::rules::{Carries, Composing, History, kept_without_reasoning};
use crate::signs::{Case, Framing, Scan, TextSigns};
use crate::{Control, Section};

/// Phi-4-mini: a token before each turn, calls as a JSON list between two tokens, and a turn for each
/// tool reply.
///
/// ```
/// use openchatml::{Format, ReadOptions, parse};
///
/// let text = "<|tool_call|>[{\"name\": \"weather\", \"arguments\": {\"city\": \"Paris\"}}]\
///     <|/tool_call|><|end|>";
/// let parsed = parse(text, Format::PHI_4_MINI, &ReadOptions::completion());
/// assert!(parsed.diagnostics.is_empty());
/// let messages = parsed.into_conversation().messages;
/// assert_eq!(messages[0].recipient.as_deref(), Some("functions.weather"));
/// assert_eq!(messages[0].body.text(), r#"{"city": "Paris"}"#);
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "phi-4-mini",
    aliases: &[],
    title: "Phi-4-mini",
    used_by: "Microsoft Phi-4-mini",
    carrier: Carrier::Text,
    controls: &CONTROLS,
    carries: &CARRIES,
    tools: ToolPlace::Conversation,
    dated: false,
    opening: None,
    text: Some(&TEXT),
    json: None,
};

static CARRIES: Carries = Carries {
    roles: &[Role::System, Role::User, Role::Assistant, Role::Tool],
    ends: &[End::End, End::Call, End::Open, End::Prompt],
    open_roles: Role::ALL,
    // The calls between two tokens are read together.
    open_calls: false,
    ..Carries::SECTIONS
};

static TEXT: TextForm = TextForm {
    composer: Composing::UnlessRead(&compose::COMPOSER),
    signs: TextSigns { framing: Framing::Pairs, look },
    history: |_| History::Kept(kept_without_reasoning),
    ..RULES.text_form()
};

static SECTIONS: Sections = Sections {
    // The template has none. Models that are tuned to think write these tags.
    reasoning: Reasoning {
        open: Mark::plain(Control::OpenSection(Section::Reasoning)),
        close: Mark::plain(Control::CloseSection(Section::Reasoning)),
        none: NoReasoning::Nothing,
        stays_open: false,
        calls: InnerCalls::Uncertain,
        ended_by: &[],
    },
    answer: None,
    calls: Calls {
        item: (
            Mark::plain(Control::OpenSection(Section::Call)),
            Some(Mark::plain(Control::CloseSection(Section::Call))),
        ),
        array: Some(Array { open: "[", between: ", ", close: "}]" }),
        pieces: &[
            Piece::Json("{\"name\": "),
            Piece::Name,
            Piece::Json(", \"arguments\": "),
            Piece::Arguments,
            Piece::Json("}"),
        ],
        guard: Some(&Guard { bare: &[], marked: &[LIST, OBJECT] }),
        ..Calls::NONE
    },
    close: Control::End,
    prompts: Prompts { can_open: true, ..Prompts::NONE },
};

const LIST: CallForm =
    CallForm::JsonList { names: &["name"], arguments: &["arguments", "parameters"] };

/// A call without a list, as the template of llama.cpp asks for it.
const OBJECT: CallForm = CallForm::Json {
    names: &["name"],
    arguments: &["arguments", "parameters"],
    ignored: &[("type", "function")],
};

static RULES: Rules = Rules {
    form: DIALECT.form(),
    controls: &CONTROLS,
    bos: None,
    turns: &[turn(Role::System), turn(Role::User), turn(Role::Assistant), turn(Role::Tool)],
    sections: &SECTIONS,
    replies: Replies { turn: Some(Role::Tool), ..Replies::NONE },
    stops: &[Control::End, Control::Eos],
};

const fn turn(role: Role) -> Turn {
    Turn {
        role,
        opening: Opening::Mark(Control::Open(role)),
        close: Some(Mark::plain(Control::End)),
        may_stay_open: false,
    }
}

/// Adds the evidence: the tokens of the roles, if turns have an end token.
fn look(scan: &Scan<'_>, case: &mut Case) {
    let token = |control| format!("`{}`", CONTROLS.spelling(control).unwrap_or_default());
    let calls = Control::OpenSection(Section::Call);
    if scan.completion.is_some() {
        return case.sign(60, token(calls), scan.token(calls));
    }
    let opens = [Role::System, Role::User, Role::Assistant].map(Control::Open);
    let begins = opens.iter().any(|control| scan.begins_with(*control).is_some());
    if !begins || scan.token(Control::End).is_none() {
        return;
    }
    for control in opens.into_iter().chain([Control::End, calls]) {
        case.sign(40, token(control), scan.token(control));
    }
}
