//! Works on items in order, on several threads, with bounded memory.
//!
//! One thread reads, several threads work, and the caller takes the results in the order of the
//! items. Each item has a cost in bytes. The reader waits as long as the items in progress, from
//! reading to taking, cost more than the budget.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::error::DataError;
use crate::pool::{Next, Pool, caught};

/// The bytes that items in progress may take.
struct Budget {
    left: Mutex<usize>,
    total: usize,
    changed: Condvar,
    is_over: AtomicBool,
}

impl Budget {
    fn new(total: usize) -> Self {
        let total = total.max(1);
        let is_over = AtomicBool::new(false);
        Self { left: Mutex::new(total), total, changed: Condvar::new(), is_over }
    }

    fn left(&self) -> MutexGuard<'_, usize> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for bytes. An item that is larger than the budget waits for all of it. Returns what
    /// was taken, or `None` if nobody takes results any more.
    fn take(&self, bytes: usize) -> Option<usize> {
        let bytes = bytes.clamp(1, self.total);
        let mut left = self.left();
        loop {
            if self.is_over.load(Ordering::Relaxed) {
                return None;
            }
            if *left >= bytes {
                *left -= bytes;
                return Some(bytes);
            }
            left = self.changed.wait(left).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn give(&self, bytes: usize) {
        *self.left() += bytes;
        self.changed.notify_one();
    }

    fn end(&self) {
        let left = self.left();
        self.is_over.store(true, Ordering::Relaxed);
        drop(left);
        self.changed.notify_all();
    }
}

/// A result, or the end of all of them.
enum Taken<T> {
    Result(Result<T, DataError>),
    End,
}

/// An item with its number and its cost.
struct Numbered<T> {
    number: u64,
    cost: usize,
    item: T,
}

/// Passes the results of all items to `take`, in order.
///
/// `read` returns the next item and its cost, and `work` is called on the threads of the pool.
/// `take` may give them other jobs, and wait for these.
///
/// # Errors
///
/// The first error, in the order of the items. What comes before it has been taken.
pub(super) fn run<I: Send, T: Send>(
    pool: &Pool,
    budget: usize,
    mut read: impl FnMut() -> Result<Option<(I, usize)>, DataError> + Send,
    work: impl Fn(I) -> Result<T, DataError> + Sync,
    mut take: impl FnMut(T) -> Result<(), DataError>,
) -> Result<(), DataError> {
    let budget = &Budget::new(budget);
    let (todo, waiting) = channel::<Numbered<I>>();
    let (done, results) = channel::<Numbered<Taken<T>>>();
    let waiting = &Mutex::new(waiting);
    let work = &work;
    thread::scope(|scope| {
        for _ in 0..pool.threads() {
            let done = done.clone();
            scope.spawn(move || worker(work, pool, waiting, &done));
        }
        scope.spawn(move || {
            for number in 0.. {
                let item = match read() {
                    Ok(Some((item, cost))) => budget.take(cost).map(|cost| (item, cost)),
                    Ok(None) => {
                        let _ = done.send(Numbered { number, cost: 0, item: Taken::End });
                        return;
                    }
                    Err(error) => {
                        let item = Taken::Result(Err(error));
                        let _ = done.send(Numbered { number, cost: 0, item });
                        return;
                    }
                };
                let Some((item, cost)) = item else { return };
                if todo.send(Numbered { number, cost, item }).is_err() {
                    return;
                }
                pool.add_batch();
            }
        });
        let taken = in_order(&results, budget, &mut take);
        budget.end();
        pool.end();
        taken
    })
}

/// Takes results in order.
fn in_order<T>(
    results: &Receiver<Numbered<Taken<T>>>,
    budget: &Budget,
    take: &mut impl FnMut(T) -> Result<(), DataError>,
) -> Result<(), DataError> {
    let mut early = BTreeMap::new();
    let mut next = 0;
    for Numbered { number, cost, item } in results {
        early.insert(number, (cost, item));
        while let Some((cost, item)) = early.remove(&next) {
            let Taken::Result(result) = item else { return Ok(()) };
            take(result?)?;
            budget.give(cost);
            next += 1;
        }
    }
    Ok(())
}

fn worker<I, T>(
    work: &impl Fn(I) -> Result<T, DataError>,
    pool: &Pool,
    waiting: &Mutex<Receiver<Numbered<I>>>,
    done: &Sender<Numbered<Taken<T>>>,
) {
    loop {
        match pool.next() {
            None => return,
            Some(Next::Job(job)) => {
                job();
                continue;
            }
            Some(Next::Batch) => {}
        }
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Numbered { number, cost, item }) = next else { return };
        let item = Taken::Result(caught(|| work(item)));
        if done.send(Numbered { number, cost, item }).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::run;
    use crate::error::DataError;
    use crate::pool::Pool;

    /// Squares numbers, and returns the results and the most bytes that were in progress.
    fn squares(jobs: usize, budget: usize, cost: usize) -> (Vec<u64>, usize) {
        let (in_progress, most) = (&AtomicUsize::new(0), &AtomicUsize::new(0));
        let mut numbers = 0..200_u64;
        let mut taken = Vec::new();
        let read = move || {
            Ok(numbers.next().map(|number| {
                // The reader holds one item while it waits.
                most.fetch_max(in_progress.fetch_add(cost, Ordering::SeqCst), Ordering::SeqCst);
                (number, cost)
            }))
        };
        let take = |square| {
            taken.push(square);
            in_progress.fetch_sub(cost, Ordering::SeqCst);
            Ok(())
        };
        let pool = Pool::new(NonZeroUsize::new(jobs).unwrap());
        run(&pool, budget, read, |number| Ok(number * number), take).unwrap();
        (taken, most.load(Ordering::SeqCst))
    }

    #[test]
    fn results_are_in_order_within_the_budget() {
        let expected: Vec<u64> = (0..200).map(|number| number * number).collect();
        for (jobs, budget, cost) in [(1, 10, 10), (4, 100, 10), (3, 5, 10), (8, 1 << 20, 1)] {
            let (taken, most) = squares(jobs, budget, cost);
            assert_eq!(taken, expected);
            // One item more may have been taken, but not yet given back.
            assert!(most <= budget.max(cost) + cost, "{most} of {budget}");
        }
    }

    #[test]
    fn what_precedes_an_error_is_taken() {
        let failed = || DataError::usage("no");
        for fails_in in ["read", "work", "take"] {
            let mut numbers = 0..u64::MAX;
            let read = move || match numbers.next() {
                Some(7) if fails_in == "read" => Err(failed()),
                number => Ok(number.map(|number| (number, 1))),
            };
            let work = |number| match number {
                7 if fails_in == "work" => Err(failed()),
                number => Ok(number),
            };
            let mut taken = Vec::new();
            let take = |number| {
                if number == 7 {
                    return Err(failed());
                }
                taken.push(number);
                Ok(())
            };
            let pool = Pool::new(NonZeroUsize::new(3).unwrap());
            assert_eq!(run(&pool, 4, read, work, take), Err(failed()));
            assert_eq!(taken, [0, 1, 2, 3, 4, 5, 6], "{fails_in}");
        }
    }

    #[test]
    fn results_wait_for_jobs_of_the_same_threads() {
        for threads in [1, 3] {
            let pool = &Pool::new(NonZeroUsize::new(threads).unwrap());
            let mut numbers = 0..100_u64;
            let read = move || Ok(numbers.next().map(|number| (number, 1)));
            let mut sum = 0;
            let take = |number: u64| {
                let doubled = pool.start(move || Ok(2 * number));
                sum += doubled.wait()?;
                Ok(())
            };
            run(pool, 4, read, Ok, take).unwrap();
            assert_eq!(sum, 9900);
        }
    }

    #[test]
    fn a_panic_of_a_job_is_an_error() {
        let pool = &Pool::new(NonZeroUsize::MIN);
        let mut numbers = 0..3;
        let read = move || Ok(numbers.next().map(|number: i32| (number, 1)));
        let take = |_| pool.start(|| -> Result<(), _> { panic!("expected in this test") }).wait();
        assert!(matches!(run(pool, 4, read, Ok, take), Err(DataError::Internal(_))));
    }

    #[test]
    fn a_panic_of_a_worker_is_an_error() {
        let pool = Pool::new(NonZeroUsize::new(2).unwrap());
        let mut numbers = 0..10;
        let read = move || Ok(numbers.next().map(|number| (number, 1)));
        let work = |number: i32| {
            assert_ne!(number, 5, "expected in this test");
            Ok(number)
        };
        let mut taken = 0;
        let take = |_| {
            taken += 1;
            Ok(())
        };
        assert!(matches!(run(&pool, 4, read, work, take), Err(DataError::Internal(_))));
        assert_eq!(taken, 5);
    }
}
