//! Predicts how the reader reads what follows the written text. The writer checks this before it
//! writes.
//!
//! A message has no frame of its own in this family. The text before it decides whether a text
//! continues the text before, whether `[` opens a list of replies, and whether an empty section is
//! a message.

use super::is_between_replies;
use super::layout_check::LayoutCheck;
use super::reader::{After, is_list, line_break};
use crate::grammar::owner::Owner;
use crate::grammar::sections::Rules;
use crate::grammar::sections::between::{Emit, Kind, Place, Written};
use crate::model::Raw;
use crate::{Control, Section};

/// The next message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Next<'m> {
    pub(super) kind: Kind,
    /// The name of the tool, if it is a call.
    pub(super) name: &'m str,
    pub(super) body: &'m str,
    pub(super) begins: Begins,
}

/// Whether a call or a reply begins a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begins {
    /// It continues the list of the message before, if there is one.
    Nothing,
    List,
    /// It begins a list of replies after an empty list of calls.
    BehindNone,
}

/// The state of the reader after a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct WriterState {
    pub(super) rules: &'static Rules,
    pub(super) place: Place,
    /// In the turn of the assistant: what precedes this position.
    pub(super) after: After,
    /// Whether the last message is an empty text. It is read back as a message only if the next
    /// token ends it.
    pub(super) is_unsaid: bool,
    /// The number of calls without a reply.
    pub(super) waiting: usize,
    /// Whether line breaks between sections are layout.
    pub(super) is_spaced: bool,
}

impl WriterState {
    /// Creates the state at the beginning of the text.
    pub(super) fn start(rules: &'static Rules) -> Self {
        let (after, place) = (After::Text, Place::START);
        Self { rules, place, after, is_unsaid: false, waiting: 0, is_spaced: false }
    }

    /// Whether the last message is a call, whose list is open.
    fn is_in_calls(self) -> bool {
        matches!(self.place.last, Some(Kind::Call { .. }))
    }

    /// Returns what precedes a text that follows here, after open lists are closed.
    fn after_lists(self) -> After {
        match self.place.last {
            Some(Kind::Call { .. }) => After::Calls,
            Some(Kind::Reply) => After::Replies,
            _ => self.after,
        }
    }

    /// Whether a text would be read as the beginning of a list of replies.
    fn is_list(self, text: &str) -> bool {
        is_list(text) && self.after_lists().takes_replies(self.waiting)
    }

    /// Whether the line break at the beginning of a text would be read as layout here.
    fn drops_break(self, after: After, text: &str) -> bool {
        self.is_spaced && after.may_break() && line_break(text) > 0
    }

    /// Moves to the position after a message whose body began here.
    pub(super) fn say(&mut self, kind: Kind, body: &str) {
        match kind {
            Kind::Call { .. } => self.waiting += 1,
            Kind::Reply => self.waiting = self.waiting.saturating_sub(1),
            _ => {}
        }
        let is_text = matches!(kind, Kind::Reasoning | Kind::Text { .. });
        self.is_unsaid = is_text && body.is_empty();
        if is_text && !body.is_empty() {
            self.after = After::Text;
        }
        self.place = self.rules.after(self.place, kind);
    }

