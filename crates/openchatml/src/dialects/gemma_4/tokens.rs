//! The tokens of Gemma 4.

use crate::lex::{Escape, TokenTable};
use crate::{Control, Section};

pub(super) static CONTROLS: TokenTable = TokenTable::new(
    &[
        (Control::Bos, "<bos>"),
        (Control::Eos, "<eos>"),
        (Control::Start, "<|turn>"),
        (Control::End, "<turn|>"),
        // The name of the channel is ordinary text after the token `<|channel>`.
        (Control::OpenSection(Section::Reasoning), "<|channel>thought"),
        (Control::CloseSection(Section::Reasoning), "<channel|>"),
        (Control::OpenSection(Section::Call), "<|tool_call>"),
        (Control::CloseSection(Section::Call), "<tool_call|>"),
        (Control::OpenSection(Section::Value), "<|\"|>"),
        (Control::OpenSection(Section::Reply), "<|tool_response>"),
        (Control::CloseSection(Section::Reply), "<tool_response|>"),
        (Control::OpenSection(Section::Declaration), "<|tool>"),
        (Control::CloseSection(Section::Declaration), "<tool|>"),
        (Control::OpenSection(Section::Thinking), "<|think|>"),
    ],
    Escape::None,
);
