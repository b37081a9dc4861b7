//! Qwen 3, as its chat template writes it. Hermes and Qwen 2.5 write calls and replies in the same
//! way.

mod compose;
mod tokens;

use self::tokens::CONTROLS;
use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, TextForm};
use crate::grammar::sections::{
    Calls, InnerCalls, Mark, NoReasoning, Opening, Piece, PromptEnd, Prompts, Reasoning, Replies,
    Rules, Sections, Turn,
};
use crate::model::{End, Role};
use crate::rules::{Carries, Composing, History, kept_after_last_user};
use crate::signs::{Case, Framing, Scan, TextSigns};
use crate::{Control, Section};

/// Qwen 3: the `<|im_start|>` framing, with reasoning and calls in the assistant's turn, and tool
/// replies in a turn of the user.
///
/// ```
/// use openchatml::{Channel, Format, parse};
///
/// let text = "<|im_start|>user\n2 + 2?<|im_end|>\n\
///     <|im_start|>assistant\n<think>\nEasy.\n</think>\n\n4.<|im_end|>\n";
/// let messages = parse(text, Format::QWEN3, &Default::default()).into_conversation().messages;
/// let channels: Vec<_> = messages.iter().map(|message| message.channel).collect();
/// assert_eq!(channels, [None, Some(Channel::Analysis), Some(Channel::Final)]);
/// assert_eq!(messages[1].body.text(), "Easy.");
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "qwen3",
    aliases: &[],
    title: "Qwen 3",
    used_by: "Qwen 3, Qwen 2.5 and Hermes, with reasoning and tool calls",
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
    ..Carries::SECTIONS
};

static TEXT: TextForm = TextForm {
    composer: Composing::UnlessRead(&compose::COMPOSER),
    signs: TextSigns { framing: Framing::Turns, look },
    history: |_| History::Kept(kept_after_last_user),
    ..RULES.text_form()
};

static SECTIONS: Sections = Sections {
    reasoning: Reasoning {
        open: Mark::new(Control::OpenSection(Section::Reasoning), 0, 1),
        close: Mark::new(Control::CloseSection(Section::Reasoning), 1, 2),
        none: NoReasoning::Nothing,
        stays_open: false,
        calls: InnerCalls::Uncertain,
        ended_by: &[],
    },
    answer: None,
    calls: Calls {
        item: (
            Mark::new(Control::OpenSection(Section::Call), 1, 1),
            Some(Mark::new(Control::CloseSection(Section::Call), 1, 0)),
        ),
        lead: 1,
        pieces: &[
            Piece::Json("{\"name\": "),
            Piece::Name,
            Piece::Json(", \"arguments\": "),
            Piece::Arguments,
            Piece::Json("}"),
        ],
        namespace: "functions",
        ..Calls::NONE
    },
    close: Control::End,
    prompts: Prompts {
        thinks: true,
        ends: [PromptEnd::Turn, PromptEnd::Pair],
        can_open: true,
        ..Prompts::NONE
    },
};

pub(super) static RULES: Rules = Rules {
    form: DIALECT.form(),
    controls: &CONTROLS,
    bos: None,
    turns: &[
        turn(Role::System, "system"),
        turn(Role::User, "user"),
        turn(Role::Assistant, "assistant"),
        // Hermes writes replies in a separate turn.
        turn(Role::Tool, "tool"),
    ],
    sections: &SECTIONS,
    replies: Replies {
        turn: Some(Role::User),
        item: Some((
            Mark::new(Control::OpenSection(Section::Reply), 1, 1),
            Mark::new(Control::CloseSection(Section::Reply), 1, 0),
        )),
        ..Replies::NONE
    },
    stops: &[Control::End, Control::Eos],
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

/// Adds the evidence: the framing, and a token of a section in it.
fn look(scan: &Scan<'_>, case: &mut Case) {
    let token = |control| format!("`{}`", CONTROLS.spelling(control).unwrap_or_default());
    let opening = Control::OpenSection(Section::Reasoning);
    // Prompts can end with the token that opens reasoning, which a transcript then lacks.
    let reasoning = match scan.token(opening) {
        Some(_) => opening,
        None => Control::CloseSection(Section::Reasoning),
    };
    let sections =
        [reasoning, Control::OpenSection(Section::Call), Control::OpenSection(Section::Reply)];
    if sections.iter().all(|control| scan.token(*control).is_none()) {
        return;
    }
    case.sign(60, token(Control::Start), scan.begins_with(Control::Start));
    if let Some((control, span)) = scan.completion {
        // Other models write reasoning in the same tokens.
        let weight = if control == Control::OpenSection(Section::Call) { 40 } else { 20 };
        case.sign(weight, format!("a completion begins with {}", token(control)), Some(span));
    }
    if case.score == 0 {
        return;
    }
    case.sign(10, token(Control::End), scan.token(Control::End));
    for control in sections {
        let span = scan.token(control).filter(|span| {
            // Later models write functions instead of JSON.
            let behind = scan.text.get(span.end..).unwrap_or_default();
            !behind.trim_ascii_start().starts_with("<function=")
        });
        case.sign(10, token(control), span);
    }
}
