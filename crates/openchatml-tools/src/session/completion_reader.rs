//! Reads a completion: which parts are certain, and where its relevant part ends.

use std::collections::HashSet;

use openchatml::{Code, Control, Done, End, Event, Message, ReadOptions, Severity, Stream};
use openchatml_tokens::TokenStream;

use super::event::{SessionEvent, shifted};
use super::model::{Model, SharedEncoding};
use crate::{Piece, Usage};

/// Who is told what happens.
pub(super) type Emit<'s> = dyn FnMut(SessionEvent<'_>) + Send + 's;

/// A completion, as it is heard.
pub(super) struct CompletionReader<'m> {
    model: &'m Model,
    options: ReadOptions,
    /// What reads the pieces; which it is shows with the first one.
    reader: PieceReader,
    outcome: CompletionOutcome,
    /// Whether a completion may end in any token that ends one, wherever its grammar lets it end: the
    /// grammar says which it is.
    pub(super) any_end: bool,
}

enum PieceReader {
    Unknown,
    Text(Box<Stream>),
    Ids(Box<TokenStream<SharedEncoding>>),
}

/// What was heard.
#[derive(Debug, Default)]
pub(super) struct CompletionOutcome {
    /// The number of the first message.
    base: usize,
    /// How many messages began.
    pub(super) began: usize,
    /// The messages that are complete and were not taken.
    done: Vec<(usize, Message<'static>)>,
    /// Those of which something is wrong that nobody would see in what is written of them.
    wrong: HashSet<usize>,
    /// Those that have no end.
    truncated: HashSet<usize>,
    /// Whether what was being said was cut off.
    pub(super) is_cut: bool,
    /// Whether the server cut it off, at a limit that it would reach again.
    pub(super) is_limited: bool,
    /// The answer that was cut off, as far as it came.
    pub(super) partial: Option<Message<'static>>,
    /// Whether the completion ended by `<|return|>`.
    pub(super) has_returned: bool,
    /// The ids that arrived.
    pub(super) ids: Vec<u32>,
    /// What it took, if the server tells.
    pub(super) usage: Option<Usage>,
    /// Whether somebody else spoke: what comes after that counts for nothing.
    is_foreign: bool,
    /// Whether the last complete message of the assistant is a call.
    waits: bool,
    /// Whether the last message that began is a call.
    calls: bool,
}

impl<'m> CompletionReader<'m> {
    /// A completion whose first message has this number, and which is read with these options.
    pub(super) fn new(model: &'m Model, options: &ReadOptions, base: usize) -> Self {
        let options = options.clone();
        let outcome = CompletionOutcome { base, ..CompletionOutcome::default() };
        Self { model, options, reader: PieceReader::Unknown, outcome, any_end: false }
    }

    /// Takes a piece. The messages that it completes.
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
                    // A server that tells ids, and then text: what it had left to say.
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
        self.outcome.take()
    }

    fn ids(&mut self, ids: &[u32], emit: &mut Emit<'_>) {
        self.outcome.ids.extend_from_slice(ids);
        let outcome = &mut self.outcome;
        if let PieceReader::Ids(stream) = &mut self.reader {
            stream.feed_with(ids, |event| outcome.event(event, emit));
        }
    }

    /// Where any token may end the completion: the ids before that, and the ids that end an answer and
    /// a call.
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

    /// Whether nothing that counts can come any more.
    pub(super) fn is_over(&self) -> bool {
        self.outcome.has_returned || self.outcome.is_foreign
    }

    /// Takes the end. The last messages, and what was heard.
    pub(super) fn finish(
        mut self,
        emit: &mut Emit<'_>,
    ) -> (Vec<Message<'static>>, CompletionOutcome) {
        let mut outcome = self.outcome;
        if outcome.is_foreign {
            if !outcome.has_returned {
                let reason = if outcome.waits { Done::Call } else { Done::End };
                let index = (outcome.base + outcome.began).checked_sub(2);
                emit(SessionEvent::Said(Event::Done { index, reason }));
            }
        } else {
            match std::mem::replace(&mut self.reader, PieceReader::Unknown) {
                PieceReader::Text(stream) => stream.finish_with(|event| outcome.event(event, emit)),
                PieceReader::Ids(stream) => stream.finish_with(|event| outcome.event(event, emit)),
                PieceReader::Unknown => {}
            }
        }
        (outcome.take(), outcome)
    }

    /// Ends it, since nobody wants the rest.
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
        (outcome.take(), outcome)
    }

    fn text(&self) -> PieceReader {
        PieceReader::Text(Box::new(Stream::new(self.model.format(), &self.options)))
    }
}

impl CompletionOutcome {
    fn event(&mut self, event: Event<'_>, emit: &mut Emit<'_>) {
        match &event {
            Event::MessageStart { index, message } => {
                self.began = index + 1;
                self.is_foreign |= message.foreign;
                self.calls = message.is_call();
            }
            Event::MessageDone { index, message } => {
                let is_open = matches!(message.end, End::Open | End::Prompt);
                self.is_cut |= is_open && !message.foreign;
                self.done.push((*index, Message::clone(message).into_owned()));
            }
            Event::Done { reason, .. } => self.has_returned |= *reason == Done::Return,
            // It is about what follows the message that was last, which is none of the assistant's.
            Event::Diagnostic { diagnostic, .. } if diagnostic.code == Code::CompletionRole => {}
            Event::Diagnostic { index: Some(index), diagnostic }
                if diagnostic.code == Code::StreamTruncated =>
            {
                self.truncated.insert(*index);
            }
            Event::Diagnostic { index: Some(index), diagnostic }
                if diagnostic.severity == Severity::Error && !shows(diagnostic.code) =>
            {
                self.wrong.insert(*index);
            }
            _ => {}
        }
        emit(SessionEvent::Said(shifted(event, self.base)));
    }

    /// Returns the complete and certain messages. A transcript contains no other messages, because
    /// a later reader could not see that they were incomplete, guessed or foreign.
    fn take(&mut self) -> Vec<Message<'static>> {
        let mut kept = Vec::new();
        for (index, message) in std::mem::take(&mut self.done) {
            let is_whole = !matches!(message.end, End::Open | End::Prompt);
            if message.recovered || message.foreign || self.wrong.contains(&index) {
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

/// Whether it is an answer that was cut off, so that nobody can take it for a whole one.
pub(super) fn is_partial(message: &Message<'_>) -> bool {
    message.is_answer() && message.end == End::Open && !message.body.is_empty()
}

/// Whether what is wrong is still to be seen in a message that is written and read again: then the
/// router refuses it, and the model is told why.
fn shows(code: Code) -> bool {
    matches!(
        code,
        Code::BodyConstraintViolation | Code::CallRoute | Code::CallSchema | Code::DuplicateKey
    )
}
