//! Turns with sections: the turns of each role have their own tokens, and the turn of the assistant
//! has sections: reasoning, text, tool calls and replies.
//!
//! The differences between the dialects of the family are data: [`Rules`]. Reading, writing,
//! completions and masks use the same data, and the writer checks its output with the reader.

mod between;
mod body;
mod call;
mod calls;
mod compose;
mod ends;
mod laid_out;
mod reader;
mod recover;
mod turns;
mod write_check;
mod writer;

pub(crate) use self::compose::{Opened, compose};
pub(crate) use self::reader::reader;
pub(crate) use self::writer::write;

use crate::Control;
use crate::lex::TokenTable;
use crate::model::{FormId, Message, Role};
pub(crate) use crate::rules::{
    CallPiece as Piece, Calls, Mark, NoReasoning, PromptEnd, Prompts, Reasoning, Sections,
};

/// The differences between the dialects of the family.
#[derive(Debug)]
pub(crate) struct Rules {
    /// The name of the dialect.
    pub(crate) form: FormId,
    pub(crate) controls: &'static TokenTable,
    /// The token that begins a sequence, if there is one.
    pub(crate) bos: Option<Control>,
    /// The beginning and end of the turns of each role. The writer uses the first row of a role.
    pub(crate) turns: &'static [Turn],
    /// The sections of the assistant's turn.
    pub(crate) sections: &'static Sections,
    pub(crate) replies: Replies,
    /// Further tokens that end a completion, in addition to the end token of the assistant's turn.
    pub(crate) stops: &'static [Control],
}

/// The beginning and end of the turns of a role.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) role: Role,
    pub(crate) opening: Opening,
    /// The token that closes the turn. Without one, the turn ends where the next turn begins.
    pub(crate) close: Option<Mark>,
}

impl Turn {
    /// Whether its opening contains this name.
    fn is_named(&self, word: &str) -> bool {
        matches!(self.opening, Opening::Named(_, name) if name == word)
    }
}

/// The beginning of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// A token, the name of the role, and a line break: `<|im_start|>user\n`.
    Named(Control, &'static str),
    /// The token of the role. The turn of the assistant continues without it after its own end and
    /// after replies of tools.
    Mark(Control),
    /// Nothing: the turn is the text at the beginning of the document.
    Bare,
}

/// The form of replies of tools.
#[derive(Debug)]
pub(crate) struct Replies {
    /// The role whose turns contain replies. `None` if replies follow the turn of the assistant,
    /// which continues after them.
    pub(crate) turn: Option<Role>,
    /// The tokens that open and close one reply. The line breaks before the opening token are only
    /// written after another reply.
    pub(crate) item: (Mark, Mark),
}

impl Rules {
    /// Returns the beginning and end of the turns of a role.
    fn turn(&self, role: Role) -> Option<&'static Turn> {
        self.turns.iter().find(|turn| turn.role == role)
    }

    /// Returns the row of the turns that this token opens.
    fn opened_by(&self, control: Control) -> Option<&'static Turn> {
        self.turns.iter().find(|turn| match turn.opening {
            Opening::Named(token, _) | Opening::Mark(token) => token == control,
            Opening::Bare => false,
        })
    }

    /// Whether a turn contains replies of tools.
    fn has_replies(&self, turn: &Turn) -> bool {
        turn.role == Role::Tool || self.replies.turn == Some(turn.role)
    }

    /// Whether a token opens or closes turns or the document. Such a token is recognized
    /// everywhere.
    fn frames(&self, control: Control) -> bool {
        control == Control::Eos
            || Some(control) == self.bos
            || self.opened_by(control).is_some()
            || self.turns.iter().any(|turn| turn.close.is_some_and(|it| it.control == control))
    }

    /// Whether a token ends a system message, wherever it is.
    fn ends_said(&self, control: Control) -> bool {
        let is_reply = control == self.replies.item.0.control;
        self.frames(control) || is_reply && self.replies.turn.is_none()
    }

    /// Returns the name of the tool that a message calls, without the namespace.
    pub(crate) fn tool<'m>(&self, message: &'m Message<'_>) -> &'m str {
        self.sections.calls.tool(message.recipient.as_deref().unwrap_or_default())
    }

    /// Returns the recipient of a call with this name.
    pub(crate) fn recipient(&self, name: &str) -> String {
        match name.contains('.') {
            true => name.to_owned(),
            false => [self.sections.calls.namespace, ".", name].concat(),
        }
    }

    /// Whether a message calls a tool by a name from which the recipient can be read back.
    pub(crate) fn names_recipient(&self, message: &Message<'_>) -> bool {
        let recipient = message.recipient.as_deref().unwrap_or_default();
        let name = self.tool(message);
        name.contains('.') || name.len() < recipient.len()
    }

    /// Whether a turn without reasoning has no token for that.
    fn is_silent_at_first(&self) -> bool {
        self.sections.reasoning.none == NoReasoning::Nothing
    }

    /// Returns the role words.
    fn role_words(&self) -> impl Iterator<Item = &'static str> {
        self.turns.iter().filter_map(|turn| match turn.opening {
            Opening::Named(_, word) => Some(word),
            _ => None,
        })
    }

    fn spelling(&self, control: Control) -> &'static str {
        self.controls.spelling(control).unwrap_or_default()
    }
}
