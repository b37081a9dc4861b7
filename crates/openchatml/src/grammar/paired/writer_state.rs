//! Predicts how the reader reads what follows the written text. The writer checks this before it
//! writes.
//!
//! A message has no frame of its own in this family. The text before it decides whether a text
//! continues the text before, whether `[` opens a list of replies, and whether an empty section is
//! a message.

use super::layout_check::LayoutCheck;
use super::place::{At, Kind, Piece, Place};
use super::reader::{After, is_list, line_break};
use super::{Rules, is_between_replies};
use crate::grammar::owner::Owner;
use crate::model::Raw;
use crate::{Control, Section};

/// The next message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Next<'m> {
    pub(super) kind: Kind<'m>,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WriterState {
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
    /// The beginning of the text.
    pub(super) const START: Self = Self {
        place: Place::START,
        after: After::Text,
        is_unsaid: false,
        waiting: 0,
        is_spaced: false,
    };

    /// Returns what precedes a text that follows here, after open lists are closed.
    fn after_lists(self) -> After {
        match self.place.at {
            At::Call => After::Calls,
            At::Reply => After::Replies,
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

    /// Returns the state after a message whose body began here.
    pub(super) fn said(mut self, kind: Kind<'_>, body: &str) -> Self {
        match kind {
            Kind::Call(..) => self.waiting += 1,
            Kind::Reply => self.waiting = self.waiting.saturating_sub(1),
            _ => {}
        }
        let is_text = matches!(kind, Kind::Inner | Kind::Outer);
        self.is_unsaid = is_text && body.is_empty();
        if is_text && !body.is_empty() {
            self.after = After::Text;
        }
        let inner = self.place.inner;
        self.place = self.place.after(kind);
        if !is_text {
            self.place.inner = inner;
        }
        self
    }

    /// Returns the state at the beginning of the body of a message of this kind, in the canonical
    /// layout.
    pub(super) fn opened(mut self, kind: Kind<'_>) -> Self {
        let (was_turn, inner) = (self.place.is_turn(), self.place.inner);
        self.after = self.after_lists();
        if !was_turn || kind == Kind::Prompt {
            self.after = After::Start;
            self.place.inner = false;
        }
        match kind {
            Kind::Inner if !(was_turn && inner) => self.after = After::Prefix,
            Kind::Outer if was_turn && inner => self.after = After::Suffix,
            Kind::Call(..) if self.place.at != At::Call => self.waiting = 0,
            _ => {}
        }
        let leaves = matches!(kind, Kind::Call(_, true) | Kind::Section(_));
        self.place.inner &= !leaves;
        self
    }

    /// Writes the text before a message in the canonical layout, piece by piece. Returns the state
    /// after the message.
    pub(super) fn write<'m, E>(
        self,
        next: Next<'m>,
        piece: &mut impl FnMut(Owner, Piece<'m>) -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut here = self;
        let goes_on = next.begins == Begins::Nothing;
        match (next.kind, self.place.at) {
            (Kind::Call(..), At::Call) | (Kind::Reply, At::Reply) if goes_on => {}
            (Kind::Call(..) | Kind::Reply, _) => here = here.close_list(piece)?,
            _ => {}
        }
        let takes_replies = here.place.is_turn() && here.after.takes_replies(here.waiting);
        let is_first = next.kind == Kind::Reply && here.place.at != At::Reply;
        if is_first && (next.begins == Begins::BehindNone || !takes_replies) {
            here = here.write_no_calls(piece)?;
        }
        if here.needs_opening(next) {
            here = here.open(piece)?;
        }
        here.place.between(next.kind, piece)?;
        let opened = here.opened(next.kind);
        let is_text = matches!(next.kind, Kind::Inner | Kind::Outer);
        if is_text && opened.drops_break(opened.after, next.body) {
            piece(Owner::Header, Piece::Text("\n"))?;
        }
        Ok(opened.said(next.kind, next.body))
    }

    /// Opens the turn of the assistant again.
    fn open<'m, E>(
        self,
        piece: &mut impl FnMut(Owner, Piece<'m>) -> Result<(), E>,
    ) -> Result<Self, E> {
        self.place.between(Kind::Prompt, piece)?;
        Ok(self.opened(Kind::Prompt).said(Kind::Prompt, ""))
    }

    fn close_list<'m, E>(
        mut self,
        piece: &mut impl FnMut(Owner, Piece<'m>) -> Result<(), E>,
    ) -> Result<Self, E> {
        if matches!(self.place.at, At::Call | At::Reply) {
            self.place.close(false, piece)?;
            self.after = self.after_lists();
            self.place.at = At::Turn;
        }
        Ok(self)
    }

    /// Writes an empty list of calls, so that replies without calls can follow.
    fn write_no_calls<'m, E>(
        mut self,
        piece: &mut impl FnMut(Owner, Piece<'m>) -> Result<(), E>,
    ) -> Result<Self, E> {
        let is_lost =
            self.is_unsaid && !self.after.says_nothing_before(Control::OpenSection(Section::Calls));
        if !self.place.is_turn() || is_lost {
            self = self.open(piece)?;
        }
        piece(Owner::Header, Piece::Control(Control::OpenSection(Section::Calls)))?;
        piece(Owner::Header, Piece::Text("[]"))?;
        piece(Owner::Header, Piece::Control(Control::CloseSection(Section::Calls)))?;
        (self.after, self.waiting, self.is_unsaid) = (After::Calls, 0, false);
        Ok(self)
    }

    /// Whether the turn of the assistant must be opened again. Otherwise the message would be read
    /// as part of the text before it, or it or the empty message before it would be lost.
    fn needs_opening(self, next: Next<'_>) -> bool {
        if !self.place.is_turn() {
            return false;
        }
        let is_inner = self.place.inner;
        let after = self.after_lists();
        let is_lost = |control| self.is_unsaid && !after.says_nothing_before(control);
        match next.kind {
            Kind::Inner | Kind::Outer if is_inner == (next.kind == Kind::Inner) => match after {
                After::Start | After::Prefix | After::Suffix => self.is_unsaid,
                After::Text => true,
                After::Calls | After::Replies => next.body.is_empty() || self.is_list(next.body),
            },
            Kind::Inner => is_lost(Control::OpenSection(Section::Reasoning)),
            Kind::Outer => is_lost(Control::CloseSection(Section::Reasoning)),
            Kind::Call(_, true) if is_inner => is_lost(Control::CloseSection(Section::Reasoning)),
            Kind::Call(..) if self.place.at != At::Call => {
                is_lost(Control::OpenSection(Section::Calls))
            }
            _ => false,
        }
    }

    /// Whether the turn of the assistant must be closed at the end. Otherwise an empty answer would
    /// be read as a prompt.
    pub(super) fn needs_close(self) -> bool {
        self.place.at == At::Turn && self.is_unsaid && self.after == After::Start
    }

    /// Returns the state after a message, if `raw`, the text that was read before it, can be
    /// written here.
    pub(super) fn behind(
        self,
        rules: &'static Rules,
        raw: &Raw<'_>,
        next: Next<'_>,
    ) -> Option<Self> {
        if self.place.at == At::Reply && is_between_replies(raw) {
            return (next.kind == Kind::Reply).then(|| self.said(next.kind, next.body));
        }
        LayoutCheck::of(rules, self, raw)?.message(next)
    }

    /// Whether `raw` can be written at the end. `closes` says whether it must close the turn of the
    /// assistant.
    pub(super) fn can_end(self, rules: &'static Rules, raw: &Raw<'_>, closes: bool) -> bool {
        LayoutCheck::of(rules, self, raw).is_some_and(|check| check.end(closes))
    }
}
