//! The threads of a run: they process rows, and do other work that must not wait for rows.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::error::DataError;

type Job = Box<dyn FnOnce() + Send>;

/// What the threads of a run have to do: jobs, and then rows.
pub(crate) struct Pool {
    threads: NonZeroUsize,
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    /// The number of batches of rows that no thread has taken yet.
    batches: usize,
    is_over: bool,
}

/// What a thread does next.
pub(crate) enum Next {
    Job(Job),
    /// A batch of rows.
    Batch,
}

/// The result of a job that may not be done yet.
pub(crate) struct Pending<T>(Receiver<Result<T, DataError>>);

impl Pool {
    pub(crate) fn new(threads: NonZeroUsize) -> Self {
        Self { threads, waiting: Mutex::default(), changed: Condvar::new() }
    }

    /// The number of threads.
    pub(crate) fn threads(&self) -> usize {
        self.threads.get()
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the threads a job. They do it before they take more rows, because the results of all
    /// rows wait for it.
    pub(crate) fn start<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> Result<T, DataError> + Send + 'static,
    ) -> Pending<T> {
        let (done, result) = channel();
        let job = move || {
            // Nobody waits for the result if the run has ended early.
            let _ = done.send(caught(job));
        };
        self.waiting().jobs.push_back(Box::new(job));
        self.changed.notify_one();
        Pending(result)
    }

    /// Tells the threads about one more batch of rows.
    pub(crate) fn add_batch(&self) {
        self.waiting().batches += 1;
        self.changed.notify_one();
    }

    /// Waits for something to do. `None` if the run is over.
    pub(crate) fn next(&self) -> Option<Next> {
        let mut waiting = self.waiting();
        loop {
            if waiting.is_over {
                return None;
            }
            if let Some(job) = waiting.jobs.pop_front() {
                return Some(Next::Job(job));
            }
            if waiting.batches > 0 {
                waiting.batches -= 1;
                return Some(Next::Batch);
            }
            waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Ends the run: what was not started is not done any more.
    pub(crate) fn end(&self) {
        let mut waiting = self.waiting();
        waiting.is_over = true;
        waiting.jobs.clear();
        drop(waiting);
        self.changed.notify_all();
    }
}

impl<T> Pending<T> {
    /// Waits for the result.
    pub(crate) fn wait(self) -> Result<T, DataError> {
        let over = || DataError::Internal("the run ended before its work was done".to_owned());
        self.0.recv().unwrap_or_else(|_| Err(over()))
    }
}

/// Calls a function. A panic is an error.
pub(crate) fn caught<T>(work: impl FnOnce() -> Result<T, DataError>) -> Result<T, DataError> {
    let bug = || DataError::Internal("a worker thread failed; please report it".to_owned());
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(bug()))
}
