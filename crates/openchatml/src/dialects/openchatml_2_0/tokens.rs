//! The control tokens of OpenChatML 2.0 (SPEC §3, §7).

use crate::Control;
use crate::lex::{Escape, TokenTable};
use crate::model::{Channel, Marker, Role};
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

/// What most messages of OpenChatML 2.x begin with.
pub(in crate::dialects) static OPENINGS: &[PlainOpening] = &[
    PlainOpening { text: "<|start|>user<|message|>", role: Role::User, channel: None },
    PlainOpening {
        text: "<|start|>assistant<|channel|>final<|message|>",
        role: Role::Assistant,
        channel: Some(Channel::Final),
    },
    PlainOpening {
        text: "<|start|>assistant<|channel|>analysis<|message|>",
        role: Role::Assistant,
        channel: Some(Channel::Analysis),
    },
    PlainOpening { text: "<|start|>system<|message|>", role: Role::System, channel: None },
];
