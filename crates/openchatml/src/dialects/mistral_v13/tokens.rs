//! The tokens of Mistral's tokenizer version 13.

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
        (Control::OpenSection(Section::Reasoning), "[THINK]"),
        (Control::CloseSection(Section::Reasoning), "[/THINK]"),
        (Control::OpenSection(Section::Call), "[TOOL_CALLS]"),
        (Control::Arguments, "[ARGS]"),
        (Control::OpenSection(Section::Reply), "[TOOL_RESULTS]"),
        (Control::CloseSection(Section::Reply), "[/TOOL_RESULTS]"),
    ],
    Escape::None,
);
