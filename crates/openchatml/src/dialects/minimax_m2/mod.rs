//! MiniMax M2, as its chat template writes it.

mod compose;
mod tokens;

use self::tokens::CONTROLS;
use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, TextForm};
use crate::grammar::sections::{
    Calls, InnerCalls, Mark, NoReasoning, Opening, Owner, Piece, PromptEnd, Prompts, Reasoning,
    Replies, Rules, Sections, Turn,
};
use crate::model::{End, Role};
use crate::rules::{Carries, Composing, History, Parameters, Tag, Words, kept_after_last_user};
use crate::signs::{Case, Framing, Scan, TextSigns};
use crate::{Control, Section};

/// MiniMax M2: turns with a role and a line break, reasoning, a list of calls whose arguments are
/// parameters with raw values, and tool replies in a turn of the tools.
///
/// ```
/// use openchatml::{Format, ReadOptions, parse};
///
/// let mut options = ReadOptions::completion();
/// options.in_reasoning = true; // The prompt ends in `<think>`.
/// let text = "A tool.\n</think>\n\n\n<minimax:tool_call>\n<invoke name=\"weather\">\n\
///     <parameter name=\"city\">Bern</parameter>\n<parameter name=\"days\">3</parameter>\n\
///     </invoke>\n</minimax:tool_call>[e~[\n";
/// let parsed = parse(text, Format::MINIMAX_M2, &options);
/// assert!(parsed.diagnostics.is_empty());
/// let messages = parsed.into_conversation().messages;
/// assert!(messages[0].is_reasoning());
/// assert_eq!(messages[1].body.text(), r#"{"city": "Bern", "days": 3}"#);
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "minimax-m2",
    aliases: &[],
    title: "MiniMax M2",
    used_by: "MiniMax M2, M2.1 and M2.5",
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
    history: |_| History::Kept(kept_after_last_user),
    ..RULES.text_form()
};

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
        list: Some((
            Mark::new(Control::OpenSection(Section::Calls), 1, 1),
            Mark::plain(Control::CloseSection(Section::Calls)),
        )),
        item: (
            Mark::plain(Control::OpenSection(Section::Call)),
            Some(Mark::new(Control::CloseSection(Section::Call), 0, 1)),
        ),
        lead: 1,
        pieces: &[Piece::NameBefore("\">\n"), Piece::Parameters(&PARAMETERS)],
        empty: Some("\"/>"),
        namespace: "functions",
        are_words: true,
        ..Calls::NONE
    },
    close: Control::End,
    prompts: Prompts {
        thinks: true,
        // The template has no prompt without reasoning.
        ends: [PromptEnd::Open, PromptEnd::Open],
        can_open: true,
        ..Prompts::NONE
    },
};

static PARAMETERS: Parameters = Parameters {
    open: Tag::Token(Mark::plain(Control::OpenSection(Section::Key))),
    name_end: Tag::Text("\">"),
    typed: None,
    attributes: None,
    value: None,
    close: Tag::Token(Mark::new(Control::CloseSection(Section::Value), 0, 1)),
    words: Words::Json,
    empty: 0,
};

static RULES: Rules = Rules {
    form: DIALECT.form(),
    controls: &CONTROLS,
    bos: Some((Control::Bos, Owner::Opening)),
    turns: &[
        turn(Role::System, "system"),
        turn(Role::User, "user"),
        turn(Role::Assistant, "ai"),
        turn(Role::Tool, "tool"),
    ],
    sections: &SECTIONS,
    replies: Replies {
        turn: Some(Role::Tool),
        item: Some((
            Mark::new(Control::OpenSection(Section::Reply), 1, 0),
            Mark::plain(Control::CloseSection(Section::Reply)),
        )),
        are_words: true,
        ..Replies::NONE
    },
    stops: &[Control::End],
};

const fn turn(role: Role, word: &'static str) -> Turn {
    Turn {
        role,
        opening: Opening::Named(Control::Start, word),
        close: Some(Mark::new(Control::End, 0, 1)),
        may_stay_open: false,
    }
}

/// Adds the evidence: the tokens around turns, and those of reasoning and calls. Other models of the
/// family have the same turns.
fn look(scan: &Scan<'_>, case: &mut Case) {
    let token = |control| format!("`{}`", CONTROLS.spelling(control).unwrap_or_default());
    let calls = Control::OpenSection(Section::Calls);
    if scan.completion.is_some() {
        return case.sign(100, token(calls), scan.token(calls));
    }
    let begins = [Control::Bos, Control::Start];
    if begins.iter().all(|control| scan.begins_with(*control).is_none()) {
        return;
    }
    for control in [Control::Bos, Control::Start, Control::End] {
        case.sign(25, token(control), scan.token(control));
    }
    for control in [Control::OpenSection(Section::Reasoning), calls] {
        case.sign(60, token(control), scan.token(control));
    }
}
