//! The tokens of LFM2 and LFM2.5.

use crate::lex::{Escape, TokenTable};
use crate::{Control, Section};

pub(super) static V2: TokenTable = TokenTable::new(
    &[
        (Control::Bos, "<|startoftext|>"),
        (Control::Eos, "<|endoftext|>"),
        (Control::Start, "<|im_start|>"),
        (Control::End, "<|im_end|>"),
        (Control::OpenSection(Section::Reasoning), "<think>"),
        (Control::CloseSection(Section::Reasoning), "</think>"),
        (Control::OpenSection(Section::Call), "<|tool_call_start|>"),
        (Control::CloseSection(Section::Call), "<|tool_call_end|>"),
        (Control::OpenSection(Section::Reply), "<|tool_response_start|>"),
        (Control::CloseSection(Section::Reply), "<|tool_response_end|>"),
        (Control::OpenSection(Section::Declaration), "<|tool_list_start|>"),
        (Control::CloseSection(Section::Declaration), "<|tool_list_end|>"),
    ],
    Escape::None,
);

/// LFM2.5 writes no tokens around tools and replies. Its vocabulary still has those tokens, so
/// content must not contain them.
pub(super) static V2_5: TokenTable = TokenTable::new(
    &[
        (Control::Bos, "<|startoftext|>"),
        (Control::Eos, "<|endoftext|>"),
        (Control::Start, "<|im_start|>"),
        (Control::End, "<|im_end|>"),
        (Control::OpenSection(Section::Reasoning), "<think>"),
        (Control::CloseSection(Section::Reasoning), "</think>"),
        (Control::OpenSection(Section::Call), "<|tool_call_start|>"),
        (Control::CloseSection(Section::Call), "<|tool_call_end|>"),
        (Control::OpenSection(Section::Unknown), "<|tool_response_start|>"),
        (Control::CloseSection(Section::Unknown), "<|tool_response_end|>"),
        (Control::OpenSection(Section::Declaration), "<|tool_list_start|>"),
        (Control::CloseSection(Section::Declaration), "<|tool_list_end|>"),
    ],
    Escape::None,
);
