//! Turns what a reader finds into events.

use std::borrow::Cow;

use super::{Done, Event, Keep};
use crate::model::{Channel, End, Header, Infill, Message, Part, Role, Visibility};
use crate::read::{Place, Receiver};
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
    /// How the last message ended, until that was told.
    last_end: Option<End>,
    began: bool,
}

/// What the text of a message is told as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    /// Not at all: it is in the message when that is done.
    #[default]
    Silent,
    Visible,
    Preamble,
    Reasoning,
    Call,
}

/// A receiver that tells.
pub(super) struct Live<'l> {
    pub(super) state: &'l mut LiveState,
    pub(super) emit: &'l mut dyn FnMut(Event<'_>),
}

impl Live<'_> {
    /// Tells how the response ended.
    pub(super) fn finish(&mut self) {
        let index = self.state.done.checked_sub(1);
        if self.state.cancelled {
            return (self.emit)(Event::Cancel { index });
        }
        let reason = match self.state.last_end {
            Some(End::Call) => Done::Call,
            Some(End::End) => Done::End,
            None if !self.state.began => Done::End,
            // Told already, or cut off.
            Some(End::Return | End::Open | End::Prompt) | None => return,
        };
        (self.emit)(Event::Done { index, reason });
    }

    /// Tells visible text, paragraph by paragraph.
    #[inline]
    fn visible(&mut self, text: &str, is_preamble: bool) {
        let index = self.state.done;
        let bytes = text.as_bytes();
        // What arrives token by token is short, and seldom has a line break.
        if matches!(bytes.len(), 1..=16) && !bytes.iter().any(|byte| matches!(byte, b'\n' | b'\r'))
        {
            self.state.line_breaks = 0;
            return (self.emit)(Event::Delta { index, text, is_preamble });
        }
        self.paragraphs(text, is_preamble);
    }

    fn paragraphs(&mut self, text: &str, is_preamble: bool) {
        let index = self.state.done;
        let bytes = text.as_bytes();
        let mut from = 0;
        let mut at = 0;
        let says = |line: &[u8]| line.iter().any(|byte| *byte != b'\r');
        while let Some(len) = memchr::memchr(b'\n', &bytes[at..]) {
            if says(&bytes[at..at + len]) {
                self.state.line_breaks = 0;
            }
            at += len + 1;
            self.state.line_breaks += 1;
            if self.state.line_breaks == 2 {
                (self.emit)(Event::Delta { index, text: &text[from..at], is_preamble });
                (self.emit)(Event::Flush { index });
                from = at;
            }
        }
        if says(&bytes[at..]) {
            self.state.line_breaks = 0;
        }
        if from < text.len() {
            (self.emit)(Event::Delta { index, text: &text[from..], is_preamble });
        }
    }
}

impl Receiver<'static> for Live<'_> {
    fn keeps_bodies(&self) -> bool {
        self.state.keep == Keep::Bodies
    }

    fn header(&mut self, _: Header<'static>) {}

    fn start(&mut self, message: &Message<'static>) {
        let preamble = message.effective_channel() == Channel::Commentary;
        self.state.kind = match message.role {
            Role::Assistant if message.is_call() => Kind::Call,
            Role::Assistant if message.is_reasoning() => Kind::Reasoning,
            Role::Assistant if message.visibility() == Visibility::User => {
                if preamble {
                    Kind::Preamble
                } else {
                    Kind::Visible
                }
            }
            _ => Kind::Silent,
        };
        self.state.line_breaks = 0;
        self.state.open = true;
        self.state.began = true;
        (self.emit)(Event::MessageStart { index: self.state.done, message });
    }

    fn text(&mut self, _: &Message<'static>, text: &str) {
        let index = self.state.done;
        match self.state.kind {
            Kind::Silent => {}
            Kind::Visible => self.visible(text, false),
            Kind::Preamble => self.visible(text, true),
            Kind::Reasoning => (self.emit)(Event::ReasoningDelta { index, text }),
            Kind::Call => (self.emit)(Event::ToolCallDelta { index, text }),
        }
    }

    fn end(&mut self, message: Message<'static>) {
        let index = self.state.done;
        (self.emit)(Event::MessageDone { index, message: &message });
        self.state.done += 1;
        self.state.open = false;
        self.state.last_end = Some(message.end);
        if message.end == End::Return {
            (self.emit)(Event::Done { index: Some(index), reason: Done::Return });
        }
    }

    fn layout(&mut self, _: Place, _: Cow<'static, str>, _: &'static str) {}

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
        (self.emit)(Event::Diagnostic { index, diagnostic: &diagnostic });
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
