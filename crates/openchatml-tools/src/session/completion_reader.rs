//! Reads a completion: which parts are certain, and where its relevant part ends.

use std::collections::HashSet;

use openchatml::{
    Code, Control, Done, End, Event, Limits, Message, ReadOptions, Recognized, Repair, Section,
    Severity, Stream, recognize, repair_call,
};
use openchatml_tokens::TokenStream;

use super::event::{SessionEvent, shifted};
use super::model::{Model, SharedEncoding};
use crate::{Piece, Usage};

/// The receiver of events.
pub(super) type Emit<'s> = dyn FnMut(SessionEvent<'_>) + Send + 's;

/// Reads a completion while it arrives.
pub(super) struct CompletionReader<'m> {
    model: &'m Model,
    options: ReadOptions,
    /// The reader of the pieces. The first piece determines its kind.
    reader: PieceReader,
    outcome: CompletionOutcome,
    /// Whether the grammar lets a completion end with any stop token
    /// ([`Constraint::any_end`](crate::Constraint::any_end)). The reader then determines the right
    /// one.
    pub(super) any_end: bool,
}

enum PieceReader {
    Unknown,
    Text(Box<Stream>),
    Ids(Box<TokenStream<SharedEncoding>>),
}

/// What was read of a completion.
#[derive(Debug, Default)]
pub(super) struct CompletionOutcome {
    /// The number of the first message of the completion.
    base: usize,
    /// The number of messages that began.
    pub(super) began: usize,
    /// The finished messages that were not returned yet.
    done: Vec<(usize, Message<'static>)>,
    /// The messages with an error that is not visible when the message is written and read again.
    wrong: HashSet<usize>,
    /// The messages without an end.
    truncated: HashSet<usize>,
    /// Whether the last message was cut off.
    pub(super) is_cut: bool,
    /// Whether the server cut the completion off at a limit. A retry would reach the same limit.
    pub(super) is_limited: bool,
    /// The incomplete answer, if the completion was cut off in it.
    pub(super) partial: Option<Message<'static>>,
    /// Whether the end of the output was reported.
    is_done: bool,
    /// Whether the completion ended with `<|return|>`.
    pub(super) has_returned: bool,
    /// The ids of the completion.
    pub(super) ids: Vec<u32>,
    /// The usage, if the server reports it.
    pub(super) usage: Option<Usage>,
    /// Whether a message of another role began. The rest of the completion is ignored.
    is_foreign: bool,
    /// Whether the last complete message of the assistant is a call.
    waits: bool,
    /// Whether the message that began last is a call.
    calls: bool,
    /// Whether messages wait for the end of the completion, because a token that ends reasoning may
    /// follow. It would show that they were reasoning.
    holds: bool,
    /// Whether a message of reasoning ended.
    has_reasoned: bool,
    /// The messages with text that was emitted as visible.
    visible: HashSet<usize>,
    /// The messages that were reasoning, as a later token showed.
    hidden: HashSet<usize>,
    /// Whether text was emitted as visible before a token showed that it is reasoning.
    pub(super) has_shown_reasoning: bool,
    /// What the text outside of messages is, if it is recognized.
    pub(super) recognized: Option<Recognized>,
    /// Whether there was a call that the model perhaps does not make. It is left out.
    pub(super) has_uncertain_call: bool,
    /// How a call whose arguments are almost JSON is repaired.
    repair: Option<(Repair, Limits)>,
    /// The messages with a misplaced control token, so that it is unknown what is reasoning.
    misplaced: HashSet<Option<usize>>,
}

impl<'m> CompletionReader<'m> {
    /// Creates a reader with these options. `base` is the number of the first message.
    pub(super) fn new(model: &'m Model, options: &ReadOptions, base: usize) -> Self {
        let options = options.clone();
        let end_of_reasoning = Control::CloseSection(Section::Reasoning);
        let holds = model.format().controls().spelling(end_of_reasoning).is_some();
        let repair = options.repair.filter(|repair| *repair == Repair::Accept);
        let repair = repair.map(|repair| (repair, options.limits.clone()));
        let outcome = CompletionOutcome { base, holds, repair, ..CompletionOutcome::default() };
        Self { model, options, reader: PieceReader::Unknown, outcome, any_end: false }
    }

