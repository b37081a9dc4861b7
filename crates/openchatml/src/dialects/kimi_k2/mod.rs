//! Kimi K2, as the chat templates of K2 Thinking, K2.5 and K2.6 write it.

mod compose;
mod tokens;

use self::tokens::CONTROLS;
use crate::check::CheckRules;
use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, TextForm};
use crate::grammar::sections::{
    Calls, InnerCalls, Mark, NoReasoning, Opening, OtherNames, Piece, PromptEnd, Prompts,
    Reasoning, Replies, Rules, Sections, Title, Turn,
};
use crate::model::{End, Role};
use crate::pairing::Pairing;
use crate::rules::{Carries, Composing, History, kept_after_last_answer};
use crate::signs::{Case, Framing, Scan, TextSigns};
use crate::{Control, Section};

/// Kimi K2: a name between two tokens before each text, reasoning and a section of calls in the
/// assistant's turn, ids that contain the name of the tool, and tool replies in turns of the system.
///
/// ```
/// use openchatml::{Format, ReadOptions, parse};
///
/// let text = "<think>A tool.</think><|tool_calls_section_begin|><|tool_call_begin|>\
///     functions.weather:0<|tool_call_argument_begin|>{\"city\": \"Paris\"}<|tool_call_end|>\
///     <|tool_calls_section_end|><|im_end|>";
/// let parsed = parse(text, Format::KIMI_K2, &ReadOptions::completion());
/// assert!(parsed.diagnostics.is_empty());
/// let messages = parsed.into_conversation().messages;
/// assert_eq!(messages[1].recipient.as_deref(), Some("functions.weather"));
/// assert_eq!(messages[1].call_id.as_deref(), Some("functions.weather:0"));
/// assert_eq!(messages[1].body.text(), r#"{"city": "Paris"}"#);
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "kimi-k2",
    aliases: &[],
    title: "Kimi K2",
    used_by: "Kimi K2, K2 Thinking, K2.5 and K2.6",
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
    names: |message| message.role == Role::Tool || RULES.is_speaker(message),
    call_ids: true,
    open_roles: Role::ALL,
    ..Carries::SECTIONS
};

static TEXT: TextForm = TextForm {
    checks: CHECKS,
    composer: Composing::If(|it, options| {
        let changed = RULES.lacks_ids(it).then_some(&compose::COMPOSER);
        Composing::UnlessRead(&compose::COMPOSER).of(it, RULES.form, options).or(changed)
    }),
    signs: TextSigns { framing: Framing::Pairs, look },
    history: |_| History::Kept(kept_after_last_answer),
    ..RULES.text_form()
};

const CHECKS: CheckRules =
    CheckRules { pairing: Pairing::ByLastId, ..CheckRules::by_order(&CONTROLS) };

static SECTIONS: Sections = Sections {
    reasoning: Reasoning {
        open: Mark::plain(Control::OpenSection(Section::Reasoning)),
        close: Mark::plain(Control::CloseSection(Section::Reasoning)),
        none: NoReasoning::Pair,
        stays_open: false,
        calls: InnerCalls::End,
        ended_by: &[],
    },
    answer: None,
    calls: Calls {
        list: Some((
            Mark::plain(Control::OpenSection(Section::Calls)),
            Mark::plain(Control::CloseSection(Section::Calls)),
        )),
        item: (
            Mark::plain(Control::OpenSection(Section::Call)),
            Some(Mark::plain(Control::CloseSection(Section::Call))),
        ),
        pieces: &[Piece::IdUpTo(Control::Arguments), Piece::Arguments],
        namespace: "functions",
        ..Calls::NONE
    },
    close: Control::End,
    prompts: Prompts {
        thinks: true,
        ends: [PromptEnd::Open, PromptEnd::Pair],
        can_open: true,
        ..Prompts::NONE
    },
};

pub(super) static RULES: Rules = Rules {
    form: DIALECT.form(),
    controls: &CONTROLS,
    bos: None,
    turns: &[
        turn(Role::System, &title(Role::System, "system", None)),
        turn(Role::User, &title(Role::User, "user", None)),
        turn(Role::Assistant, &title(Role::Assistant, "assistant", None)),
        turn(Role::Tool, &title(Role::System, "tool", Some("## Return of "))),
    ],
    sections: &SECTIONS,
    replies: Replies { turn: Some(Role::Tool), ..Replies::NONE },
    stops: &[Control::End],
};

const fn turn(role: Role, title: &'static Title) -> Turn {
    Turn {
        role,
        opening: Opening::Titled(title),
        close: Some(Mark::plain(Control::End)),
        may_stay_open: false,
    }
}

const fn title(role: Role, name: &'static str, heading: Option<&'static str>) -> Title {
    Title {
        open: Control::Open(role),
        name,
        end: Control::Message,
        heading,
        after: 0,
        others: OtherNames::Speaker,
    }
}

/// Adds the evidence: the tokens of the roles, and of the section of calls.
fn look(scan: &Scan<'_>, case: &mut Case) {
    let token = |control| format!("`{}`", CONTROLS.spelling(control).unwrap_or_default());
    let calls = Control::OpenSection(Section::Calls);
    if let Some((control, span)) = scan.completion {
        // Other models write reasoning in the same tokens.
        let weight = if control == calls { 60 } else { 20 };
        case.sign(weight, format!("a completion begins with {}", token(control)), Some(span));
        return case.sign(50, token(calls), scan.token(calls).filter(|_| control != calls));
    }
    let opens = [Role::System, Role::User, Role::Assistant].map(Control::Open);
    if opens.iter().all(|control| scan.begins_with(*control).is_none()) {
        return;
    }
    for control in opens.into_iter().chain([Control::Message]) {
        case.sign(30, token(control), scan.token(control));
    }
}
