//! The tokens of Llama 3 and Llama 4.

use crate::lex::{Escape, TokenTable};
use crate::{Control, Section};

pub(super) static V3: TokenTable = TokenTable::new(
    &[
        (Control::Bos, "<|begin_of_text|>"),
        (Control::Eos, "<|end_of_text|>"),
        (Control::Start, "<|start_header_id|>"),
        (Control::Message, "<|end_header_id|>"),
        (Control::End, "<|eot_id|>"),
        (Control::Call, "<|eom_id|>"),
        (Control::OpenSection(Section::Call), "<|python_tag|>"),
    ],
    Escape::None,
);

pub(super) static V4: TokenTable = TokenTable::new(
    &[
        (Control::Bos, "<|begin_of_text|>"),
        (Control::Eos, "<|end_of_text|>"),
        (Control::Start, "<|header_start|>"),
        (Control::Message, "<|header_end|>"),
        (Control::End, "<|eot|>"),
        (Control::Call, "<|eom|>"),
        (Control::OpenSection(Section::Call), "<|python_start|>"),
        (Control::CloseSection(Section::Call), "<|python_end|>"),
    ],
    Escape::None,
);
