//! Defines the text between two messages in the canonical layout.

mod open;

use super::attributes::escaped;
use super::quote::Quote;
use super::{DECLARATION, Mark, NoReasoning, Piece, PromptEnd, Reasoning, Rules, Turn};
use crate::Control;
use crate::grammar::owner::Owner;
use crate::model::{Channel, End, Message, RawPiece, RawRest, Role};
use crate::options::RenderOptions;
use crate::writing::{Place as Where, Sink, SinkError};

/// The kind of a message, as far as the text around it depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::grammar) enum Kind {
    /// A message of another role than the assistant or a tool.
    Said(Role),
    Reasoning,
    /// A text of the assistant for the user, and whether a call after it begins a new turn: the
    /// reader takes white space before a call as layout, and a call in quoted code as an example.
    Text {
        apart: bool,
    },
    /// A call of a tool, and whether it ends the reasoning that it is in.
    Call {
        leaves: bool,
    },
    Reply,
    /// A prompt: the turn of the assistant, in which any message can follow.
    Prompt,
}

/// A piece of the text between two messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::grammar) enum Written<'m> {
    Control(Control),
    /// Text of the framing.
    Word(&'static str),
    /// Kept text.
    Text(&'m str),
    /// The name of a tool or a speaker.
    Name(&'m str),
    /// The name of a tool, as a JSON string.
    JsonName(&'m str),
    /// The value of an attribute.
    Attribute(&'m str),
    /// A number.
    Count(usize),
}

/// The words of a message that stand in the text before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::grammar) struct Label<'m> {
    /// The name of the tool of a call, without namespace.
    pub(in crate::grammar) name: &'m str,
    /// The id of a call, or that of the call that a reply answers.
    pub(in crate::grammar) id: Option<&'m str>,
}

impl<'m> From<&'m str> for Label<'m> {
    fn from(name: &'m str) -> Self {
        Self { name, id: None }
    }
}

/// Receives pieces, and what each belongs to.
pub(in crate::grammar) trait Emit<'m, E>:
    FnMut(Owner, Written<'m>) -> Result<(), E>
{
}

impl<'m, E, F: FnMut(Owner, Written<'m>) -> Result<(), E>> Emit<'m, E> for F {}

/// The position after the content of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::grammar) struct Place {
    /// The kind of the message. `None` before the first message.
    pub(in crate::grammar) last: Option<Kind>,
    /// Whether reasoning is open around the next message.
    pub(in crate::grammar) in_reasoning: bool,
    /// Whether the next message is known to follow the user's last message. A reader knows it of none.
    pub(in crate::grammar) is_current: bool,
    /// The number of calls or of replies up to here, if the last message is one.
    pub(in crate::grammar) count: usize,
}

impl Place {
    /// The beginning of the text.
    pub(in crate::grammar) const START: Self =
        Self { last: None, in_reasoning: false, is_current: false, count: 0 };

    /// Returns the number of the next message among the calls or the replies that follow each other.
    pub(super) fn number(self, next: Kind) -> usize {
        let goes_on = matches!(
            (self.last, next),
            (Some(Kind::Call { .. }), Kind::Call { .. }) | (Some(Kind::Reply), Kind::Reply)
        );
        if goes_on { self.count + 1 } else { 1 }
    }

    /// Whether the last message is in the turn of the assistant or a reply.
    pub(in crate::grammar) fn is_turn(self) -> bool {
        self.last.is_some_and(|last| !matches!(last, Kind::Said(_)))
    }
}

const BREAKS: &str = "\n\n\n\n";

/// Returns this number of line breaks.
pub(in crate::grammar) fn breaks(count: u8) -> &'static str {
    BREAKS.get(..usize::from(count)).unwrap_or(BREAKS)
}

/// Why a piece cannot be written, and the part of the message that it is for. It is boxed, so that
/// the result of each piece is small.
pub(in crate::grammar) type Failed = Box<(Where, SinkError)>;

