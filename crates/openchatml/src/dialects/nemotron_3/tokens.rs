//! The tokens of Nemotron 3.

use crate::lex::{Escape, TokenTable};
use crate::{Control, Section};

pub(super) static CONTROLS: TokenTable = TokenTable::new(
    &[
        (Control::Start, "<|im_start|>"),
        (Control::End, "<|im_end|>"),
        (Control::Eos, "</s>"),
        (Control::OpenSection(Section::Reasoning), "<think>"),
        (Control::CloseSection(Section::Reasoning), "</think>"),
        (Control::OpenSection(Section::Call), "<tool_call>"),
        (Control::CloseSection(Section::Call), "</tool_call>"),
        (Control::OpenSection(Section::Reply), "<tool_response>"),
        (Control::CloseSection(Section::Reply), "</tool_response>"),
    ],
    Escape::None,
);
