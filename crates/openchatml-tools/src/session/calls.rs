//! The calls of a turn, from the queue of the router to their replies.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use openchatml::{Code, Format, Message};

use super::SessionError;
use super::completion_reader::Emit;
use super::event::SessionEvent;
use super::plan::PendingCall;
use super::respell::{delimit, respell};
use super::store::TranscriptStore;
use crate::{Turn, TurnEvent};

/// The calls of one turn.
pub(super) struct Calls {
    turn: Turn,
    store: Option<Arc<TranscriptStore>>,
    /// The formats in which replies must be expressible.
    formats: Vec<Format>,
    /// The ids of the calls, in the order of the calls.
    order: Vec<String>,
    replies: HashMap<String, Message<'static>>,
    /// Calls whose own id is a duplicate. The router reports them without an id, in the order of
    /// their dispatch.
    nameless: VecDeque<String>,
    is_cancelled: bool,
}

impl Calls {
    pub(super) fn new(
        turn: Turn,
        store: Option<Arc<TranscriptStore>>,
        formats: Vec<Format>,
    ) -> Self {
        let (order, replies, nameless) = (Vec::new(), HashMap::new(), VecDeque::new());
        Self { turn, store, formats, order, replies, nameless, is_cancelled: false }
    }

    /// Whether some call has no reply yet.
    pub(super) fn are_open(&self) -> bool {
        self.replies.len() < self.order.len()
    }

    /// Whether the calls were cancelled.
    pub(super) fn is_cancelled(&self) -> bool {
        self.is_cancelled
    }

    /// Whether there is any call.
    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Dispatches a call to the router.
    pub(super) async fn dispatch(&mut self, pending: &PendingCall, message: &Message<'static>) {
        let mut message = message.clone();
        self.order.push(pending.id.clone());
        if pending.repeated.is_some() {
            self.nameless.push_back(pending.id.clone());
        }
        let id = pending.repeated.as_ref().unwrap_or(&pending.id);
        message.call_id = Some(id.clone().into());
        if let Some(store) = &self.store {
            store.expect_call(&pending.id, fingerprint(&message));
        }
        self.turn.dispatch(&message).await;
    }

    /// Adds a reply to a call without running the call.
    pub(super) fn answer(&mut self, id: &str, reply: Message<'static>) {
        self.order.push(id.to_owned());
        self.replies.insert(id.to_owned(), reply);
    }

    /// Waits for the next event. Call it only while calls [are open](Self::are_open). It is cancel
    /// safe.
    pub(super) async fn next(&mut self) -> Option<TurnEvent> {
        self.turn.next().await
    }

    /// Handles an event of the router.
    pub(super) async fn take(
        &mut self,
        event: Option<TurnEvent>,
        emit: &mut Emit<'_>,
    ) -> Result<(), SessionError> {
        match event {
            Some(TurnEvent::Start { call_id, name }) => {
                emit(SessionEvent::ToolStart { call_id: &call_id, name: &name });
            }
            Some(TurnEvent::Progress { call_id, progress }) => {
                emit(SessionEvent::ToolProgress { call_id: &call_id, progress: &progress });
            }
            Some(TurnEvent::Cancel { call_id, reason }) => {
                emit(SessionEvent::ToolCancel { call_id: &call_id, reason: &reason });
            }
            Some(TurnEvent::Done { call_id, code, reply }) => {
                let own = call_id.is_empty().then(|| self.nameless.pop_front()).flatten();
                return self.done(own.unwrap_or(call_id), code, reply, emit).await;
            }
            // The router has no calls left, so no reply can arrive anymore.
            None => self.order.retain(|id| self.replies.contains_key(id)),
        }
        Ok(())
    }

    async fn done(
        &mut self,
        id: String,
        code: Option<Code>,
        mut reply: Message<'static>,
        emit: &mut Emit<'_>,
    ) -> Result<(), SessionError> {
        self.formats.iter().for_each(|format| delimit(&mut reply, *format));
        self.formats.iter().for_each(|format| respell(&mut reply, *format));
        if let Some(store) = self.store.clone() {
            let (id, reply) = (id.clone(), reply.clone());
            super::blocking(move || store.record_reply(&id, &reply)).await?;
        }
        emit(SessionEvent::ToolDone { call_id: &id, code });
        self.replies.insert(id, reply);
        Ok(())
    }

    /// Cancels all calls that have no reply. Their replies say why.
    pub(super) fn cancel(&mut self, reason: &str) {
        self.is_cancelled = true;
        self.turn.cancel_all(reason);
    }

    /// Returns the replies in the order of their calls. All calls must be finished.
    pub(super) fn into_replies(mut self) -> Vec<(String, Message<'static>)> {
        let order = std::mem::take(&mut self.order);
        let replies = order.into_iter().filter_map(|id| {
            let reply = self.replies.remove(&id)?;
            Some((id, reply))
        });
        replies.collect()
    }
}

/// Returns a hash of the tool and the arguments (64-bit FNV-1a). After a crash, a call with the
/// same id and another fingerprint is a different call.
pub(super) fn fingerprint(message: &Message<'_>) -> u64 {
    let body = message.body.text();
    let words = [message.recipient.as_deref().unwrap_or_default(), "\0", &*body];
    let bytes = words.iter().flat_map(|word| word.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
