//! The tokens of the dialects. Of the tags with `DSML`, only `｜DSML｜` is one id.

use crate::lex::{Escape, TokenTable};
use crate::model::Role;
use crate::{Control, Section};

/// The tokens of DeepSeek V3.2.
pub(super) static V3_2: TokenTable = TokenTable::new(
    &[
        (Control::Bos, "<｜begin▁of▁sentence｜>"),
        (Control::Open(Role::User), "<｜User｜>"),
        (Control::Open(Role::Assistant), "<｜Assistant｜>"),
        (Control::Close(Role::Assistant), "<｜end▁of▁sentence｜>"),
        (Control::OpenSection(Section::Reasoning), "<think>"),
        (Control::CloseSection(Section::Reasoning), "</think>"),
        (Control::OpenSection(Section::Calls), "<｜DSML｜function_calls>"),
        (Control::CloseSection(Section::Calls), "</｜DSML｜function_calls>"),
        (Control::OpenSection(Section::Call), "<｜DSML｜invoke name=\""),
        (Control::CloseSection(Section::Call), "</｜DSML｜invoke>"),
        (Control::OpenSection(Section::Key), "<｜DSML｜parameter name=\""),
        (Control::CloseSection(Section::Value), "</｜DSML｜parameter>"),
        (Control::OpenSection(Section::Replies), "<function_results>"),
        (Control::CloseSection(Section::Replies), "</function_results>"),
        (Control::OpenSection(Section::Reply), "<result>"),
        (Control::CloseSection(Section::Reply), "</result>"),
    ],
    Escape::None,
);

/// The tokens of DeepSeek V4.
pub(super) static V4: TokenTable = TokenTable::new(
    &[
        (Control::Bos, "<｜begin▁of▁sentence｜>"),
        (Control::Open(Role::User), "<｜User｜>"),
        (Control::Open(Role::Assistant), "<｜Assistant｜>"),
        (Control::Close(Role::Assistant), "<｜end▁of▁sentence｜>"),
        (Control::OpenSection(Section::Reasoning), "<think>"),
        (Control::CloseSection(Section::Reasoning), "</think>"),
        (Control::OpenSection(Section::Calls), "<｜DSML｜tool_calls>"),
        (Control::CloseSection(Section::Calls), "</｜DSML｜tool_calls>"),
        (Control::OpenSection(Section::Call), "<｜DSML｜invoke name=\""),
        (Control::CloseSection(Section::Call), "</｜DSML｜invoke>"),
        (Control::OpenSection(Section::Key), "<｜DSML｜parameter name=\""),
        (Control::CloseSection(Section::Value), "</｜DSML｜parameter>"),
        (Control::OpenSection(Section::Reply), "<tool_result>"),
        (Control::CloseSection(Section::Reply), "</tool_result>"),
    ],
    Escape::None,
);

/// The tokens of DeepSeek V4.1.
pub(super) static V4_1: TokenTable = TokenTable::new(
    &[
        (Control::Bos, "<｜begin▁of▁sentence｜>"),
        (Control::Open(Role::System), "<｜System｜>"),
        (Control::Open(Role::User), "<｜User｜>"),
        (Control::Open(Role::Assistant), "<｜Assistant｜>"),
        (Control::Close(Role::Assistant), "<｜end▁of▁sentence｜>"),
        (Control::OpenSection(Section::Reasoning), "<think>"),
        (Control::CloseSection(Section::Reasoning), "</think>"),
        (Control::OpenSection(Section::Calls), "<｜DSML｜ calls>"),
        (Control::CloseSection(Section::Calls), "</｜DSML｜ calls>"),
        (Control::OpenSection(Section::Call), "<｜DSML｜ invoke name=\""),
        (Control::CloseSection(Section::Call), "</｜DSML｜ invoke>"),
        (Control::OpenSection(Section::Key), "<｜DSML｜ parameter name=\""),
        (Control::CloseSection(Section::Value), "</｜DSML｜ parameter>"),
        (Control::OpenSection(Section::Reply), "<tool_result>"),
        (Control::CloseSection(Section::Reply), "</tool_result>"),
    ],
    Escape::None,
);
