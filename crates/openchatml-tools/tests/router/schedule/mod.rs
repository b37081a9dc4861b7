//! Schedules of calls and cancellations, and the properties that must hold for each of them. Tests
//! generate them from seeds, the fuzz target from bytes.

mod run_state;
mod tools;

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use arbitrary::Unstructured;
use openchatml_tools::Turn;
use tokio::time::{Instant, sleep, sleep_until};

use self::run_state::RunState;
pub use self::run_state::Tally;
use self::tools::{Seen, message, router};

/// What a tool does with a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Behaviour {
    /// Answers.
    Answer,
    /// Fails for good.
    Fail,
    /// Fails this many times with a retryable failure, then answers.
    FailFirst(u8),
    Panic,
    /// Never ends.
    Hang,
    /// Returns more than the limit allows.
    ReturnTooMuch,
}

/// One call.
#[derive(Clone, Debug)]
pub struct Plan {
    pub id: String,
    /// The delay after the previous dispatch, in milliseconds.
    pub after: u64,
    pub behaviour: Behaviour,
    /// How long the tool takes, in milliseconds.
    pub takes: u64,
    pub deadline: Option<u64>,
    pub is_idempotent: bool,
    /// The delay between the dispatch and the cancellation, in milliseconds.
    pub cancel: Option<u64>,
}

#[derive(Clone, Debug)]
pub struct Schedule {
    pub at_once: usize,
    pub queue: usize,
    pub plans: Vec<Plan>,
}

const TIMEOUT: u64 = 1_000;
const LONGEST: u64 = 2_000;
const FITS: usize = 1_000;
const RETRIES: u32 = 2;

impl Schedule {
    /// Generates this many calls. 40 % have a cancellation, which most of them are still running to
    /// receive, and 10 % have a deadline that has already passed.
    pub fn any(source: &mut Unstructured<'_>, calls: usize) -> Self {
        let mut up_to = |most: u64| source.int_in_range(0..=most).unwrap_or(0);
        let is_wide = up_to(1) == 0;
        let at_once = if is_wide { calls.max(1) } else { 1 + up_to(63) as usize };
        let queue = 1 + up_to(if is_wide { 1023 } else { 63 }) as usize;
        let plan = |number: usize| {
            let behaviour = match up_to(15) {
                0 => Behaviour::Panic,
                1 => Behaviour::Hang,
                2 => Behaviour::ReturnTooMuch,
                3 => Behaviour::Fail,
                4..=5 => Behaviour::FailFirst(up_to(3) as u8),
                _ => Behaviour::Answer,
            };
            let (takes, is_idempotent) = (up_to(255), up_to(1) == 0);
            let deadline = match up_to(9) {
                0 => Some(takes / 2),
                1..=3 => Some(takes + up_to(1023)),
                _ => None,
            };
            let cancel = (up_to(9) < 4).then(|| up_to(127));
            // Includes ids that a loose comparison would treat as equal, and ids that were used
            // before.
            let id = match up_to(31) {
                0 => format!("{}", number / 2),
                1 => format!("0{number}"),
                2 => format!("{number}.0"),
                _ => format!("{number}"),
            };
            Plan { id, after: up_to(3), behaviour, takes, deadline, is_idempotent, cancel }
        };
        Self { at_once, queue, plans: (0..calls).map(plan).collect() }
    }
}

/// Runs a schedule, and checks that each call ends once and in one of its possible ways.
pub fn run(schedule: &Schedule) -> Tally {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(play(schedule))
}

async fn play(schedule: &Schedule) -> Tally {
    let seen = Arc::new(Seen::default());
    let began = Instant::now();
    let mut turn = router(schedule, &seen, began).turn([]);
    let mut run_state = RunState::new(schedule, began);
    let mut next = 0;
    let mut due = began;
    // The times of the cancellations, the soonest one last.
    let mut cancels: Vec<(Instant, usize)> = Vec::new();
    loop {
        if let Some(plan) = schedule.plans.get(next)
            && due <= Instant::now()
        {
            // The caller stops waiting when a cancellation is due, and tries again.
            let (call, begun) = (message(next, plan), Instant::now());
            let soonest = cancels.last().map(|it| it.0);
            tokio::select! {
                biased;
                is_call = turn.dispatch(&call) => assert!(is_call),
                () = sleep_until(soonest.unwrap_or(began)), if soonest.is_some() => {
                    let number = cancels.pop().map_or(next, |it| it.1);
                    cancel(&mut turn, &schedule.plans[number].id, &run_state);
                    continue;
                }
            }
            if run_state.calls.contains_key(plan.id.as_str()) {
                run_state.refused += 1;
            } else {
                run_state.calls.insert(&plan.id, (next, begun));
                cancels.extend(plan.cancel.map(|at| (begun + Duration::from_millis(at), next)));
                cancels.sort_by_key(|(at, number)| (std::cmp::Reverse(*at), *number));
            }
            next += 1;
            due += schedule
                .plans
                .get(next)
                .map_or(Duration::ZERO, |it| Duration::from_millis(it.after));
            continue;
        }
        if let Some((at, number)) = cancels.last().copied()
            && at <= Instant::now()
        {
            cancels.pop();
            cancel(&mut turn, &schedule.plans[number].id, &run_state);
            continue;
        }
        let more = next < schedule.plans.len();
        let wake = more.then_some(due).into_iter().chain(cancels.last().map(|it| it.0)).min();
        tokio::select! {
            biased;
            event = turn.next() => match (event, wake) {
                (Some(event), _) => run_state.record(event),
                (None, Some(at)) => sleep_until(at).await,
                (None, None) => break,
            },
            () = sleep_until(wake.unwrap_or(began)), if wake.is_some() => {}
        }
    }
    finish(&run_state, &seen).await;
    run_state.tally()
}

fn cancel(turn: &mut Turn, id: &str, run_state: &RunState<'_>) {
    let was_live = turn.cancel(id, &format!("enough of {id}"));
    assert!(!(was_live && run_state.done.contains_key(id)), "{id} was over");
    assert!(!turn.cancel(id, "again"), "{id} is over now");
}

async fn finish(run_state: &RunState<'_>, seen: &Seen) {
    let schedule = run_state.schedule;
    assert_eq!(run_state.answers, run_state.refused, "each refusal is told once");
    assert_eq!(run_state.done.len(), run_state.calls.len(), "no call is lost");
    assert!(run_state.calls.keys().all(|id| run_state.done.contains_key(*id)));
    // A cancelled call is dropped when its task is next polled.
    tokio::task::yield_now().await;
    sleep(Duration::from_millis(1)).await;
    assert_eq!(seen.running.load(SeqCst), 0, "nothing runs on");
    assert!(seen.most.load(SeqCst) <= schedule.at_once, "no more than {} run", schedule.at_once);
    for (number, attempts) in seen.attempts.lock().unwrap().iter() {
        let plan = &schedule.plans[*number];
        let most = match plan.behaviour {
            Behaviour::FailFirst(times) if plan.is_idempotent => u32::from(times).min(RETRIES) + 1,
            _ => 1,
        };
        assert!(u32::from(*attempts) <= most, "{plan:?} was called {attempts} times");
        let id = plan.id.as_str();
        let is_done = run_state.done[id].is_none() && run_state.calls[id].0 == *number;
        assert!(!is_done || run_state.started.contains(id));
    }
}
