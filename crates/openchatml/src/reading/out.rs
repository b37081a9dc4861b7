//! What a reader gives its messages and findings to.

use super::Keep;
use crate::check::Checker;
use crate::lex::Lexeme;
use crate::limits::Limits;
use crate::model::{
    Content, Conversation, Document, DocumentLayout, FormId, Infill, Message, Part, Raw, Role,
};
use crate::options::{Mode, ReadOptions, Recover};
use crate::{Code, Control, Diagnostic, Dropped, Header, Severity, Span};

/// Takes what a reader finds: a whole document is collected, a stream passes it on as events.
pub(crate) trait Receiver<'a> {
    /// Whether the text of bodies is to be kept. If not, messages end with an empty body.
    fn keeps_bodies(&self) -> bool;

    /// The text form that the messages turn out to be in.
    fn form(&mut self, _: FormId) {}

    /// The header of the document.
    fn header(&mut self, header: Header<'a>);

    /// A message begins: everything is known of it but its body.
    fn start(&mut self, message: &Message<'a>);

    /// More text of the message that began last.
    fn text(&mut self, text: &str);

    /// Text of the message that began last was left out for the sake of a limit.
    fn cut(&mut self) {}

    /// Reading has stopped: what follows is left out.
    fn stop(&mut self) {}

    /// The completion has come to its stop token: what follows is no part of it.
    fn over(&mut self) {}

    /// The message that began last is complete.
    fn end(&mut self, message: Message<'a>);

    /// What closes the turn of the last message, which ended before, ends at byte `at`.
    fn close_turn(&mut self, _: usize) {}

    /// How the space around messages is laid out.
    fn layout(&mut self, place: Place, raw: Raw<'a>, form: FormId);

    /// A file of a multi-file sequence is complete: this, or the messages since the last one.
    fn part(&mut self, part: Option<Part<'a>>, span: Span);

    /// The document is a fill-in-the-middle task.
    fn infill(&mut self, infill: Infill<'a>);

    /// Something was found.
    fn finding(&mut self, diagnostic: Diagnostic);
}

/// Where a piece of layout belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Before the first message.
    Lead,
    /// After the message that ended last.
    After,
    /// After the last message, or after its body.
    Tail,
}

/// Counts findings and decides how bad they are.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    count: usize,
    /// Whether it was told that input is dropped by what is not shown.
    tells_drops: bool,
}

impl Findings {
    /// Whether another one would be passed on as it is.
    pub(crate) fn has_room(&self, limits: &Limits) -> bool {
        self.count < limits.diagnostics
    }

    /// Passes `diagnostic` on unless there are too many already. That input is dropped is told all
    /// the same, once.
    pub(crate) fn report(&mut self, diagnostic: Diagnostic, limits: &Limits) -> Option<Diagnostic> {
        self.count = self.count.saturating_add(1);
        let drops = diagnostic.dropped.is_some() && self.count > limits.diagnostics;
        let drops = drops && !self.tells_drops;
        self.tells_drops |= drops;
        match self.count.cmp(&limits.diagnostics.saturating_add(1)) {
            std::cmp::Ordering::Less => Some(diagnostic),
            std::cmp::Ordering::Equal => {
                let most = limits.diagnostics;
                let message =
                    format!("more than the limit `diagnostics` of {most}; no more are shown");
                let found = Code::Limit.at(diagnostic.span, message);
                Some(if drops { found.drops(Dropped::Limit) } else { found })
            }
            std::cmp::Ordering::Greater if drops => {
                let message = "input is dropped by a finding that is not shown";
                Some(Code::Limit.at(diagnostic.span, message).drops(Dropped::Limit))
            }
            std::cmp::Ordering::Greater => None,
        }
    }
}

/// What is left of the state between two lexemes, apart from the reader's own.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) findings: Findings,
    pub(crate) checker: Checker,
    pub(crate) messages: usize,
    /// Reading has stopped: what follows is left out.
    pub(crate) stopped: Option<Stopped>,
    /// The completion has come to its stop token: nothing that follows is part of it.
    pub(crate) is_over: bool,
    /// The last message is no part of the completion.
    pub(crate) after_foreign: bool,
}

impl State {
    /// The state before anything was read.
    pub(crate) fn new(checker: Checker) -> Self {
        Self {
            findings: Findings::default(),
            checker,
            messages: 0,
            stopped: None,
            is_over: false,
            after_foreign: false,
        }
    }
}

/// Why reading has stopped, and at which byte.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopped {
    pub(crate) code: Code,
    pub(crate) at: usize,
}

/// What a reader writes to.
pub(crate) struct Out<'a, 'o> {
    pub(crate) keep: Keep<'a>,
    pub(crate) options: &'o ReadOptions,
    pub(crate) state: &'o mut State,
    pub(crate) to: &'o mut dyn Receiver<'a>,
}

impl<'a> Out<'a, '_> {
    /// Reports a finding.
    pub(crate) fn report(&mut self, diagnostic: Diagnostic) {
        if let Some(diagnostic) = self.state.findings.report(diagnostic, &self.options.limits) {
            self.to.finding(diagnostic);
        }
    }

    /// Reports what is an error in strict mode and a warning otherwise.
    pub(crate) fn tolerate(&mut self, diagnostic: Diagnostic) {
        let severity = match self.options.mode {
            Mode::Strict => Severity::Error,
            Mode::Lenient => Severity::Warning,
        };
        self.report(diagnostic.severity(severity));
    }

    /// Reports what strict reading only is interested in.
    pub(crate) fn note(&mut self, diagnostic: Diagnostic) {
        if self.options.mode == Mode::Strict || diagnostic.severity > Severity::Note {
            self.report(diagnostic);
        }
    }

    /// Reports malformed input, which ends the reading if that is the policy.
    pub(crate) fn malformed(&mut self, diagnostic: Diagnostic) {
        if self.options.recover == Recover::Error {
            self.stop(diagnostic.code, diagnostic.span.end);
        }
        self.report(diagnostic);
    }

    /// Whether the reading goes on with `lexeme`.
    #[inline]
    pub(crate) fn goes_on(&mut self, lexeme: Lexeme<'_>) -> bool {
        if self.state.stopped.is_some() {
            return false;
        }
        if self.state.messages < self.options.limits.messages || lexeme.is_space() {
            return true;
        }
        let span = match lexeme {
            // It ends a sequence of messages, and begins none.
            Lexeme::Control(Control::Eos, _) => return true,
            Lexeme::Control(_, span) => span,
            // How much of the text has arrived does not count.
            Lexeme::Text(text, span) => {
                let rest = text.trim_ascii_start();
                let start = span.end - rest.len().min(span.len());
                Span::new(start, start + rest.chars().next().map_or(0, char::len_utf8))
            }
        };
        self.admits(span)
    }

    /// Whether another message may begin at `span`, in the lexeme that ended one. If not, the
    /// reading ends there.
    pub(crate) fn admits(&mut self, span: Span) -> bool {
        let most = self.options.limits.messages;
        if self.state.stopped.is_none() && self.state.messages >= most {
            let message = format!("the conversation exceeds the limit `messages` of {most}");
            self.stop(Code::Limit, span.start);
            self.report(Code::Limit.at(span, message).drops(Dropped::Limit));
        }
        self.state.stopped.is_none()
    }

    /// Leaves out what stands from byte `at` on, too, now that reading has stopped.
    pub(crate) fn leave_out(&mut self, at: usize) {
        if let Some(stopped) = &mut self.state.stopped {
            stopped.at = stopped.at.min(at);
        }
    }

    /// Ends the reading: what stands from byte `at` on is left out.
    pub(crate) fn stop(&mut self, code: Code, at: usize) {
        self.state.stopped.get_or_insert(Stopped { code, at });
        self.to.stop();
    }

    /// Takes a control token that stops a completion. If this is one of the assistant, it is over.
    pub(crate) fn stop_token(&mut self) {
        let is_completion = self.options.continues == Some(Role::Assistant);
        if is_completion && !self.options.past_stop && !self.state.is_over {
            self.state.is_over = true;
            self.to.over();
        }
    }

    /// Whether there is room for another message.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.state.stopped.is_none() && self.state.messages < self.options.limits.messages
    }

    /// Gives a complete message on, checked.
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

