//! The tokens of Kimi K2.

use crate::lex::{Escape, TokenTable};
use crate::model::Role;
use crate::{Control, Section};

pub(super) static CONTROLS: TokenTable = TokenTable::new(
    &[
        (Control::Open(Role::System), "<|im_system|>"),
        (Control::Open(Role::User), "<|im_user|>"),
        (Control::Open(Role::Assistant), "<|im_assistant|>"),
        (Control::Message, "<|im_middle|>"),
        (Control::End, "<|im_end|>"),
        (Control::OpenSection(Section::Reasoning), "<think>"),
        (Control::CloseSection(Section::Reasoning), "</think>"),
        (Control::OpenSection(Section::Calls), "<|tool_calls_section_begin|>"),
        (Control::CloseSection(Section::Calls), "<|tool_calls_section_end|>"),
        (Control::OpenSection(Section::Call), "<|tool_call_begin|>"),
        (Control::Arguments, "<|tool_call_argument_begin|>"),
        (Control::CloseSection(Section::Call), "<|tool_call_end|>"),
    ],
    Escape::None,
);
