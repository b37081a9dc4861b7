//! The control tokens of OpenChatML 0.1 (SPEC §2).

use crate::Control;
use crate::lex::{Escape, TokenTable};

pub(super) static CONTROLS: TokenTable = TokenTable::new(
    &[
        (Control::Bos, "<s>"),
        (Control::Eos, "</s>"),
        (Control::Start, "<|im_start|>"),
        (Control::End, "<|im_end|>"),
        (Control::FimPrefix, "<|fim_prefix|>"),
        (Control::FimSuffix, "<|fim_suffix|>"),
        (Control::FimMiddle, "<|fim_middle|>"),
        (Control::FileSeparator, "<|file_separator|>"),
    ],
    Escape::None,
);
