//! LFM2 and LFM2.5, as Liquid AI's chat templates write them.

mod compose;
mod tokens;
mod v2;
mod v2_5;

pub use self::v2::DIALECT as V2;
pub use self::v2_5::DIALECT as V2_5;

use crate::grammar::sections::{
    Array, CallForm, Calls, Guard, InnerCalls, Literals, Mark, NoReasoning, Opening, Owner, Piece,
    Prompts, Reasoning, Replies, Rules, Sections, Turn,
};
use crate::lex::TokenTable;
use crate::model::{End, FormId, Role};
use crate::rules::Carries;
use crate::signs::{Case, Scan};
use crate::{Control, Section};

static CARRIES: Carries = Carries {
    roles: &[Role::System, Role::User, Role::Assistant, Role::Tool],
    ends: &[End::End, End::Call, End::Open, End::Prompt],
    open_roles: Role::ALL,
    // The calls between two tokens are read together.
    open_calls: false,
    ..Carries::SECTIONS
};

const JSON: CallForm =
    CallForm::JsonList { names: &["name"], arguments: &["arguments", "parameters"] };

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
        array: Some(Array { open: "[", between: ", ", close: ")]" }),
        pieces: &[
            Piece::PlainName,
            Piece::Word("("),
            Piece::Python(Literals::Jinja),
            Piece::Word(")"),
        ],
        // A system message can ask for calls in JSON.
        guard: Some(&Guard { bare: &[], marked: &[CallForm::Python, JSON] }),
        ..Calls::NONE
    },
    answer: None,
    close: Control::End,
    prompts: Prompts::NONE,
};

const fn rules(form: FormId, controls: &'static TokenTable, replies: Replies) -> Rules {
    Rules {
        form,
        controls,
        bos: Some((Control::Bos, Owner::Opening)),
        turns: &TURNS,
        sections: &SECTIONS,
        replies,
        stops: &[Control::End, Control::Eos],
    }
}

static TURNS: [Turn; 4] = [
    turn(Role::System, "system"),
    turn(Role::User, "user"),
    turn(Role::Assistant, "assistant"),
    turn(Role::Tool, "tool"),
];

const fn turn(role: Role, word: &'static str) -> Turn {
    Turn {
        role,
        opening: Opening::Named(Control::Start, word),
        close: Some(Mark::new(Control::End, 0, 1)),
        may_stay_open: false,
    }
}

/// Adds the evidence: the token at the beginning, and those of calls, tools and replies, which only
/// these formats have. `is_other` tells whether the text is of the other format.
fn look(controls: &TokenTable, is_other: fn(&Scan<'_>) -> bool, scan: &Scan<'_>, case: &mut Case) {
    let token = |control| format!("`{}`", controls.spelling(control).unwrap_or_default());
    let calls = Control::OpenSection(Section::Call);
    match scan.completion {
        Some((control, span)) if control == calls => {
            case.sign(60, format!("a completion begins with {}", token(control)), Some(span));
        }
        _ => {}
    }
    if is_other(scan) {
        return;
    }
    let begins = [Control::Bos, Control::Start].map(|control| scan.begins_with(control));
    if begins.iter().all(Option::is_none) {
        return;
    }
    case.sign(60, token(Control::Bos), scan.begins_with(Control::Bos));
    for control in [Section::Call, Section::Reply, Section::Declaration].map(Control::OpenSection) {
        case.sign(60, token(control), scan.token(control));
    }
    if case.score > 0 {
        case.sign(10, token(Control::Start), scan.token(Control::Start));
        case.sign(10, token(Control::End), scan.token(Control::End));
    }
}
