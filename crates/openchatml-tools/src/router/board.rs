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
pub enum Happening {
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
pub(super) struct Board {
    state: Mutex<State>,
    news: Notify,
}

#[derive(Debug, Default)]
struct State {
    calls: Vec<Slot>,
    untold: VecDeque<Item>,
    /// How many calls are not over.
    live: usize,
}

#[derive(Debug)]
struct Slot {
    call_id: String,
    is_over: bool,
    /// The latest report that was not told. It is in `untold` once.
    progress: Option<Progress>,
}

#[derive(Debug)]
enum Item {
    Told(Box<Happening>),
    Progress(usize),
}

/// What [`Board::take`] finds.
pub(super) enum News {
    Happening(Box<Happening>),
    /// Nothing yet, but some call is not over.
    Later,
    /// Nothing, and every call is over.
    Never,
}

impl Board {
    /// Nothing panics while it holds the lock, and what it guards is whole between any two lines.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes room for a call. Its number.
    pub(super) fn add(&self, call_id: &str) -> usize {
        let mut state = self.state();
        state.calls.push(Slot { call_id: call_id.to_owned(), is_over: false, progress: None });
        state.live += 1;
        state.calls.len() - 1
    }

    /// A call runs now.
    pub(super) fn start(&self, call: usize, name: &str) {
        let mut state = self.state();
        let slot = &state.calls[call];
        if !slot.is_over {
            let (call_id, name) = (slot.call_id.clone(), name.to_owned());
            state.push(Happening::Start { call_id, name });
            drop(state);
            self.news.notify_one();
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
            state.untold.push_back(Item::Progress(call));
            drop(state);
            self.news.notify_one();
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
            state.push(Happening::Cancel { call_id, reason });
        }
        state.push(Happening::Done { call_id, code, reply });
        drop(state);
        self.news.notify_one();
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
        self.state().push(Happening::Done { call_id, code: Some(code), reply });
        self.news.notify_one();
    }

    /// The next thing that happened.
    pub(super) fn take(&self) -> News {
        let mut state = self.state();
        while let Some(item) = state.untold.pop_front() {
            match item {
                Item::Told(happening) => return News::Happening(happening),
                Item::Progress(call) => {
                    let slot = &mut state.calls[call];
                    if let Some(progress) = slot.progress.take() {
                        let call_id = slot.call_id.clone();
                        let happening = Happening::Progress { call_id, progress };
                        return News::Happening(Box::new(happening));
                    }
                }
            }
        }
        if state.live == 0 { News::Never } else { News::Later }
    }

    /// Waits until something may have happened.
    pub(super) async fn news(&self) {
        self.news.notified().await;
    }
}

impl State {
    fn push(&mut self, happening: Happening) {
        self.untold.push_back(Item::Told(Box::new(happening)));
    }
}
