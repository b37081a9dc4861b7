//! The tokens of Seed-OSS.

use crate::lex::{Escape, TokenTable};
use crate::{Control, Section};

pub(super) static CONTROLS: TokenTable = TokenTable::new(
    &[
        (Control::Start, "<seed:bos>"),
        (Control::End, "<seed:eos>"),
        (Control::OpenSection(Section::Reasoning), "<seed:think>"),
        (Control::CloseSection(Section::Reasoning), "</seed:think>"),
        (Control::OpenSection(Section::Call), "<seed:tool_call>"),
        (Control::CloseSection(Section::Call), "</seed:tool_call>"),
    ],
    Escape::None,
);
