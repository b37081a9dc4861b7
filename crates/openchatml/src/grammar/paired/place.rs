//! What stands between two messages: the one place that knows it, for reading and for writing.
//!
//! In this family a message has no frame of its own. What closes one and what opens the next
//! depends on both: `]<|inner_suffix|>` between a tool's reply and an answer, `, ` between two
//! replies, nothing at all between the user's `<|user_end|>` and … `<|assistant_start|>`.

use super::Rules;
use crate::lex::TokenTable;
use crate::model::{Message, Raw, RawPiece, Role};
use crate::{Control, Section};

/// Where the content of the last message ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) at: At,
    /// Whether what the assistant says next is said to itself.
    pub(super) inner: bool,
}

/// What is open there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// Nothing was said yet, not even the token that begins a sequence.
    Start,
    /// Nothing: between what roles say.
    Outside,
    /// What another role than the assistant says.
    Section(Role),
    /// The turn of the assistant.
    Turn,
    /// A call in a list of calls.
    Call,
    /// A reply in a list of replies.
    Reply,
}

/// What a message is, as far as its surroundings depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind<'m> {
    Section(Role),
    Inner,
    Outer,
    /// A call of a tool by its bare name; whether it leaves the inner section.
    Call(&'m str, bool),
    Reply,
    /// The turn of the assistant, open for anything.
    Prompt,
}

/// A piece of what stands between two messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece<'m> {
    Control(Control),
    /// Text of the framing.
    Text(&'static str),
    /// The name of a tool, which is somebody's text.
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

/// Whose a piece is: what a model is trained to say depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// It ends the message before.
    Before,
    /// It ends the turn of the assistant, which went on after that.
    Gap,
    /// It says who speaks.
    Opening,
    /// It says what kind of message follows.
    Header,
}

impl Place {
    pub(super) const START: Self = Self { at: At::Start, inner: false };

    pub(super) fn is_turn(self) -> bool {
        matches!(self.at, At::Turn | At::Call | At::Reply)
    }

    /// What stands between this place and a message, piece by piece.
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

    /// What closes what is open here; the turn of the assistant, too, if somebody else speaks next.
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
            At::Start | At::Outside | At::Turn => {}
        }
        let end = Piece::Control(Control::Close(Role::Assistant));
        match (turn, self.at) {
            (true, At::Turn) => piece(Owner::Before, end),
            (true, At::Call | At::Reply) => piece(Owner::Gap, end),
            _ => Ok(()),
        }
    }

    /// Whether `raw` is what stands between this place and a message, in the canonical layout.
    pub(super) fn is_canonical_raw(self, kind: Kind<'_>, raw: &Raw<'_>) -> bool {
        let mut rest = raw.rest();
        let whole =
            self.between(kind, &mut |_, piece| rest.take(piece.raw()).then_some(()).ok_or(()));
        whole.is_ok() && rest.is_empty()
    }

    /// The same, of what the input has there.
    pub(super) fn is_canonical(self, kind: Kind<'_>, raw: &str, controls: &TokenTable) -> bool {
        let mut rest = raw;
        let whole = self.between(kind, &mut |_, piece| {
            rest = rest.strip_prefix(piece.spelling(controls)).ok_or(())?;
            Ok::<(), ()>(())
        });
        whole.is_ok() && rest.is_empty()
    }

    /// The place behind a message.
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
    /// What a message is; whether it is `alone` counts for calls.
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
