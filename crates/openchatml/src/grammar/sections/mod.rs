//! Turns with sections: what a role says stands between tokens of its own, and the turn of the
//! assistant has parts: reasoning, text, tool calls, replies.
//!
//! What the dialects of the family differ in is data: [`Rules`]. Reading, writing, completions and
//! masks follow the same data, and the writer checks what it writes with the reader.

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

/// What the dialects of the family differ in.
#[derive(Debug)]
pub(crate) struct Rules {
    /// The name of the dialect.
    pub(crate) form: FormId,
    pub(crate) controls: &'static TokenTable,
    /// The token that begins a sequence, where there is one.
    pub(crate) bos: Option<Control>,
    /// How each role's turns begin and end. The first row of a role is the one that is written.
    pub(crate) turns: &'static [Turn],
    /// The sections of the assistant's turn.
    pub(crate) sections: &'static Sections,
    pub(crate) replies: Replies,
    /// The tokens that end a completion besides the one that closes the assistant's turn.
    pub(crate) stops: &'static [Control],
}

/// How the turns of a role begin and end.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) role: Role,
    pub(crate) opening: Opening,
    /// The token that closes it. Without one, it ends where the next turn begins.
    pub(crate) close: Option<Mark>,
}

impl Turn {
    /// Whether its opening has this name.
    fn is_named(&self, word: &str) -> bool {
        matches!(self.opening, Opening::Named(_, name) if name == word)
    }
}

/// How a turn begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// By a token, the name of the role, and a line break: `<|im_start|>user\n`.
    Named(Control, &'static str),
    /// By the token of the role. The turn of the assistant goes on without one behind its own end, and
    /// behind the replies of tools.
    Mark(Control),
    /// By nothing: it is the text at the beginning of the document.
    Bare,
}

/// How replies of tools are written.
#[derive(Debug)]
pub(crate) struct Replies {
    /// Whose turn they stand in. `None` if they stand behind the turn of the assistant, which goes on
    /// behind them.
    pub(crate) turn: Option<Role>,
    /// What opens and closes one reply. Line breaks before it stand behind another reply.
    pub(crate) item: (Mark, Mark),
}

impl Rules {
    /// How the turns of a role are written.
    fn turn(&self, role: Role) -> Option<&'static Turn> {
        self.turns.iter().find(|turn| turn.role == role)
    }

    /// The row whose turns this token opens, by a name or by itself.
    fn opened_by(&self, control: Control) -> Option<&'static Turn> {
        self.turns.iter().find(|turn| match turn.opening {
            Opening::Named(token, _) | Opening::Mark(token) => token == control,
            Opening::Bare => false,
        })
    }

    /// Whether replies of tools stand in a turn.
    fn has_replies(&self, turn: &Turn) -> bool {
        turn.role == Role::Tool || self.replies.turn == Some(turn.role)
    }

    /// Whether a token opens or closes turns, or the document: it counts in whatever it stands.
    fn frames(&self, control: Control) -> bool {
        control == Control::Eos
            || Some(control) == self.bos
            || self.opened_by(control).is_some()
            || self.turns.iter().any(|turn| turn.close.is_some_and(|it| it.control == control))
    }

    /// Whether a token counts wherever it stands in what the system says: it ends that.
    fn ends_said(&self, control: Control) -> bool {
        let is_reply = control == self.replies.item.0.control;
        self.frames(control) || is_reply && self.replies.turn.is_none()
    }

    /// The bare name of the tool that a message calls.
    pub(crate) fn tool<'m>(&self, message: &'m Message<'_>) -> &'m str {
        self.sections.calls.tool(message.recipient.as_deref().unwrap_or_default())
    }

    /// Whom a call of this bare name is for.
    pub(crate) fn recipient(&self, name: &str) -> String {
        match name.contains('.') {
            true => name.to_owned(),
            false => [self.sections.calls.namespace, ".", name].concat(),
        }
    }

    /// Whether a message calls a tool by a name that says whom it is for.
    pub(crate) fn names_recipient(&self, message: &Message<'_>) -> bool {
        let recipient = message.recipient.as_deref().unwrap_or_default();
        let name = self.tool(message);
        name.contains('.') || name.len() < recipient.len()
    }

    /// Whether a turn without reasoning says nothing of that.
    fn is_silent_at_first(&self) -> bool {
        self.sections.reasoning.none == NoReasoning::Nothing
    }

    /// The words of the roles.
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