    /// Writes the text between this position and a message, and moves to the beginning of its body.
    pub(super) fn open<'m, E>(
        &mut self,
        kind: Kind,
        name: &'m str,
        piece: &mut impl Emit<'m, E>,
    ) -> Result<(), E> {
        let mut last = None;
        self.rules.between(self.place, kind, name, &mut |owner, it| {
            if let Written::Control(control) = it {
                last = Some(control);
            }
            piece(owner, it)
        })?;
        self.after = last.and_then(After::behind).unwrap_or(self.after_lists());
        if last == Some(Control::OpenSection(Section::Calls)) {
            self.waiting = 0;
        }
        Ok(())
    }

    /// Writes the text before a message in the canonical layout, piece by piece, and moves to the
    /// position after the message.
    pub(super) fn write<'m, E>(
        &mut self,
        next: Next<'m>,
        piece: &mut impl Emit<'m, E>,
    ) -> Result<(), E> {
        let goes_on = next.begins == Begins::Nothing;
        match (next.kind, self.place.last) {
            (Kind::Call { .. }, Some(Kind::Call { .. })) | (Kind::Reply, Some(Kind::Reply))
                if goes_on => {}
            (Kind::Call { .. } | Kind::Reply, _) => self.close_list(piece)?,
            _ => {}
        }
        let is_first = next.kind == Kind::Reply && self.place.last != Some(Kind::Reply);
        let takes_replies = self.place.is_turn() && self.after.takes_replies(self.waiting);
        if is_first && (next.begins == Begins::BehindNone || !takes_replies) {
            self.write_no_calls(piece)?;
        }
        if self.needs_opening(next) {
            self.open_turn(piece)?;
        }
        self.open(next.kind, next.name, piece)?;
        let is_text = matches!(next.kind, Kind::Reasoning | Kind::Text { .. });
        if is_text && self.drops_break(self.after, next.body) {
            piece(Owner::Header, Written::Word("\n"))?;
        }
        self.say(next.kind, next.body);
        Ok(())
    }

    /// Opens the turn of the assistant again.
    fn open_turn<'m, E>(&mut self, piece: &mut impl Emit<'m, E>) -> Result<(), E> {
        self.open(Kind::Prompt, "", piece)?;
        self.say(Kind::Prompt, "");
        Ok(())
    }

    fn close_list<'m, E>(&mut self, piece: &mut impl Emit<'m, E>) -> Result<(), E> {
        if matches!(self.place.last, Some(Kind::Call { .. } | Kind::Reply)) {
            self.rules.close(self.place, false, piece)?;
            self.after = self.after_lists();
            self.place.last = Some(Kind::Prompt);
        }
        Ok(())
    }

    /// Writes an empty list of calls, so that replies without calls can follow.
    fn write_no_calls<'m, E>(&mut self, piece: &mut impl Emit<'m, E>) -> Result<(), E> {
        let is_lost =
            self.is_unsaid && !self.after.says_nothing_before(Control::OpenSection(Section::Calls));
        if !self.place.is_turn() || is_lost {
            self.open_turn(piece)?;
        }
        piece(Owner::Header, Written::Control(Control::OpenSection(Section::Calls)))?;
        piece(Owner::Header, Written::Word("[]"))?;
        piece(Owner::Header, Written::Control(Control::CloseSection(Section::Calls)))?;
        (self.after, self.waiting, self.is_unsaid) = (After::Calls, 0, false);
        Ok(())
    }

    /// Whether the turn of the assistant must be opened again. Otherwise the message would be read
    /// as part of the text before it, or it or the empty message before it would be lost.
    fn needs_opening(&self, next: Next<'_>) -> bool {
        if !self.place.is_turn() {
            return false;
        }
        let is_inner = self.place.in_reasoning;
        let after = self.after_lists();
        let is_lost = |control| self.is_unsaid && !after.says_nothing_before(control);
        match next.kind {
            Kind::Reasoning | Kind::Text { .. } if is_inner == (next.kind == Kind::Reasoning) => {
                match after {
                    After::Start | After::Prefix | After::Suffix => self.is_unsaid,
                    After::Text => true,
                    After::Calls | After::Replies => {
                        next.body.is_empty() || self.is_list(next.body)
                    }
                }
            }
            Kind::Reasoning => is_lost(Control::OpenSection(Section::Reasoning)),
            Kind::Text { .. } => is_lost(Control::CloseSection(Section::Reasoning)),
            Kind::Call { leaves: true } if is_inner => {
                is_lost(Control::CloseSection(Section::Reasoning))
            }
            Kind::Call { .. } if !self.is_in_calls() => {
                is_lost(Control::OpenSection(Section::Calls))
            }
            _ => false,
        }
    }

    /// Whether the turn of the assistant must be closed at the end. Otherwise an empty answer would
    /// be read as a prompt.
    pub(super) fn needs_close(self) -> bool {
        self.is_unsaid && self.after_lists() == After::Start && self.place.is_turn()
    }

    /// Returns the state after a message, if `raw`, the text that was read before it, can be
    /// written here.
    pub(super) fn behind(self, raw: &Raw<'_>, next: Next<'_>) -> Option<Self> {
        if self.place.last == Some(Kind::Reply) && is_between_replies(raw) {
            let mut behind = self;
            behind.say(next.kind, next.body);
            return (next.kind == Kind::Reply).then_some(behind);
        }
        LayoutCheck::of(self, raw)?.message(next)
    }

    /// Whether `raw` can be written at the end. `closes` says whether it must close the turn of the
    /// assistant.
    pub(super) fn can_end(self, raw: &Raw<'_>, closes: bool) -> bool {
        LayoutCheck::of(self, raw).is_some_and(|check| check.end(closes))
    }
}
