//! The tokens of Mistral's tokenizers.

use crate::lex::{Escape, TokenTable};
use crate::model::Role;
use crate::{Control, Section};

pub(super) static V7: TokenTable = TokenTable::new(
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

pub(super) static V11: TokenTable = TokenTable::new(
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
        (Control::CallId, "[CALL_ID]"),
        (Control::Arguments, "[ARGS]"),
        (Control::OpenSection(Section::Reply), "[TOOL_RESULTS]"),
        (Control::Message, "[TOOL_CONTENT]"),
        (Control::CloseSection(Section::Reply), "[/TOOL_RESULTS]"),
    ],
    Escape::None,
);

pub(super) static V13: TokenTable = TokenTable::new(
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
