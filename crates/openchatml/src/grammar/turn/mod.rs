//! Turns: `<|im_start|>` role, a line break, content, `<|im_end|>` (OpenChatML 0.1, `im`).

mod content;
mod head;
mod infill;
mod options;
mod parts;
mod reader;
mod writer;

pub use self::options::{Close, TurnOptions};
pub(crate) use self::reader::reader;
pub(crate) use self::writer::write;

use crate::Control;
use crate::lex::TokenTable;
use crate::model::{FormId, Role};

/// What the dialects of the family differ in.
#[derive(Debug)]
pub(crate) struct Rules {
    /// The name of the dialect.
    pub(crate) form: FormId,
    pub(crate) controls: &'static TokenTable,
    pub(crate) roles: &'static [Role],
    /// Whether a line break before `<|im_end|>` belongs to the framing or to the content.
    pub(crate) close: Close,
    /// What stands around a conversation.
    pub(crate) wrap: Wrap,
    /// The control tokens of a newer version, whose messages must not be taken for text.
    pub(crate) newer: &'static TokenTable,
    /// Whether a document may be a fill-in-the-middle task or a multi-file sequence.
    pub(crate) has_files: bool,
}

/// What stands around a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrap {
    /// Nothing.
    None,
    /// `<s>` and `</s>`, which may be left out.
    Optional,
    /// `<s>` and `</s>`.
    Required,
}

impl Rules {
    /// What stands before the first message of a conversation, in the canonical layout. A part of
    /// a multi-file sequence begins on a line of its own.
    fn lead(&self, follows_separator: bool) -> String {
        let line = if follows_separator { "\n" } else { "" };
        match self.wrap {
            Wrap::Required => format!("{line}{}\n", self.spelled(Control::Bos)),
            Wrap::None | Wrap::Optional => line.to_owned(),
        }
    }

    /// What stands after its last message.
    fn tail(&self) -> String {
        match self.wrap {
            Wrap::Required => format!("\n{}\n", self.spelled(Control::Eos)),
            Wrap::None | Wrap::Optional => "\n".to_owned(),
        }
    }

    fn spelled(&self, control: Control) -> &'static str {
        self.controls.spelling(control).unwrap_or_default()
    }
}
