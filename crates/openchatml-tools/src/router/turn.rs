//! The calls of one turn of the assistant.

use std::collections::{HashMap, HashSet};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use openchatml::{Code, Message, Settings};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout_at};

use super::Core;
use super::admission::{Admission, Refusal};
use super::events::{EventQueue, NextEvent, TurnEvent};
use super::job::{self, Job};
use super::reply::ReplyTarget;
use crate::trace::here;
use crate::{ApprovalPolicy, Failure};

/// The calls of one turn of the assistant. Calls are dispatched when their messages are complete.
/// Their events are fetched one by one, in the order in which they happen.
///
/// Dropping the turn cancels the calls that still run.
///
/// A turn requires a tokio runtime with timers.
///
/// ```
/// use openchatml::{Channel, Code, End, Message, Role};
/// use openchatml_tools::{Entry, TurnEvent, Router, RouterOptions, Toolbox, function};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut tools = Toolbox::default();
/// let hangs = function(|_| std::future::pending());
/// tools.insert("functions.sleep", Entry::new(hangs))?;
/// let router = Router::new(tools, RouterOptions::default())?;
///
/// let mut call = Message::new(Role::Assistant, "");
/// call.recipient = Some("functions.sleep".into());
/// call.call_id = Some("s1".into());
/// call.channel = Some(Channel::Commentary);
/// call.end = End::Call;
///
/// let mut turn = router.turn([]);
/// assert!(turn.dispatch(&call).await);
/// assert!(matches!(turn.next().await, Some(TurnEvent::Start { .. })));
/// assert!(turn.cancel("s1", "the user pressed escape"));
/// assert!(matches!(turn.next().await, Some(TurnEvent::Cancel { .. })));
/// let Some(TurnEvent::Done { call_id, code, reply }) = turn.next().await else { panic!() };
/// assert_eq!((call_id.as_str(), code), ("s1", Some(Code::ToolCancelled)));
/// assert!(reply.body.text().contains("the user pressed escape"));
/// assert!(turn.next().await.is_none());
/// # Ok(())
/// # }
/// ```
pub struct Turn {
    core: Arc<Core>,
    settings: Settings,
    events: Arc<EventQueue>,
    /// The ids of all calls of the conversation.
    taken: HashSet<String>,
    /// The numbers of the admitted calls, by their ids.
    by_id: HashMap<String, usize>,
    running: Vec<Running>,
}

/// An admitted call. It may already be over.
struct Running {
    target: Arc<ReplyTarget>,
    task: AbortHandle,
}

impl Turn {
    pub(super) fn new(core: Arc<Core>, taken: HashSet<String>) -> Self {
        let (settings, events) = (Settings::default(), Arc::default());
        let (by_id, running) = (HashMap::new(), Vec::new());
        Self { core, settings, events, taken, by_id, running }
    }

    /// Sets the settings from the header of the conversation: the built-in tools, and the channels
    /// on which tools are called.
    pub fn with_settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Dispatches a complete message. Returns `false` if the message is not a call; then nothing
    /// happens.
    ///
    /// A valid call runs as soon as the limits allow it, while the turn continues. An invalid call
    /// gets a reply with the reason. While the queue is full, this function waits, at most for the
    /// timeout of the call. It is cancel safe: a call whose dispatch is dropped was never started.
    pub async fn dispatch(&mut self, message: &Message<'_>) -> bool {
        if !message.is_call() || message.foreign {
            return false;
        }
        let now = Instant::now();
        match self.core.admit(message, &self.settings, &self.taken) {
            Ok(admission) => {
                let deadline = now + admission.time;
                match timeout_at(deadline, place(&self.core.queue)).await {
                    Ok(queued) => self.spawn(admission, queued, deadline),
                    Err(_) => self.refuse(&admission.target, &job::timed_out()),
                }
            }
            Err(Refusal { failure, has_own_id }) => {
                self.refuse(&ReplyTarget::of(message, has_own_id), &failure);
            }
        }
        true
    }

