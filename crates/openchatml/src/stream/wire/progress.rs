//! The state of a response: its end and its calls.

use std::collections::BTreeSet;

use super::{Incomplete, Response};
use crate::limits::Limits;
use crate::model::{End, Message, Role, bare_name};
use crate::stream::live::Kind;
use crate::stream::{Done, Event};
use crate::{Severity, function_name, json};

/// The state after the events so far.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// How the response ended, unless another message began after that.
    done: Option<Done>,
    has_messages: bool,
    has_errors: bool,
    /// The current message.
    open: Option<usize>,
    /// Whether the current message has an error.
    is_wrong: bool,
    /// Whether a call was written that must not be run.
    pub(super) has_uncertain_call: bool,
    /// Whether a call waits for its reply.
    waits: bool,
    is_cancelled: bool,
    /// How many messages are not output of the model, or calls that are not made.
    pub(super) left_out: usize,
}

/// The outcome of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Completed(Done),
    /// Incomplete, with the reason if known.
    Incomplete(Option<Incomplete>),
    /// Nothing can be written.
    Failed,
}

impl Progress {
    /// Processes an event before it is written.
    pub(super) fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::MessageStart { index, message } => {
                // A message that is not part of the conversation does not continue the response.
                self.done = self.done.filter(|_| message.foreign);
                self.has_messages = true;
                self.open = Some(*index);
                self.is_wrong = false;
                self.waits &= message.role != Role::Tool;
                let kind = Kind::of(message);
                let is_thought = kind == Kind::Call && message.recovered;
                self.has_uncertain_call |= is_thought;
                self.left_out += usize::from(kind == Kind::Silent || is_thought);
            }
            // A call in it was perhaps written as certain.
            Event::MessageHidden { .. } => self.has_uncertain_call |= self.waits,
            Event::Done { reason, .. } => self.done = Some(*reason),
            Event::Cancel { .. } => self.is_cancelled = true,
            Event::Diagnostic { index, diagnostic } if diagnostic.severity == Severity::Error => {
                self.has_errors = true;
                self.is_wrong |= self.open.is_some() && self.open == *index;
            }
            _ => {}
        }
    }

    /// Whether the call that has ended is certain: complete and valid. An uncertain call must not
    /// be run.
    pub(super) fn is_certain(
        &mut self,
        call: Option<&Message<'_>>,
        arguments: &str,
        id: &CallId,
        limits: &Limits,
    ) -> bool {
        let is_certain = call.is_some_and(|call| {
            call.end == End::Call
                && !call.recovered
                && !self.is_wrong
                && id.is_fresh
                && are_valid(call, arguments, limits)
        });
        self.has_uncertain_call |= !is_certain;
        self.waits |= is_certain;
        is_certain
    }

    /// Returns the outcome of the response after its end.
    pub(super) fn outcome(&self) -> Outcome {
        match self.done {
            _ if self.has_errors && !self.has_messages => Outcome::Failed,
            // Clients run the calls of a response, also if it has text after them.
            Some(_) if self.waits && !self.has_uncertain_call => Outcome::Completed(Done::Call),
            Some(done) if !self.has_uncertain_call => Outcome::Completed(done),
            None if !self.is_cancelled => Outcome::Incomplete(Some(Incomplete::MaxOutputTokens)),
            _ => Outcome::Incomplete(None),
        }
    }
}

/// Whether the arguments of a call match its content type. Diagnostics report this too, but there
/// can be too many of them.
fn are_valid(call: &Message<'_>, arguments: &str, limits: &Limits) -> bool {
    if call.content_type.as_deref() == Some("json") {
        let checked = json::check(arguments, limits);
        return checked.error.is_none() && checked.duplicates.is_empty();
    }
    let is_function = call.recipient.as_deref().and_then(function_name).is_some();
    !is_function || !arguments.trim().is_empty()
}

/// Returns the name of the called tool: without the namespace for a function, otherwise the whole
/// name.
pub(super) fn tool<'m>(call: &'m Message<'_>) -> &'m str {
    bare_name(call.recipient.as_deref().unwrap_or_default())
}

/// The ids of the calls so far.
#[derive(Debug, Default)]
pub(super) struct CallIds {
    taken: BTreeSet<String>,
}

/// The id of a call.
#[derive(Debug)]
pub(super) struct CallId {
    pub(super) id: String,
    /// Whether no earlier call has the original id.
    is_fresh: bool,
}

impl CallIds {
    /// Returns the id of the call with this number: its own id, or a new one if it has none or its
    /// id is already used.
    pub(super) fn of(&mut self, call: &Message<'_>, response: &Response, number: usize) -> CallId {
        let own = call.call_id.as_deref();
        let is_fresh = own.is_none_or(|id| !self.taken.contains(id));
        let mut id = match own.filter(|_| is_fresh) {
            Some(own) => own.to_owned(),
            None => response.item_id("call", number),
        };
        while self.taken.contains(&id) {
            id.push('_');
        }
        self.taken.insert(id.clone());
        CallId { id, is_fresh }
    }
}
