//! The tokens of Olmo 3.

use crate::lex::{Escape, TokenTable};
use crate::{Control, Section};

pub(super) static CONTROLS: TokenTable = TokenTable::new(
    &[
        (Control::Eos, "<|endoftext|>"),
        (Control::Start, "<|im_start|>"),
        (Control::End, "<|im_end|>"),
        (Control::OpenSection(Section::Reasoning), "<think>"),
        (Control::CloseSection(Section::Reasoning), "</think>"),
        (Control::OpenSection(Section::Call), "<function_calls>"),
        (Control::CloseSection(Section::Call), "</function_calls>"),
        (Control::OpenSection(Section::Declaration), "<functions>"),
        (Control::CloseSection(Section::Declaration), "</functions>"),
    ],
    Escape::None,
);
