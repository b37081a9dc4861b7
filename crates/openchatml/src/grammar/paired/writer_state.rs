//! Predicts how the reader reads what follows the written text. The writer checks this before it
//! writes.
//!
//! A message has no frame of its own in this family. The text before it decides whether a text
//! continues the text before, whether `[` opens a list of replies, and whether an empty section is
//! a message.

use super::place::{At, Kind, Owner, Piece, Place};
use crate::model::{Raw, RawPiece, Role};
use crate::{Control, Section};

/// What precedes a position in the turn of the assistant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    Start,
    Prefix,
    Suffix,
    Calls,
    Replies,
    /// A complete text.
    Text,
}

impl After {
    /// Whether an empty text between this and a control token is a message.
    pub(super) fn says_nothing_before(self, control: Control) -> bool {
        match (self, control) {
            (Self::Prefix, _) => true,
            (Self::Suffix, Control::OpenSection(Section::Calls)) => false,
            (Self::Suffix, _) => true,
            (Self::Start, Control::Close(Role::Assistant) | Control::Open(_)) => true,
            _ => false,
        }
    }

    /// Whether a line break here can be layout.
    pub(super) fn may_break(self) -> bool {
        matches!(self, Self::Suffix | Self::Calls | Self::Replies)
    }

    /// Whether `[` opens a list of replies here, if this number of calls waits for one.
    pub(super) fn takes_replies(self, waiting: usize) -> bool {
        self == Self::Calls || self == Self::Replies && waiting > 0
    }
}

/// Returns the length of the line break at the beginning of a text.
pub(super) fn line_break(text: &str) -> usize {
    match text.as_bytes() {
        [b'\r', b'\n', ..] => 2,
        [b'\n', ..] => 1,
        _ => 0,
    }
}

/// Whether a text begins like a list of replies.
pub(crate) fn is_list(text: &str) -> bool {
    text.trim_ascii_start().starts_with('[')
}

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
    after: After,
    /// Whether the last message is an empty text. It is read back as a message only if the next
    /// token ends it.
    is_unsaid: bool,
    /// The number of calls without a reply.
    pub(super) waiting: usize,
    /// Whether line breaks between sections are layout.
    is_spaced: bool,
    /// Whether a message precedes this position.
    began: bool,
}

impl WriterState {
    /// The beginning of the text.
    pub(super) const START: Self = Self {
        place: Place::START,
        after: After::Text,
        is_unsaid: false,
        waiting: 0,
        is_spaced: false,
        began: false,
    };

    /// Returns this state without the empty text at its end.
    pub(super) fn said_nothing(self) -> Self {
        Self { is_unsaid: false, ..self }
    }

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
        self.began = true;
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
    pub(super) fn behind(self, raw: &Raw<'_>, next: Next<'_>) -> Option<Self> {
        let walk = LayoutReader::through(self, raw)?;
        // The layout already says whether a call leaves the inner section.
        let kind = match next.kind {
            Kind::Call(name, _) => Kind::Call(name, false),
            kind => kind,
        };
        walk.admits(kind, next.body).then(|| walk.here.said(kind, next.body))
    }

    /// Whether `raw` can be written at the end. `closes` says whether it must close the turn of the
    /// assistant.
    pub(super) fn can_end(self, raw: &Raw<'_>, closes: bool) -> bool {
        let Some(walk) = LayoutReader::through(self, raw) else { return false };
        let here = walk.here;
        let is_whole = walk.list == List::None && !walk.opens_replies;
        let was_turn = self.place.is_turn();
        is_whole
            && match here.place.at {
                At::Outside => !was_turn || closes,
                At::Turn => {
                    let ends_empty = matches!(here.after, After::Prefix | After::Suffix);
                    let opens = here.after == After::Start;
                    !closes && ends_empty == here.is_unsaid && !opens
                }
                _ => false,
            }
    }
}

/// Reads the kept layout between two messages.
struct LayoutReader {
    here: WriterState,
    list: List,
    /// Whether its end opens a list of replies.
    opens_replies: bool,
}

/// The part of a list of calls that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
enum List {
    None,
    Opened,
    /// The whole list.
    Whole,
    /// The text before the arguments of a call, beginning with `[` or `,`.
    Head(String),
}

impl LayoutReader {
    fn through(here: WriterState, raw: &Raw<'_>) -> Option<Self> {
        let mut walk = Self { here, list: List::None, opens_replies: false };
        for piece in raw.pieces() {
            if walk.opens_replies || matches!(walk.list, List::Head(_)) {
                return None;
            }
            match piece {
                RawPiece::Text(text) => walk.text(text)?,
                RawPiece::Control(control) => walk.control(control)?,
            }
        }
        Some(walk)
    }

