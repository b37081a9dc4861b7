//! The control tokens of Apertus.

use crate::Control;
use crate::lex::{Escape, TokenTable};
use crate::model::Role;

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
        (Control::InnerPrefix, "<|inner_prefix|>"),
        (Control::InnerSuffix, "<|inner_suffix|>"),
        (Control::ToolsPrefix, "<|tools_prefix|>"),
        (Control::ToolsSuffix, "<|tools_suffix|>"),
    ],
    Escape::None,
);
