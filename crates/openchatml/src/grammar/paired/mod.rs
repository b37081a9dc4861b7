//! Pairs: each role has a token that opens and a token that closes what it says, and the turn of
//! the assistant has pairs inside (Apertus).

mod calls;
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

pub(crate) use self::outputs::{is_value, split as split_outputs};
pub(crate) use self::reader::reader;
pub(crate) use self::template_layout::TemplateLayout;
pub(crate) use self::writer::write;
use self::writer_state::Begins;
pub(crate) use self::writer_state::is_list;

use crate::lex::TokenTable;
use crate::model::{FormId, Message, Raw, Role};
use crate::{Control, Section};

/// Whether this stands between two replies of a list.
fn is_between_replies(raw: &Raw<'_>) -> bool {
    matches!(raw.as_str(), "," | ", ")
}

/// What the dialects of the family differ in.
#[derive(Debug)]
pub(crate) struct Rules {
    /// The name of the dialect.
    pub(crate) form: FormId,
    pub(crate) controls: &'static TokenTable,
    /// The namespace of the tools that are called by their bare names.
    pub(crate) namespace: &'static str,
    /// The tool that is called outside of the inner section if it is called alone.
    pub(crate) outer_tool: &'static str,
}

impl Rules {
    /// The bare name of the tool that a message calls.
    pub(crate) fn tool<'m>(&self, message: &'m Message<'_>) -> &'m str {
        let recipient = message.recipient.as_deref().unwrap_or_default();
        let bare = recipient.strip_prefix(self.namespace).and_then(|it| it.strip_prefix('.'));
        // A tool outside of the namespace keeps its name, unless it would be taken for one inside.
        bare.filter(|bare| !bare.contains('.')).unwrap_or(recipient)
    }

    /// Whether a message is a call that goes on the list of the call before it, if there is one.
    pub(crate) fn goes_on(&self, message: &Message<'_>) -> bool {
        message.is_call() && self.begins(message) == Begins::Nothing
    }

    /// Whether a message is a reply in the list of the reply before it, if there is one.
    pub(crate) fn is_in_list(&self, message: &Message<'_>) -> bool {
        message.role == Role::Tool && self.begins(message) == Begins::Nothing
    }

    /// Whether a reply stands behind a list of no calls.
    pub(crate) fn is_behind_no_calls(&self, message: &Message<'_>) -> bool {
        self.begins(message) == Begins::BehindNone
    }

    /// Whether a call or a reply begins a list, where that was read and may be read in two ways.
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

    /// Whom a call of this bare name is for.
    pub(crate) fn recipient(&self, name: &str) -> String {
        match name.contains('.') {
            true => name.to_owned(),
            false => [self.namespace, ".", name].concat(),
        }
    }

    /// Whether a message calls a tool by a name that says whom it is for.
    pub(crate) fn names_recipient(&self, message: &Message<'_>) -> bool {
        let recipient = message.recipient.as_deref().unwrap_or_default();
        // All of the recipient is the name, or what stands behind the namespace.
        let name = self.tool(message);
        name.contains('.') || name.len() < recipient.len()
    }
}
