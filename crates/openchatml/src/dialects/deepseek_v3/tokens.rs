//! The tokens of DeepSeek V3.

use crate::lex::{Escape, TokenTable};
use crate::model::Role;
use crate::{Control, Section};

pub(super) static CONTROLS: TokenTable = TokenTable::new(
    &[
        (Control::Bos, "<｜begin▁of▁sentence｜>"),
        (Control::Open(Role::User), "<｜User｜>"),
        (Control::Open(Role::Assistant), "<｜Assistant｜>"),
        (Control::Close(Role::Assistant), "<｜end▁of▁sentence｜>"),
        (Control::OpenSection(Section::Reasoning), "<think>"),
        (Control::CloseSection(Section::Reasoning), "</think>"),
        (Control::OpenSection(Section::Calls), "<｜tool▁calls▁begin｜>"),
        (Control::CloseSection(Section::Calls), "<｜tool▁calls▁end｜>"),
        (Control::OpenSection(Section::Call), "<｜tool▁call▁begin｜>"),
        (Control::Arguments, "<｜tool▁sep｜>"),
        (Control::CloseSection(Section::Call), "<｜tool▁call▁end｜>"),
        (Control::OpenSection(Section::Replies), "<｜tool▁outputs▁begin｜>"),
        (Control::CloseSection(Section::Replies), "<｜tool▁outputs▁end｜>"),
        (Control::OpenSection(Section::Reply), "<｜tool▁output▁begin｜>"),
        (Control::CloseSection(Section::Reply), "<｜tool▁output▁end｜>"),
    ],
    Escape::None,
);
