//! Reads and writes sections whose reasoning stays open around calls and replies, which are JSON
//! arrays (Apertus).
//!
//! The tables, and the text between two messages in the canonical layout, are those of
//! [`sections`](super::sections).

mod calls;
mod dropped;
mod layout_check;
mod lists;
mod outputs;
mod reader;
mod recover;
mod template_layout;
mod turn;
mod whole;
mod writer;
mod writer_state;

pub(crate) use self::dropped::DroppedLayout;
pub(crate) use self::outputs::{is_value, split as split_outputs};
pub(crate) use self::reader::is_list;
pub(crate) use self::template_layout::TemplateLayout;
use self::writer_state::Begins;
use crate::options::{ReadOptions, RenderOptions};
use crate::writing::{RenderError, Sink};

use crate::dialect::Grammar;
use crate::grammar::sections::Rules;
use crate::model::{Document, Message, Raw, Role};
use crate::{Control, Section, reading};

/// Whether this is the text between two replies of a list.
fn is_between_replies(raw: &Raw<'_>) -> bool {
    matches!(raw.as_str(), "," | ", ")
}

/// The grammar of sections whose calls and replies are JSON arrays, with the rules of a dialect.
pub(crate) struct Lists(pub(crate) &'static Rules);

impl Grammar for Lists {
    fn reader<'a>(
        &'static self,
        options: &ReadOptions,
    ) -> Box<dyn reading::Reader<'a> + Send + Sync + 'a> {
        Box::new(reader::reader(self.0, options))
    }

    fn write(
        &'static self,
        document: &Document<'_>,
        options: &RenderOptions,
        sink: &mut dyn Sink,
    ) -> Result<(), RenderError> {
        writer::write(self.0, document, options, sink)
    }
}

impl Rules {
    /// Whether a message is a call that continues the list of the call before it, if there is one.
    pub(crate) fn continues_calls(&self, message: &Message<'_>) -> bool {
        message.is_call() && self.list_start(message) == Begins::Nothing
    }

    /// Whether a message is a reply that continues the list of the reply before it, if there is
    /// one.
    pub(crate) fn continues_replies(&self, message: &Message<'_>) -> bool {
        message.role == Role::Tool && self.list_start(message) == Begins::Nothing
    }

    /// Whether an empty list of calls precedes a reply.
    pub(crate) fn is_behind_no_calls(&self, message: &Message<'_>) -> bool {
        self.list_start(message) == Begins::BehindNone
    }

    /// Returns whether a call or a reply begins a list, according to its layout. Without layout it
    /// continues the list before it, if there is one.
    fn list_start(&self, message: &Message<'_>) -> Begins {
        let Some(raw) = self.before(message) else { return Begins::Nothing };
        match (message.role, raw.has(Control::OpenSection(Section::Calls))) {
            (Role::Tool, true) => Begins::BehindNone,
            (Role::Tool, false) if !is_between_replies(raw) => Begins::List,
            (Role::Assistant, true) if message.is_call() => Begins::List,
            _ => Begins::Nothing,
        }
    }
}
