//! The tokens of Mistral's tokenizer version 7.

use crate::lex::{Escape, TokenTable};
use crate::model::Role;
use crate::{Control, Section};

pub(super) static CONTROLS: TokenTable = TokenTable::new(
    &[
        (Control::Bos, "<s>"),
        (Control::Eos, "</s>"),
        (Control::Open(Role::System), "[SYSTEM_PROMPT]"),
        (Control::Close(Role::System), "[/SYSTEM_PROMPT]"),
        (Control::Open(Role::Developer), "[AVAILABLE_TOOLS]"),
        (Control::Close(Role::Developer), "[/AVAILABLE_TOOLS]"),
        (Control::Open(Role::User), "[INST]"),
        (Control::Close(Role::User), "[/INST]"),
        (Control::OpenSection(Section::Reasoning), "<think>"),
        (Control::CloseSection(Section::Reasoning), "</think>"),
        (Control::OpenSection(Section::Call), "[TOOL_CALLS]"),
        (Control::OpenSection(Section::Reply), "[TOOL_RESULTS]"),
        (Control::Message, "[TOOL_CONTENT]"),
        (Control::CloseSection(Section::Reply), "[/TOOL_RESULTS]"),
    ],
    Escape::None,
);