    /// Reads a piece. Returns the messages that it completes.
    pub(super) fn piece(&mut self, piece: Piece, emit: &mut Emit<'_>) -> Vec<Message<'static>> {
        match piece {
            Piece::CutOff(reason) => {
                (self.outcome.is_cut, self.outcome.is_limited) = (true, true);
                emit(SessionEvent::CutOff { reason: &reason });
            }
            Piece::Usage(usage) => {
                self.outcome.usage = Some(usage);
                emit(SessionEvent::Usage(usage));
            }
            Piece::Text(text) => {
                if matches!(self.reader, PieceReader::Unknown) {
                    self.reader = self.text();
                }
                let outcome = &mut self.outcome;
                match &mut self.reader {
                    PieceReader::Text(stream) => {
                        stream.feed_with(text, |event| outcome.event(event, emit));
                    }
                    // After ids, text is the token that ended the completion, which the server
                    // reports separately.
                    PieceReader::Ids(stream) => {
                        let mut ids = Vec::new();
                        if let Some(tokenizer) = self.model.tokenizer() {
                            let control = tokenizer.encoding().control(&text);
                            match control {
                                Some(control) => ids.push(control),
                                None => tokenizer.encoding().encode(&text, &mut ids),
                            }
                        }
                        outcome.ids.extend_from_slice(&ids);
                        stream.feed_with(&ids, |event| outcome.event(event, emit));
                    }
                    PieceReader::Unknown => {}
                }
            }
            Piece::Ids(ids) => {
                if let (PieceReader::Unknown, Some(tokenizer)) =
                    (&self.reader, self.model.tokenizer())
                {
                    self.reader = PieceReader::Ids(Box::new(tokenizer.stream(&self.options)));
                }
                let (ids, end) = self.until_the_end(&ids);
                self.ids(ids, emit);
                if let Some(ends) = end {
                    self.ids(&[ends[usize::from(self.outcome.calls)]], emit);
                }
            }
        }
        self.outcome.take(false)
    }

    fn ids(&mut self, ids: &[u32], emit: &mut Emit<'_>) {
        self.outcome.ids.extend_from_slice(ids);
        let outcome = &mut self.outcome;
        if let PieceReader::Ids(stream) = &mut self.reader {
            stream.feed_with(ids, |event| outcome.event(event, emit));
        }
    }

    /// If any stop token may end the completion, returns the ids before the stop token, and the ids
    /// of `<|return|>` and `<|call|>`.
    fn until_the_end<'i>(&self, ids: &'i [u32]) -> (&'i [u32], Option<[u32; 2]>) {
        let Some(tokenizer) = self.model.tokenizer().filter(|_| self.any_end) else {
            return (ids, None);
        };
        let [Some(answer), Some(call)] =
            [Control::Return, Control::Call].map(|end| tokenizer.id(end))
        else {
            return (ids, None);
        };
        match ids.iter().position(|id| [answer, call].contains(id)) {
            Some(at) => (&ids[..at], Some([answer, call])),
            None => (ids, None),
        }
    }

    /// Whether the rest of the completion is irrelevant.
    pub(super) fn is_over(&self) -> bool {
        self.outcome.has_returned || self.outcome.is_foreign
    }

    /// Ends the completion. Returns the last messages, and everything that was read.
    pub(super) fn finish(
        mut self,
        emit: &mut Emit<'_>,
    ) -> (Vec<Message<'static>>, CompletionOutcome) {
        let mut outcome = self.outcome;
        if !outcome.is_foreign {
            match std::mem::replace(&mut self.reader, PieceReader::Unknown) {
                PieceReader::Text(stream) => stream.finish_with(|event| outcome.event(event, emit)),
                PieceReader::Ids(stream) => stream.finish_with(|event| outcome.event(event, emit)),
                PieceReader::Unknown => {}
            }
        }
        // The end of the ignored rest is not the end of the output.
        if outcome.is_foreign && !outcome.is_done {
            let reason = if outcome.waits { Done::Call } else { Done::End };
            let index = (outcome.base + outcome.began).checked_sub(2);
            emit(SessionEvent::Said(Event::Done { index, reason }));
        }
        (outcome.take(true), outcome)
    }

    /// Ends the completion before its end, because the run is cancelled.
    pub(super) fn cancel(
        mut self,
        emit: &mut Emit<'_>,
    ) -> (Vec<Message<'static>>, CompletionOutcome) {
        if matches!(self.reader, PieceReader::Unknown) {
            self.reader = self.text();
        }
        let mut outcome = self.outcome;
        match self.reader {
            PieceReader::Text(stream) => stream.cancel_with(|event| outcome.event(event, emit)),
            PieceReader::Ids(stream) => stream.cancel_with(|event| outcome.event(event, emit)),
            PieceReader::Unknown => {}
        }
        (outcome.take(true), outcome)
    }

