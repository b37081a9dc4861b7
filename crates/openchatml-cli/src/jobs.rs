//! Processes batches of lines on all cores and returns the results in order.
//!
//! One thread reads, several threads work, and the caller receives the results. The number of
//! pending batches is limited, so that memory does not grow with the file, even if the work is
//! uneven.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::failure::Failure;
use crate::input::{Batch, Batches};

/// The number of permits per worker. A batch takes one permit, and one more for each MiB: while one
/// batch is processed, the others wait to be written.
const PERMITS: usize = 4;

/// The number of a batch, and its permits.
type Numbered<T> = (Number, T);

#[derive(Clone, Copy, Debug)]
struct Number {
    number: usize,
    permits: usize,
}

/// Processes all batches, and passes the results to `take` in order.
///
/// # Errors
///
/// Reading or `take` failed. This function does not wait for the threads then, because one of them
/// may be waiting for input.
pub(crate) fn run<T: Send + 'static>(
    batches: Batches,
    jobs: Option<NonZeroUsize>,
    work: impl Fn(&Batch) -> T + Send + Sync + 'static,
    mut take: impl FnMut(T) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let jobs = jobs.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    let most = jobs * PERMITS;
    let (permit, permits) = sync_channel(most);
    let (todo, waiting) = sync_channel(most);
    let (done, results) = channel();
    let reader = Reader { batches, permits, most, todo, done: done.clone() };
    thread::spawn(move || reader.run());
    let (work, waiting) = (Arc::new(work), Arc::new(Mutex::new(waiting)));
    for _ in 0..jobs {
        let (work, waiting, done) = (Arc::clone(&work), Arc::clone(&waiting), done.clone());
        thread::spawn(move || worker(&*work, &waiting, &done));
    }
    drop(done);
    let give = |number| {
        for _ in 0..number {
            // If the channel of permits is closed, the reader has finished.
            let _ = permit.try_send(());
        }
    };
    give(most);
    let mut early = BTreeMap::new();
    let mut next = 0;
    for (Number { number, permits }, result) in results {
        early.insert(number, (permits, result));
        while let Some((permits, result)) = early.remove(&next) {
            take(result?)?;
            next += 1;
            give(permits);
        }
    }
    Ok(())
}

struct Reader<T> {
    batches: Batches,
    permits: Receiver<()>,
    /// The number of permits.
    most: usize,
    todo: SyncSender<Numbered<Batch>>,
    done: Sender<Numbered<Result<T, Failure>>>,
}

impl<T> Reader<T> {
    fn run(mut self) {
        for number in 0.. {
            let sent = match self.batches.next() {
                Ok(Some(batch)) => {
                    let permits = (1 + (batch.bytes.len() >> 20)).min(self.most);
                    let number = Number { number, permits };
                    self.wait(permits) && self.todo.send((number, batch)).is_ok()
                }
                Ok(None) => false,
                Err(failure) => {
                    let _ = self.done.send((Number { number, permits: 0 }, Err(failure)));
                    false
                }
            };
            if !sent {
                return;
            }
        }
    }

    /// Waits for permits. Returns false if there will be none.
    fn wait(&self, permits: usize) -> bool {
        (0..permits).all(|_| self.permits.recv().is_ok())
    }
}

fn worker<T>(
    work: &impl Fn(&Batch) -> T,
    waiting: &Mutex<Receiver<Numbered<Batch>>>,
    done: &Sender<Numbered<Result<T, Failure>>>,
) {
    loop {
        let batch = match waiting.lock() {
            Ok(waiting) => waiting.recv(),
            Err(_) => return,
        };
        let Ok((number, batch)) = batch else { return };
        let result = catch_unwind(AssertUnwindSafe(|| work(&batch)));
        let result =
            result.map_err(|_| Failure::Io("internal error: a worker thread failed".to_owned()));
        if done.send((number, result)).is_err() {
            return;
        }
    }
}
