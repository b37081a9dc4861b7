//! How a response goes: what its events say of its end, and of its calls.

use std::collections::BTreeSet;

use super::{Incomplete, Response};
use crate::limits::Limits;
use crate::model::{End, Message, bare_name};
use crate::stream::live::Kind;
use crate::stream::{Done, Event};
use crate::{Severity, function_name, json};

/// What the events so far say.
#[derive(Debug, Default)]
pub(super) struct Course {
    /// The limits that the events were read with.
    pub(super) limits: Limits,
    /// How the response ended, unless a message began after that.
    done: Option<Done>,
    has_messages: bool,
    has_errors: bool,
    /// The message that is being read.
    open: Option<usize>,
    /// Whether something is wrong with that message.
    is_wrong: bool,
    /// Whether a call was written that nobody must make.
    has_uncertain_call: bool,
    is_cancelled: bool,
    /// How many messages are no output of the model.
    pub(super) left_out: usize,
}

/// What becomes of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Completed(Done),
    /// And why, as far as that is known.
    Incomplete(Option<Incomplete>),
    /// There is nothing that could be said.
    Failed,
}

impl Course {
    /// Takes an event, before it is written.
    pub(super) fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::MessageStart { index, message } => {
                // What is no part of the conversation does not go on with the response.
                self.done = self.done.filter(|_| message.foreign);
                self.has_messages = true;
                self.open = Some(*index);
                self.is_wrong = false;
                self.left_out += usize::from(Kind::of(message) == Kind::Silent);
            }
            Event::Done { reason, .. } => self.done = Some(*reason),
            Event::Cancel { .. } => self.is_cancelled = true,
            Event::Diagnostic { index, diagnostic } if diagnostic.severity == Severity::Error => {
                self.has_errors = true;
                self.is_wrong |= self.open.is_some() && self.open == *index;
            }
            _ => {}
        }
    }

    /// Whether the call that has ended is certain: whole, and as it must be. What is not is no
    /// call to make.
    pub(super) fn is_certain(
        &mut self,
        call: Option<&Message<'_>>,
        arguments: &str,
        id: &CallId,
    ) -> bool {
        let is_certain = call.is_some_and(|call| {
            call.end == End::Call
                && !call.recovered
                && !self.is_wrong
                && id.is_fresh
                && are_valid(call, arguments, &self.limits)
        });
        self.has_uncertain_call |= !is_certain;
        is_certain
    }

    /// What becomes of the response, now that it has ended.
    pub(super) fn outcome(&self) -> Outcome {
        match self.done {
            _ if self.has_errors && !self.has_messages => Outcome::Failed,
            Some(done) if !self.has_uncertain_call => Outcome::Completed(done),
            None if !self.is_cancelled => Outcome::Incomplete(Some(Incomplete::MaxOutputTokens)),
            _ => Outcome::Incomplete(None),
        }
    }
}

/// Whether the arguments of a call are what it says that they are. Findings tell so, too, but there
/// may be too many of them.
fn are_valid(call: &Message<'_>, arguments: &str, limits: &Limits) -> bool {
    if call.content_type.as_deref() == Some("json") {
        let checked = json::check(arguments, limits);
        return checked.error.is_none() && checked.duplicates.is_empty();
    }
    let is_function = call.recipient.as_deref().and_then(function_name).is_some();
    !is_function || !arguments.trim().is_empty()
}

/// The name of the tool that a call is for: of a function its own, of another tool all of it.
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
    /// Whether no call before had the id that this one came with.
    is_fresh: bool,
}

impl CallIds {
    /// The id of a call that is the item at `place`: its own, or a new one if it has none or one
    /// that is taken.
    pub(super) fn of(&mut self, call: &Message<'_>, response: &Response, place: usize) -> CallId {
        let own = call.call_id.as_deref();
        let is_fresh = own.is_none_or(|id| !self.taken.contains(id));
        let mut id = match own.filter(|_| is_fresh) {
            Some(own) => own.to_owned(),
            None => response.item_id("call", place),
        };
        while self.taken.contains(&id) {
            id.push('_');
        }
        self.taken.insert(id.clone());
        CallId { id, is_fresh }
    }
}
