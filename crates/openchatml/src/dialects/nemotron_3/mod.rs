//! Nemotron 3: Nano, Super and Ultra.

mod compose;
mod nano;
mod tokens;
mod ultra;

pub use self::nano::DIALECT as NANO;
pub use self::ultra::DIALECT as ULTRA;

use self::tokens::CONTROLS;
use crate::grammar::sections::{
    Calls, InnerCalls, Mark, NoReasoning, Opening, Piece, PromptEnd, Prompts, Reasoning, Replies,
    Rules, Sections, Turn,
};
use crate::model::{End, FormId, Role};
use crate::rules::{Carries, Parameters, Tag, Words};
use crate::{Control, Section};

static CARRIES: Carries = Carries {
    roles: &[Role::System, Role::User, Role::Assistant, Role::Tool],
    ends: &[End::End, End::Call, End::Open, End::Prompt],
    open_roles: Role::ALL,
    // The end of a value depends on what follows.
    open_calls: false,
    ..Carries::SECTIONS
};

/// Returns the sections with this number of line breaks before and after the end of reasoning.
const fn sections(before: u8, after: u8) -> Sections {
    Sections {
        reasoning: Reasoning {
            open: Mark::new(Control::OpenSection(Section::Reasoning), 0, 1),
            close: Mark::new(Control::CloseSection(Section::Reasoning), before, after),
            none: NoReasoning::Bare,
            stays_open: false,
            calls: InnerCalls::End,
            ended_by: &[],
        },
        calls: Calls {
            item: (
                Mark::new(Control::OpenSection(Section::Call), 0, 1),
                Some(Mark::new(Control::CloseSection(Section::Call), 1, 1)),
            ),
            lead: 1,
            pieces: &PIECES,
            unopened: true,
            namespace: "functions",
            ..Calls::NONE
        },
        answer: None,
        close: Control::End,
        prompts: Prompts {
            thinks: true,
            ends: [PromptEnd::Open, PromptEnd::Bare],
            can_open: true,
            ..Prompts::NONE
        },
    }
}

static PIECES: [Piece; 4] = [
    Piece::Word("<function="),
    Piece::NameBefore(">\n"),
    Piece::Parameters(&PARAMETERS),
    Piece::Word("</function>"),
];

static PARAMETERS: Parameters = Parameters {
    open: Tag::Text("<parameter="),
    name_end: Tag::Text(">\n"),
    typed: None,
    value: None,
    close: Tag::Text("\n</parameter>\n"),
    words: Words::Python,
    empty: 0,
    attributes: None,
};

const fn rules(form: FormId, sections: &'static Sections) -> Rules {
    Rules {
        form,
        controls: &CONTROLS,
        bos: None,
        turns: &TURNS,
        sections,
        replies: Replies {
            turn: Some(Role::User),
            item: Some((
                Mark::new(Control::OpenSection(Section::Reply), 0, 1),
                Mark::new(Control::CloseSection(Section::Reply), 1, 1),
            )),
            ..Replies::NONE
        },
        stops: &[Control::End, Control::Eos],
    }
}

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
