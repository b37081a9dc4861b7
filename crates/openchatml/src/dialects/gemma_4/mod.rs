//! Gemma 4, as its chat template writes it.

mod compose;
mod declaration;
mod tokens;

use self::tokens::CONTROLS;
use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, TextForm};
use crate::grammar::sections::{
    Calls, InnerCalls, Mark, NoReasoning, Opening, Owner, Piece, PromptEnd, Prompts, Reasoning,
    Replies, ReplyInside, Rules, Sections, Turn,
};
use crate::model::{End, Role};
use crate::rules::{Carries, Composing, History, Tree, kept_after_last_user};
use crate::signs::{Case, Framing, Scan, TextSigns};
use crate::{Control, Section};

/// Gemma 4: turns with the name of a role, reasoning in a channel, calls whose arguments have a syntax
/// of their own, and tool replies in the turn of the model.
///
/// ```
/// use openchatml::{Format, ReadOptions, parse};
///
/// let text = "<|channel>thought\nA tool.\n<channel|>\
///     <|tool_call>call:weather{city:<|\"|>Paris<|\"|>,days:3}<tool_call|><|tool_response>";
/// let parsed = parse(text, Format::GEMMA_4, &ReadOptions::completion());
/// assert!(parsed.diagnostics.is_empty());
/// let messages = parsed.into_conversation().messages;
/// assert_eq!(messages[1].recipient.as_deref(), Some("functions.weather"));
/// assert_eq!(messages[1].body.text(), r#"{"city": "Paris", "days": 3}"#);
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "gemma-4",
    aliases: &[],
    title: "Gemma 4",
    used_by: "Gemma 4",
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
    // The JSON of incomplete arguments differs from their text.
    open_calls: false,
    ..Carries::SECTIONS
};

static TEXT: TextForm = TextForm {
    composer: Composing::UnlessRead(&compose::COMPOSER),
    signs: TextSigns { framing: Framing::Turns, look },
    history: |_| History::Kept(kept_after_last_user),
    ..RULES.text_form()
};

const QUOTE: Control = Control::OpenSection(Section::Value);

static SECTIONS: Sections = Sections {
    reasoning: Reasoning {
        open: Mark::new(Control::OpenSection(Section::Reasoning), 0, 1),
        close: Mark::new(Control::CloseSection(Section::Reasoning), 1, 0),
        none: NoReasoning::Nothing,
        stays_open: false,
        calls: InnerCalls::End,
        ended_by: &[],
    },
    answer: None,
    calls: Calls {
        item: (
            Mark::plain(Control::OpenSection(Section::Call)),
            Some(Mark::plain(Control::CloseSection(Section::Call))),
        ),
        pieces: &[
            Piece::Word("call:"),
            Piece::NameBefore("{"),
            Piece::Tree(&Tree { quote: QUOTE }),
        ],
        namespace: "functions",
        ..Calls::NONE
    },
    close: Control::End,
    prompts: Prompts {
        thinks: false,
        ends: [PromptEnd::Turn, PromptEnd::Empty],
        goes_on: true,
        reopens: true,
        can_open: true,
        ..Prompts::NONE
    },
};

pub(super) static RULES: Rules = Rules {
    form: DIALECT.form(),
    controls: &CONTROLS,
    bos: Some((Control::Bos, Owner::Opening)),
    turns: &[
        turn(Role::System, "system"),
        turn(Role::User, "user"),
        turn(Role::Assistant, "model"),
    ],
    sections: &SECTIONS,
    replies: Replies {
        item: Some((
            Mark::plain(Control::OpenSection(Section::Reply)),
            Mark::plain(Control::CloseSection(Section::Reply)),
        )),
        inside: Some(ReplyInside { open: "response:", value: "{value:", quote: QUOTE }),
        ..Replies::NONE
    },
    stops: &[Control::End, Control::Eos, Control::OpenSection(Section::Reply)],
};

const fn turn(role: Role, word: &'static str) -> Turn {
    let close = Mark::new(Control::End, 0, 1);
    Turn {
        role,
        opening: Opening::Named(Control::Start, word),
        close: Some(close),
        may_stay_open: false,
    }
}

/// Adds the evidence: the framing and the tokens of sections, which no other format has.
fn look(scan: &Scan<'_>, case: &mut Case) {
    let token = |control| format!("`{}`", CONTROLS.spelling(control).unwrap_or_default());
    if let Some((control, span)) = scan.completion {
        case.sign(60, format!("a completion begins with {}", token(control)), Some(span));
    } else if scan.begins_with(Control::Bos).is_none() && scan.begins_with(Control::Start).is_none()
    {
        return;
    }
    case.sign(60, token(Control::Start), scan.token(Control::Start));
    for control in [Control::End, Control::Bos] {
        case.sign(10, token(control), scan.token(control));
    }
}