/// There is room for so many messages before a list of them grows.
const FIRST: usize = 16;

/// Collects a whole document.
#[derive(Debug, Default)]
pub(crate) struct Whole<'a> {
    conversation: Conversation<'a>,
    parts: Option<Vec<Part<'a>>>,
    /// More than one only where something malformed stands between them.
    infills: Vec<Infill<'a>>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl<'a> Whole<'a> {
    /// A collector of a document in the text form of this name.
    pub(crate) fn new(origin: FormId) -> Self {
        let mut whole = Self::default();
        whole.conversation.origin = origin;
        whole
    }

    /// The document, once everything is read.
    pub(crate) fn into_document(mut self) -> Document<'a> {
        let conversation = self.conversation;
        let last = self.infills.pop();
        let has_messages = !conversation.messages.is_empty();
        match (self.parts, last) {
            (None, None) => Document::Conversation(conversation),
            (None, Some(infill)) if !has_messages && self.infills.is_empty() => {
                Document::Infill(infill)
            }
            // Messages that stand beside a task, or after the last file that is whole, are a file
            // of their own: nothing is left out.
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
        let messages = &mut self.conversation.messages;
        if messages.capacity() == 0 {
            messages.reserve(FIRST);
        }
        messages.push(message);
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
    /// A layout of `dialect`, if it differs from the canonical one.
    pub(crate) fn around(
        form: FormId,
        lead: Option<Raw<'a>>,
        tail: Option<Raw<'a>>,
    ) -> Option<Box<Self>> {
        (lead.is_some() || tail.is_some())
            .then(|| Box::new(Self { form, lead, tail, ..Self::default() }))
    }
}
