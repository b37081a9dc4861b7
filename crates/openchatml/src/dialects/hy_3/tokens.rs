//! The tokens of Hy3.

use crate::lex::{Escape, TokenTable};
use crate::model::Role;
use crate::{Control, Section};

pub(super) static CONTROLS: TokenTable = TokenTable::new(
    &[
        (Control::Bos, "<｜hy_begin_of_sentence:opensource｜>"),
        (Control::Open(Role::User), "<｜hy_User:opensource｜>"),
        (Control::Open(Role::Assistant), "<｜hy_Assistant:opensource｜>"),
        (Control::Close(Role::Assistant), "<｜hy_eos:opensource｜>"),
        (Control::OpenSection(Section::Reasoning), "<think:opensource>"),
        (Control::CloseSection(Section::Reasoning), "</think:opensource>"),
        (Control::OpenSection(Section::Calls), "<tool_calls:opensource>"),
        (Control::CloseSection(Section::Calls), "</tool_calls:opensource>"),
        (Control::OpenSection(Section::Call), "<tool_call:opensource>"),
        (Control::CloseSection(Section::Call), "</tool_call:opensource>"),
        (Control::Arguments, "<tool_sep:opensource>"),
        (Control::OpenSection(Section::Key), "<arg_key:opensource>"),
        (Control::CloseSection(Section::Key), "</arg_key:opensource>"),
        (Control::OpenSection(Section::Value), "<arg_value:opensource>"),
        (Control::CloseSection(Section::Value), "</arg_value:opensource>"),
        (Control::OpenSection(Section::Replies), "<tool_responses:opensource>"),
        (Control::CloseSection(Section::Replies), "</tool_responses:opensource>"),
        (Control::OpenSection(Section::Reply), "<tool_response:opensource>"),
        (Control::CloseSection(Section::Reply), "</tool_response:opensource>"),
        // It says how much the model thinks, in the text of the system.
        (Control::OpenSection(Section::Declaration), "<｜reasoning_mode:opensource｜>"),
    ],
    Escape::None,
);