    fn refuse(&mut self, target: &ReplyTarget, failure: &Failure) {
        let call_id = target.call_id.clone().unwrap_or_default();
        self.taken.extend(target.call_id.clone());
        let (code, reply) = self.core.replies.failure(target, failure);
        self.events.refuse(call_id, code, reply);
    }

    fn spawn(&mut self, admission: Admission, queued: OwnedSemaphorePermit, deadline: Instant) {
        let Admission { target, tool, arguments, .. } = admission;
        let call_id = target.call_id.clone().unwrap_or_default();
        let call = self.events.add(&call_id);
        let target = Arc::new(target);
        let job = Job {
            core: self.core.clone(),
            events: self.events.clone(),
            call,
            target: target.clone(),
            line: tool.line.as_ref().map(QueuePosition::join),
            question: (self.core.approve(&tool) != ApprovalPolicy::Never)
                .then(|| QueuePosition::join(&self.core.questions)),
            tool,
            arguments,
            is_edited: false,
            deadline,
        };
        let task = tokio::spawn(here(job::run(job, queued))).abort_handle();
        self.running.push(Running { target, task });
        self.by_id.insert(call_id.clone(), call);
        self.taken.insert(call_id);
    }

    /// Returns an id that no call of the conversation has: `call_1`, `call_2`, … Use it for formats
    /// without call ids (Harmony, OpenChatML 2.0), whose calls need an id before they are
    /// dispatched.
    pub fn unused_id(&self) -> String {
        let mut ids = (self.taken.len() + 1..).map(|number| format!("call_{number}"));
        ids.find(|id| !self.taken.contains(id)).unwrap_or_default()
    }

    /// Cancels a call (`tool.cancel`). Its reply says so, and later output of the tool is dropped.
    /// Returns `false` if there is no such call, or if it already has a reply.
    pub fn cancel(&mut self, call_id: &str, reason: &str) -> bool {
        self.by_id.get(call_id).copied().is_some_and(|call| self.cancel_call(call, reason))
    }

    /// Cancels all calls of the turn (`response.cancel`).
    pub fn cancel_all(&mut self, reason: &str) {
        for call in 0..self.running.len() {
            self.cancel_call(call, reason);
        }
    }

    fn cancel_call(&self, call: usize, reason: &str) -> bool {
        let Running { target, task } = &self.running[call];
        let failure = Failure::with_code(Code::ToolCancelled, reason);
        let outcome = self.core.replies.outcome(target, Err(failure));
        let is_first = self.events.finish(call, Some(reason), outcome);
        task.abort();
        is_first
    }

    /// Returns the next event, or `None` after every dispatched call has its reply and all events
    /// were returned. More calls may be dispatched after that. This function is cancel safe.
    pub async fn next(&mut self) -> Option<TurnEvent> {
        loop {
            match self.events.take() {
                NextEvent::Event(event) => return Some(*event),
                NextEvent::Never => return None,
                NextEvent::Later => self.events.changed().await,
            }
        }
    }
}

/// Cancels all calls.
impl Drop for Turn {
    fn drop(&mut self) {
        self.events.close();
        self.running.iter().for_each(|running| running.task.abort());
    }
}

impl std::fmt::Debug for Turn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Turn").field("calls", &self.running.len()).finish_non_exhaustive()
    }
}

/// A position in a queue, which is taken when the value is created.
pub(super) struct QueuePosition(Pin<Box<dyn Future<Output = OwnedSemaphorePermit> + Send + Sync>>);

impl QueuePosition {
    fn join(places: &Arc<Semaphore>) -> Self {
        let places = places.clone();
        let mut waiting = Box::pin(tokio::task::unconstrained(async move { place(&places).await }));
        // The first poll puts the future into the queue of the semaphore.
        match waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(permit) => Self(Box::pin(std::future::ready(permit))),
            Poll::Pending => Self(waiting),
        }
    }

    /// Waits for the turn of this position.
    pub(super) async fn turn(self) -> OwnedSemaphorePermit {
        self.0.await
    }
}

/// Waits for a permit.
pub(super) async fn place(places: &Arc<Semaphore>) -> OwnedSemaphorePermit {
    places.clone().acquire_owned().await.expect("nobody closes it")
}
