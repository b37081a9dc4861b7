//! The calls of a turn, from the queue of the router to their replies.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use openchatml::{Code, Format, Message};

use super::SessionError;
use super::desk::Desk;
use super::event::SessionEvent;
use super::hear::Emit;
use super::plan::Waiting;
use super::spell::{delimit, respell};
use crate::{Happening, Turn};

/// The calls of one turn.
pub(super) struct Calls {
    turn: Turn,
    desk: Option<Arc<Desk>>,
    /// The formats that replies must fit into.
    formats: Vec<Format>,
    /// The calls in their order.
    order: Vec<String>,
    replies: HashMap<String, Message<'static>>,
    /// Calls whose own id is that of another one: the router tells of them without an id, in the
    /// order in which they came.
    nameless: VecDeque<String>,
    is_cancelled: bool,
}

impl Calls {
    pub(super) fn new(turn: Turn, desk: Option<Arc<Desk>>, formats: Vec<Format>) -> Self {
        let (order, replies, nameless) = (Vec::new(), HashMap::new(), VecDeque::new());
        Self { turn, desk, formats, order, replies, nameless, is_cancelled: false }
    }

    /// Whether some call has no reply.
    pub(super) fn are_open(&self) -> bool {
        self.replies.len() < self.order.len()
    }

    /// Whether they were cancelled.
    pub(super) fn is_cancelled(&self) -> bool {
        self.is_cancelled
    }

    /// Whether there is any call.
    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Makes a call.
    pub(super) async fn dispatch(&mut self, waiting: &Waiting, message: &Message<'static>) {
        let mut message = message.clone();
        self.order.push(waiting.id.clone());
        if waiting.repeated.is_some() {
            self.nameless.push_back(waiting.id.clone());
        }
        let id = waiting.repeated.as_ref().unwrap_or(&waiting.id);
        message.call_id = Some(id.clone().into());
        if let Some(desk) = &self.desk {
            desk.expect(&waiting.id, mark(&message));
        }
        self.turn.dispatch(&message).await;
    }

    /// Gives a call a reply without making it.
    pub(super) fn answer(&mut self, id: &str, reply: Message<'static>) {
        self.order.push(id.to_owned());
        self.replies.insert(id.to_owned(), reply);
    }

    /// Waits until something happens, and tells it. To be asked only while calls
    /// [are open](Self::are_open). It is cancel safe.
    pub(super) async fn next(&mut self) -> Option<Happening> {
        self.turn.next().await
    }

    /// Takes what happened.
    pub(super) async fn take(
        &mut self,
        happening: Option<Happening>,
        emit: &mut Emit<'_>,
    ) -> Result<(), SessionError> {
        match happening {
            Some(Happening::Start { call_id, name }) => {
                emit(SessionEvent::ToolStart { call_id: &call_id, name: &name });
            }
            Some(Happening::Progress { call_id, progress }) => {
                emit(SessionEvent::ToolProgress { call_id: &call_id, progress: &progress });
            }
            Some(Happening::Cancel { call_id, reason }) => {
                emit(SessionEvent::ToolCancel { call_id: &call_id, reason: &reason });
            }
            Some(Happening::Done { call_id, code, reply }) => {
                let own = call_id.is_empty().then(|| self.nameless.pop_front()).flatten();
                return self.done(own.unwrap_or(call_id), code, reply, emit).await;
            }
            // The router has no calls left: none may be waited for.
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
        if let Some(desk) = self.desk.clone() {
            let (id, reply) = (id.clone(), reply.clone());
            super::blocking(move || desk.replied(&id, &reply)).await?;
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

    /// The replies in the order of their calls. None of them is open any more.
    pub(super) fn into_replies(mut self) -> Vec<(String, Message<'static>)> {
        let order = std::mem::take(&mut self.order);
        let replies = order.into_iter().filter_map(|id| {
            let reply = self.replies.remove(&id)?;
            Some((id, reply))
        });
        replies.collect()
    }
}

/// What a call says, as a number: after a crash, a call with the same id and another mark is
/// another call. It is the 64-bit FNV-1a of the tool and the arguments.
pub(super) fn mark(message: &Message<'_>) -> u64 {
    let body = message.body.text();
    let words = [message.recipient.as_deref().unwrap_or_default(), "\0", &*body];
    let bytes = words.iter().flat_map(|word| word.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