    fn text(&self) -> PieceReader {
        PieceReader::Text(Box::new(Stream::new(self.model.format(), &self.options)))
    }
}

impl CompletionOutcome {
    fn event(&mut self, event: Event<'_>, emit: &mut Emit<'_>) {
        // The rest of a completion that speaks for another role is ignored.
        if self.is_foreign {
            return;
        }
        match &event {
            Event::MessageStart { index, message } => {
                self.began = index + 1;
                self.is_foreign |= message.foreign;
                self.calls = message.is_call();
            }
            Event::Delta { index, .. } => {
                self.visible.insert(*index);
            }
            Event::MessageDone { index, message } => {
                if message.is_reasoning() && self.visible.contains(index) {
                    self.hide(*index);
                }
                let is_open = matches!(message.end, End::Open | End::Prompt);
                self.is_cut |= is_open && !message.foreign;
                self.has_reasoned |= message.is_reasoning() && !is_open;
                let mut message = Message::clone(message).into_owned();
                let repair = self.repair.as_ref().filter(|_| message.end == End::Call);
                let found =
                    repair.and_then(|(repair, limits)| repair_call(&mut message, *repair, limits));
                if let Some(diagnostic) = found {
                    let event =
                        Event::Diagnostic { index: Some(*index), diagnostic: diagnostic.into() };
                    emit(SessionEvent::Said(shifted(event, self.base)));
                }
                self.done.push((*index, message));
            }
            Event::MessageHidden { index } => self.hide(*index),
            Event::Done { reason, .. } => {
                self.is_done = true;
                self.has_returned |= *reason == Done::Return;
            }
            // This diagnostic is about the next message, which is not one of the assistant.
            Event::Diagnostic { diagnostic, .. } if diagnostic.code == Code::CompletionRole => {}
            Event::Diagnostic { index: Some(index), diagnostic }
                if diagnostic.code == Code::StreamTruncated =>
            {
                self.truncated.insert(*index);
            }
            Event::Diagnostic { index, diagnostic }
                if diagnostic.severity == Severity::Error && !shows(diagnostic.code) =>
            {
                self.wrong.extend(index);
                if diagnostic.code == Code::ParseFrame {
                    self.misplaced.insert(*index);
                }
            }
            _ => {}
        }
        emit(SessionEvent::Said(shifted(event, self.base)));
    }

    /// Hides a message: it was reasoning that no token had opened. What follows is certain again.
    fn hide(&mut self, index: usize) {
        self.has_shown_reasoning |= self.visible.contains(&index);
        self.has_reasoned = true;
        self.misplaced.remove(&Some(index));
        self.hidden.insert(index);
    }

    /// Returns the complete and certain messages. A transcript contains no other messages, because
    /// a later reader could not see that they were incomplete, guessed or foreign.
    fn take(&mut self, is_end: bool) -> Vec<Message<'static>> {
        let mut kept = Vec::new();
        let done = &mut self.done;
        let is_held = |(_, message): &(_, Message<'_>)| message.is_call() || !self.has_reasoned;
        let held = done.iter().position(is_held).filter(|_| self.holds && !is_end);
        let ready = held.unwrap_or(done.len());
        let is_thought = !self.misplaced.is_empty() || self.is_cut && !self.has_reasoned;
        for (index, message) in done.drain(..ready) {
            if message.is_call() && !message.foreign {
                let is_hidden = self.hidden.contains(&index);
                let is_uncertain = message.recovered || is_hidden || self.holds && is_thought;
                self.has_uncertain_call |= is_uncertain;
                if is_uncertain {
                    continue;
                }
            }
            if message.recovered && self.recognized.is_none() {
                self.recognized = recognize([&*message.body.text()]);
            }
            let is_whole = !matches!(message.end, End::Open | End::Prompt);
            let is_wrong = self.wrong.contains(&index) || self.hidden.contains(&index);
            if message.recovered || message.foreign || is_wrong {
                continue;
            }
            if is_whole && !self.truncated.contains(&index) {
                self.waits = message.is_call();
                kept.push(message);
            } else if is_partial(&message) {
                self.partial = Some(message);
            }
        }
        kept
    }
}

/// Whether a message is an answer without an end. Only with such a message can a later reader see
/// that the answer is incomplete.
pub(super) fn is_partial(message: &Message<'_>) -> bool {
    message.is_answer() && message.end == End::Open && !message.body.is_empty()
}

/// Whether an error is found again when the message is written and read again. The router then
/// refuses the call, and the model reads why.
fn shows(code: Code) -> bool {
    matches!(
        code,
        Code::BodyConstraintViolation | Code::CallRoute | Code::CallSchema | Code::DuplicateKey
    )
}
