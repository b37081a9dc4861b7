//! Runs a call, from the queue to its outcome.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use openchatml::{Code, Data, Value};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::task::AbortOnDropHandle;

use super::admission::check_arguments;
use super::approval::{Approval, ApprovalRequest, Approver};
use super::events::EventQueue;
use super::reply::ReplyTarget;
use super::turn::{QueuePosition, place};
use super::{Core, RegisteredTool};
use crate::trace::{Span, here};
use crate::{ApprovalPolicy, Call, Failure, Outcome};

/// A call that was admitted.
pub(super) struct Job {
    pub(super) core: Arc<Core>,
    pub(super) events: Arc<EventQueue>,
    /// The number of the call in the event queue.
    pub(super) call: usize,
    pub(super) target: Arc<ReplyTarget>,
    pub(super) tool: Arc<RegisteredTool>,
    /// The position in the queue of a sequential tool.
    pub(super) line: Option<QueuePosition>,
    /// The position in the queue for approval, if the call may require one.
    pub(super) question: Option<QueuePosition>,
    pub(super) arguments: String,
    /// Whether the approver edited the arguments.
    pub(super) is_edited: bool,
    pub(super) deadline: Instant,
}

/// The permits of a running call.
struct Permits {
    _running: OwnedSemaphorePermit,
    /// The permit of a sequential tool.
    _turn: Option<OwnedSemaphorePermit>,
}

/// Waits for permits, runs the call, and reports its outcome.
///
/// The tool runs in a separate task, so that neither a panic nor a blocked thread delays the reply.
pub(super) async fn run(job: Job, queued: OwnedSemaphorePermit) {
    let mut guard = FinishGuard { job, is_done: false };
    let target = guard.job.target.clone();
    let span = Span::tool(&target.name, target.call_id.as_deref());
    let outcome = span.around(guard.job.outcome(queued)).await;
    if let Err(failure) = &outcome {
        span.failed_with(failure.code);
    }
    guard.job.finish(outcome);
    guard.is_done = true;
}

/// The failure of a call that did not finish before its deadline.
pub(super) fn timed_out() -> Failure {
    Failure::with_code(Code::ToolTimeout, "the call did not finish before its deadline")
}

/// The maximum number of answers of the approver with invalid arguments.
const ANSWERS: usize = 3;

/// The failure of a call whose deadline passed before its tool started.
fn not_started() -> Failure {
    Failure::with_code(Code::ToolTimeout, "the deadline passed before the call ran")
}

/// The reason for a call that requires approval if there is no approver.
pub(super) const NO_APPROVER: &str = "the call requires an approval, but nobody can approve it";

/// The failure of a call that was not approved.
pub(super) fn denied(reason: &str) -> Failure {
    Failure::with_code(Code::ToolCancelled, format!("the call was not approved: {reason}"))
}

impl Job {
    async fn outcome(&mut self, queued: OwnedSemaphorePermit) -> Outcome {
        self.approve().await?;
        let outcome = self.make(queued).await;
        match self.is_edited {
            true => self.report_arguments(outcome),
            false => outcome,
        }
    }

    /// Adds the edited arguments to the outcome, so that the model reads them.
    fn report_arguments(&self, outcome: Outcome) -> Outcome {
        match outcome {
            Ok(mut output) => {
                output.provenance.arguments = Some(self.arguments.clone());
                Ok(output)
            }
            Err(mut failure) => {
                let arguments = ("arguments".into(), Value::from(self.arguments.clone()));
                match &mut failure.details {
                    Some(Value { data: Data::Map(details), .. }) => details.push(arguments),
                    Some(_) => {}
                    details => *details = Some(Data::Map(vec![arguments]).into()),
                }
                Err(failure)
            }
        }
    }

    /// Asks for approval if the call requires it. The deadline is extended by the time of the
    /// answer.
    async fn approve(&mut self) -> Result<(), Failure> {
        let Some(question) = self.question.take() else { return Ok(()) };
        let core = self.core.clone();
        let approver = core.options.approver.as_ref();
        let approver = approver.ok_or_else(|| denied(NO_APPROVER))?;
        let begun = Instant::now();
        let _turn = question.turn().await;
        let is_approved = || core.approved().contains(&self.target.name);
        if core.approve(&self.tool) == ApprovalPolicy::Always || !is_approved() {
            self.ask(approver.as_ref()).await?;
            core.approved().insert(self.target.name.clone());
        }
        self.deadline += begun.elapsed();
        Ok(())
    }