    fn text(&mut self, text: &str) -> Option<()> {
        let place = &mut self.here.place;
        match place.at {
            At::Call => {
                let rest = text.strip_prefix('}')?.trim_ascii_start();
                place.at = At::Turn;
                self.list = match rest.trim_ascii() {
                    "]" => List::Whole,
                    _ if rest.starts_with(',') => List::Head(rest.to_owned()),
                    _ => return None,
                };
                Some(())
            }
            At::Reply if matches!(text, "," | ", ") => {
                self.opens_replies = true;
                Some(())
            }
            At::Reply => {
                let rest = text.strip_prefix(']')?;
                place.at = At::Turn;
                self.here.after = After::Replies;
                self.text(rest)
            }
            At::Turn if self.list == List::Opened => {
                let list = text.trim_ascii();
                let inside = list.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
                self.list = match inside.is_some_and(|it| it.trim_ascii().is_empty()) {
                    true => List::Whole,
                    false => List::Head(text.trim_ascii_start().to_owned()),
                };
                Some(())
            }
            At::Turn => self.in_turn(text),
            At::Start => text.trim_ascii().is_empty().then_some(()),
            At::Outside => {
                self.here.is_spaced |= self.here.began && text.contains('\n');
                text.trim_ascii().is_empty().then_some(())
            }
            At::Section(_) => None,
        }
    }

    /// Reads text in the turn of the assistant that belongs to no message.
    fn in_turn(&mut self, text: &str) -> Option<()> {
        let after = self.here.after;
        let text = match () {
            // White space is allowed before a list of replies.
            () if after.takes_replies(self.here.waiting) && is_list(text) => {
                text.trim_ascii_start()
            }
            () if self.here.drops_break(after, text) => &text[line_break(text)..],
            () => text,
        };
        if text.is_empty() {
            return Some(());
        }
        let inside = text.strip_prefix('[').filter(|_| after.takes_replies(self.here.waiting))?;
        self.opens_replies = inside.is_empty();
        if !self.opens_replies {
            // An empty list of replies, which the template can write.
            inside.trim_ascii_start().strip_prefix(']').filter(|rest| rest.is_empty())?;
            self.here.after = After::Replies;
            self.here.waiting = self.here.waiting.saturating_sub(1);
        }
        Some(())
    }

    fn control(&mut self, control: Control) -> Option<()> {
        let here = &mut self.here;
        if self.list != List::None {
            if (control, &self.list) != (Control::CloseSection(Section::Calls), &List::Whole) {
                return None;
            }
            self.list = List::None;
            here.after = After::Calls;
            return Some(());
        }
        if here.place.at == At::Turn {
            let says = here.after.says_nothing_before(control);
            if says != std::mem::take(&mut here.is_unsaid) {
                return None;
            }
        }
        let Place { at, inner } = &mut here.place;
        match (control, *at) {
            (Control::Bos, At::Start) => *at = At::Outside,
            (Control::Close(role), At::Section(section)) if role == section => *at = At::Outside,
            (Control::Close(Role::Assistant), At::Turn) => (*at, *inner) = (At::Outside, false),
            (Control::Open(Role::Assistant), At::Start | At::Outside | At::Turn) => {
                (*at, *inner) = (At::Turn, false);
                here.after = After::Start;
            }
            (Control::Open(role), At::Start | At::Outside) => {
                (*at, *inner) = (At::Section(role), false);
            }
            (Control::OpenSection(Section::Reasoning), At::Turn) if !*inner => {
                *inner = true;
                here.after = After::Prefix;
            }
            (Control::CloseSection(Section::Reasoning), At::Turn) if *inner => {
                *inner = false;
                here.after = After::Suffix;
            }
            (Control::OpenSection(Section::Calls), At::Turn) => {
                here.waiting = 0;
                self.list = List::Opened;
            }
            _ => return None,
        }
        Some(())
    }

    /// Whether a message of this kind can follow.
    fn admits(&self, kind: Kind<'_>, body: &str) -> bool {
        let here = self.here;
        let Place { at, inner } = here.place;
        let is_free = self.list == List::None && !self.opens_replies;
        match kind {
            Kind::Section(role) => at == At::Section(role),
            Kind::Prompt => is_free && at == At::Turn && here.after == After::Start,
            Kind::Inner | Kind::Outer => {
                let starts = match here.after {
                    After::Start | After::Prefix | After::Suffix => !here.is_unsaid,
                    After::Text => false,
                    After::Calls | After::Replies => !body.is_empty() && !here.is_list(body),
                };
                let is_whole = starts && !here.drops_break(here.after, body);
                is_free && at == At::Turn && inner == (kind == Kind::Inner) && is_whole
            }
            Kind::Call(name, _) => match &self.list {
                List::Head(head) => opens_call(head, name),
                _ => false,
            },
            Kind::Reply => self.opens_replies,
        }
    }
}

/// Whether the text opens a call of this name, after another call or in a new list.
fn opens_call(head: &str, name: &str) -> bool {
    let inside = || {
        let head = head.strip_prefix(['[', ','])?.trim_ascii_start();
        let head = head.strip_prefix('{')?.trim_ascii_start();
        let head = head.strip_prefix('"')?.strip_prefix(name)?;
        let head = head.strip_prefix('"')?.trim_ascii_start();
        head.strip_prefix(':')
    };
    // The first space belongs to the head, further spaces to the arguments.
    matches!(inside(), Some("" | " "))
}
