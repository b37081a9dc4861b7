//! Writes a conversation piece by piece, to the sink or to the check that runs before.

use super::between::{Kind, Label, Place, Written};
use super::{Opening, Rules, Turn};
use crate::grammar::owner::Owner;
use crate::model::{Conversation, End, Message, Raw, RawPiece, Role};
use crate::options::RenderOptions;
use crate::{Control, Section};

/// Receives the written text.
pub(super) trait Target {
    type Error;

    /// A piece of the text between bodies. It belongs to message `index`, or to the message before.
    fn piece(&mut self, owner: Owner, piece: Written<'_>, index: usize) -> Result<(), Self::Error>;

    /// The body of a message.
    fn body(&mut self, message: &Message<'_>, index: usize) -> Result<(), Self::Error>;
}

/// A conversation and its layout.
pub(super) struct LaidOut<'s> {
    pub(super) rules: &'static Rules,
    pub(super) conversation: &'s Conversation<'s>,
    pub(super) options: &'s RenderOptions,
    /// The messages that get the canonical layout although another layout is kept.
    pub(super) canonical: Vec<usize>,
}

impl LaidOut<'_> {
    /// Writes the conversation to `to`.
    pub(super) fn run<T: Target>(&self, to: &mut T) -> Result<(), T::Error> {
        let messages = &self.conversation.messages;
        let mut place = Place::START;
        let asked = messages.iter().rposition(|message| message.role == Role::User);
        for (index, message) in messages.iter().enumerate() {
            place.is_current = asked.is_some_and(|asked| index > asked);
            let kind = self.rules.kind(message, false);
            match self
                .rules
                .kept_before(message, self.options)
                .filter(|_| !self.canonical.contains(&index))
            {
                Some(raw) => self.kept_pieces(raw, index, to)?,
                None => {
                    self.rules.between(place, kind, self.label(message), &mut |owner, piece| {
                        to.piece(owner, piece, index)
                    })?
                }
            }
            if message.end != End::Prompt {
                to.body(message, index)?;
            }
            place = self.rules.after(place, kind);
        }
        let count = messages.len();
        if let Some(role) = self.options.generation_prompt {
            let next = self.prompt(role);
            self.rules
                .between(place, next, "", &mut |owner, piece| to.piece(owner, piece, count))?;
            let options = self.options;
            return match role {
                Role::Assistant => self
                    .rules
                    .prompt(place, options, &mut |owner, piece| to.piece(owner, piece, count)),
                _ => Ok(()),
            };
        }
        if self.is_open() {
            return Ok(());
        }
        let kept = self.rules.kept_around(self.conversation, self.options);
        let is_kept = !self.canonical.contains(&count);
        match kept.and_then(|layout| layout.tail.as_ref()).filter(|_| is_kept) {
            Some(raw) => self.kept_pieces(raw, count, to),
            None => {
                self.rules.close(place, true, &mut |owner, piece| to.piece(owner, piece, count))
            }
        }
    }

    fn label<'m>(&self, message: &'m Message<'_>) -> Label<'m> {
        let id = message.call_id.as_deref().filter(|_| self.rules.has_ids());
        Label { name: self.rules.name(message), id }
    }

    fn prompt(&self, role: Role) -> Kind {
        match role {
            Role::Assistant => Kind::Prompt,
            Role::Tool => Kind::Reply,
            role => Kind::Said(role),
        }
    }

    /// Whether the last message is left open.
    pub(super) fn is_open(&self) -> bool {
        let last = self.conversation.messages.last();
        self.options.generation_prompt.is_none()
            && last.is_some_and(|last| {
                self.options.continue_final || matches!(last.end, End::Open | End::Prompt)
            })
    }

    /// Returns what a token before message `index` belongs to, after a piece of this owner. `is_first`
    /// says whether it is directly behind the opening of a turn.
    fn owner_of(&self, control: Control, index: usize, owner: Owner, is_first: bool) -> Owner {
        let is_opening = self.rules.opened_by(control).is_some();
        let begins = index == 0 && self.rules.bos.is_some_and(|(bos, _)| bos == control);
        let last = index.checked_sub(1).and_then(|at| self.conversation.messages.get(at));
        let ends_by = |last| self.rules.ends_by_next(self.rules.kind(last, false));
        let is_section = matches!(control, Control::OpenSection(_));
        if owner == Owner::Before && is_opening && last.is_some_and(ends_by) {
            // The model ends its turn with this token.
            owner
        } else if is_opening || begins {
            Owner::Opening
        } else if is_first {
            self.rules.owner_behind_opening(control)
        } else if is_section || owner == Owner::Opening {
            Owner::Header
        } else {
            owner
        }
    }

