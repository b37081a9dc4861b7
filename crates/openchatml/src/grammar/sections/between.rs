//! Defines the text between two messages in the canonical layout.

use super::{Mark, NoReasoning, Opening, Piece, PromptEnd, Reasoning, Rules, Turn};
use crate::Control;
use crate::grammar::owner::Owner;
use crate::model::{End, Message, Role};

/// The kind of a message, as far as the text around it depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind<'m> {
    /// A message of another role than the assistant or a tool.
    Said(Role),
    Reasoning,
    /// A text of the assistant for the user. After a blank one, a call begins a new turn, because
    /// the reader takes white space before a call as layout.
    Text {
        blank: bool,
    },
    /// A call of a tool, by its name without namespace.
    Call(&'m str),
    Reply,
    /// A prompt: the turn of the assistant, in which any message can follow.
    Prompt,
}

/// A piece of the text between two messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written<'m> {
    Control(Control),
    /// Text of the framing.
    Text(&'m str),
    /// The name of a tool.
    Name(&'m str),
    /// The name of a tool, as a JSON string.
    JsonName(&'m str),
}

/// The position after the content of a message of this kind. `None` before the first message.
pub(super) type Place = Option<Kind<'static>>;

const BREAKS: &str = "\n\n\n\n";

/// Returns this number of line breaks.
pub(super) fn breaks(count: u8) -> &'static str {
    BREAKS.get(..usize::from(count)).unwrap_or(BREAKS)
}

impl Kind<'_> {
    /// Returns the position after a message of this kind.
    pub(super) fn place(self) -> Place {
        Some(match self {
            Self::Said(role) => Kind::Said(role),
            Self::Reasoning => Kind::Reasoning,
            Self::Text { blank } => Kind::Text { blank },
            Self::Call(_) => Kind::Call(""),
            Self::Reply => Kind::Reply,
            Self::Prompt => Kind::Prompt,
        })
    }
}

/// Receives pieces, and what each belongs to.
type Emit<'e, 'm, E> = &'e mut dyn FnMut(Owner, Written<'m>) -> Result<(), E>;

impl Rules {
    /// Returns the kind of a message.
    pub(super) fn kind<'m>(&self, message: &'m Message<'_>) -> Kind<'m> {
        match message.role {
            Role::Tool => Kind::Reply,
            Role::Assistant if message.is_call() => Kind::Call(self.tool(message)),
            Role::Assistant if message.end == End::Prompt => Kind::Prompt,
            Role::Assistant if message.is_reasoning() => Kind::Reasoning,
            Role::Assistant => Kind::Text { blank: message.body.text().trim_ascii().is_empty() },
            role => Kind::Said(role),
        }
    }

