//! The control tokens of ChatML.

use crate::Control;
use crate::lex::{Escape, TokenTable};
use crate::model::Role;
use crate::writing::PlainOpening;

pub(super) static CONTROLS: TokenTable = TokenTable::new(
    &[
        (Control::Start, "<|start|>"),
        (Control::Message, "<|message|>"),
        (Control::End, "<|end_message|>"),
    ],
    Escape::None,
);

/// The openings of most messages.
pub(super) static OPENINGS: &[PlainOpening] = &[
    PlainOpening { text: "<|start|>user<|message|>", role: Role::User, channel: None },
    PlainOpening { text: "<|start|>assistant<|message|>", role: Role::Assistant, channel: None },
    PlainOpening { text: "<|start|>system<|message|>", role: Role::System, channel: None },
];
