//! Reads kept layout with the reader before it is written, to find out how it is read there.

use super::calls::{List, Step};
use super::reader::{After, Reader, State, reader};
use super::writer_state::{Next, WriterState};
use crate::grammar::brackets::Brackets;
use crate::grammar::dry_run::{DryRun, unlimited};
use crate::grammar::sections::between::{Kind, Place};
use crate::grammar::sections::reasoning::Thought;
use crate::model::{FormId, Infill, Message, Part, Raw, RawPiece, Role};
use crate::options::{ReadOptions, Recover};
use crate::reading::{self, Draft, Kept, Receiver};
use crate::{Control, Diagnostic, Header, Span};

/// The layout after a written message, as the reader reads it.
pub(super) struct LayoutCheck {
    /// The state before the layout.
    here: WriterState,
    run: DryRun<Reader<'static>, Begun>,
}

impl LayoutCheck {
    /// Reads `raw` after a message. Returns `None` if it is malformed there.
    pub(super) fn of(here: WriterState, raw: &Raw<'_>) -> Option<Self> {
        let rules = here.rules;
        let options = ReadOptions { recover: Recover::Error, ..unlimited() };
        let mut reader = reader(rules, &options);
        reader.layout.place = here.place;
        reader.inner = here.place.in_reasoning;
        // The text before the layout is already read, so a token here cannot make it reasoning.
        reader.thought = Thought::Closed;
        reader.bos = here.place != Place::START;
        reader.spaced = here.is_spaced;
        reader.waiting.resize(here.waiting, String::new());
        reader.state = state(here);
        let mut check = Self { here, run: DryRun::new(reader, Begun::default(), options) };
        let mut pieces = raw.pieces();
        if here.place.last == Some(Kind::Reply) {
            // The writer checks where a list of replies ends.
            match pieces.next()? {
                RawPiece::Text(text) => check.text(text.strip_prefix(']')?),
                RawPiece::Control(_) => return None,
            }
        }
        for piece in pieces {
            match piece {
                RawPiece::Text(text) => check.text(text),
                RawPiece::Control(control) => check.control(control),
            }
        }
        (!check.run.has_stopped()).then_some(check)
    }

    fn text(&mut self, text: &str) {
        if !text.is_empty() {
            self.run.text(text);
        }
    }

    fn control(&mut self, control: Control) {
        self.run.control(control, self.here.rules.spelling(control));
    }

    /// Returns the state after a message that follows the layout, if the layout and the message are
    /// read back.
    pub(super) fn message(mut self, next: Next<'_>) -> Option<WriterState> {
        let end = self.run.at();
        let mut here = self.here;
        here.is_spaced = self.run.reader.spaced;
        here.waiting = self.run.reader.waiting.len();
        let begins = match next.kind {
            Kind::Said(role) => Some(Begin::new(role, end, "")),
            Kind::Prompt => {
                matches!(self.run.reader.state, State::Turn(After::Start)).then_some(())?;
                None
            }
            Kind::Reply => {
                let State::Outputs(list, _) = &self.run.reader.state else { return None };
                (list.as_str() == "[").then_some(())?;
                None
            }
            Kind::Reasoning | Kind::Text { .. } => {
                let (State::Turn(after) | State::Blank(after, _)) = self.run.reader.state else {
                    return None;
                };
                here.after = after;
                self.text(next.body);
                // It ends every text.
                self.control(Control::Close(Role::Assistant));
                let is_reasoning = next.kind == Kind::Reasoning;
                Some(Begin { is_reasoning, ..Begin::new(Role::Assistant, end, next.body) })
            }
            Kind::Call { .. } => {
                // The brace shows where empty arguments begin.
                self.text(if next.body.is_empty() { "}" } else { next.body });
                here.waiting = self.run.reader.waiting.len().checked_sub(1)?;
                let recipient = Some(self.here.rules.recipient(next.name));
                Some(Begin { recipient, ..Begin::new(Role::Assistant, end, next.body) })
            }
        };
        let is_read = !self.run.has_stopped() && self.begun(begins.as_ref()) == Some(false);
        here.place.in_reasoning = self.run.reader.inner;
        // The layout already says whether a call leaves the inner section.
        let kind = match next.kind {
            Kind::Call { .. } => Kind::Call { leaves: false },
            kind => kind,
        };
        here.say(kind, next.body);
        is_read.then_some(here)
    }