    /// Writes the text between the last message and the next.
    pub(super) fn between<'m, E>(
        &self,
        place: Place,
        next: Kind<'m>,
        emit: Emit<'_, 'm, E>,
    ) -> Result<(), E> {
        let stays = place.is_some_and(|last| stays(last, next));
        match place {
            None => self.bos.map_or(Ok(()), |bos| emit(Owner::Opening, Written::Control(bos)))?,
            Some(last) => {
                self.close_section(last, Some(next).filter(|_| stays), emit)?;
                if !stays {
                    self.close_turn(last, emit)?;
                }
            }
        }
        let is_first = !stays && self.open_turn(place, next, emit)?;
        self.open_section(place.filter(|_| stays), next, is_first, emit)
    }

    /// Writes the text that closes the last message and its turn.
    pub(super) fn close<'m, E>(&self, place: Place, emit: Emit<'_, 'm, E>) -> Result<(), E> {
        let Some(last) = place else {
            return self.bos.map_or(Ok(()), |bos| emit(Owner::Before, Written::Control(bos)));
        };
        self.close_section(last, None, emit)?;
        self.close_turn(last, emit)
    }

    /// Writes the part of a generation prompt that is about reasoning, after the opening of the
    /// turn.
    pub(super) fn prompt<'m, E>(
        &self,
        place: Place,
        thinking: Option<bool>,
        emit: Emit<'_, 'm, E>,
    ) -> Result<(), E> {
        let last = place.map(|last| match last {
            Kind::Said(role) => role,
            Kind::Reply => Role::Tool,
            _ => Role::Assistant,
        });
        let Reasoning { open, close, .. } = self.sections.reasoning;
        match self.sections.prompts.end(last, thinking) {
            PromptEnd::Turn => Ok(()),
            PromptEnd::Open => mark(Owner::Header, open, emit),
            PromptEnd::Close => mark(Owner::Header, close, emit),
            PromptEnd::Pair => {
                mark(Owner::Header, open, emit)?;
                mark(Owner::Header, close, emit)
            }
        }
    }

    /// Whether `raw` equals the text between this position and a message in the canonical layout.
    /// Without a message, `raw` is compared with the end of the conversation.
    pub(super) fn is_canonical(&self, place: Place, next: Option<Kind<'_>>, raw: &str) -> bool {
        let mut rest = raw;
        let mut strip = |_: Owner, piece: Written<'_>| {
            let spelled = match piece {
                Written::Control(control) => self.spelling(control),
                Written::Text(text) | Written::Name(text) => text,
                Written::JsonName(name) => {
                    rest = rest.strip_prefix(&*quoted(name)).ok_or(())?;
                    return Ok(());
                }
            };
            rest = rest.strip_prefix(spelled).ok_or(())?;
            Ok::<(), ()>(())
        };
        let whole = match next {
            Some(next) => self.between(place, next, &mut strip),
            None => self.close(place, &mut strip),
        };
        whole.is_ok() && rest.is_empty()
    }

    /// Returns the turn that contains a message of this kind. `None` for a reply outside of turns.
    fn turn_of(&self, kind: Kind<'_>) -> Option<&'static Turn> {
        self.turn(match kind {
            Kind::Said(role) => role,
            Kind::Reply => self.replies.turn?,
            _ => Role::Assistant,
        })
    }

    /// Closes the section of a message, before the next message of the turn.
    fn close_section<'m, E>(
        &self,
        last: Kind<'_>,
        next: Option<Kind<'_>>,
        emit: Emit<'_, 'm, E>,
    ) -> Result<(), E> {
        match last {
            Kind::Reasoning => {
                let Mark { control, before, after } = self.sections.reasoning.close;
                line_breaks(Owner::Before, before, emit)?;
                emit(Owner::Before, Written::Control(control))?;
                // The reader ends the message before these line breaks.
                line_breaks(Owner::Header, if next.is_some() { after } else { 0 }, emit)
            }
            Kind::Call(_) => {
                let behind = |piece: &&Piece| **piece != Piece::Arguments;
                for piece in self.sections.calls.pieces.iter().skip_while(behind).skip(1) {
                    if let Piece::Json(text) = piece {
                        emit(Owner::Before, Written::Text(text))?;
                    }
                }
                mark(Owner::Before, self.sections.calls.item.1, emit)?;
                match (next, self.sections.calls.list) {
                    (None, Some((_, close))) => mark(Owner::Before, close, emit),
                    _ => Ok(()),
                }
            }
            Kind::Reply => mark(Owner::Before, self.replies.item.1, emit),
            Kind::Said(_) | Kind::Text { .. } | Kind::Prompt => Ok(()),
        }
    }

    fn close_turn<'m, E>(&self, last: Kind<'_>, emit: Emit<'_, 'm, E>) -> Result<(), E> {
        let Some(close) = self.turn_of(last).and_then(|turn| turn.close) else { return Ok(()) };
        line_breaks(Owner::Before, close.before, emit)?;
        emit(Owner::Before, Written::Control(close.control))?;
        line_breaks(Owner::Gap, close.after, emit)
    }

    /// Opens the turn of a message. Returns whether it wrote an opening, after which a turn can say
    /// that it has no reasoning.
    fn open_turn<'m, E>(
        &self,
        place: Place,
        next: Kind<'_>,
        emit: Emit<'_, 'm, E>,
    ) -> Result<bool, E> {
        let Some(turn) = self.turn_of(next) else { return Ok(false) };
        match turn.opening {
            Opening::Named(control, word) => {
                emit(Owner::Opening, Written::Control(control))?;
                emit(Owner::Opening, Written::Text(word))?;
                emit(Owner::Opening, Written::Text("\n"))?;
            }
            Opening::Mark(_) if turn.role == Role::Assistant && self.goes_on(place) => {
                return Ok(false);
            }
            Opening::Mark(control) => emit(Owner::Opening, Written::Control(control))?,
            Opening::Bare => return Ok(false),
        }
        Ok(true)
    }

    /// Whether the turn of the assistant continues here without a new opening token.
    pub(super) fn goes_on(&self, place: Place) -> bool {
        let follows = place.is_some_and(|last| !matches!(last, Kind::Said(_)));
        follows && self.sections.prompts.goes_on
    }

    /// Opens the section of a message, after another message of its turn or at the beginning of the
    /// turn.
    fn open_section<'m, E>(
        &self,
        before: Place,
        next: Kind<'m>,
        is_first: bool,
        emit: Emit<'_, 'm, E>,
    ) -> Result<(), E> {
        let has_none = self.sections.reasoning.none == NoReasoning::Close && is_first;
        if has_none && matches!(next, Kind::Text { .. } | Kind::Call(_)) {
            emit(Owner::Header, Written::Control(self.sections.reasoning.close.control))?;
        }
        match next {
            Kind::Said(_) | Kind::Text { .. } | Kind::Prompt => Ok(()),
            Kind::Reasoning => {
                emit(Owner::Header, Written::Control(self.sections.reasoning.open.control))?;
                line_breaks(Owner::Header, self.sections.reasoning.open.after, emit)
            }
            Kind::Call(name) => self.open_call(before, name, emit),
            Kind::Reply => {
                let open = self.replies.item.0;
                let before = if before.is_some() { open.before } else { 0 };
                mark(Owner::Header, Mark { before, ..open }, emit)
            }
        }
    }

    fn open_call<'m, E>(
        &self,
        before: Place,
        name: &'m str,
        emit: Emit<'_, 'm, E>,
    ) -> Result<(), E> {
        if let Some((open, _)) = self.sections.calls.list
            && !matches!(before, Some(Kind::Call(_)))
        {
            mark(Owner::Header, open, emit)?;
        }
        let open = self.sections.calls.item.0;
        // After reasoning, the line breaks are already written.
        let is_behind = matches!(before, Some(Kind::Text { .. } | Kind::Call(_)));
        let before = if is_behind { open.before } else { 0 };
        mark(Owner::Header, Mark { before, ..open }, emit)?;
        for piece in self.sections.calls.pieces {
            match piece {
                Piece::Json(text) => emit(Owner::Header, Written::Text(text))?,
                Piece::Name => emit(Owner::Header, Written::JsonName(name))?,
                Piece::NameUpTo(control) => {
                    emit(Owner::Header, Written::Name(name))?;
                    emit(Owner::Header, Written::Control(*control))?;
                }
                Piece::Arguments => break,
            }
        }
        Ok(())
    }
}

/// Whether the next message is in the turn of the last one.
pub(super) fn stays(last: Kind<'_>, next: Kind<'_>) -> bool {
    match (last, next) {
        (Kind::Reasoning, Kind::Text { .. } | Kind::Call(_))
        | (Kind::Call(_), Kind::Call(_))
        | (Kind::Reply, Kind::Reply) => true,
        (Kind::Text { blank }, Kind::Call(_)) => !blank,
        _ => false,
    }
}

/// Returns the name of a tool as a JSON string.
pub(super) fn quoted(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 2);
    crate::json::write_string(&mut out, name);
    out
}

fn mark<E>(owner: Owner, mark: Mark, emit: Emit<'_, '_, E>) -> Result<(), E> {
    line_breaks(owner, mark.before, emit)?;
    emit(owner, Written::Control(mark.control))?;
    line_breaks(owner, mark.after, emit)
}

fn line_breaks<E>(owner: Owner, count: u8, emit: Emit<'_, '_, E>) -> Result<(), E> {
    if count > 0 { emit(owner, Written::Text(breaks(count))) } else { Ok(()) }
}