impl Written<'_> {
    /// Writes the piece.
    #[inline]
    pub(in crate::grammar) fn write(self, sink: &mut dyn Sink) -> Result<(), Failed> {
        let at = |place: Where| move |error: SinkError| Box::new((place, error));
        match self {
            Self::Control(control) => sink.control(control).map_err(at(Where::End)),
            Self::Word(text) => sink.word(text).map_err(at(Where::Role)),
            Self::Text(text) => sink.text(text).map_err(at(Where::Role)),
            Self::Name(name) => sink.text(name).map_err(at(Where::Recipient)),
            Self::JsonName(name) => write_quoted(name, sink).map_err(at(Where::Recipient)),
            Self::Attribute(name) => sink.text(&escaped(name)).map_err(at(Where::Name)),
            Self::Count(count) => sink.text(&count.to_string()).map_err(at(Where::Role)),
        }
    }

    /// Removes the piece from the front of a layout. Returns an error if the layout does not begin
    /// with it.
    ///
    /// Every message that is read is compared, so the call counts.
    #[inline(always)]
    pub(in crate::grammar) fn strip(self, rest: &mut RawRest<'_>) -> Result<(), ()> {
        let is_next = match self {
            Self::Control(control) => rest.take(RawPiece::Control(control)),
            Self::Word(text) => rest.take(RawPiece::Text(text)),
            Self::Text(text) | Self::Name(text) => rest.take(RawPiece::Text(text)),
            Self::JsonName(name) => strip_quoted(name, rest),
            Self::Attribute(name) => rest.take(RawPiece::Text(&escaped(name))),
            Self::Count(count) => rest.take(RawPiece::Text(&count.to_string())),
        };
        if is_next { Ok(()) } else { Err(()) }
    }
}

impl Rules {
    /// Returns the kind of a message. `alone` says whether a call is the only one of its list.
    pub(in crate::grammar) fn kind(&self, message: &Message<'_>, alone: bool) -> Kind {
        match message.role {
            Role::Assistant => {}
            Role::Tool => return Kind::Reply,
            Role::System if message.name.as_deref() == Some(DECLARATION) && self.declares() => {
                return Kind::Said(Role::Developer);
            }
            role => return Kind::Said(role),
        }
        if message.is_call() {
            return Kind::Call { leaves: alone && self.ends_reasoning(self.tool(message)) };
        }
        if message.end == End::Prompt {
            return Kind::Prompt;
        }
        if message.is_reasoning() {
            return Kind::Reasoning;
        }
        // In other formats, a call never begins a new turn.
        let can_end = !self.sections.reasoning.stays_open;
        Kind::Text { apart: can_end && self.is_apart(&message.body.text()) }
    }

    /// Whether a call after this text begins a new turn.
    fn is_apart(&self, text: &str) -> bool {
        if self.sections.answer.is_some() {
            // Without text, the section of a text is that of a call.
            return text.is_empty();
        }
        text.trim_ascii().is_empty() || self.reads_quotes() && Quote::is_block_after(text)
    }

    /// Whether tokens of sections can be quoted: that of a call stands on a line of its own, and is a
    /// word that models write about.
    pub(super) fn reads_quotes(&self) -> bool {
        self.sections.calls.lead > 0
    }

    /// Returns a message of this kind, without a body. Calls have the `name` of a tool.
    #[inline]
    pub(in crate::grammar) fn message<'a>(&self, kind: Kind, name: &str) -> Message<'a> {
        let mut message = Message::new(Role::Assistant, "");
        match kind {
            Kind::Said(Role::Developer) if self.declares() => {
                (message.role, message.name) = (Role::System, Some(DECLARATION.into()));
            }
            Kind::Said(role) => message.role = role,
            Kind::Reasoning => message.channel = Some(Channel::Analysis),
            Kind::Text { .. } => message.channel = Some(Channel::Final),
            Kind::Call { .. } => {
                message.channel = Some(Channel::Commentary);
                message.recipient = Some(self.recipient(name).into());
                message.content_type = Some("json".into());
            }
            Kind::Reply => {
                message.role = Role::Tool;
                message.channel = Some(Channel::Commentary);
                message.recipient = Some("assistant".into());
            }
            Kind::Prompt => {}
        }
        message
    }

    /// Returns the position after a message.
    pub(in crate::grammar) fn after(&self, place: Place, kind: Kind) -> Place {
        let in_reasoning = match kind {
            Kind::Reasoning => self.sections.reasoning.stays_open,
            Kind::Call { leaves } => place.in_reasoning && !leaves,
            Kind::Reply => place.in_reasoning,
            Kind::Said(_) | Kind::Text { .. } | Kind::Prompt => false,
        };
        let count = place.number(kind);
        Place { last: Some(kind), in_reasoning, is_current: place.is_current, count }
    }