    /// Whether the text can end after the layout. `closes` says whether the layout must close the
    /// turn of the assistant.
    pub(super) fn end(mut self, closes: bool) -> bool {
        self.run.with(|reader, out| reader.settle_blank(out));
        let Some(is_unsaid) = self.begun(None) else { return false };
        let was_turn = self.here.place.is_turn();
        match &self.run.reader.state {
            State::Outside(gap) => {
                gap.as_str().trim_ascii().is_empty() && !is_unsaid && (!was_turn || closes)
            }
            State::Body(_) => was_turn && !closes,
            State::Turn(After::Start) => false,
            State::Turn(after) => {
                !closes && matches!(after, After::Prefix | After::Suffix) == is_unsaid
            }
            _ => false,
        }
    }

    /// Whether the last message before the layout, which is empty, is not read yet. `None` if
    /// other messages are read than this one and the `next`.
    fn begun(&self, next: Option<&Begin>) -> Option<bool> {
        let found = &self.run.to;
        // The template also writes an empty list of replies if there is no reply.
        let is_empty_list = |it: &&Begin| it.role == Role::Tool && it.len == 0;
        let mut begun = found.messages.iter().filter(|it| !is_empty_list(it)).peekable();
        let is_said = |it: &&Begin| it.at == 0 && it.len == 0 && it.recipient.is_none();
        let is_unsaid = self.here.is_unsaid && begun.next_if(is_said).is_none();
        (!found.has_other_text && begun.eq(next)).then_some(is_unsaid)
    }
}

/// Returns the state of the reader after a message.
fn state(here: WriterState) -> State<'static> {
    let draft = || {
        let mut draft = Box::new(Draft::default());
        // The conversation does not end after it.
        draft.message.recovered = true;
        draft
    };
    match here.place.last {
        None => State::Outside(Kept::default()),
        Some(Kind::Said(_)) => State::Body(draft()),
        Some(Kind::Call { .. }) => {
            let mut list = Box::new(List::default());
            list.step = Step::Arguments(Brackets::default());
            (list.has_calls, list.call) = (true, Some(draft()));
            State::Calls(list)
        }
        Some(Kind::Reply) => State::Turn(After::Replies),
        Some(_) if here.after == After::Text => State::Body(draft()),
        Some(_) => State::Turn(here.after),
    }
}

/// A message that begins.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Begin {
    role: Role,
    is_reasoning: bool,
    /// Whom it calls.
    recipient: Option<String>,
    /// The byte at which its body begins.
    at: usize,
    /// The length of its body.
    len: usize,
}

impl Begin {
    fn new(role: Role, at: usize, body: &str) -> Self {
        Self { role, is_reasoning: false, recipient: None, at, len: body.len() }
    }
}

/// The messages that begin.
#[derive(Debug, Default)]
struct Begun {
    messages: Vec<Begin>,
    /// Whether there is text before them, which belongs to the last written message.
    has_other_text: bool,
}

impl<'a> Receiver<'a> for Begun {
    fn keeps_bodies(&self) -> bool {
        false
    }

    fn header(&mut self, _: Header<'a>) {}

    fn start(&mut self, message: &Message<'a>) {
        let begin = Begin::new(message.role, message.body_at, "");
        self.messages.push(Begin {
            is_reasoning: message.is_reasoning(),
            recipient: message.recipient.as_deref().filter(|_| message.is_call()).map(Into::into),
            ..begin
        });
    }

    fn text(&mut self, text: &str) {
        match self.messages.last_mut() {
            Some(last) => last.len += text.len(),
            None => self.has_other_text = true,
        }
    }

    fn end(&mut self, _: Message<'a>) {}

    fn layout(&mut self, _: reading::Place, _: Raw<'a>, _: FormId) {}

    fn part(&mut self, _: Option<Part<'a>>, _: Span) {}

    fn infill(&mut self, _: Infill<'a>) {}

    fn finding(&mut self, _: Diagnostic) {}
}
