//! The output of a reader: messages and diagnostics.

use super::Keep;
use crate::check::Checker;
use crate::lex::Lexeme;
use crate::limits::Limits;
use crate::model::{
    Body, Channel, Content, Conversation, Document, DocumentLayout, End, FormId, Infill, Message,
    Part, Raw, Role,
};
use crate::options::{Mode, ReadOptions, Recover};
use crate::{Code, Control, Diagnostic, Dropped, Header, Severity, Span};

/// Receives the output of a reader. For a whole document it is collected; for a stream it becomes
/// events.
pub(crate) trait Receiver<'a> {
    /// Whether the text of bodies must be kept. If not, messages end with an empty body.
    fn keeps_bodies(&self) -> bool;

    /// The text form of the messages.
    fn form(&mut self, _: FormId) {}

    /// The header of the document.
    fn header(&mut self, header: Header<'a>);

    /// A message begins. Everything except its body is known.
    fn start(&mut self, message: &Message<'a>);

    /// More text of the current message.
    fn text(&mut self, text: &str);

    /// Text of the current message was dropped because of a limit.
    fn cut(&mut self) {}

    /// Reading has stopped: the rest of the input is dropped.
    fn stop(&mut self) {}

    /// The completion has reached its stop token: later messages are not part of it.
    fn over(&mut self) {}

    /// The current message is complete.
    fn end(&mut self, message: Message<'a>);

    /// A message is complete at once, and no rule of conversations applies to it.
    fn plain(&mut self, plain: &PlainMessage<'_>, keep: Keep<'a>) {
        let mut message = plain.opened();
        self.start(&message);
        let (text, place) = plain.body;
        if !text.is_empty() {
            self.text(text);
        }
        if self.keeps_bodies() {
            message.body = Body::from(keep.text(text, place));
        }
        message.end = plain.end;
        message.span.end = plain.at;
        self.end(message);
    }

    /// The last `count` complete messages were reasoning.
    fn hide_last(&mut self, _count: usize) {}

    /// The end of the last message's turn is at byte `at`. The message has ended before.
    fn close_turn(&mut self, _: usize) {}

    /// The layout around messages.
    fn layout(&mut self, place: Place, raw: Raw<'a>, form: FormId);

    /// A file of a multi-file sequence is complete: `part`, or the messages since the last file.
    fn part(&mut self, part: Option<Part<'a>>, span: Span);

    /// The document is a fill-in-the-middle task.
    fn infill(&mut self, infill: Infill<'a>);

    /// A diagnostic.
    fn finding(&mut self, diagnostic: Diagnostic);
}

/// The place of a piece of layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Before the first message.
    Lead,
    /// After the message that has just ended.
    After,
    /// The layout after the last message, or after its body.
    Tail,
}

/// A complete message whose header has only a role and a channel. Most messages are such: they are
/// created only where they are kept, because they are large.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlainMessage<'t> {
    pub(crate) role: Role,
    pub(crate) channel: Option<Channel>,
    pub(crate) end: End,
    /// The place of its header.
    pub(crate) header: Span,
    pub(crate) body: (&'t str, Span),
    /// The end of the token that ends it.
    pub(crate) at: usize,
}

impl PlainMessage<'_> {
    /// Returns the message after its header.
    #[inline]
    pub(crate) fn opened<'a>(&self) -> Message<'a> {
        let mut message = Message::new(self.role, "");
        message.channel = self.channel;
        message.span = self.header;
        message.body_at = self.header.end;
        message
    }
}

/// Counts diagnostics and decides their severity.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    count: usize,
    /// Whether a diagnostic already says that hidden diagnostics drop input.
    tells_drops: bool,
}

impl Findings {
    /// Whether one more diagnostic would be passed on.
    pub(crate) fn has_room(&self, limits: &Limits) -> bool {
        self.count < limits.diagnostics
    }

    /// Passes `diagnostic` on, unless there are too many. Dropped input is reported once even then.
    pub(crate) fn report(&mut self, diagnostic: Diagnostic, limits: &Limits) -> Option<Diagnostic> {
        self.count = self.count.saturating_add(1);
        let drops = diagnostic.dropped.is_some() && self.count > limits.diagnostics;
        let drops = drops && !self.tells_drops;
        self.tells_drops |= drops;
        match self.count.cmp(&limits.diagnostics.saturating_add(1)) {
            std::cmp::Ordering::Less => Some(diagnostic),
            std::cmp::Ordering::Equal => {
                let most = limits.diagnostics;
                let message = format!(
                    "the diagnostics exceed the limit `diagnostics` of {most}; the rest is not shown"
                );
                let found = Code::Limit.at(diagnostic.span, message);
                Some(if drops { found.drops(Dropped::Limit) } else { found })
            }
            std::cmp::Ordering::Greater if drops => {
                let message = "a diagnostic that is not shown drops input";
                Some(Code::Limit.at(diagnostic.span, message).drops(Dropped::Limit))
            }
            std::cmp::Ordering::Greater => None,
        }
    }
}

/// The state between two lexemes, except for that of the reader itself.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) findings: Findings,
    pub(crate) checker: Checker,
    pub(crate) messages: usize,
    /// Reading has stopped: the rest of the input is dropped.
    pub(crate) stopped: Option<Stopped>,
    /// Whether the completion has reached its stop token. Later messages are not part of it.
    pub(crate) is_over: bool,
    /// Whether a completion contained a message of another role.
    pub(crate) has_foreign: bool,
    /// Whether the last message is not part of the completion.
    pub(crate) after_foreign: bool,
}

impl State {
    /// Creates the state before the first lexeme.
    pub(crate) fn new(checker: Checker) -> Self {
        Self {
            findings: Findings::default(),
            checker,
            messages: 0,
            stopped: None,
            is_over: false,
            has_foreign: false,
            after_foreign: false,
        }
    }
}

/// Why and where reading has stopped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopped {
    pub(crate) code: Code,
    pub(crate) at: usize,
}