    /// Writes the text between the last message and the next, which has this label.
    pub(in crate::grammar) fn between<'m, E>(
        &self,
        place: Place,
        next: Kind,
        label: impl Into<Label<'m>>,
        emit: &mut impl Emit<'m, E>,
    ) -> Result<(), E> {
        let label = label.into();
        let stays = place.last.is_some_and(|last| self.stays(last, next));
        match place.last {
            None => self.bos.map_or(Ok(()), |(bos, owner)| emit(owner, Written::Control(bos)))?,
            Some(last) => {
                self.close_section(last, Some(next).filter(|_| stays), emit)?;
                if !stays && !self.ends_by_next(last) {
                    self.close_turn(last, emit)?;
                }
            }
        }
        let opens = !stays || next == Kind::Prompt;
        let is_first = opens && self.open_turn(place, next, label.name, emit)?;
        let before = Place { last: place.last.filter(|_| stays), ..place };
        self.open_section(before, next, label, is_first, emit)
    }

    /// Writes the text that closes the last message. `ends` says whether to close the turn of the
    /// assistant; other turns are always closed.
    pub(in crate::grammar) fn close<'m, E>(
        &self,
        place: Place,
        ends: bool,
        emit: &mut impl Emit<'m, E>,
    ) -> Result<(), E> {
        let Some(last) = place.last else {
            return self.bos.map_or(Ok(()), |(bos, _)| emit(Owner::Before, Written::Control(bos)));
        };
        self.close_section(last, None, emit)?;
        // Without further messages, the turn around replies stays open.
        let ends = ends && (last != Kind::Reply || self.replies.inside.is_none());
        if ends || matches!(last, Kind::Said(_)) { self.close_turn(last, emit) } else { Ok(()) }
    }

    /// Whether the next message is in the turn of the last one.
    #[inline]
    fn stays(&self, last: Kind, next: Kind) -> bool {
        if self.sections.reasoning.stays_open {
            return !matches!(last, Kind::Said(_)) && !matches!(next, Kind::Said(_));
        }
        match (last, next) {
            (Kind::Reasoning, Kind::Text { .. } | Kind::Call { .. })
            | (Kind::Call { .. }, Kind::Call { .. }) => true,
            (Kind::Reply, Kind::Reply) => {
                (self.replies.item.is_some() || self.replies.array.is_some()) && !self.replies.alone
            }
            (Kind::Text { apart }, Kind::Call { .. }) => !apart,
            (Kind::Reply, Kind::Said(role)) => {
                self.replies.said.is_some() && self.replies.turn == Some(role)
            }
            (Kind::Call { .. } | Kind::Text { .. }, Kind::Reply)
            | (
                Kind::Reply,
                Kind::Reasoning | Kind::Text { .. } | Kind::Call { .. } | Kind::Prompt,
            ) => self.replies.inside.is_some(),
            _ => false,
        }
    }

    /// Writes the section of a text that is not there, if texts have one.
    pub(super) fn empty_answer<'m, E>(
        &self,
        owner: Owner,
        emit: &mut impl Emit<'m, E>,
    ) -> Result<(), E> {
        let Some((open, close)) = self.sections.answer else { return Ok(()) };
        mark(owner, open, emit)?;
        mark(owner, close, emit)
    }

    /// Writes the part of a generation prompt that is about reasoning, after the opening of the
    /// turn.
    pub(in crate::grammar) fn prompt<'m, E>(
        &self,
        place: Place,
        options: &RenderOptions,
        emit: &mut impl Emit<'m, E>,
    ) -> Result<(), E> {
        let last = place.last.map(|last| match last {
            Kind::Said(role) => role,
            Kind::Reply => Role::Tool,
            _ => Role::Assistant,
        });
        let Reasoning { open, close, .. } = self.sections.reasoning;
        let end = self.sections.prompts.end(last, options);
        let has_line = self.has_line(Role::Assistant);
        if has_line && end != PromptEnd::Turn {
            line_breaks(Owner::Header, 1, emit)?;
        }
        // Then the model writes the line breaks at the end of the prompt.
        let close = if has_line { Mark { after: 0, ..close } } else { close };
        match end {
            PromptEnd::Turn => Ok(()),
            PromptEnd::Open => mark(Owner::Header, open, emit),
            PromptEnd::Close => mark(Owner::Header, close, emit),
            PromptEnd::Pair => {
                mark(Owner::Header, open, emit)?;
                mark(Owner::Header, close, emit)
            }
            PromptEnd::Empty => {
                mark(Owner::Header, open, emit)?;
                mark(Owner::Header, Mark { before: 0, ..close }, emit)
            }
            PromptEnd::Bare => {
                emit(Owner::Header, Written::Control(open.control))?;
                emit(Owner::Header, Written::Control(close.control))
            }
            PromptEnd::Answer => match self.sections.answer {
                Some((open, _)) => mark(Owner::Header, open, emit),
                None => Ok(()),
            },
        }
    }

    /// Whether `rest` equals the text between this position and a message in the canonical layout.
    #[inline]
    pub(in crate::grammar) fn is_canonical(
        &self,
        place: Place,
        next: Kind,
        label: Label<'_>,
        mut rest: RawRest<'_>,
    ) -> bool {
        if self.depends_on_user(place, next) {
            return false;
        }
        let whole = self.between(place, next, label, &mut |_, piece| piece.strip(&mut rest));
        whole.is_ok() && rest.is_empty()
    }

    /// Whether the canonical layout before a message depends on whether the user speaks later, which a
    /// reader does not know. It keeps the layout as it is.
    fn depends_on_user(&self, place: Place, next: Kind) -> bool {
        self.sections.reasoning.none == NoReasoning::AfterUser
            && matches!(next, Kind::Text { .. } | Kind::Call { .. })
            && !place.last.is_some_and(|last| self.stays(last, next))
    }

    /// Whether `rest` equals the text after the last message in the canonical layout. `ends` says
    /// whether the turn of the assistant is closed.
    pub(in crate::grammar) fn is_canonical_end(
        &self,
        place: Place,
        ends: bool,
        mut rest: RawRest<'_>,
    ) -> bool {
        let whole = self.close(place, ends, &mut |_, piece| piece.strip(&mut rest));
        whole.is_ok() && rest.is_empty()
    }

    /// Returns the turn that contains a message of this kind. `None` for a reply outside of turns.
    pub(super) fn turn_of(&self, kind: Kind) -> Option<&'static Turn> {
        self.turn(match kind {
            Kind::Said(role) => role,
            Kind::Reply => match self.replies.inside {
                Some(_) => Role::Assistant,
                None => self.replies.turn?,
            },
            _ => Role::Assistant,
        })
    }

    /// Closes the section of a message, before the next message of the turn.
    #[inline]
    fn close_section<'m, E>(
        &self,
        last: Kind,
        next: Option<Kind>,
        emit: &mut impl Emit<'m, E>,
    ) -> Result<(), E> {
        match last {
            // An answer closes it.
            Kind::Reasoning if self.sections.reasoning.stays_open => Ok(()),
            Kind::Reasoning => {
                let Mark { control, before, after } = self.sections.reasoning.close;
                line_breaks(Owner::Before, before, emit)?;
                emit(Owner::Before, Written::Control(control))?;
                // The reader ends the message before these line breaks.
                line_breaks(Owner::Header, if next.is_some() { after } else { 0 }, emit)?;
                if next.is_none() { self.empty_answer(Owner::Before, emit) } else { Ok(()) }
            }
            Kind::Text { .. } => match self.sections.answer {
                Some((_, close)) => mark(Owner::Before, close, emit),
                None => Ok(()),
            },
            Kind::Call { .. } => self.close_call(next, emit),
            Kind::Reply => {
                if let Some(inside) = self.replies.inside {
                    emit(Owner::Before, Written::Control(inside.quote))?;
                    emit(Owner::Before, Written::Word("}"))?;
                }
                if let Some((_, close)) = self.replies.item {
                    // The reader ends the message before these line breaks, unless the turn ends.
                    let goes_on = next == Some(Kind::Reply);
                    let owner = if goes_on { Owner::Header } else { Owner::Before };
                    mark(Owner::Before, Mark { after: 0, ..close }, emit)?;
                    line_breaks(owner, close.after, emit)?;
                }
                if next == Some(Kind::Reply) {
                    return Ok(());
                }
                if let Some((_, close)) = self.replies.list {
                    mark(Owner::Before, Mark { after: 0, ..close }, emit)?;
                }
                match self.replies.array {
                    Some(array) => emit(Owner::Before, Written::Word(array.close)),
                    None => Ok(()),
                }
            }
            Kind::Said(_) | Kind::Prompt => Ok(()),
        }
    }

    fn close_call<'m, E>(&self, next: Option<Kind>, emit: &mut impl Emit<'m, E>) -> Result<(), E> {
        let calls = &self.sections.calls;
        let goes_on = matches!(next, Some(Kind::Call { .. }));
        match calls.array {
            Some(array) if !goes_on => emit(Owner::Before, Written::Word(array.close))?,
            _ => {
                let before = |piece: &&Piece| !piece.is_arguments();
                for piece in calls.pieces.iter().skip_while(before).skip(1) {
                    if let Piece::Json(text) | Piece::Word(text) = piece {
                        emit(Owner::Before, Written::Word(text))?;
                    }
                }
            }
        }
        if calls.are_marked() && (calls.array.is_none() || !goes_on) {
            calls.item.1.map_or(Ok(()), |close| mark(Owner::Before, close, emit))?;
        }
        match calls.list {
            Some((_, close)) if !goes_on => mark(Owner::Before, close, emit),
            _ => Ok(()),
        }
    }

    #[inline]
    fn close_turn<'m, E>(&self, last: Kind, emit: &mut impl Emit<'m, E>) -> Result<(), E> {
        let Some(turn) = self.turn_of(last) else { return Ok(()) };
        let Some(close) = turn.close else { return Ok(()) };
        // The model has stopped before, or the turn continued for a reply.
        let is_over = match last {
            Kind::Call { .. } => {
                let close = self.sections.calls.item.1;
                close.is_some_and(|close| self.stops_otherwise(close.control))
            }
            Kind::Reply => turn.role == Role::Assistant,
            _ => false,
        };
        let owner = if is_over { Owner::Gap } else { Owner::Before };
        line_breaks(owner, close.before, emit)?;
        emit(owner, Written::Control(close.control))?;
        turn.stop().map_or(Ok(()), |stop| emit(owner, Written::Control(stop)))?;
        line_breaks(Owner::Gap, close.after, emit)
    }

    /// Whether the turn of the assistant continues here without a new opening token.
    pub(in crate::grammar) fn goes_on(&self, place: Place) -> bool {
        let is_turn = match self.replies.inside {
            Some(_) => place.last == Some(Kind::Reply),
            None => place.is_turn(),
        };
        is_turn && self.sections.prompts.goes_on
    }

    /// Returns what a token belongs to that directly follows the opening of the assistant's turn: if
    /// prompts end in it by default, it is not the model's.
    pub(super) fn owner_behind_opening(&self, control: Control) -> Owner {
        let (marks, prompts) = (&self.sections.reasoning, &self.sections.prompts);
        let ends = match &prompts.undecided {
            Some(end) => std::slice::from_ref(end),
            None => &prompts.ends,
        };
        let is_of_prompt = ends.iter().any(|end| match end {
            PromptEnd::Open => control == marks.open.control,
            PromptEnd::Close => control == marks.close.control,
            PromptEnd::Turn
            | PromptEnd::Pair
            | PromptEnd::Empty
            | PromptEnd::Bare
            | PromptEnd::Answer => false,
        });
        if is_of_prompt { Owner::Opening } else { Owner::Header }
    }
}

/// Removes the name of a tool as a JSON string from the front of a layout.
#[inline(never)]
fn strip_quoted(name: &str, rest: &mut RawRest<'_>) -> bool {
    rest.take(RawPiece::Text(&quoted(name)))
}

/// Writes the name of a tool as a JSON string.
#[inline(never)]
fn write_quoted(name: &str, sink: &mut dyn Sink) -> Result<(), SinkError> {
    sink.text(&quoted(name))
}

/// Returns the name of a tool as a JSON string.
pub(in crate::grammar) fn quoted(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 2);
    crate::json::write_string(&mut out, name);
    out
}

#[inline]
fn mark<'m, E>(owner: Owner, mark: Mark, emit: &mut impl Emit<'m, E>) -> Result<(), E> {
    line_breaks(owner, mark.before, emit)?;
    emit(owner, Written::Control(mark.control))?;
    line_breaks(owner, mark.after, emit)
}

#[inline]
fn line_breaks<'m, E>(owner: Owner, count: u8, emit: &mut impl Emit<'m, E>) -> Result<(), E> {
    if count > 0 { emit(owner, Written::Word(breaks(count))) } else { Ok(()) }
}
