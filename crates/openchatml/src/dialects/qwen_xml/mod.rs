//! Qwen3-Coder, Qwen 3.5 and later models: calls whose arguments are parameters with raw values.

mod coder;
mod compose;
mod tokens;
mod v3_5;
mod v3_6;
mod v3_8;

pub use self::coder::DIALECT as CODER;
pub use self::v3_5::DIALECT as V3_5;
pub use self::v3_6::DIALECT as V3_6;
pub use self::v3_8::DIALECT as V3_8;

use self::tokens::CONTROLS;
use crate::grammar::sections::{
    Calls, InnerCalls, Mark, NoReasoning, Opening, Piece, PromptEnd, Prompts, Reasoning, Replies,
    Rules, Sections, Turn,
};
use crate::model::{End, FormId, Role};
use crate::rules::{Carries, Parameters, Tag, Words};
use crate::signs::{Case, Scan};
use crate::{Control, Section};

static CARRIES: Carries = Carries {
    roles: &[Role::System, Role::User, Role::Assistant, Role::Tool],
    ends: &[End::End, End::Call, End::Open, End::Prompt],
    open_roles: Role::ALL,
    // The end of a value depends on what follows.
    open_calls: false,
    ..Carries::SECTIONS
};

/// The reasoning of Qwen3-Coder, whose template writes none. Later models begin their answers with
/// it.
const REASONING: Reasoning = Reasoning {
    open: Mark::new(Control::OpenSection(Section::Reasoning), 0, 1),
    close: Mark::new(Control::CloseSection(Section::Reasoning), 1, 2),
    none: NoReasoning::Nothing,
    stays_open: false,
    calls: InnerCalls::End,
    ended_by: &[],
};

const CALLS: Calls = Calls {
    item: (
        Mark::new(Control::OpenSection(Section::Call), 1, 1),
        Some(Mark::new(Control::CloseSection(Section::Call), 1, 0)),
    ),
    lead: 2,
    unopened: true,
    namespace: "functions",
    ..Calls::NONE
};

const PROMPTS: Prompts = Prompts { can_open: true, ..Prompts::NONE };

/// The parameters with words as in Python.
static PYTHON: Parameters = parameters(Words::Python);

/// The parameters with words as in JSON.
static JSON: Parameters = parameters(Words::Json);

const fn parameters(words: Words) -> Parameters {
    Parameters {
        open: Tag::Text("<parameter="),
        name_end: Tag::Text(">\n"),
        typed: None,
        value: None,
        close: Tag::Text("\n</parameter>\n"),
        words,
        empty: 0,
        attributes: None,
    }
}

/// Returns the text of a call around its parameters.
const fn pieces(parameters: &'static Parameters) -> [Piece; 4] {
    [
        Piece::Word("<function="),
        Piece::NameBefore(">\n"),
        Piece::Parameters(parameters),
        Piece::Word("</function>"),
    ]
}

/// Returns the sections of models that think before they answer.
const fn thinking(none: NoReasoning, pieces: &'static [Piece]) -> Sections {
    Sections {
        reasoning: Reasoning { none, ..REASONING },
        calls: Calls { pieces, ..CALLS },
        answer: None,
        close: Control::End,
        prompts: Prompts { thinks: true, ends: [PromptEnd::Open, PromptEnd::Pair], ..PROMPTS },
    }
}

const fn rules(form: FormId, sections: &'static Sections) -> Rules {
    Rules {
        form,
        controls: &CONTROLS,
        bos: None,
        turns: &TURNS,
        sections,
        replies: REPLIES,
        stops: &[Control::End, Control::Eos],
    }
}

const REPLIES: Replies = Replies {
    turn: Some(Role::User),
    item: Some((
        Mark::new(Control::OpenSection(Section::Reply), 1, 1),
        Mark::new(Control::CloseSection(Section::Reply), 1, 0),
    )),
    ..Replies::NONE
};

static TURNS: [Turn; 3] =
    [turn(Role::System, "system"), turn(Role::User, "user"), turn(Role::Assistant, "assistant")];

const fn turn(role: Role, word: &'static str) -> Turn {
    Turn {
        role,
        opening: Opening::Named(Control::Start, word),
        close: Some(Mark::new(Control::End, 0, 1)),
        may_stay_open: false,
    }
}

/// What tells the models apart.
struct Traits {
    /// Whether they think.
    thinks: bool,
    /// The words that they write as values.
    words: &'static [&'static str],
}

const PYTHON_WORDS: &[&str] = &["True", "False", "None"];

const JSON_WORDS: &[&str] = &["true", "false", "null"];

/// Adds the evidence: the framing, and a function in the token of a call. It is weaker if the text has
/// the traits of other models.
fn look(traits: &Traits, scan: &Scan<'_>, case: &mut Case) {
    let call = Control::OpenSection(Section::Call);
    let Some(span) = scan.token(call) else { return };
    let behind = scan.text.get(span.end..).unwrap_or_default();
    if !behind.trim_ascii_start().starts_with("<function=") {
        return;
    }
    let thinks = scan.token(Control::CloseSection(Section::Reasoning)).is_some();
    let others = if traits.words == JSON_WORDS { PYTHON_WORDS } else { JSON_WORDS };
    let is_value = |word: &&str| {
        let value = [">\n", word, "\n</parameter>"].concat();
        memchr::memmem::find(scan.text.as_bytes(), value.as_bytes()).is_some()
    };
    let is_other = thinks != traits.thinks || others.iter().any(is_value);
    let less = if is_other { 20 } else { 0 };
    let token = |control| format!("`{}`", CONTROLS.spelling(control).unwrap_or_default());
    let what = || format!("{} before `<function=`", token(call));
    let begins = scan.begins_with(Control::Start);
    if begins.is_some() {
        case.sign(60 - less, token(Control::Start), begins);
        case.sign(60 - less, what(), Some(span));
    } else if scan.completion.is_some() {
        case.sign(80 - less, what(), Some(span));
    }
}
