//! GLM 4.5, as its chat template writes it. GLM 4.7 and 5 write the same without line breaks.

mod compose;
mod tokens;

use self::tokens::CONTROLS;
use crate::check::CheckRules;
use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, TextForm};
use crate::grammar::sections::{
    self, Calls, InnerCalls, Mark, NoReasoning, Opening, Owner, Piece, PromptEnd, Prompts,
    Reasoning, Replies, Rules, Sections, Turn,
};
use crate::lex::Mode;
use crate::model::{End, FormId, Role};
use crate::rules::{Carries, Completion, History, Parameters, Tag, Words, kept_after_last_user};
use crate::signs::{Case, Framing, Scan, TextSigns};
use crate::{Control, Section};

/// GLM 4.5: a token before each role's text, reasoning in the assistant's turn, calls whose arguments
/// are keys and raw values, and tool replies in a turn of the tools.
///
/// ```
/// use openchatml::{Format, ReadOptions, parse};
///
/// let text = "\n<think>A tool.</think>\n<tool_call>weather\n<arg_key>city</arg_key>\n\
///     <arg_value>Paris</arg_value>\n</tool_call><|endoftext|>";
/// let parsed = parse(text, Format::GLM_4_5, &ReadOptions::completion());
/// assert!(parsed.diagnostics.is_empty());
/// let messages = parsed.into_conversation().messages;
/// assert_eq!(messages[1].recipient.as_deref(), Some("functions.weather"));
/// assert_eq!(messages[1].body.text(), r#"{"city": "Paris"}"#);
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "glm-4.5",
    aliases: &[],
    title: "GLM 4.5",
    used_by: "GLM 4.5, 4.6, 4.7 and 5",
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
    // Messages of other roles have no end token.
    open_roles: &[Role::Assistant, Role::Tool],
    // The end of a value depends on what follows.
    open_calls: false,
    ..Carries::SECTIONS
};

static TEXT: TextForm = TextForm {
    id: FormId::new("glm-4.5"),
    controls: &CONTROLS,
    header: None,
    legacy: None,
    completion: Mode::Body,
    checks: &CHECKS,
    reader: |_, options, _| Box::new(sections::reader(&RULES, options)),
    write: |_, document, options, sink| sections::write(&RULES, document, options, sink),
    composer: Some(|it, _| compose::COMPOSER.unless_read(it, RULES.form)),
    signs: TextSigns { framing: Framing::Pairs, look },
    stripped: None,
    history: |_| History::Kept(kept_after_last_user),
    stops: &[Control::Eos, Control::Open(Role::User), Control::Open(Role::Tool)],
    framing: Some(Completion::Sections(&SECTIONS)),
};

static CHECKS: CheckRules = CheckRules::by_order(&CONTROLS);

static SECTIONS: Sections = Sections {
    reasoning: Reasoning {
        open: Mark::plain(Control::OpenSection(Section::Reasoning)),
        close: Mark::new(Control::CloseSection(Section::Reasoning), 0, 1),
        none: NoReasoning::Pair,
        stays_open: false,
        calls: InnerCalls::End,
        ended_by: &[],
    },
    answer: None,
    calls: Calls {
        item: (
            Mark::new(Control::OpenSection(Section::Call), 1, 0),
            Some(Mark::plain(Control::CloseSection(Section::Call))),
        ),
        lead: 1,
        pieces: &[Piece::NameBefore("\n"), Piece::Parameters(&PARAMETERS)],
        namespace: "functions",
        ..Calls::NONE
    },
    close: Control::Eos,
    prompts: Prompts {
        thinks: true,
        ends: [PromptEnd::Turn, PromptEnd::Pair],
        can_open: true,
        ..Prompts::NONE
    },
};

static PARAMETERS: Parameters = Parameters {
    open: Tag::Token(Mark::plain(Control::OpenSection(Section::Key))),
    name_end: Tag::Token(Mark::new(Control::CloseSection(Section::Key), 0, 1)),
    typed: None,
    attributes: None,
    value: Some(Tag::Token(Mark::plain(Control::OpenSection(Section::Value)))),
    close: Tag::Token(Mark::new(Control::CloseSection(Section::Value), 0, 1)),
    words: Words::Json,
    empty: 0,
};

pub(super) static RULES: Rules = Rules {
    form: FormId::new("glm-4.5"),
    controls: &CONTROLS,
    bos: Some((Control::Bos, Owner::Opening)),
    turns: &[
        turn(Role::System),
        turn(Role::User),
        Turn {
            close: Some(Mark::plain(Control::Eos)),
            may_stay_open: true,
            ..turn(Role::Assistant)
        },
        turn(Role::Tool),
    ],
    sections: &SECTIONS,
    replies: Replies {
        turn: Some(Role::Tool),
        item: Some((
            Mark::new(Control::OpenSection(Section::Reply), 1, 1),
            Mark::new(Control::CloseSection(Section::Reply), 1, 0),
        )),
        ..Replies::NONE
    },
    stops: &[Control::Open(Role::User), Control::Open(Role::Tool)],
};

const fn turn(role: Role) -> Turn {
    let opening = Opening::Line(Control::Open(role));
    Turn { role, opening, close: None, may_stay_open: false }
}

/// Adds the evidence: the tokens of the roles, and of keys and values.
fn look(scan: &Scan<'_>, case: &mut Case) {
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
    for control in begins.chain([key]) {
        case.sign(30, token(control), scan.token(control));
    }
}
