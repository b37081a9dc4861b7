//! Pairs: each role has a token that opens and a token that closes its messages. The turn of the
//! assistant contains further pairs (Apertus).

mod calls;
mod dropped;
mod layout_check;
mod lists;
mod outputs;
mod place;
mod reader;
mod recover;
mod template_layout;
mod turn;
mod whole;
mod writer;
mod writer_state;

pub(crate) use self::dropped::DroppedLayout;
pub(crate) use self::outputs::{is_value, split as split_outputs};
pub(crate) use self::reader::{is_list, reader};
pub(crate) use self::template_layout::TemplateLayout;
pub(crate) use self::writer::write;
use self::writer_state::Begins;

use crate::lex::TokenTable;
use crate::model::{FormId, Message, Raw, Role};
use crate::{Control, Section};

/// Whether this is the text between two replies of a list.
fn is_between_replies(raw: &Raw<'_>) -> bool {
    matches!(raw.as_str(), "," | ", ")
}

/// The differences between the dialects of the family.
#[derive(Debug)]
pub(crate) struct Rules {
    /// The name of the dialect.
    pub(crate) form: FormId,
    pub(crate) controls: &'static TokenTable,
    /// The namespace of tools that are called without it.
    pub(crate) namespace: &'static str,
    /// The tool whose call is outside of the inner section if it is the only one.
    pub(crate) outer_tool: &'static str,
}

impl Rules {
    /// Returns the name of the tool that a message calls, without the namespace.
    pub(crate) fn tool<'m>(&self, message: &'m Message<'_>) -> &'m str {
        let recipient = message.recipient.as_deref().unwrap_or_default();
        let bare = recipient.strip_prefix(self.namespace).and_then(|it| it.strip_prefix('.'));
        // A tool of another namespace keeps its whole name, unless that would be read as a name
        // without the namespace.
        bare.filter(|bare| !bare.contains('.')).unwrap_or(recipient)
    }

    /// Whether a message is a call that continues the list of the call before it, if there is one.
    pub(crate) fn goes_on(&self, message: &Message<'_>) -> bool {
        message.is_call() && self.begins(message) == Begins::Nothing
    }

    /// Whether a message is a reply that continues the list of the reply before it, if there is
    /// one.
    pub(crate) fn is_in_list(&self, message: &Message<'_>) -> bool {
        message.role == Role::Tool && self.begins(message) == Begins::Nothing
    }

    /// Whether an empty list of calls precedes a reply.
    pub(crate) fn is_behind_no_calls(&self, message: &Message<'_>) -> bool {
        self.begins(message) == Begins::BehindNone
    }

    /// Returns whether a call or a reply begins a list, according to its layout. Without layout it
    /// continues the list before it, if there is one.
    fn begins(&self, message: &Message<'_>) -> Begins {
        let layout = message.layout.as_ref().filter(|it| it.form == self.form);
        let Some(raw) = layout.and_then(|it| it.before.as_ref()) else {
            return Begins::Nothing;
        };
        match (message.role, raw.has(Control::OpenSection(Section::Calls))) {
            (Role::Tool, true) => Begins::BehindNone,
            (Role::Tool, false) if !is_between_replies(raw) => Begins::List,
            (Role::Assistant, true) if message.is_call() => Begins::List,
            _ => Begins::Nothing,
        }
    }

    /// Returns the recipient of a call with this name.
    pub(crate) fn recipient(&self, name: &str) -> String {
        match name.contains('.') {
            true => name.to_owned(),
            false => [self.namespace, ".", name].concat(),
        }
    }

    /// Whether a message calls a tool by a name from which the recipient can be read back.
    pub(crate) fn names_recipient(&self, message: &Message<'_>) -> bool {
        let recipient = message.recipient.as_deref().unwrap_or_default();
        // The name is the whole recipient, or the part after the namespace.
        let name = self.tool(message);
        name.contains('.') || name.len() < recipient.len()
    }
}
