//! Hy3, as Tencent's chat template writes it.

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
use crate::rules::{Carries, Composing, History, Parameters, Tag, Words, kept_with_tools};
use crate::signs::{Case, Framing, Scan, TextSigns};
use crate::{Control, Section};

/// Hy3: a token before each role's text, reasoning that is also written where it is empty, a list of
/// calls whose arguments are keys and raw values, and a list of tool replies after the turn of the
/// assistant.
///
/// ```
/// use openchatml::{Format, ReadOptions, parse};
///
/// let mut options = ReadOptions::completion();
/// options.in_reasoning = true; // The prompt ends in `<think:opensource>`.
/// let text = "A tool.</think:opensource><tool_calls:opensource>\n\
///     <tool_call:opensource>weather<tool_sep:opensource>\n\
///     <arg_key:opensource>city</arg_key:opensource>\n\
///     <arg_value:opensource>Bern</arg_value:opensource>\n\
///     </tool_call:opensource>\n</tool_calls:opensource><｜hy_eos:opensource｜>";
/// let parsed = parse(text, Format::HY_3, &options);
/// assert!(parsed.diagnostics.is_empty());
/// let messages = parsed.into_conversation().messages;
/// assert!(messages[0].is_reasoning());
/// assert_eq!(messages[1].body.text(), r#"{"city": "Bern"}"#);
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "hy-3",
    aliases: &["hy3"],
    title: "Hy3",
    used_by: "Tencent Hy3",
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
    composer: Composing::UnlessRead(&compose::COMPOSER),
    signs: TextSigns { framing: Framing::Pairs, look },
    history: |_| History::Kept(kept_with_tools),
    ..RULES.text_form()
};

static SECTIONS: Sections = Sections {
    reasoning: Reasoning {
        open: Mark::plain(Control::OpenSection(Section::Reasoning)),
        close: Mark::plain(Control::CloseSection(Section::Reasoning)),
        none: NoReasoning::Bare,
        stays_open: false,
        calls: InnerCalls::End,
        ended_by: &[],
    },
    answer: None,
    calls: Calls {
        list: Some((
            Mark::new(Control::OpenSection(Section::Calls), 0, 1),
            Mark::plain(Control::CloseSection(Section::Calls)),
        )),
        item: (
            Mark::plain(Control::OpenSection(Section::Call)),
            Some(Mark::new(Control::CloseSection(Section::Call), 0, 1)),
        ),
        pieces: &[
            Piece::NameUpTo(Control::Arguments),
            Piece::Word("\n"),
            Piece::Parameters(&PARAMETERS),
        ],
        ..Calls::NONE
    },
    close: Control::Close(Role::Assistant),
    prompts: Prompts {
        thinks: false,
        ends: [PromptEnd::Open, PromptEnd::Bare],
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

static RULES: Rules = Rules {
    form: DIALECT.form(),
    controls: &CONTROLS,
    bos: Some((Control::Bos, Owner::Opening)),
    turns: &[
        Turn { opening: Opening::Bare, ..turn(Role::System) },
        turn(Role::User),
        Turn { close: Some(Mark::plain(Control::Close(Role::Assistant))), ..turn(Role::Assistant) },
    ],
    sections: &SECTIONS,
    replies: Replies {
        item: Some((
            Mark::new(Control::OpenSection(Section::Reply), 0, 1),
            Mark::new(Control::CloseSection(Section::Reply), 1, 1),
        )),
        list: Some((
            Mark::new(Control::OpenSection(Section::Replies), 0, 1),
            Mark::plain(Control::CloseSection(Section::Replies)),
        )),
        ..Replies::NONE
    },
    stops: &[Control::Close(Role::Assistant)],
};

const fn turn(role: Role) -> Turn {
    let opening = Opening::Mark(Control::Open(role));
    Turn { role, opening, close: None, may_stay_open: false }
}

/// Adds the evidence: the tokens of the roles, and those around calls.
fn look(scan: &Scan<'_>, case: &mut Case) {
    let token = |control| format!("`{}`", CONTROLS.spelling(control).unwrap_or_default());
    if let Some((control, span)) = scan.completion {
        let text = format!("a completion begins with {}", token(control));
        return case.sign(100, text, Some(span));
    }
    let begins = [Control::Bos, Control::Open(Role::User), Control::Open(Role::Assistant)];
    if begins.iter().all(|control| scan.begins_with(*control).is_none()) {
        return;
    }
    for control in begins {
        case.sign(60, token(control), scan.token(control));
    }
}
