//! The tokens of MiniMax M3. Of a tag of a call, only `]<]minimax[>[` is a single id. The tags of replies
//! are ordinary words.

use crate::lex::{Escape, TokenTable};
use crate::{Control, Section};

pub(super) static CONTROLS: TokenTable = TokenTable::new(
    &[
        (Control::Bos, "]~!b["),
        (Control::Start, "]~b]"),
        (Control::End, "[e~["),
        (Control::OpenSection(Section::Reasoning), "<mm:think>"),
        (Control::CloseSection(Section::Reasoning), "</mm:think>"),
        (Control::OpenSection(Section::Calls), "]<]minimax[>[<tool_call>"),
        (Control::CloseSection(Section::Calls), "]<]minimax[>[</tool_call>"),
        (Control::OpenSection(Section::Call), "]<]minimax[>[<invoke name=\""),
        (Control::CloseSection(Section::Call), "]<]minimax[>[</invoke>"),
        (Control::OpenSection(Section::Key), "]<]minimax[>[<"),
        (Control::CloseSection(Section::Key), "]<]minimax[>[</"),
        (Control::OpenSection(Section::Unknown), "]<]minimax[>["),
        (Control::OpenSection(Section::Reply), "<response>"),
        (Control::CloseSection(Section::Reply), "</response>"),
    ],
    Escape::None,
);
