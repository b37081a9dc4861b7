//! Turns the output of a reader into events.

use super::{Done, Event, Keep};
use crate::model::FormId;
use crate::model::{Channel, End, Header, Infill, Message, Part, Raw, Role, Visibility};
use crate::reading::{Place, Receiver};
use crate::{Code, Diagnostic, Span};

/// The state between two chunks.
#[derive(Debug, Default)]
pub(super) struct LiveState {
    pub(super) keep: Keep,
    pub(super) cancelled: bool,
    /// How many messages are complete.
    done: usize,
    /// Whether a message is being read.
    open: bool,
    /// The kind of text of the current message.
    kind: Kind,
    /// How many line breaks are at the end of the visible text.
    line_breaks: usize,
    /// Whether visible text was dropped, so that the response is not complete.
    is_cut: bool,
    /// How the last message of the response ended, and its number.
    last_end: Option<End>,
    last: Option<usize>,
    /// Whether the completion has reached its stop token. The ends of later messages are then
    /// ignored.
    is_over: bool,
    began: bool,
}

/// The kind of event for the text of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    /// No event: the text is in the complete message.
    #[default]
    Silent,
    Visible,
    Preamble,
    Reasoning,
    Call,
}

impl Kind {
    /// Returns the kind of event for the text of `message`.
    pub(super) fn of(message: &Message<'_>) -> Self {
        match message.role {
            // It is not part of the conversation.
            _ if message.foreign => Self::Silent,
            Role::Assistant if message.is_call() => Self::Call,
            Role::Assistant if message.is_reasoning() => Self::Reasoning,
            Role::Assistant if message.visibility() == Visibility::User => {
                if message.effective_channel() == Channel::Commentary {
                    Self::Preamble
                } else {
                    Self::Visible
                }
            }
            _ => Self::Silent,
        }
    }
}

/// A receiver that emits events.
pub(super) struct Live<'l> {
    pub(super) state: &'l mut LiveState,
    pub(super) emit: &'l mut dyn FnMut(Event<'_>),
}

impl Live<'_> {
    /// Emits how the response ended.
    pub(super) fn finish(&mut self) {
        if self.state.cancelled {
            let index = self.state.done.checked_sub(1);
            return (self.emit)(Event::Cancel { index });
        }
        let reason = match self.state.last_end {
            _ if self.state.is_cut => return,
            Some(End::Call) => Done::Call,
            Some(End::End) => Done::End,
            None if !self.state.began => Done::End,
            // It was already emitted, or the response is incomplete.
            Some(End::Return | End::Open | End::Prompt) | None => return,
        };
        (self.emit)(Event::Done { index: self.state.last, reason });
    }
}

