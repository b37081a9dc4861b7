//! Mistral's tokenizer versions 7, 11 and 13, as `mistral-common` writes them.

mod compose;
mod tokens;
mod v11;
mod v13;
mod v7;

pub use self::v7::DIALECT as V7;
pub use self::v11::DIALECT as V11;
pub use self::v13::DIALECT as V13;

use crate::grammar::sections::{
    Calls, DECLARATION, InnerCalls, Mark, NoReasoning, Opening, PromptEnd, Prompts, Reasoning,
    Replies, Turn,
};
use crate::lex::TokenTable;
use crate::model::{End, Role};
use crate::rules::Carries;
use crate::signs::{Case, Scan};
use crate::{Control, Section, Span};

/// What version 13 carries. Earlier versions have ids of calls.
const CARRIES: Carries = Carries {
    roles: &[Role::System, Role::User, Role::Assistant, Role::Tool],
    names: |it| {
        it.role == Role::Tool || it.role == Role::System && it.name.as_deref() == Some(DECLARATION)
    },
    // No token opens the turn of the assistant, so that nothing shows a prompt.
    ends: &[End::End, End::Call, End::Open],
    open_roles: &[Role::System, Role::User, Role::Assistant, Role::Tool],
    // A call ends with its arguments.
    open_calls: false,
    ..Carries::SECTIONS
};

/// The reasoning of version 13. Earlier versions have line breaks around the text.
const REASONING: Reasoning = Reasoning {
    open: Mark::plain(Control::OpenSection(Section::Reasoning)),
    close: Mark::plain(Control::CloseSection(Section::Reasoning)),
    none: NoReasoning::Nothing,
    stays_open: false,
    calls: InnerCalls::Text,
    ended_by: &[],
};

const CALLS: Calls =
    Calls { item: (Mark::plain(Control::OpenSection(Section::Call)), None), ..Calls::NONE };

const PROMPTS: Prompts = Prompts {
    thinks: true,
    ends: [PromptEnd::Turn, PromptEnd::Turn],
    goes_on: true,
    can_open: true,
    ..Prompts::NONE
};

static TURNS: [Turn; 4] = [
    turn(Role::System),
    Turn { opening: Opening::Declaration(Control::Open(Role::Developer)), ..turn(Role::Developer) },
    turn(Role::User),
    Turn {
        role: Role::Assistant,
        opening: Opening::Implied,
        close: Some(Mark::plain(Control::Eos)),
        may_stay_open: false,
    },
];

const fn turn(role: Role) -> Turn {
    Turn {
        role,
        opening: Opening::Mark(Control::Open(role)),
        close: Some(Mark::plain(Control::Close(role))),
        may_stay_open: false,
    }
}

/// The replies of version 13. Earlier versions have ids in them.
const REPLIES: Replies = Replies {
    item: Some((
        Mark::plain(Control::OpenSection(Section::Reply)),
        Mark::plain(Control::CloseSection(Section::Reply)),
    )),
    ..Replies::NONE
};

/// The weights of the evidence for a version.
struct Weights {
    /// That a completion begins with a token of this table.
    begins: u32,
    /// The tokens around a message of the user.
    user: u32,
    /// What the calls of this version look like: in a completion, and in a transcript.
    calls: [u32; 2],
    /// Other tokens.
    others: &'static [(Control, u32)],
}

/// Adds the evidence: the tokens of the roles, and `calls`, what calls of this version look like.
fn look(
    controls: &TokenTable,
    weights: &Weights,
    calls: (String, Option<Span>),
    scan: &Scan<'_>,
    case: &mut Case,
) {
    let token = |control| format!("`{}`", controls.spelling(control).unwrap_or_default());
    if let Some((control, span)) = scan.completion {
        let text = format!("a completion begins with {}", token(control));
        case.sign(weights.begins, text, Some(span));
        return case.sign(weights.calls[0], calls.0, calls.1);
    }
    let opens = [Role::System, Role::Developer, Role::User].map(Control::Open);
    let mut begins = opens.into_iter().chain([Control::Bos]);
    let closes = Control::Close(Role::User);
    if begins.all(|control| scan.begins_with(control).is_none()) || scan.token(closes).is_none() {
        return;
    }
    let roles = [
        (Control::Open(Role::User), weights.user),
        (closes, weights.user),
        (Control::Open(Role::System), 10),
        (Control::Open(Role::Developer), 10),
    ];
    for (control, weight) in roles.iter().chain(weights.others) {
        case.sign(*weight, token(*control), scan.token(*control));
    }
    case.sign(weights.calls[1], calls.0, calls.1);
}
