//! The tokens of Granite 4.

use crate::lex::{Escape, TokenTable};
use crate::{Control, Section};

pub(super) static CONTROLS: TokenTable = TokenTable::new(
    &[
        (Control::Start, "<|start_of_role|>"),
        (Control::Message, "<|end_of_role|>"),
        (Control::End, "<|end_of_text|>"),
        (Control::OpenSection(Section::Reasoning), "<think>"),
        (Control::CloseSection(Section::Reasoning), "</think>"),
        (Control::OpenSection(Section::Call), "<tool_call>"),
        (Control::CloseSection(Section::Call), "</tool_call>"),
        (Control::OpenSection(Section::Reply), "<tool_response>"),
        (Control::CloseSection(Section::Reply), "</tool_response>"),
    ],
    Escape::None,
);
