//! The tokens of Phi-4-mini.

use crate::lex::{Escape, TokenTable};
use crate::model::Role;
use crate::{Control, Section};

pub(super) static CONTROLS: TokenTable = TokenTable::new(
    &[
        (Control::Eos, "<|endoftext|>"),
        (Control::Open(Role::System), "<|system|>"),
        (Control::Open(Role::User), "<|user|>"),
        (Control::Open(Role::Assistant), "<|assistant|>"),
        (Control::Open(Role::Tool), "<|tool_response|>"),
        (Control::End, "<|end|>"),
        (Control::OpenSection(Section::Reasoning), "<think>"),
        (Control::CloseSection(Section::Reasoning), "</think>"),
        (Control::OpenSection(Section::Call), "<|tool_call|>"),
        (Control::CloseSection(Section::Call), "<|/tool_call|>"),
        (Control::OpenSection(Section::Declaration), "<|tool|>"),
        (Control::CloseSection(Section::Declaration), "<|/tool|>"),
    ],
    Escape::None,
);
