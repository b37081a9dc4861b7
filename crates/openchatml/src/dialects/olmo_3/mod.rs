//! Olmo 3 and 3.1, as Ai2's chat templates write them.

mod compose;
mod tokens;

use self::tokens::CONTROLS;
use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, TextForm};
use crate::grammar::sections::{
    Array, CallForm, Calls, Guard, InnerCalls, Literals, Mark, NoReasoning, Opening, Piece,
    PromptEnd, Prompts, Reasoning, Replies, Rules, Sections, Turn,
};
use crate::model::{End, Role};
use crate::rules::{Carries, Composing, History, kept_without_reasoning};
use crate::signs::{Case, Framing, Scan, TextSigns};
use crate::{Control, Section};

/// Olmo 3: the `<|im_start|>` framing, calls in the syntax of Python between two tokens, one on each
/// line, and tool replies in turns of the environment.
///
/// ```
/// use openchatml::{Format, ReadOptions, parse};
///
/// let text = "<function_calls>now()\nweather(city=\"Paris\")</function_calls><|im_end|>";
/// let parsed = parse(text, Format::OLMO_3, &ReadOptions::completion());
/// assert!(parsed.diagnostics.is_empty());
/// let messages = parsed.into_conversation().messages;
/// assert_eq!(messages[0].body.text(), "{}");
/// assert_eq!(messages[1].recipient.as_deref(), Some("functions.weather"));
/// assert_eq!(messages[1].body.text(), r#"{"city": "Paris"}"#);
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "olmo-3",
    aliases: &[],
    title: "Olmo 3",
    used_by: "Olmo 3 and 3.1",
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
    signs: TextSigns { framing: Framing::Turns, look },
    history: |_| History::Kept(kept_without_reasoning),
    ..RULES.text_form()
};

static SECTIONS: Sections = Sections {
    reasoning: Reasoning {
        open: Mark::plain(Control::OpenSection(Section::Reasoning)),
        close: Mark::plain(Control::CloseSection(Section::Reasoning)),
        none: NoReasoning::Nothing,
        stays_open: false,
        calls: InnerCalls::Uncertain,
        ended_by: &[],
    },
    calls: Calls {
        item: (
            Mark::plain(Control::OpenSection(Section::Call)),
            Some(Mark::plain(Control::CloseSection(Section::Call))),
        ),
        array: Some(Array { open: "", between: "\n", close: ")" }),
        pieces: &[
            Piece::PlainName,
            Piece::Word("("),
            Piece::Python(Literals::Json),
            Piece::Word(")"),
        ],
        guard: Some(&Guard { bare: &[], marked: &[CallForm::PythonLines, CallForm::Python] }),
        ..Calls::NONE
    },
    answer: None,
    close: Control::End,
    prompts: Prompts {
        thinks: false,
        ends: [PromptEnd::Open, PromptEnd::Turn],
        can_open: true,
        ..Prompts::NONE
    },
};

static RULES: Rules = Rules {
    form: DIALECT.form(),
    controls: &CONTROLS,
    bos: None,
    turns: &[
        turn(Role::System, "system"),
        turn(Role::User, "user"),
        turn(Role::Assistant, "assistant"),
        turn(Role::Tool, "environment"),
    ],
    sections: &SECTIONS,
    replies: Replies { turn: Some(Role::Tool), ..Replies::NONE },
    stops: &[Control::End, Control::Eos],
};

const fn turn(role: Role, word: &'static str) -> Turn {
    Turn {
        role,
        opening: Opening::Named(Control::Start, word),
        close: Some(Mark::new(Control::End, 0, 1)),
        may_stay_open: false,
    }
}

/// Adds the evidence: the tokens of calls and of declarations in the framing.
fn look(scan: &Scan<'_>, case: &mut Case) {
    let token = |control| format!("`{}`", CONTROLS.spelling(control).unwrap_or_default());
    let calls = Control::OpenSection(Section::Call);
    let declares = Control::OpenSection(Section::Declaration);
    if let Some((control, span)) = scan.completion.filter(|(control, _)| *control == calls) {
        case.sign(40, format!("a completion begins with {}", token(control)), Some(span));
        return;
    }
    let tokens = [calls, declares].map(|control| (control, scan.token(control)));
    if scan.begins_with(Control::Start).is_none() || tokens.iter().all(|(_, it)| it.is_none()) {
        return;
    }
    case.sign(60, token(Control::Start), scan.begins_with(Control::Start));
    case.sign(10, token(Control::End), scan.token(Control::End));
    for (control, span) in tokens {
        case.sign(20, token(control), span);
    }
}
