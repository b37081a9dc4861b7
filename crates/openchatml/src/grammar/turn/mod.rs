//! Turns: `<|im_start|>` role, a line break, content, `<|im_end|>` (OpenChatML 0.1, `chatml`).

mod content;
mod head;
mod infill;
mod options;
mod parts;
mod reader;
mod writer;

pub use self::options::{Close, TurnOptions};

use crate::dialect::Grammar;
use crate::lex::TokenTable;
use crate::model::{Document, FormId, Raw, Role};
use crate::options::{ReadOptions, RenderOptions};
use crate::writing::{RenderError, Sink};
use crate::{Control, reading};

/// The differences between the dialects of the family.
#[derive(Debug)]
pub(crate) struct Rules {
    /// The name of the dialect.
    pub(crate) form: FormId,
    pub(crate) controls: &'static TokenTable,
    pub(crate) roles: &'static [Role],
    /// Whether a line break before `<|im_end|>` belongs to the framing or to the content.
    pub(crate) close: Close,
    /// The tokens around a conversation.
    pub(crate) wrap: Wrap,
    /// The control tokens of a newer version. Its messages must not be read as text.
    pub(crate) newer: &'static TokenTable,
    /// Whether a document may be a fill-in-the-middle task or a multi-file sequence.
    pub(crate) has_files: bool,
}

impl Grammar for Rules {
    fn reader<'a>(
        &'static self,
        options: &ReadOptions,
    ) -> Box<dyn reading::Reader<'a> + Send + Sync + 'a> {
        Box::new(reader::reader(self, options))
    }

    fn write(
        &'static self,
        document: &Document<'_>,
        options: &RenderOptions,
        sink: &mut dyn Sink,
    ) -> Result<(), RenderError> {
        writer::write(self, document, options, sink)
    }
}

/// The tokens around a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrap {
    /// No tokens.
    None,
    /// `<s>` and `</s>`, each optional.
    Optional,
    /// `<s>` and `</s>`.
    Required,
}

impl Rules {
    /// Returns the text before the first message of a conversation in the canonical layout. A part
    /// of a multi-file sequence begins on a new line.
    fn lead(&self, follows_separator: bool) -> Raw<'static> {
        let mut lead = Raw::default();
        lead.push_text(if follows_separator { "\n" } else { "" });
        if self.wrap == Wrap::Required {
            lead.push_control(Control::Bos, self.spelled(Control::Bos));
            lead.push_text("\n");
        }
        lead
    }

    /// Returns the text after the last message, or the end of a conversation without messages.
    fn tail(&self, has_messages: bool) -> Raw<'static> {
        let mut tail = Raw::default();
        tail.push_text(if has_messages { "\n" } else { "" });
        if self.wrap == Wrap::Required {
            tail.push_control(Control::Eos, self.spelled(Control::Eos));
            tail.push_text("\n");
        }
        tail
    }

    fn spelled(&self, control: Control) -> &'static str {
        self.controls.spelling(control).unwrap_or_default()
    }
}
