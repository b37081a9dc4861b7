//! The control tokens of Apertus.

use crate::lex::{Escape, TokenTable};
use crate::model::Role;
use crate::{Control, Section};

pub(super) static CONTROLS: TokenTable = TokenTable::new(
    &[
        (Control::Bos, "<s>"),
        (Control::Open(Role::System), "<|system_start|>"),
        (Control::Close(Role::System), "<|system_end|>"),
        (Control::Open(Role::Developer), "<|developer_start|>"),
        (Control::Close(Role::Developer), "<|developer_end|>"),
        (Control::Open(Role::User), "<|user_start|>"),
        (Control::Close(Role::User), "<|user_end|>"),
        (Control::Open(Role::Assistant), "<|assistant_start|>"),
        (Control::Close(Role::Assistant), "<|assistant_end|>"),
        (Control::OpenSection(Section::Reasoning), "<|inner_prefix|>"),
        (Control::CloseSection(Section::Reasoning), "<|inner_suffix|>"),
        (Control::OpenSection(Section::Calls), "<|tools_prefix|>"),
        (Control::CloseSection(Section::Calls), "<|tools_suffix|>"),
    ],
    Escape::None,
);