impl LiveState {
    /// Emits text of the current message.
    #[inline]
    pub(super) fn text(&mut self, text: &str, emit: &mut (impl FnMut(Event<'_>) + ?Sized)) {
        let index = self.done;
        match self.kind {
            _ if text.is_empty() => {}
            Kind::Silent => {}
            Kind::Visible => self.visible(text, false, emit),
            Kind::Preamble => self.visible(text, true, emit),
            Kind::Reasoning => emit(Event::ReasoningDelta { index, text: text.into() }),
            Kind::Call => emit(Event::ToolCallDelta { index, text: text.into() }),
        }
    }

    /// Emits visible text, paragraph by paragraph.
    #[inline]
    fn visible(
        &mut self,
        text: &str,
        is_preamble: bool,
        emit: &mut (impl FnMut(Event<'_>) + ?Sized),
    ) {
        // Token by token, texts are short, and at most end with a line break.
        let Some((last, before)) = text.as_bytes().split_last() else { return };
        let breaks = usize::from(*last == b'\n');
        if *last == b'\r' || self.line_breaks + breaks > 1 || !is_plain(before) {
            return self.paragraphs(text, is_preamble, emit);
        }
        self.line_breaks = breaks;
        emit(Event::Delta { index: self.done, text: text.into(), is_preamble });
    }

    fn paragraphs(
        &mut self,
        text: &str,
        is_preamble: bool,
        emit: &mut (impl FnMut(Event<'_>) + ?Sized),
    ) {
        let index = self.done;
        let bytes = text.as_bytes();
        let mut from = 0;
        let mut at = 0;
        let says = |line: &[u8]| line.iter().any(|byte| *byte != b'\r');
        while let Some(len) = memchr::memchr(b'\n', &bytes[at..]) {
            if says(&bytes[at..at + len]) {
                self.line_breaks = 0;
            }
            at += len + 1;
            self.line_breaks += 1;
            if self.line_breaks == 2 {
                emit(Event::Delta { index, text: text[from..at].into(), is_preamble });
                emit(Event::Flush { index, is_preamble });
                from = at;
            }
        }
        if says(&bytes[at..]) {
            self.line_breaks = 0;
        }
        if from < text.len() {
            emit(Event::Delta { index, text: text[from..].into(), is_preamble });
        }
    }
}

impl Receiver<'static> for Live<'_> {
    fn keeps_bodies(&self) -> bool {
        self.state.keep == Keep::Bodies
    }

    fn header(&mut self, _: Header<'static>) {}

    fn start(&mut self, message: &Message<'static>) {
        self.state.kind = Kind::of(message);
        self.state.line_breaks = 0;
        self.state.open = true;
        self.state.began = true;
        (self.emit)(Event::MessageStart { index: self.state.done, message: message.into() });
    }

    fn text(&mut self, text: &str) {
        self.state.text(text, self.emit);
    }

    fn cut(&mut self) {
        // The length of hidden text must not be revealed.
        self.state.is_cut |= matches!(self.state.kind, Kind::Visible | Kind::Preamble);
    }

    fn stop(&mut self) {
        self.state.is_cut |= !self.state.is_over;
    }

    fn over(&mut self) {
        self.state.is_over = true;
    }

    fn end(&mut self, message: Message<'static>) {
        let index = self.state.done;
        (self.emit)(Event::MessageDone { index, message: (&message).into() });
        self.state.done += 1;
        self.state.open = false;
        if self.state.is_over {
            return;
        }
        // Only the assistant can end its response.
        if message.foreign && self.state.last_end.is_some() {
            return;
        }
        self.state.last = Some(index);
        self.state.last_end = Some(if message.foreign { End::End } else { message.end });
        if self.state.last_end == Some(End::Return) && !self.state.is_cut {
            (self.emit)(Event::Done { index: Some(index), reason: Done::Return });
        }
    }

    fn hide_last(&mut self, count: usize) {
        for index in self.state.done.saturating_sub(count)..self.state.done {
            (self.emit)(Event::MessageHidden { index });
        }
    }

    fn layout(&mut self, _: Place, _: Raw<'static>, _: FormId) {}

    fn part(&mut self, part: Option<Part<'static>>, span: Span) {
        if part.is_some() {
            self.not_a_message(span);
        }
    }

    fn infill(&mut self, infill: Infill<'static>) {
        self.not_a_message(infill.span);
    }

    fn finding(&mut self, diagnostic: Diagnostic) {
        let index =
            if self.state.open { Some(self.state.done) } else { self.state.done.checked_sub(1) };
        (self.emit)(Event::Diagnostic { index, diagnostic: (&diagnostic).into() });
    }
}

impl Live<'_> {
    /// Files and fill-in-the-middle tasks are not messages, so there are no events for them.
    fn not_a_message(&mut self, span: Span) {
        self.state.began = true;
        let text = "files and fill-in-the-middle tasks cannot be streamed";
        let found = Code::ParseFrame.at(span, text);
        self.finding(found.help("parse the whole document instead"));
    }
}

/// Whether the text is short and has no control characters. The length decides few branches: words
/// have many lengths, and processors predict branches on them badly.
#[inline]
fn is_plain(bytes: &[u8]) -> bool {
    fn is_plain<const N: usize>(bytes: [u8; N]) -> bool {
        bytes.iter().fold(true, |plain, byte| plain & (*byte >= b' '))
    }
    match (bytes.first_chunk(), bytes.last_chunk()) {
        (Some(first), Some(last)) => {
            bytes.len() <= 16 && is_plain::<8>(*first) && is_plain::<8>(*last)
        }
        _ => is_plain::<7>(std::array::from_fn(|at| *bytes.get(at).unwrap_or(&b' '))),
    }
}
