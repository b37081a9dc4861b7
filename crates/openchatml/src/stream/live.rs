//! Turns what a reader finds into events.

use super::{Done, Event, Keep};
use crate::model::FormId;
use crate::model::{Channel, End, Header, Infill, Message, Part, Raw, Role, Visibility};
use crate::reading::{Place, Receiver};
use crate::{Code, Diagnostic, Span};

/// What is remembered between two chunks.
#[derive(Debug, Default)]
pub(super) struct LiveState {
    pub(super) keep: Keep,
    pub(super) cancelled: bool,
    /// How many messages are done.
    done: usize,
    /// Whether a message is being read.
    open: bool,
    /// The kind of text that the message being read has.
    kind: Kind,
    /// How many line breaks the visible text ends in.
    line_breaks: usize,
    /// Whether what a user would see was left out: the response is not complete.
    is_cut: bool,
    /// How the last message of the response ended, and which one it is.
    last_end: Option<End>,
    last: Option<usize>,
    /// Whether the completion has come to its stop token: how what follows ends says nothing.
    is_over: bool,
    began: bool,
}

/// What the text of a message is told as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    /// Not at all: it is in the message when that is done.
    #[default]
    Silent,
    Visible,
    Preamble,
    Reasoning,
    Call,
}

impl Kind {
    /// What the text of `message` is told as.
    pub(super) fn of(message: &Message<'_>) -> Self {
        match message.role {
            // It is no part of the conversation.
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

/// A receiver that tells.
pub(super) struct Live<'l> {
    pub(super) state: &'l mut LiveState,
    pub(super) emit: &'l mut dyn FnMut(Event<'_>),
}

impl Live<'_> {
    /// Tells how the response ended.
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
            // Told already, or cut off.
            Some(End::Return | End::Open | End::Prompt) | None => return,
        };
        (self.emit)(Event::Done { index: self.state.last, reason });
    }
}

impl LiveState {
    /// Tells text of the message that is being read.
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

    /// Tells visible text, paragraph by paragraph.
    #[inline]
    fn visible(
        &mut self,
        text: &str,
        is_preamble: bool,
        emit: &mut (impl FnMut(Event<'_>) + ?Sized),
    ) {
        // What arrives token by token is short, and has a line break at its end at most.
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
        // How long hidden text is must not show.
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
        // Nobody but the assistant ends its response.
        if message.foreign && self.state.last_end.is_some() {
            return;
        }
        self.state.last = Some(index);
        self.state.last_end = Some(if message.foreign { End::End } else { message.end });
        if self.state.last_end == Some(End::Return) && !self.state.is_cut {
            (self.emit)(Event::Done { index: Some(index), reason: Done::Return });
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
    /// Files and fill-in-the-middle tasks are no messages: there is no event for them.
    fn not_a_message(&mut self, span: Span) {
        self.state.began = true;
        let text = "a file or a fill-in-the-middle task is no message, and is not streamed";
        let found = Code::ParseFrame.at(span, text);
        self.finding(found.help("read the document as a whole instead"));
    }
}

/// Whether this is short text without control characters. How long it is decides few branches:
/// words come in all lengths, and a processor that guesses theirs is often wrong.
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
