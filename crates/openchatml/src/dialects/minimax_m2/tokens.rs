//! The tokens of MiniMax M2. The tags of calls and replies are ordinary words.

use crate::lex::{Escape, TokenTable};
use crate::{Control, Section};

pub(super) static CONTROLS: TokenTable = TokenTable::new(
    &[
        (Control::Bos, "]~!b["),
        (Control::Start, "]~b]"),
        (Control::End, "[e~["),
        (Control::OpenSection(Section::Reasoning), "<think>"),
        (Control::CloseSection(Section::Reasoning), "</think>"),
        (Control::OpenSection(Section::Calls), "<minimax:tool_call>"),
        (Control::CloseSection(Section::Calls), "</minimax:tool_call>"),
        (Control::OpenSection(Section::Call), "<invoke name=\""),
        (Control::CloseSection(Section::Call), "</invoke>"),
        (Control::OpenSection(Section::Key), "<parameter name=\""),
        (Control::CloseSection(Section::Value), "</parameter>"),
        (Control::OpenSection(Section::Reply), "<response>"),
        (Control::CloseSection(Section::Reply), "</response>"),
    ],
    Escape::None,
);
