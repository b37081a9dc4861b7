//! The control tokens of Harmony: those of OpenChatML 2.2 without literal blocks and markers.

use crate::Control;
use crate::grammar::frame::openings;
use crate::lex::{Escape, TokenTable};
use crate::writing::PlainOpening;

pub(super) static CONTROLS: TokenTable = TokenTable::new(
    &[
        (Control::Start, "<|start|>"),
        (Control::End, "<|end|>"),
        (Control::Message, "<|message|>"),
        (Control::Channel, "<|channel|>"),
        (Control::Constrain, "<|constrain|>"),
        (Control::Return, "<|return|>"),
        (Control::Call, "<|call|>"),
    ],
    Escape::None,
);

/// The openings of most messages.
pub(super) static OPENINGS: &[PlainOpening] = openings!("<|start|>", "<|channel|>", "<|message|>");
