//! Seed-OSS of ByteDance, as its chat template writes it.

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
use crate::rules::{Carries, Composing, Parameters, Tag, Words};
use crate::signs::{Case, Framing, Scan, TextSigns};
use crate::{Control, Section};

/// Seed-OSS: turns with a role and a line break, reasoning, calls whose arguments are parameters with
/// raw values, and a turn of the tools for each reply.
///
/// ```
/// use openchatml::{Format, ReadOptions, parse};
///
/// let text = "<seed:think>A tool.</seed:think>\n<seed:tool_call>\n<function=weather>\n\
///     <parameter=city>Bern</parameter>\n<parameter=days>3</parameter>\n</function>\n\
///     </seed:tool_call><seed:eos>";
/// let parsed = parse(text, Format::SEED_OSS, &ReadOptions::completion());
/// assert!(parsed.diagnostics.is_empty());
/// let messages = parsed.into_conversation().messages;
/// assert!(messages[0].is_reasoning());
/// assert_eq!(messages[1].body.text(), r#"{"city": "Bern", "days": 3}"#);
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "seed-oss",
    aliases: &[],
    title: "Seed-OSS",
    used_by: "ByteDance Seed-OSS",
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
    composer: Composing::UnlessRead(&compose::COMPOSER),
    signs: TextSigns { framing: Framing::Turns, look },
    ..RULES.text_form()
};

static SECTIONS: Sections = Sections {
    reasoning: Reasoning {
        open: Mark::plain(Control::OpenSection(Section::Reasoning)),
        close: Mark::new(Control::CloseSection(Section::Reasoning), 0, 1),
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
        lead_after_reasoning: Some(0),
        pieces: &PIECES,
        namespace: "functions",
        ..Calls::NONE
    },
    close: Control::End,
    // The model writes the token that opens reasoning.
    prompts: Prompts {
        thinks: true,
        ends: [PromptEnd::Turn, PromptEnd::Turn],
        can_open: true,
        ..Prompts::NONE
    },
};

static PIECES: [Piece; 4] = [
    Piece::Word("<function="),
    Piece::NameBefore(">\n"),
    Piece::Parameters(&PARAMETERS),
    Piece::Word("</function>"),
];

static PARAMETERS: Parameters = Parameters {
    open: Tag::Text("<parameter="),
    name_end: Tag::Text(">"),
    typed: None,
    attributes: None,
    value: None,
    close: Tag::Text("</parameter>\n"),
    words: Words::Python,
    empty: 0,
};

static RULES: Rules = Rules {
    form: DIALECT.form(),
    controls: &CONTROLS,
    bos: None,
    turns: &[
        turn(Role::System, "system"),
        turn(Role::User, "user"),
        turn(Role::Assistant, "assistant"),
        turn(Role::Tool, "tool"),
    ],
    sections: &SECTIONS,
    replies: Replies { turn: Some(Role::Tool), ..Replies::NONE },
    stops: &[Control::End],
};

const fn turn(role: Role, word: &'static str) -> Turn {
    Turn {
        role,
        opening: Opening::Named(Control::Start, word),
        close: Some(Mark::plain(Control::End)),
        may_stay_open: false,
    }
}

/// Adds the evidence: the tokens around turns, and those in the turn of the assistant.
fn look(scan: &Scan<'_>, case: &mut Case) {
    let token = |control| format!("`{}`", CONTROLS.spelling(control).unwrap_or_default());
    if let Some((control, span)) = scan.completion {
        let text = format!("a completion begins with {}", token(control));
        return case.sign(100, text, Some(span));
    }
    if scan.begins_with(Control::Start).is_none() {
        return;
    }
    for control in [Control::Start, Control::End] {
        case.sign(60, token(control), scan.token(control));
    }
}
