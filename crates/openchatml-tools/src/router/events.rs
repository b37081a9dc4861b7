//! Happenings of a turn that have not been returned yet.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use openchatml::{Code, Message};
use tokio::sync::Notify;

use crate::Progress;

/// Something that happened in a turn.
///
/// The id is that of the call, unchanged. It is empty if the call had no id, or an id that was
/// already used.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TurnEvent {
    /// A call runs now.
    Start {
        /// The id of the call.
        call_id: String,
        /// The tool, as the model named it.
        name: String,
    },
    /// A call has come so far. Reports that nobody fetched give way to newer ones.
    Progress {
        /// The id of the call.
        call_id: String,
        /// How far.
        progress: Progress,
    },
    /// A call was cancelled (`tool.cancel`). Its reply comes next.
    Cancel {
        /// The id of the call.
        call_id: String,
        /// Why, in the words of who cancelled it.
        reason: String,
    },
    /// A call has its reply, the only one that it will ever have.
    Done {
        /// The id of the call.
        call_id: String,
        /// What went wrong, if anything did.
        code: Option<Code>,
        /// The reply.
        reply: Message<'static>,
    },
}

/// What happened in a turn and was not told yet: calls write, the turn reads.
///
/// A call is over once its outcome is here. Whatever it says after that is not heard: this is the
/// one place that decides which outcome is the only one.
#[derive(Debug, Default)]
pub(super) struct EventQueue {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    calls: Vec<CallSlot>,
    queue: VecDeque<QueueItem>,
    /// How many calls are not over.
    live: usize,
}

#[derive(Debug)]
struct CallSlot {
    call_id: String,
    is_over: bool,
    /// The latest report that was not told. It is in `queue` once.
    progress: Option<Progress>,
}

#[derive(Debug)]
enum QueueItem {
    Told(Box<TurnEvent>),
    Progress(usize),
}

/// What [`EventQueue::take`] finds.
pub(super) enum NextEvent {
    TurnEvent(Box<TurnEvent>),
    /// Nothing yet, but some call is not over.
    Later,
    /// Nothing, and every call is over.
    Never,
}

impl EventQueue {
    /// Nothing panics while it holds the lock, and what it guards is whole between any two lines.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes room for a call. Its number.
    pub(super) fn add(&self, call_id: &str) -> usize {
        let mut state = self.state();
        state.calls.push(CallSlot { call_id: call_id.to_owned(), is_over: false, progress: None });
        state.live += 1;
        state.calls.len() - 1
    }

    /// A call runs now.
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

    /// A call has come so far.
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

    /// A call is over, with this outcome. Whether it was not over before: the first outcome is the
    /// only one.
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

    /// No call says anything anymore.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.calls.iter_mut().for_each(|slot| slot.is_over = true);
        state.live = 0;
    }

    /// A call was refused: its reply is all that happens.
    pub(super) fn refuse(&self, call_id: String, code: Code, reply: Message<'static>) {
        self.state().push(TurnEvent::Done { call_id, code: Some(code), reply });
        self.changed.notify_one();
    }

    /// The next thing that happened.
    pub(super) fn take(&self) -> NextEvent {
        let mut state = self.state();
        while let Some(item) = state.queue.pop_front() {
            match item {
                QueueItem::Told(event) => return NextEvent::TurnEvent(event),
                QueueItem::Progress(call) => {
                    let slot = &mut state.calls[call];
                    if let Some(progress) = slot.progress.take() {
                        let call_id = slot.call_id.clone();
                        let event = TurnEvent::Progress { call_id, progress };
                        return NextEvent::TurnEvent(Box::new(event));
                    }
                }
            }
        }
        if state.live == 0 { NextEvent::Never } else { NextEvent::Later }
    }

    /// Waits until something may have happened.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }
}

impl State {
    fn push(&mut self, event: TurnEvent) {
        self.queue.push_back(QueueItem::Told(Box::new(event)));
    }
}
