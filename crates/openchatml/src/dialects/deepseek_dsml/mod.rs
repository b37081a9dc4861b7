//! DeepSeek V3.2, V4 and V4.1, as their encoders write it: calls are tags with `DSML`, which say the
//! types of their values.

mod compose;
mod declaration;
mod tokens;
mod v3_2;
mod v4;
mod v4_1;

pub use self::v3_2::DIALECT as V3_2;
pub use self::v4::DIALECT as V4;
pub use self::v4_1::DIALECT as V4_1;

use crate::grammar::sections::{
    Calls, InnerCalls, Mark, NoReasoning, Opening, Piece, PromptEnd, Prompts, Reasoning, Sections,
    Turn,
};
use crate::lex::TokenTable;
use crate::model::{End, Role};
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

/// The sections of V4 and V4.1.
static SECTIONS: Sections = Sections {
    reasoning: Reasoning {
        open: Mark::plain(Control::OpenSection(Section::Reasoning)),
        close: Mark::plain(Control::CloseSection(Section::Reasoning)),
        none: NoReasoning::Close,
        stays_open: false,
        calls: InnerCalls::End,
        ended_by: &[],
    },
    answer: None,
    calls: Calls {
        list: Some((
            Mark::new(Control::OpenSection(Section::Calls), 2, 1),
            Mark::plain(Control::CloseSection(Section::Calls)),
        )),
        item: (
            Mark::plain(Control::OpenSection(Section::Call)),
            Some(Mark::new(Control::CloseSection(Section::Call), 0, 1)),
        ),
        lead: 2,
        pieces: &[Piece::NameBefore("\">\n"), Piece::Parameters(&PARAMETERS)],
        empty: Some("\"/>"),
        namespace: "functions",
        ..Calls::NONE
    },
    close: Control::Close(Role::Assistant),
    prompts: Prompts {
        thinks: false,
        ends: [PromptEnd::Open, PromptEnd::Close],
        can_open: true,
        ..Prompts::NONE
    },
};

static PARAMETERS: Parameters = Parameters {
    open: Tag::Token(Mark::plain(Control::OpenSection(Section::Key))),
    name_end: Tag::Text("\">"),
    typed: Some([Tag::Text("\" string=\"true\">"), Tag::Text("\" string=\"false\">")]),
    attributes: None,
    value: None,
    close: Tag::Token(Mark::new(Control::CloseSection(Section::Value), 0, 1)),
    words: Words::Json,
    empty: 1,
};

const fn turn(role: Role) -> Turn {
    let opening = Opening::Mark(Control::Open(role));
    Turn { role, opening, close: None, may_stay_open: false }
}

/// The turns of V3.2 and V4.
static TURNS: [Turn; 3] =
    [Turn { opening: Opening::Bare, ..turn(Role::System) }, turn(Role::User), ASSISTANT];

const ASSISTANT: Turn =
    Turn { close: Some(Mark::plain(Control::Close(Role::Assistant))), ..turn(Role::Assistant) };

/// Adds the evidence: the tokens of the roles, if there is a tag of the dialect.
fn look(controls: &TokenTable, tags: &[Control], scan: &Scan<'_>, case: &mut Case) {
    let token = |control| format!("`{}`", controls.spelling(control).unwrap_or_default());
    let tag = tags.iter().find_map(|tag| Some((*tag, scan.token(*tag)?)));
    let Some((tag, span)) = tag else { return };
    if scan.completion.is_some() {
        return case.sign(100, token(tag), Some(span));
    }
    let opens = [Role::User, Role::Assistant].map(Control::Open);
    let begins = opens.into_iter().chain([Control::Bos]);
    if begins.clone().all(|control| scan.begins_with(control).is_none()) {
        return;
    }
    for control in begins {
        case.sign(30, token(control), scan.token(control));
    }
    case.sign(60, token(tag), Some(span));
}