/// The output of a reader.
pub(crate) struct Out<'a, 'o> {
    pub(crate) keep: Keep<'a>,
    pub(crate) options: &'o ReadOptions,
    pub(crate) state: &'o mut State,
    pub(crate) to: &'o mut dyn Receiver<'a>,
}

impl<'a> Out<'a, '_> {
    /// Reports a diagnostic.
    pub(crate) fn report(&mut self, diagnostic: Diagnostic) {
        if let Some(diagnostic) = self.state.findings.report(diagnostic, &self.options.limits) {
            self.to.finding(diagnostic);
        }
    }

    /// Reports a diagnostic that is an error in strict mode and a warning in lenient mode.
    pub(crate) fn tolerate(&mut self, diagnostic: Diagnostic) {
        let severity = match self.options.mode {
            Mode::Strict => Severity::Error,
            Mode::Lenient => Severity::Warning,
        };
        self.report(diagnostic.severity(severity));
    }

    /// Reports a diagnostic only in strict mode.
    pub(crate) fn note(&mut self, diagnostic: Diagnostic) {
        if self.options.mode == Mode::Strict || diagnostic.severity > Severity::Note {
            self.report(diagnostic);
        }
    }

    /// Reports malformed input. Reading stops if the policy says so.
    pub(crate) fn malformed(&mut self, diagnostic: Diagnostic) {
        if self.options.recover == Recover::Error {
            self.stop(diagnostic.code, diagnostic.span.end);
        }
        self.report(diagnostic);
    }

    /// Whether reading continues with `lexeme`.
    #[inline]
    pub(crate) fn goes_on(&mut self, lexeme: Lexeme<'_>) -> bool {
        if self.state.stopped.is_some() {
            return false;
        }
        if self.state.messages < self.options.limits.messages || lexeme.is_space() {
            return true;
        }
        let span = match lexeme {
            // It ends a sequence of messages and begins none.
            Lexeme::Control(Control::Eos, _) => return true,
            Lexeme::Control(_, span) => span,
            // The result must not depend on how much of the text has arrived.
            Lexeme::Text(text, span) => {
                let rest = text.trim_ascii_start();
                let start = span.end - rest.len().min(span.len());
                Span::new(start, start + rest.chars().next().map_or(0, char::len_utf8))
            }
        };
        self.admits(span)
    }

    /// Whether another message can begin at `span`, in the lexeme that ended a message. If not,
    /// reading stops there.
    pub(crate) fn admits(&mut self, span: Span) -> bool {
        let most = self.options.limits.messages;
        if self.state.stopped.is_none() && self.state.messages >= most {
            let message = format!("the conversation exceeds the limit `messages` of {most}");
            self.stop(Code::Limit, span.start);
            self.report(Code::Limit.at(span, message).drops(Dropped::Limit));
        }
        self.state.stopped.is_none()
    }

    /// Also drops the input from byte `at` on, after reading has stopped.
    pub(crate) fn leave_out(&mut self, at: usize) {
        if let Some(stopped) = &mut self.state.stopped {
            stopped.at = stopped.at.min(at);
        }
    }

    /// Stops reading. The input from byte `at` on is dropped.
    pub(crate) fn stop(&mut self, code: Code, at: usize) {
        self.state.stopped.get_or_insert(Stopped { code, at });
        self.to.stop();
    }

    /// Handles a stop token: a completion of the assistant is over.
    pub(crate) fn stop_token(&mut self) {
        let is_completion = self.options.continues == Some(Role::Assistant);
        if is_completion && !self.options.past_stop && !self.state.is_over {
            self.state.is_over = true;
            self.to.over();
        }
    }

    /// The last `count` complete messages were reasoning.
    pub(crate) fn hide_last(&mut self, count: usize) {
        if count > 0 {
            self.to.hide_last(count);
        }
    }

    /// Whether the limit allows another message.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.state.stopped.is_none() && self.state.messages < self.options.limits.messages
    }

    /// Passes on a plain message to which no rule applies. Returns whether it did.
    #[inline]
    pub(crate) fn plain(&mut self, plain: &PlainMessage<'_>) -> bool {
        let passes = self.state.checker.passes_plain(plain.role, plain.channel, plain.end);
        if passes {
            self.state.messages += 1;
            self.state.after_foreign = false;
            self.to.plain(plain, self.keep);
        }
        passes
    }

    /// Checks a complete message and passes it on.
    #[inline]
    pub(crate) fn end(&mut self, message: Message<'a>) {
        if !self.state.checker.passes(&message) {
            self.check(&message);
        }
        self.state.messages += 1;
        self.state.after_foreign = message.foreign;
        self.to.end(message);
    }

    fn check(&mut self, message: &Message<'_>) {
        let mut found = Vec::new();
        self.state.checker.message(message, self.options, &mut found);
        for diagnostic in found {
            self.note(diagnostic);
        }
    }
}

