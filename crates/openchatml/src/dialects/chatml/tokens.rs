//! The control tokens of ChatML.

use crate::Control;
use crate::lex::{Controls, Escape};

pub(super) static CONTROLS: Controls = Controls::new(
    &[
        (Control::Start, "<|start|>"),
        (Control::Message, "<|message|>"),
        (Control::End, "<|end_message|>"),
    ],
    Escape::None,
);
