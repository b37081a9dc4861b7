//! Defines the text between two messages, for reading and for writing.
//!
//! In this family a message has no frame of its own. The text between two messages depends on both:
//! `]<|inner_suffix|>` between a tool reply and an answer, `, ` between two replies, `<|user_end|>`
//! and `<|assistant_start|>` between a question and an answer.

use super::Rules;
use crate::grammar::owner::Owner;
use crate::lex::TokenTable;
use crate::model::{Message, Raw, RawPiece, Role};
use crate::{Control, Section};

/// The position after the content of the last message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) at: At,
    /// Whether the next message of the assistant is reasoning or a call, in the inner section.
    pub(super) inner: bool,
}

/// What is open at the position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// The beginning of the text, before the token that begins a sequence.
    Start,
    /// A message of another role than the assistant.
    Section(Role),
    /// The turn of the assistant.
    Turn,
    /// A call in a list of calls.
    Call,
    /// A reply in a list of replies.
    Reply,
}

/// The kind of a message, as far as the text around it depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind<'m> {
    Section(Role),
    Inner,
    Outer,
    /// A call of a tool, by its name without namespace, and whether it leaves the inner section.
    Call(&'m str, bool),
    Reply,
    /// A prompt: the turn of the assistant, in which any message can follow.
    Prompt,
}

/// A piece of the text between two messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece<'m> {
    Control(Control),
    /// Text of the framing.
    Text(&'static str),
    /// The name of a tool, which is a value of the message.
    Name(&'m str),
}

impl<'m> Piece<'m> {
    pub(super) fn raw(self) -> RawPiece<'m> {
        match self {
            Self::Control(control) => RawPiece::Control(control),
            Self::Text(text) => RawPiece::Text(text),
            Self::Name(text) => RawPiece::Text(text),
        }
    }

    pub(super) fn spelling(self, controls: &TokenTable) -> &'m str {
        match self {
            Self::Control(control) => controls.spelling(control).unwrap_or_default(),
            Self::Text(text) => text,
            Self::Name(text) => text,
        }
    }
}

impl Place {
    pub(super) const START: Self = Self { at: At::Start, inner: false };

    pub(super) fn is_turn(self) -> bool {
        matches!(self.at, At::Turn | At::Call | At::Reply)
    }

    /// Writes the text between this position and a message, piece by piece.
    pub(super) fn between<'m, E>(
        self,
        kind: Kind<'m>,
        piece: &mut impl FnMut(Owner, Piece<'m>) -> Result<(), E>,
    ) -> Result<(), E> {
        use Owner::{Before, Header, Opening};
        use Piece::{Control as Token, Name, Text};
        match (self.at, kind) {
            (At::Call, Kind::Call(..)) => piece(Before, Text("}"))?,
            (At::Reply, Kind::Reply) => {}
            (_, Kind::Section(_)) => self.close(true, piece)?,
            _ => self.close(false, piece)?,
        }
        if self.at == At::Start {
            piece(Before, Token(Control::Bos))?;
        }
        if let Kind::Section(role) = kind {
            return piece(Opening, Token(Control::Open(role)));
        }
        if !self.is_turn() || kind == Kind::Prompt {
            piece(Opening, Token(Control::Open(Role::Assistant)))?;
        }
        match kind {
            Kind::Inner if !self.inner => {
                piece(Header, Token(Control::OpenSection(Section::Reasoning)))?
            }
            Kind::Outer | Kind::Call(_, true) if self.inner => {
                piece(Header, Token(Control::CloseSection(Section::Reasoning)))?;
            }
            _ => {}
        }
        match kind {
            Kind::Call(name, _) => {
                if self.at == At::Call {
                    piece(Header, Text(", {\""))?;
                } else {
                    piece(Header, Token(Control::OpenSection(Section::Calls)))?;
                    piece(Header, Text("[{\""))?;
                }
                piece(Header, Name(name))?;
                piece(Header, Text("\": "))
            }
            Kind::Reply if self.at == At::Reply => piece(Header, Text(", ")),
            Kind::Reply => piece(Header, Text("[")),
            _ => Ok(()),
        }
    }

    /// Writes the text that closes what is open here, and the turn of the assistant if another role
    /// speaks next.
    pub(super) fn close<'m, E>(
        self,
        turn: bool,
        piece: &mut impl FnMut(Owner, Piece<'m>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut before = |it| piece(Owner::Before, it);
        match self.at {
            At::Section(role) => before(Piece::Control(Control::Close(role)))?,
            At::Call => {
                before(Piece::Text("}]"))?;
                before(Piece::Control(Control::CloseSection(Section::Calls)))?;
            }
            At::Reply => before(Piece::Text("]"))?,
            At::Start | At::Turn => {}
        }
        let end = Piece::Control(Control::Close(Role::Assistant));
        match (turn, self.at) {
            (true, At::Turn) => piece(Owner::Before, end),
            (true, At::Call | At::Reply) => piece(Owner::Gap, end),
            _ => Ok(()),
        }
    }

    /// Whether `raw` is the text after the last message in the canonical layout. `turn` says whether
    /// the turn of the assistant is closed.
    pub(super) fn is_canonical_end(self, turn: bool, raw: &Raw<'_>) -> bool {
        let mut rest = raw.rest();
        let whole =
            self.close(turn, &mut |_, piece| rest.take(piece.raw()).then_some(()).ok_or(()));
        whole.is_ok() && rest.is_empty()
    }

    /// Whether `raw` equals the text between this position and a message in the canonical layout.
    pub(super) fn is_canonical_raw(self, kind: Kind<'_>, raw: &Raw<'_>) -> bool {
        let mut rest = raw.rest();
        let whole =
            self.between(kind, &mut |_, piece| rest.take(piece.raw()).then_some(()).ok_or(()));
        whole.is_ok() && rest.is_empty()
    }

    /// The same, for text of the input.
    pub(super) fn is_canonical(self, kind: Kind<'_>, raw: &str, controls: &TokenTable) -> bool {
        let mut rest = raw;
        let whole = self.between(kind, &mut |_, piece| {
            rest = rest.strip_prefix(piece.spelling(controls)).ok_or(())?;
            Ok::<(), ()>(())
        });
        whole.is_ok() && rest.is_empty()
    }

    /// Returns the position after a message.
    pub(super) fn after(self, kind: Kind<'_>) -> Self {
        match kind {
            Kind::Section(role) => Self { at: At::Section(role), inner: false },
            Kind::Inner => Self { at: At::Turn, inner: true },
            Kind::Outer | Kind::Prompt => Self { at: At::Turn, inner: false },
            Kind::Call(_, leaves) => {
                Self { at: At::Call, inner: self.inner && self.is_turn() && !leaves }
            }
            Kind::Reply => Self { at: At::Reply, inner: self.inner && self.is_turn() },
        }
    }
}

impl Rules {
    /// Returns the kind of a message. `alone` says whether a call is the only one of its list.
    pub(super) fn kind<'m>(&self, message: &'m Message<'_>, alone: bool) -> Kind<'m> {
        match message.role {
            Role::Tool => Kind::Reply,
            Role::Assistant if message.is_call() => {
                let name = self.tool(message);
                Kind::Call(name, alone && name == self.outer_tool)
            }
            Role::Assistant if message.end == crate::model::End::Prompt => Kind::Prompt,
            Role::Assistant if message.is_reasoning() => Kind::Inner,
            Role::Assistant => Kind::Outer,
            role => Kind::Section(role),
        }
    }
}