/// The initial capacity of a list of messages.
const FIRST: usize = 16;

/// Collects a whole document.
#[derive(Debug, Default)]
pub(crate) struct Whole<'a> {
    conversation: Conversation<'a>,
    parts: Option<Vec<Part<'a>>>,
    /// There is more than one only if something malformed is between them.
    infills: Vec<Infill<'a>>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl<'a> Whole<'a> {
    /// Creates a collector for the text form with this name.
    pub(crate) fn new(origin: FormId) -> Self {
        let mut whole = Self::default();
        whole.conversation.origin = origin;
        whole
    }

    /// Returns the messages, to add one.
    #[inline]
    fn messages(&mut self) -> &mut Vec<Message<'a>> {
        let messages = &mut self.conversation.messages;
        if messages.capacity() == 0 {
            messages.reserve(FIRST);
        }
        messages
    }

    /// Returns the document after the end of the input.
    pub(crate) fn into_document(mut self) -> Document<'a> {
        let conversation = self.conversation;
        let last = self.infills.pop();
        let has_messages = !conversation.messages.is_empty();
        match (self.parts, last) {
            (None, None) => Document::Conversation(conversation),
            (None, Some(infill)) if !has_messages && self.infills.is_empty() => {
                Document::Infill(infill)
            }
            // Messages next to a task, or after the last complete file, become a file: nothing is
            // dropped.
            (parts, infill) => {
                let mut parts = parts.unwrap_or_default();
                let infills = self.infills.into_iter().chain(infill);
                parts.extend(infills.map(|infill| Part::from(Content::Infill(infill))));
                if has_messages {
                    parts.push(Content::Conversation(conversation).into());
                }
                Document::Files(parts)
            }
        }
    }
}

impl<'a> Receiver<'a> for Whole<'a> {
    fn keeps_bodies(&self) -> bool {
        true
    }

    fn form(&mut self, form: FormId) {
        self.conversation.origin = form;
    }

    fn header(&mut self, header: Header<'a>) {
        self.conversation.header = Some(header);
    }

    fn start(&mut self, _: &Message<'a>) {}

    fn text(&mut self, _: &str) {}

    fn end(&mut self, message: Message<'a>) {
        self.messages().push(message);
    }

    fn plain(&mut self, plain: &PlainMessage<'_>, keep: Keep<'a>) {
        let (text, place) = plain.body;
        let span = Span::new(plain.header.start, plain.at);
        self.messages().push(Message {
            body: Body::from(keep.text(text, place)),
            end: plain.end,
            span,
            ..plain.opened()
        });
    }

    fn layout(&mut self, place: Place, raw: Raw<'a>, form: FormId) {
        let around = &mut self.conversation.layout;
        match place {
            Place::After => {
                if let Some(message) = self.conversation.messages.last_mut() {
                    let layout = message.layout.get_or_insert_default();
                    layout.form = form;
                    layout.after = Some(raw);
                }
            }
            Place::Lead => around.get_or_insert_default().lead = Some(raw),
            Place::Tail => around.get_or_insert_default().tail = Some(raw),
        }
        if let Some(around) = around {
            around.form = form;
        }
    }

    fn hide_last(&mut self, count: usize) {
        let messages = &mut self.conversation.messages;
        let first = messages.len().saturating_sub(count);
        for message in &mut messages[first..] {
            message.recovered = true;
            match message.is_call() {
                true => message.end = End::End,
                false => message.channel = Some(Channel::Analysis),
            }
        }
    }

    fn close_turn(&mut self, at: usize) {
        if let Some(last) = self.conversation.messages.last_mut() {
            last.span.end = last.span.end.max(at);
        }
    }

    fn part(&mut self, part: Option<Part<'a>>, _: Span) {
        let part = part.unwrap_or_else(|| {
            let mut conversation = std::mem::take(&mut self.conversation);
            let layout = conversation.layout.take();
            Part { content: Content::Conversation(conversation), layout }
        });
        self.parts.get_or_insert_default().push(part);
    }

    fn infill(&mut self, infill: Infill<'a>) {
        self.infills.push(infill);
    }

    fn finding(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }
}

impl<'a> DocumentLayout<'a> {
    /// Returns a layout of this form, if it differs from the canonical one.
    pub(crate) fn around(
        form: FormId,
        lead: Option<Raw<'a>>,
        tail: Option<Raw<'a>>,
    ) -> Option<Box<Self>> {
        (lead.is_some() || tail.is_some())
            .then(|| Box::new(Self { form, lead, tail, ..Self::default() }))
    }
}
