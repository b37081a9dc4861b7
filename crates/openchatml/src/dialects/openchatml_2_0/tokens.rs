//! The control tokens of OpenChatML 2.0 (SPEC §3, §7).

use crate::Control;
use crate::grammar::frame::openings;
use crate::lex::{Escape, TokenTable};
use crate::model::Marker;
use crate::writing::PlainOpening;

pub(super) static CONTROLS: TokenTable = TokenTable::new(
    &[
        (Control::Start, "<|start|>"),
        (Control::Channel, "<|channel|>"),
        (Control::Message, "<|message|>"),
        (Control::Call, "<|call|>"),
        (Control::Return, "<|return|>"),
        (Control::End, "<|end|>"),
        (Control::Marker(Marker::Reflect), "<|start_reflect|>"),
        (Control::Marker(Marker::Introspect), "<|start_introspect|>"),
        (Control::Marker(Marker::Reason), "<|start_reason|>"),
    ],
    Escape::None,
);

/// The openings of most messages.
pub(super) static OPENINGS: &[PlainOpening] = openings!("<|start|>", "<|channel|>", "<|message|>");
