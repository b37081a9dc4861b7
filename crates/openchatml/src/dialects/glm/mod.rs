//! GLM 4.5 and later models.

mod compose;
mod tokens;
mod v4_5;
mod v4_7;

pub use self::v4_5::DIALECT as V4_5;
pub use self::v4_7::DIALECT as V4_7;

use self::tokens::CONTROLS;
use crate::grammar::sections::{
    Calls, InnerCalls, Mark, NoReasoning, Opening, Owner, Prompts, Reasoning, Replies, Rules,
    Sections, Turn,
};
use crate::model::{End, FormId, Role};
use crate::rules::{Carries, Parameters, Tag, Words};
use crate::signs::{Case, Scan};
use crate::{Control, Section};

static CARRIES: Carries = Carries {
    roles: &[Role::System, Role::User, Role::Assistant, Role::Tool],
    ends: &[End::End, End::Call, End::Open, End::Prompt],
    // Messages of other roles have no end token.
    open_roles: &[Role::Assistant, Role::Tool],
    // The end of a value depends on what follows.
    open_calls: false,
    ..Carries::SECTIONS
};

static STOPS: [Control; 3] = [Control::Eos, Control::Open(Role::User), Control::Open(Role::Tool)];

/// The reasoning of GLM 4.7. Earlier models write a line break behind it, and empty reasoning.
const REASONING: Reasoning = Reasoning {
    open: Mark::plain(Control::OpenSection(Section::Reasoning)),
    close: Mark::plain(Control::CloseSection(Section::Reasoning)),
    none: NoReasoning::Close,
    stays_open: false,
    calls: InnerCalls::End,
    ended_by: &[],
};

/// The calls of GLM 4.7. Earlier models write line breaks.
const CALLS: Calls = Calls {
    item: (
        Mark::plain(Control::OpenSection(Section::Call)),
        Some(Mark::plain(Control::CloseSection(Section::Call))),
    ),
    namespace: "functions",
    ..Calls::NONE
};

const PROMPTS: Prompts = Prompts { thinks: true, can_open: true, ..Prompts::NONE };

/// The parameters of GLM 4.7.
static PARAMETERS: Parameters = Parameters {
    open: Tag::Token(Mark::plain(Control::OpenSection(Section::Key))),
    name_end: Tag::Token(Mark::plain(Control::CloseSection(Section::Key))),
    typed: None,
    value: Some(Tag::Token(Mark::plain(Control::OpenSection(Section::Value)))),
    close: Tag::Token(Mark::plain(Control::CloseSection(Section::Value))),
    words: Words::Json,
    empty: 0,
    attributes: None,
};

/// Returns the rules with this number of line breaks around replies.
const fn rules(
    form: FormId,
    turns: &'static [Turn],
    sections: &'static Sections,
    breaks: u8,
) -> Rules {
    Rules {
        form,
        controls: &CONTROLS,
        bos: Some((Control::Bos, Owner::Opening)),
        turns,
        sections,
        replies: Replies {
            turn: Some(Role::Tool),
            item: Some((
                Mark::new(Control::OpenSection(Section::Reply), breaks, breaks),
                Mark::new(Control::CloseSection(Section::Reply), breaks, 0),
            )),
            ..Replies::NONE
        },
        stops: &STOPS,
    }
}

/// Returns the turns with these openings: of the system, the user, the assistant and tools. Only the
/// assistant has a token that ends its turn.
const fn turns([system, user, assistant, tool]: [Opening; 4]) -> [Turn; 4] {
    [
        Turn { role: Role::System, opening: system, close: None, may_stay_open: false },
        Turn { role: Role::User, opening: user, close: None, may_stay_open: false },
        Turn {
            role: Role::Assistant,
            opening: assistant,
            close: Some(Mark::plain(Control::Eos)),
            may_stay_open: true,
        },
        Turn { role: Role::Tool, opening: tool, close: None, may_stay_open: false },
    ]
}

/// Adds the evidence: the tokens of the roles, of keys and values, and whether turns begin with a line
/// break.
fn look(has_lines: bool, scan: &Scan<'_>, case: &mut Case) {
    let token = |control| format!("`{}`", CONTROLS.spelling(control).unwrap_or_default());
    let opens = [Role::System, Role::User, Role::Assistant].map(Control::Open);
    let key = Control::OpenSection(Section::Key);
    if let Some((control, span)) = scan.completion {
        // Other models write reasoning in the same tokens.
        case.sign(20, format!("a completion begins with {}", token(control)), Some(span));
        return case.sign(50, token(key), scan.token(key));
    }
    let begins = opens.into_iter().chain([Control::Bos]);
    if begins.clone().all(|control| scan.begins_with(control).is_none()) {
        return;
    }
    // The versions differ only in the line break behind the token of a role.
    let opened = opens.into_iter().find_map(|control| scan.token(control));
    let is_line = |at: usize| scan.text.as_bytes().get(at) == Some(&b'\n');
    let is_other = opened.is_some_and(|span| is_line(span.end) != has_lines);
    let weight = if is_other { 10 } else { 30 };
    for control in begins.chain([key]) {
        case.sign(weight, token(control), scan.token(control));
    }
}
