//! MiniMax M3, as its chat template writes it.

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
use crate::rules::{Carries, Composing, Elements};
use crate::signs::{Case, Framing, Scan, TextSigns};
use crate::{Control, Section};

/// MiniMax M3: turns with a role and a line break, reasoning, a list of calls whose arguments are nested
/// elements, and tool replies in a turn of the tools.
///
/// ```
/// use openchatml::{Format, ReadOptions, parse};
///
/// let text = "<mm:think>A tool.</mm:think>]<]minimax[>[<tool_call>\n\
///     ]<]minimax[>[<invoke name=\"weather\">]<]minimax[>[<city>Bern]<]minimax[>[</city>\
///     ]<]minimax[>[<days>]<]minimax[>[<item>3]<]minimax[>[</item>]<]minimax[>[</days>\
///     ]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>[e~[\n";
/// let parsed = parse(text, Format::MINIMAX_M3, &ReadOptions::completion());
/// assert!(parsed.diagnostics.is_empty());
/// let messages = parsed.into_conversation().messages;
/// assert!(messages[0].is_reasoning());
/// assert_eq!(messages[1].body.text(), r#"{"city": "Bern", "days": [3]}"#);
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "minimax-m3",
    aliases: &[],
    title: "MiniMax M3",
    used_by: "MiniMax M3",
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
    roles: &[Role::System, Role::Developer, Role::User, Role::Assistant, Role::Tool],
    ends: &[End::End, End::Call, End::Open, End::Prompt],
    open_roles: Role::ALL,
    // The arguments so far are not the JSON that they are written as.
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
        close: Mark::plain(Control::CloseSection(Section::Reasoning)),
        none: NoReasoning::Close,
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
        pieces: &[Piece::NameBefore("\">"), Piece::Elements(&ELEMENTS)],
        empty: Some("\"/>"),
        ..Calls::NONE
    },
    close: Control::End,
    prompts: Prompts {
        thinks: true,
        ends: [PromptEnd::Open, PromptEnd::Close],
        undecided: Some(PromptEnd::Turn),
        can_open: true,
        ..Prompts::NONE
    },
};

static ELEMENTS: Elements = Elements {
    open: Control::OpenSection(Section::Key),
    close: Control::CloseSection(Section::Key),
    end: ">",
    item: "item",
};

static RULES: Rules = Rules {
    form: DIALECT.form(),
    controls: &CONTROLS,
    bos: Some((Control::Bos, Owner::Opening)),
    turns: &[
        turn(Role::System, "system"),
        turn(Role::Developer, "developer"),
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
    if let Some((control, span)) = scan.completion {
        let text = format!("a completion begins with {}", token(control));
        return case.sign(100, text, Some(span));
    }
    let begins = [Control::Bos, Control::Start];
    if begins.iter().all(|control| scan.begins_with(*control).is_none()) {
        return;
    }
    for control in [Control::Bos, Control::Start, Control::End] {
        case.sign(25, token(control), scan.token(control));
    }
    let sections = [
        Control::OpenSection(Section::Reasoning),
        Control::CloseSection(Section::Reasoning),
        Control::OpenSection(Section::Calls),
    ];
    for control in sections {
        case.sign(60, token(control), scan.token(control));
    }
}