    /// Asks until the answer is valid.
    async fn ask(&mut self, approver: &dyn Approver) -> Result<(), Failure> {
        let mut problem: Option<Failure> = None;
        for _ in 0..ANSWERS {
            let proposal = ApprovalRequest {
                call_id: self.target.call_id.as_deref().unwrap_or_default(),
                name: &self.target.name,
                arguments: &self.arguments,
                problem: problem.as_ref().map(|failure| &*failure.message),
            };
            let arguments = match approver.approve(proposal).await {
                Approval::Yes => return Ok(()),
                Approval::No(reason) => return Err(denied(&reason)),
                Approval::Edited(arguments) => arguments,
            };
            match check_arguments(&arguments, self.tool.schema.as_ref()) {
                Ok(()) => {
                    self.arguments = arguments;
                    self.is_edited = true;
                    return Ok(());
                }
                Err(failure) => problem = Some(failure),
            }
        }
        Err(denied("the replaced arguments are invalid"))
    }

    /// Runs the call when the limits allow it.
    async fn make(&mut self, queued: OwnedSemaphorePermit) -> Outcome {
        let line = self.line.take();
        let room = async {
            let _turn = match line {
                Some(line) => Some(line.turn().await),
                None => None,
            };
            Permits { _running: place(&self.core.running).await, _turn }
        };
        match timeout_at(self.deadline, room).await {
            Ok(room) => {
                drop(queued);
                self.events.start(self.call, &self.target.name);
                self.attempts(Arc::new(room)).await
            }
            Err(_) => Err(timed_out()),
        }
    }

    /// Calls the tool, and repeats the call after a temporary failure.
    async fn attempts(&self, room: Arc<Permits>) -> Outcome {
        let mut attempt = 0;
        loop {
            let outcome = self.attempt(room.clone()).await;
            let is_retryable = outcome.as_ref().is_err_and(|failure| failure.is_retryable);
            if !is_retryable
                || !self.tool.entry.is_idempotent
                || attempt >= self.core.options.retries
            {
                return outcome;
            }
            let again = Instant::now() + self.pause(attempt);
            if again >= self.deadline {
                return outcome;
            }
            sleep_until(again).await;
            attempt += 1;
        }
    }

    /// Calls the tool once.
    async fn attempt(&self, room: Arc<Permits>) -> Outcome {
        let (name, id) = (&self.target.name, self.target.call_id.as_deref());
        let (events, number) = (self.events.clone(), self.call);
        let call = Call::new(name, id.unwrap_or_default(), &self.arguments)
            .with_deadline(self.deadline)
            .with_listener(move |progress| events.progress(number, progress));
        let tool = self.tool.entry.tool.clone();
        let made = call.clone();
        let task = tokio::spawn(here(async move {
            // The permits are released when the tool ends, not when the reply is sent: a tool that
            // cannot be stopped counts as running.
            let _room = room;
            tool.call(&call).await
        }));
        match timeout_at(self.deadline, AbortOnDropHandle::new(task)).await {
            Err(_) if made.is_unstarted() => Err(not_started()),
            Err(_) => Err(timed_out()),
            Ok(Ok(outcome)) => outcome.map_err(|failure| self.tool.secrets.redacted(failure)),
            // The panic message is for developers and goes to the standard error.
            Ok(Err(_)) => Err(Failure::new("the tool panicked")),
        }
    }

    /// Returns the pause before the next attempt. It doubles each time, plus up to a quarter, so
    /// that calls that failed together are not repeated at the same time.
    fn pause(&self, attempt: u32) -> Duration {
        let pause = self.core.options.backoff.saturating_mul(2u32.saturating_pow(attempt));
        let mut hasher = DefaultHasher::new();
        (self.target.call_id.as_deref(), attempt).hash(&mut hasher);
        let part = u32::try_from(hasher.finish() % 256).unwrap_or_default();
        pause.saturating_add(pause / 1024 * part)
    }

    fn finish(&self, outcome: Outcome) {
        let outcome = self.core.replies.outcome(&self.target, outcome);
        self.events.finish(self.call, None, outcome);
    }
}

/// Makes sure that the call has an outcome even if its task ends early.
struct FinishGuard {
    job: Job,
    is_done: bool,
}

impl Drop for FinishGuard {
    fn drop(&mut self) {
        if !self.is_done {
            self.job.finish(Err(Failure::new("the call was lost")));
        }
    }
}
