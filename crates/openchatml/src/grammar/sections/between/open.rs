//! The text that opens turns, sections and calls.

use super::super::attributes::attribute;
use super::super::{Calls, Mark, NoReasoning, Opening, Piece, Reasoning, Rules};
use super::{Emit, Kind, Label, Owner, Place, Written, line_breaks, mark};
use crate::model::Role;
use crate::rules::CallAttributes;

impl Rules {
    /// Opens the turn of a message. Returns whether it wrote an opening, after which a turn can say
    /// that it has no reasoning.
    #[inline]
    pub(super) fn open_turn<'m, E>(
        &self,
        place: Place,
        next: Kind,
        name: &'m str,
        emit: &mut impl Emit<'m, E>,
    ) -> Result<bool, E> {
        let Some(turn) = self.turn_of(next) else { return Ok(false) };
        if next == Kind::Reply && self.replies.inside.is_some() {
            return Ok(false);
        }
        match turn.opening {
            Opening::Named(..) | Opening::Mark(_)
                if turn.role == Role::Assistant && self.goes_on(place) =>
            {
                let again = self.sections.prompts.again && place.last == Some(Kind::Reply);
                let after = self.replies.list.map_or(0, |(_, close)| close.after);
                line_breaks(Owner::Gap, if again { after } else { 0 }, emit)?;
                return Ok(again);
            }
            Opening::Titled(title) => {
                let has_speaker = matches!(next, Kind::Said(_)) && !name.is_empty();
                let name =
                    if has_speaker { Written::Name(name) } else { Written::Word(title.name) };
                emit(Owner::Opening, Written::Control(title.open))?;
                emit(Owner::Opening, name)?;
                emit(Owner::Opening, Written::Control(title.end))?;
                line_breaks(Owner::Opening, title.after, emit)?;
            }
            Opening::Attributes(header) => {
                self.open_attributes(header, next, name, place.number(next), emit)?;
            }
            Opening::Named(control, word) => {
                emit(Owner::Opening, Written::Control(control))?;
                emit(Owner::Opening, Written::Word(word))?;
                emit(Owner::Opening, Written::Word("\n"))?;
            }
            Opening::Mark(control) | Opening::Declaration(control) => {
                emit(Owner::Opening, Written::Control(control))?;
            }
            Opening::Line(control) => {
                let ends = place.last.is_some_and(|last| self.ends_by_next(last));
                // The model ends its turn with this token.
                let owner = if ends { Owner::Before } else { Owner::Opening };
                emit(owner, Written::Control(control))?;
                if next != Kind::Prompt {
                    let is_own = turn.role == Role::Assistant;
                    let owner = if is_own { Owner::Header } else { Owner::Opening };
                    emit(owner, Written::Word("\n"))?;
                }
            }
            Opening::Bare | Opening::Implied => return Ok(false),
        }
        Ok(true)
    }

    /// Opens the section of a message, after another message of its turn or at the beginning of the
    /// turn.
    pub(super) fn open_section<'m, E>(
        &self,
        before: Place,
        next: Kind,
        label: Label<'m>,
        is_first: bool,
        emit: &mut impl Emit<'m, E>,
    ) -> Result<(), E> {
        if is_first && matches!(next, Kind::Text { .. } | Kind::Call { .. }) {
            self.write_no_reasoning(before, emit)?;
        }
        match next {
            Kind::Reasoning if !before.in_reasoning => {
                let open = self.sections.reasoning.open.control;
                let owner = if is_first { self.owner_behind_opening(open) } else { Owner::Header };
                emit(owner, Written::Control(open))?;
                line_breaks(owner, self.sections.reasoning.open.after, emit)?;
            }
            Kind::Text { .. } | Kind::Call { leaves: true } if before.in_reasoning => {
                emit(Owner::Header, Written::Control(self.sections.reasoning.close.control))?;
            }
            _ => {}
        }
        match next {
            Kind::Text { .. } => match self.sections.answer {
                Some((open, _)) => mark(Owner::Header, open, emit),
                None => Ok(()),
            },
            Kind::Call { .. } => {
                let Reasoning { close, none, .. } = self.sections.reasoning;
                let is_bare = is_first && none == NoReasoning::Bare;
                let lead = match before.last {
                    Some(Kind::Text { .. }) => self.sections.calls.lead,
                    Some(Kind::Reasoning) => {
                        let Calls { lead, lead_after_reasoning, .. } = self.sections.calls;
                        lead_after_reasoning.unwrap_or(lead.saturating_sub(close.after))
                    }
                    None if is_bare => self.sections.calls.lead,
                    _ => 0,
                };
                self.open_call(before, lead, label, emit)
            }
            Kind::Reply if self.replies.inside.is_some() => {
                self.open_inside(before, label.name, emit)
            }
            Kind::Reply => self.open_reply(before, label, emit),
            Kind::Said(_) if before.last == Some(Kind::Reply) => {
                line_breaks(Owner::Header, self.replies.said.unwrap_or_default(), emit)
            }
            _ => Ok(()),
        }
    }

    /// Says that a turn has no reasoning, after its opening.
    fn write_no_reasoning<'m, E>(
        &self,
        place: Place,
        emit: &mut impl Emit<'m, E>,
    ) -> Result<(), E> {
        let Reasoning { open, close, none, .. } = self.sections.reasoning;
        match none {
            NoReasoning::Nothing | NoReasoning::Never => Ok(()),
            NoReasoning::AfterUser if !place.is_current => Ok(()),
            NoReasoning::Close => {
                emit(self.owner_behind_opening(close.control), Written::Control(close.control))
            }
            NoReasoning::Bare => {
                emit(self.owner_behind_opening(open.control), Written::Control(open.control))?;
                emit(Owner::Header, Written::Control(close.control))
            }
            NoReasoning::Pair | NoReasoning::AfterUser => {
                mark(self.owner_behind_opening(open.control), open, emit)?;
                mark(Owner::Header, close, emit)
            }
        }
    }

    /// Opens a reply in a turn of its own, or outside of turns.
    fn open_reply<'m, E>(
        &self,
        before: Place,
        label: Label<'m>,
        emit: &mut impl Emit<'m, E>,
    ) -> Result<(), E> {
        if let Some(heading) = self.heading().filter(|_| !label.name.is_empty()) {
            emit(Owner::Header, Written::Word(heading))?;
            emit(Owner::Header, Written::Name(label.name))?;
            emit(Owner::Header, Written::Word("\n"))?;
        }
        let follows = before.last == Some(Kind::Reply);
        if let Some((open, _)) = self.replies.list
            && !follows
        {
            line_breaks(Owner::Gap, open.before, emit)?;
            mark(Owner::Header, Mark { before: 0, ..open }, emit)?;
        }
        if let Some(array) = self.replies.array {
            let text = if follows { array.between } else { array.open };
            emit(Owner::Header, Written::Word(text))?;
        }
        let Some((open, _)) = self.replies.item else { return Ok(()) };
        let before = if follows { open.before } else { self.replies.lead };
        mark(Owner::Header, Mark { before, ..open }, emit)?;
        let Some(content) = self.replies.content else { return Ok(()) };
        label.id.map_or(Ok(()), |id| emit(Owner::Header, Written::Name(id)))?;
        emit(Owner::Header, Written::Control(content))
    }

    /// Opens a reply inside of the turn of the assistant. The model ends its completion with the token
    /// of the first reply.
    fn open_inside<'m, E>(
        &self,
        before: Place,
        name: &'m str,
        emit: &mut impl Emit<'m, E>,
    ) -> Result<(), E> {
        let (Some(inside), Some((open, _))) = (self.replies.inside, self.replies.item) else {
            return Ok(());
        };
        let is_first = before.last.is_some_and(|last| last != Kind::Reply);
        mark(if is_first { Owner::Before } else { Owner::Header }, open, emit)?;
        emit(Owner::Header, Written::Word(inside.open))?;
        emit(Owner::Header, Written::Name(name))?;
        emit(Owner::Header, Written::Word(inside.value))?;
        emit(Owner::Header, Written::Control(inside.quote))
    }

    fn open_call<'m, E>(
        &self,
        place: Place,
        lead: u8,
        Label { name, id: call_id }: Label<'m>,
        emit: &mut impl Emit<'m, E>,
    ) -> Result<(), E> {
        let calls = &self.sections.calls;
        let before = place.last;
        if matches!(before, None | Some(Kind::Reasoning)) {
            self.empty_answer(Owner::Header, emit)?;
        }
        let goes_on = matches!(before, Some(Kind::Call { .. }));
        let follows_text = matches!(before, Some(Kind::Text { .. }));
        if let Some((open, _)) = calls.list
            && !goes_on
        {
            let before = if follows_text { calls.lead } else { open.before };
            mark(Owner::Header, Mark { before, ..open }, emit)?;
        }
        match calls.array {
            Some(array) if goes_on => emit(Owner::Header, Written::Word(array.between))?,
            array => {
                let open = calls.item.0;
                let before = match before {
                    Some(Kind::Call { .. }) => open.before,
                    _ if calls.list.is_none() => lead,
                    _ => 0,
                };
                // A call that begins the turn needs no token.
                if calls.are_marked() || follows_text {
                    mark(Owner::Header, Mark { before, ..open }, emit)?;
                }
                if let Some(array) = array {
                    emit(Owner::Header, Written::Word(array.open))?;
                }
            }
        }
        self.call_head(place, Label { name, id: call_id }, emit)
    }

    /// Writes the parts of a call before its arguments.
    fn call_head<'m, E>(
        &self,
        place: Place,
        Label { name, id: call_id }: Label<'m>,
        emit: &mut impl Emit<'m, E>,
    ) -> Result<(), E> {
        for piece in self.sections.calls.pieces {
            match piece {
                Piece::Json(text) => emit(Owner::Header, Written::Word(text))?,
                Piece::Name => emit(Owner::Header, Written::JsonName(name))?,
                Piece::PlainName => emit(Owner::Header, Written::Name(name))?,
                Piece::NameUpTo(control) | Piece::IdUpTo(control) => {
                    emit(Owner::Header, Written::Name(name))?;
                    emit(Owner::Header, Written::Control(*control))?;
                }
                Piece::Token(control) => emit(Owner::Header, Written::Control(*control))?,
                Piece::NameAndId { id, end } => {
                    emit(Owner::Header, Written::Name(name))?;
                    if let Some(call_id) = call_id {
                        emit(Owner::Header, Written::Control(*id))?;
                        emit(Owner::Header, Written::Name(call_id))?;
                    }
                    emit(Owner::Header, Written::Control(*end))?;
                }
                Piece::Word(text) => emit(Owner::Header, Written::Word(text))?,
                Piece::Attributes(CallAttributes { name: key, index, end }) => {
                    attribute(Owner::Header, key, Written::Attribute(name), emit)?;
                    let number = place.number(Kind::Call { leaves: false });
                    attribute(Owner::Header, index, Written::Count(number), emit)?;
                    emit(Owner::Header, Written::Control(*end))?;
                }
                Piece::NameBefore(text) => {
                    emit(Owner::Header, Written::Name(name))?;
                    emit(Owner::Header, Written::Word(text))?;
                }
                Piece::Arguments
                | Piece::Parameters(_)
                | Piece::Tree(_)
                | Piece::Elements(_)
                | Piece::Python(_) => break,
            }
        }
        Ok(())
    }
}
