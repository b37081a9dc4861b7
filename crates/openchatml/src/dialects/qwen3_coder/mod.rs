//! Qwen3-Coder, as its chat template writes it. Later Qwen models write calls in the same way.

mod compose;
mod declaration;
mod tokens;

use self::tokens::CONTROLS;
use crate::check::CheckRules;
use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, TextForm};
use crate::grammar::sections::{
    self, Calls, InnerCalls, Mark, NoReasoning, Opening, Piece, PromptEnd, Prompts, Reasoning,
    Replies, Rules, Sections, Turn,
};
use crate::lex::Mode;
use crate::model::{End, FormId, Role};
use crate::rules::{Carries, Completion, History, Parameters, Tag, Words, kept_without_reasoning};
use crate::signs::{Case, Framing, Scan, TextSigns};
use crate::{Control, Section};

/// Qwen3-Coder: the `<|im_start|>` framing, with calls whose arguments are parameters with raw
/// values, and tool replies in a turn of the user.
///
/// ```
/// use openchatml::{Format, ReadOptions, parse};
///
/// let text = "<tool_call>\n<function=weather>\n<parameter=city>\nParis\n</parameter>\n\
///     <parameter=days>\n3\n</parameter>\n</function>\n</tool_call><|im_end|>";
/// let parsed = parse(text, Format::QWEN3_CODER, &ReadOptions::completion());
/// assert!(parsed.diagnostics.is_empty());
/// let messages = parsed.into_conversation().messages;
/// assert_eq!(messages[0].recipient.as_deref(), Some("functions.weather"));
/// assert_eq!(messages[0].body.text(), r#"{"city": "Paris", "days": 3}"#);
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "qwen3-coder",
    aliases: &[],
    title: "Qwen3-Coder",
    used_by: "Qwen3-Coder, and calls of Qwen 3.5 and later",
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
    // The end of a value depends on what follows.
    open_calls: false,
    ..Carries::SECTIONS
};

static TEXT: TextForm = TextForm {
    id: FormId::new("qwen3-coder"),
    controls: &CONTROLS,
    header: None,
    legacy: None,
    completion: Mode::Body,
    checks: &CHECKS,
    reader: |_, options, _| Box::new(sections::reader(&RULES, options)),
    write: |_, document, options, sink| sections::write(&RULES, document, options, sink),
    composer: Some(|it, _| compose::COMPOSER.unless_read(it, RULES.form)),
    signs: TextSigns { framing: Framing::Turns, look },
    stripped: None,
    // The template writes no reasoning.
    history: |_| History::Kept(kept_without_reasoning),
    stops: &[Control::End, Control::Eos],
    framing: Some(Completion::Sections(&SECTIONS)),
};

static CHECKS: CheckRules = CheckRules::by_order(&CONTROLS);

static SECTIONS: Sections = Sections {
    reasoning: Reasoning {
        open: Mark::new(Control::OpenSection(Section::Reasoning), 0, 1),
        close: Mark::new(Control::CloseSection(Section::Reasoning), 1, 2),
        none: NoReasoning::Nothing,
        stays_open: false,
        calls: InnerCalls::End,
        ended_by: &[],
    },
    answer: None,
    calls: Calls {
        item: (
            Mark::new(Control::OpenSection(Section::Call), 1, 1),
            Some(Mark::new(Control::CloseSection(Section::Call), 1, 0)),
        ),
        lead: 2,
        pieces: &[
            Piece::Word("<function="),
            Piece::NameBefore(">\n"),
            Piece::Parameters(&PARAMETERS),
            Piece::Word("</function>"),
        ],
        namespace: "functions",
        ..Calls::NONE
    },
    close: Control::End,
    prompts: Prompts {
        thinks: false,
        ends: [PromptEnd::Turn, PromptEnd::Turn],
        can_open: true,
        ..Prompts::NONE
    },
};

static PARAMETERS: Parameters = Parameters {
    open: Tag::Text("<parameter="),
    name_end: Tag::Text(">\n"),
    typed: None,
    attributes: None,
    value: None,
    close: Tag::Text("\n</parameter>\n"),
    words: Words::Python,
    empty: 0,
};

pub(super) static RULES: Rules = Rules {
    form: FormId::new("qwen3-coder"),
    controls: &CONTROLS,
    bos: None,
    turns: &[
        turn(Role::System, "system"),
        turn(Role::User, "user"),
        turn(Role::Assistant, "assistant"),
    ],
    sections: &SECTIONS,
    replies: Replies {
        turn: Some(Role::User),
        item: Some((
            Mark::new(Control::OpenSection(Section::Reply), 0, 1),
            Mark::new(Control::CloseSection(Section::Reply), 1, 1),
        )),
        ..Replies::NONE
    },
    stops: &[Control::Eos],
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

/// Adds the evidence: the framing, and a function in the token of a call.
fn look(scan: &Scan<'_>, case: &mut Case) {
    let call = Control::OpenSection(Section::Call);
    let Some(span) = scan.token(call) else { return };
    let behind = scan.text.get(span.end..).unwrap_or_default();
    if !behind.trim_ascii_start().starts_with("<function=") {
        return;
    }
    let token = |control| format!("`{}`", CONTROLS.spelling(control).unwrap_or_default());
    let what = || format!("{} before `<function=`", token(call));
    let begins = scan.begins_with(Control::Start);
    if begins.is_some() {
        case.sign(60, token(Control::Start), begins);
        case.sign(60, what(), Some(span));
    } else if scan.completion.is_some() {
        case.sign(80, what(), Some(span));
    }
}
