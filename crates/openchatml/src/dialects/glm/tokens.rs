//! The tokens of GLM.

use crate::lex::{Escape, TokenTable};
use crate::model::Role;
use crate::{Control, Section};

pub(super) static CONTROLS: TokenTable = TokenTable::new(
    &[
        (Control::Bos, "[gMASK]<sop>"),
        (Control::Eos, "<|endoftext|>"),
        (Control::Open(Role::System), "<|system|>"),
        (Control::Open(Role::User), "<|user|>"),
        (Control::Open(Role::Assistant), "<|assistant|>"),
        (Control::Open(Role::Tool), "<|observation|>"),
        (Control::OpenSection(Section::Reasoning), "<think>"),
        (Control::CloseSection(Section::Reasoning), "</think>"),
        (Control::OpenSection(Section::Call), "<tool_call>"),
        (Control::CloseSection(Section::Call), "</tool_call>"),
        (Control::OpenSection(Section::Key), "<arg_key>"),
        (Control::CloseSection(Section::Key), "</arg_key>"),
        (Control::OpenSection(Section::Value), "<arg_value>"),
        (Control::CloseSection(Section::Value), "</arg_value>"),
        (Control::OpenSection(Section::Reply), "<tool_response>"),
        (Control::CloseSection(Section::Reply), "</tool_response>"),
    ],
    Escape::None,
);
