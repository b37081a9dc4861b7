//! Turns messages into events.

use openchatml::{
    Channel, Code, Diagnostic, Done, Dropped, End, Event, Limits, Message, Role, Span, Visibility,
};

/// Emits messages as events, within limits.
#[derive(Debug)]
pub(super) struct Emitter {
    pub(super) events: Vec<Event<'static>>,
    limits: Limits,
    /// The number of the current message, or of the next one.
    index: usize,
    current: Option<Current>,
    diagnostics: usize,
    last: Option<End>,
    began: bool,
    /// Whether visible text was dropped.
    is_cut: bool,
    is_full: bool,
}

#[derive(Debug)]
struct Current {
    message: Message<'static>,
    body: String,
    kind: Kind,
    is_cut: bool,
    line_breaks: usize,
}

/// The kind of event for the text of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Silent,
    Visible,
    Reasoning,
    Call,
}

impl Kind {
    fn of(message: &Message<'_>) -> Self {
        match message.role {
            Role::Assistant if message.is_call() => Self::Call,
            Role::Assistant if message.is_reasoning() => Self::Reasoning,
            Role::Assistant if message.visibility() == Visibility::User => Self::Visible,
            _ => Self::Silent,
        }
    }
}

impl Emitter {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            events: Vec::new(),
            limits: limits.clone(),
            index: 0,
            current: None,
            diagnostics: 0,
            last: None,
            began: false,
            is_cut: false,
            is_full: false,
        }
    }

    /// Begins a message.
    pub(super) fn begin(&mut self, message: Message<'static>) {
        self.began = true;
        if self.index >= self.limits.messages {
            self.is_cut |= Kind::of(&message) == Kind::Visible;
            if !std::mem::replace(&mut self.is_full, true) {
                let most = self.limits.messages;
                self.limit("messages", most, message.span, "the following ones will be dropped");
            }
            return;
        }
        let index = self.index;
        self.events.push(Event::MessageStart { index, message: message.clone().into() });
        let kind = Kind::of(&message);
        let body = String::new();
        self.current = Some(Current { message, body, kind, is_cut: false, line_breaks: 0 });
    }

    /// Adds text to the message.
    pub(super) fn text(&mut self, text: &str) {
        let (index, most) = (self.index, self.limits.message_bytes);
        let Some(current) = &mut self.current else { return };
        let left = most - current.body.len();
        let kept = &text[..text.floor_char_boundary(left.min(text.len()))];
        let kept = if current.is_cut { "" } else { kept };
        current.body.push_str(kept);
        if !kept.is_empty() {
            let text = kept.to_owned().into();
            match current.kind {
                Kind::Silent => {}
                Kind::Reasoning => self.events.push(Event::ReasoningDelta { index, text }),
                Kind::Call => self.events.push(Event::ToolCallDelta { index, text }),
                Kind::Visible => {
                    paragraphs(kept, index, &mut current.line_breaks, &mut self.events)
                }
            }
        }
        if kept.len() < text.len() && !std::mem::replace(&mut current.is_cut, true) {
            self.is_cut |= current.kind == Kind::Visible;
            let span = current.message.span;
            self.limit("message_bytes", most, span, "the rest of the message will be dropped");
        }
    }

    /// Ends the message.
    pub(super) fn end(&mut self, end: End, span: Span) {
        let Some(Current { mut message, body, .. }) = self.current.take() else { return };
        message.body = body.into();
        (message.end, message.span) = (end, span);
        self.last = Some(end);
        self.events.push(Event::MessageDone { index: self.index, message: message.into() });
        self.index += 1;
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics += 1;
        let most = self.limits.diagnostics;
        if self.diagnostics > most + 1 {
            return;
        }
        let diagnostic = match self.diagnostics > most {
            true => {
                let text = format!("more than {most} diagnostics, the limit `diagnostics`");
                Code::Limit.at(diagnostic.span, text)
            }
            false => diagnostic,
        };
        let index = match self.current {
            Some(_) => Some(self.index),
            None => self.index.checked_sub(1),
        };
        self.events.push(Event::Diagnostic { index, diagnostic: diagnostic.into() });
    }

    pub(super) fn limit(&mut self, name: &str, most: usize, span: Span, then: &str) {
        let text = format!("the input exceeds the limit `{name}` of {most}: {then}");
        let mut found = Code::Limit.at(span, text);
        found.dropped = Some(Dropped::Limit);
        self.report(found);
    }

    /// Emits how the response ended.
    pub(super) fn finish(&mut self) {
        let reason = match self.last {
            _ if self.is_cut => return,
            Some(End::Call) => Done::Call,
            Some(End::End) => Done::End,
            None if !self.began => Done::End,
            Some(End::Return | End::Open | End::Prompt) | None => return,
        };
        self.events.push(Event::Done { index: self.index.checked_sub(1), reason });
    }

    pub(super) fn cancel(&mut self) {
        self.events.push(Event::Cancel { index: self.index.checked_sub(1) });
    }
}

/// Emits visible text, paragraph by paragraph.
fn paragraphs(text: &str, index: usize, breaks: &mut usize, events: &mut Vec<Event<'static>>) {
    let delta =
        |text: &str| Event::Delta { index, text: text.to_owned().into(), is_preamble: false };
    let mut from = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'\n' => *breaks += 1,
            b'\r' => continue,
            _ => *breaks = 0,
        }
        if *breaks == 2 && byte == b'\n' {
            events.push(delta(&text[from..=at]));
            events.push(Event::Flush { index, is_preamble: false });
            from = at + 1;
        }
    }
    if from < text.len() {
        events.push(delta(&text[from..]));
    }
}

/// A hidden message with uncertain text.
pub(super) fn hidden() -> Message<'static> {
    let mut message = Message::new(Role::Assistant, "");
    (message.channel, message.recovered) = (Some(Channel::Analysis), true);
    message
}
