//! Llama 3.1 to 3.3 and Llama 4, as Meta's chat templates and documentation write them.

mod compose;
mod tokens;
mod v3;
mod v4;

pub use self::v3::DIALECT as V3;
pub use self::v4::DIALECT as V4;

use crate::grammar::sections::{
    CallForm, InnerCalls, Mark, NoReasoning, Opening, OtherNames, Reasoning, Replies, Title, Turn,
};
use crate::lex::TokenTable;
use crate::model::{End, Role};
use crate::rules::Carries;
use crate::signs::{Case, Scan};
use crate::{Control, Section};

const CARRIES: Carries = Carries {
    roles: &[Role::System, Role::User, Role::Assistant, Role::Tool],
    ends: &[End::End, End::Call, End::Open, End::Prompt],
    open_roles: Role::ALL,
    // Whether text is a call is known only where the turn ends.
    open_calls: false,
    reasoning: false,
    ..Carries::SECTIONS
};

/// There is no reasoning, so no table has these tokens.
const REASONING: Reasoning = Reasoning {
    open: Mark::plain(Control::OpenSection(Section::Reasoning)),
    close: Mark::plain(Control::CloseSection(Section::Reasoning)),
    none: NoReasoning::Never,
    stays_open: false,
    calls: InnerCalls::Uncertain,
    ended_by: &[],
};

/// A call in JSON. Models also write `arguments` for `parameters`, and a type.
const JSON: CallForm = CallForm::Json {
    names: &["name"],
    arguments: &["parameters", "arguments"],
    ignored: &[("type", "function")],
};

/// A call of a tool that the model knows, such as `brave_search.call(query="Bern")`.
const METHOD: CallForm = CallForm::Method("call");

const REPLIES: Replies = Replies { turn: Some(Role::Tool), ..Replies::NONE };

static TURNS: [Turn; 4] = [
    turn(Role::System, &title("system")),
    turn(Role::User, &title("user")),
    turn(Role::Assistant, &title("assistant")),
    turn(Role::Tool, &title("ipython")),
];

const fn turn(role: Role, title: &'static Title) -> Turn {
    Turn {
        role,
        opening: Opening::Titled(title),
        close: Some(Mark::plain(Control::End)),
        may_stay_open: false,
    }
}

const fn title(name: &'static str) -> Title {
    Title {
        open: Control::Start,
        name,
        end: Control::Message,
        heading: None,
        after: 2,
        others: OtherNames::Unknown,
    }
}

/// Adds the evidence: the tokens around headers and turns, and those of calls.
fn look(controls: &TokenTable, scan: &Scan<'_>, case: &mut Case) {
    let token = |control| format!("`{}`", controls.spelling(control).unwrap_or_default());
    if let Some((control, span)) = scan.completion {
        case.sign(60, format!("a completion begins with {}", token(control)), Some(span));
        return;
    }
    if [Control::Bos, Control::Start].iter().all(|control| scan.begins_with(*control).is_none()) {
        return;
    }
    for control in [Control::Start, Control::Message, Control::End] {
        case.sign(30, token(control), scan.token(control));
    }
}