    /// Writes kept layout.
    fn kept_pieces<T: Target>(
        &self,
        raw: &Raw<'_>,
        index: usize,
        to: &mut T,
    ) -> Result<(), T::Error> {
        let mut owner = Owner::Before;
        let after_title = self.rules.turns.iter().map(Turn::breaks_after_title).max();
        let after_title = usize::from(after_title.unwrap_or_default());
        let (mut is_behind_opening, mut in_title, mut in_name) = (false, false, false);
        for piece in raw.pieces() {
            let is_first = std::mem::take(&mut is_behind_opening);
            match piece {
                // The line breaks after the name belong to the opening.
                RawPiece::Text(text) if is_first && after_title > 0 => {
                    for (owner, text) in split_breaks(text, after_title, owner) {
                        to.piece(owner, Written::Text(text), index)?;
                    }
                }
                RawPiece::Control(control) if in_title => {
                    to.piece(Owner::Opening, Written::Control(control), index)?;
                    in_title = self.rules.end_of_title() != Some(control);
                    is_behind_opening = !in_title;
                    owner = if in_title { Owner::Opening } else { Owner::Header };
                }
                RawPiece::Text(text) if in_title => {
                    to.piece(Owner::Opening, Written::Text(text), index)?;
                }
                RawPiece::Control(control) => {
                    let opening = self.rules.opened_by(control);
                    owner = self.owner_of(control, index, owner, is_first);
                    to.piece(owner, Written::Control(control), index)?;
                    if self.closes_turn(control) {
                        owner = Owner::Gap;
                    }
                    let is_named =
                        opening.is_some_and(|it| matches!(it.opening, Opening::Named(..)));
                    let again = control == Control::CloseSection(Section::Replies)
                        && self.rules.sections.prompts.again;
                    in_title = opening.is_some_and(Turn::is_titled);
                    in_name = is_named;
                    is_behind_opening = opening.is_some() && !is_named && !in_title || again;
                    // The line break behind a token in which prompts end is in the prompt, too.
                    let has_line = owner == Owner::Opening && self.opens_with_line(control);
                    if (is_behind_opening && !again) || is_first && !has_line {
                        owner = Owner::Header;
                    }
                }
                RawPiece::Text(text) => {
                    is_behind_opening =
                        is_first && owner == Owner::Before && text.trim_ascii().is_empty();
                    let (opening, rest) = split_opening(owner, text);
                    to.piece(owner, Written::Text(opening), index)?;
                    if std::mem::take(&mut in_name) {
                        is_behind_opening = rest.is_empty() && opening.ends_with('\n');
                    }
                    if owner == Owner::Opening {
                        owner = Owner::Header;
                    }
                    if !rest.is_empty() {
                        to.piece(owner, Written::Text(rest), index)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether a token opens reasoning, and a line break follows it.
    fn opens_with_line(&self, control: Control) -> bool {
        let open = self.rules.sections.reasoning.open;
        open.control == control && open.after > 0
    }

    fn closes_turn(&self, control: Control) -> bool {
        self.rules.turns.iter().any(|turn| match turn.stop() {
            Some(stop) => stop == control,
            None => turn.close.is_some_and(|it| it.control == control),
        })
    }
}

/// Returns the line breaks at the beginning of a text, at most `most`, which belong to the opening of a
/// turn, and the rest, which has this owner.
fn split_breaks(text: &str, most: usize, owner: Owner) -> impl Iterator<Item = (Owner, &str)> {
    let count = text.bytes().take(most).take_while(|byte| *byte == b'\n').count();
    let (breaks, rest) = text.split_at(count);
    [(Owner::Opening, breaks), (owner, rest)].into_iter().filter(|(_, text)| !text.is_empty())
}

/// Splits text behind the line with the role, which ends the opening of a turn.
fn split_opening(owner: Owner, text: &str) -> (&str, &str) {
    let line = memchr::memchr(b'\n', text.as_bytes()).map_or(text.len(), |at| at + 1);
    if owner == Owner::Opening { text.split_at(line) } else { (text, "") }
}
