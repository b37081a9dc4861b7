//! The events of a turn, and the queue of those that were not returned yet.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use openchatml::{Code, Message};
use tokio::sync::Notify;

use crate::Progress;

/// An event of a call in a turn.
///
/// The id is that of the call, unchanged. It is empty if the call had no id, or an id that was
/// already used.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TurnEvent {
    /// A call starts to run.
    Start {
        /// The id of the call.
        call_id: String,
        /// The name of the tool, as the model wrote it.
        name: String,
    },
    /// The progress of a call. A newer report replaces an older one that was not fetched yet.
    Progress {
        /// The id of the call.
        call_id: String,
        /// The progress.
        progress: Progress,
    },
    /// A call was cancelled (`tool.cancel`). Its reply comes next.
    Cancel {
        /// The id of the call.
        call_id: String,
        /// The reason that the caller of the cancellation gave.
        reason: String,
    },
    /// A call is finished. It has exactly one such event.
    Done {
        /// The id of the call.
        call_id: String,
        /// The error code, if the call failed.
        code: Option<Code>,
        /// The reply.
        reply: Message<'static>,
    },
}

/// The queue of events of a turn: calls write, the turn reads.
///
/// A call is over after its first outcome arrives here. Everything that it reports later is
/// ignored. Only this type decides which outcome counts.
#[derive(Debug, Default)]
pub(super) struct EventQueue {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    calls: Vec<CallSlot>,
    queue: VecDeque<QueueItem>,
    /// The number of calls that are not over.
    live: usize,
}

#[derive(Debug)]
struct CallSlot {
    call_id: String,
    is_over: bool,
    /// The latest progress that was not returned yet. The queue contains one item for it.
    progress: Option<Progress>,
}

#[derive(Debug)]
enum QueueItem {
    Told(Box<TurnEvent>),
    Progress(usize),
}

/// The result of [`EventQueue::take`].
pub(super) enum NextEvent {
    Event(Box<TurnEvent>),
    /// No event yet, but some call is not over.
    Later,
    /// No event, and all calls are over.
    Never,
}

impl EventQueue {
    /// A poisoned lock is fine: nothing panics while it holds the lock, and every statement keeps
    /// the state consistent.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a call, and returns its number.
    pub(super) fn add(&self, call_id: &str) -> usize {
        let mut state = self.state();
        state.calls.push(CallSlot { call_id: call_id.to_owned(), is_over: false, progress: None });
        state.live += 1;
        state.calls.len() - 1
    }

    /// A call starts to run.
    pub(super) fn start(&self, call: usize, name: &str) {
        let mut state = self.state();
        let slot = &state.calls[call];
        if !slot.is_over {
            let (call_id, name) = (slot.call_id.clone(), name.to_owned());
            state.push(TurnEvent::Start { call_id, name });
            drop(state);
            self.changed.notify_one();
        }
    }

    /// The progress of a call. A newer report replaces an older one that was not fetched yet.
    pub(super) fn progress(&self, call: usize, progress: Progress) {
        let mut state = self.state();
        let slot = &mut state.calls[call];
        if slot.is_over {
            return;
        }
        if slot.progress.replace(progress).is_none() {
            state.queue.push_back(QueueItem::Progress(call));
            drop(state);
            self.changed.notify_one();
        }
    }

    /// Ends a call with this outcome. Returns `false` if the call was already over; then the
    /// outcome is ignored.
    pub(super) fn finish(
        &self,
        call: usize,
        cancelled: Option<&str>,
        (code, reply): (Option<Code>, Message<'static>),
    ) -> bool {
        let mut state = self.state();
        let slot = &mut state.calls[call];
        if std::mem::replace(&mut slot.is_over, true) {
            return false;
        }
        let call_id = slot.call_id.clone();
        state.live -= 1;
        if let Some(reason) = cancelled {
            let (call_id, reason) = (call_id.clone(), reason.to_owned());
            state.push(TurnEvent::Cancel { call_id, reason });
        }
        state.push(TurnEvent::Done { call_id, code, reply });
        drop(state);
        self.changed.notify_one();
        true
    }

    /// Ends all calls without events.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.calls.iter_mut().for_each(|slot| slot.is_over = true);
        state.live = 0;
    }

    /// Adds the reply to a refused call, which has no other events.
    pub(super) fn refuse(&self, call_id: String, code: Code, reply: Message<'static>) {
        self.state().push(TurnEvent::Done { call_id, code: Some(code), reply });
        self.changed.notify_one();
    }

    /// Returns the next event.
    pub(super) fn take(&self) -> NextEvent {
        let mut state = self.state();
        while let Some(item) = state.queue.pop_front() {
            match item {
                QueueItem::Told(event) => return NextEvent::Event(event),
                QueueItem::Progress(call) => {
                    let slot = &mut state.calls[call];
                    if let Some(progress) = slot.progress.take() {
                        let call_id = slot.call_id.clone();
                        let event = TurnEvent::Progress { call_id, progress };
                        return NextEvent::Event(Box::new(event));
                    }
                }
            }
        }
        if state.live == 0 { NextEvent::Never } else { NextEvent::Later }
    }

    /// Waits until the queue changes.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }
}

impl State {
    fn push(&mut self, event: TurnEvent) {
        self.queue.push_back(QueueItem::Told(Box::new(event)));
    }
}
