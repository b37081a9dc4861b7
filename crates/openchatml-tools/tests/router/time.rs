//! Deadlines, cancellation, retries and limits with a simulated clock.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use openchatml::{Code, Limits, Reply};
use openchatml_tools::{
    Entry, Failure, Output, Progress, Router, RouterOptions, TurnEvent, function,
};
use tokio::time::{Instant, sleep};

use super::support::{boxed, call, one, replies};

const MS: Duration = Duration::from_millis(1);

/// A tool that takes this long.
fn takes(time: Duration) -> Entry {
    Entry::new(function(move |_| async move {
        sleep(time).await;
        Ok(Output::text("done"))
    }))
}

/// The result of one call of this tool, and its duration in milliseconds.
async fn time(entry: Entry, options: RouterOptions, body: &str) -> (Option<Code>, u128) {
    let mut turn = Router::new(boxed(entry), options).unwrap().turn([]);
    let begun = Instant::now();
    let mut message = call("functions.f", "c1", body);
    message.content_type = Some("json".into());
    assert!(turn.dispatch(&message).await);
    loop {
        if let TurnEvent::Done { code, .. } = turn.next().await.unwrap() {
            return (code, begun.elapsed().as_millis());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_ends_at_its_deadline() {
    let mut options = RouterOptions::default();
    options.timeout = 100 * MS;
    options.longest = 300 * MS;
    let late = |ms| (Some(Code::ToolTimeout), ms);
    let slow = || takes(Duration::from_secs(3600));
    assert_eq!(time(slow(), options.clone(), "{}").await, late(100));
    assert_eq!(time(slow(), options.clone(), r#"{"deadline_ms":50}"#).await, late(50));
    assert_eq!(time(slow(), options.clone(), r#"{"deadline_ms":200}"#).await, late(200));
    assert_eq!(time(slow(), options.clone(), r#"{"deadline_ms":9999}"#).await, late(300));
    assert_eq!(
        time(slow(), options.clone(), r#"{"deadline_ms":18446744073709551615}"#).await,
        late(300)
    );
    assert_eq!(time(slow(), options.clone(), r#"{"deadline_ms":0}"#).await.0, late(0).0);
    let own = |ms: u32| {
        let mut entry = slow();
        entry.timeout = Some(ms * MS);
        entry
    };
    assert_eq!(time(own(70), options.clone(), "{}").await, late(70));
    assert_eq!(time(own(70), options.clone(), r#"{"deadline_ms":90}"#).await, late(90));
    assert_eq!(time(own(700), options.clone(), "{}").await, late(300));
    assert_eq!(time(takes(99 * MS), options.clone(), "{}").await, (None, 99));
    // A limit that exceeds the range of the clock causes no panic.
    options.longest = Duration::MAX;
    options.timeout = Duration::MAX;
    assert_eq!(time(takes(99 * MS), options, "{}").await, (None, 99));
}

/// Calls of a sequential tool run one at a time and in order, on whichever thread.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_of_a_sequential_tool_run_in_sequence() {
    for is_sequential in [true, false] {
        let (running, most) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let made = Arc::new(Mutex::new(Vec::new()));
        let (most_seen, order) = (most.clone(), made.clone());
        let mut entry = Entry::new(function(move |call| {
            let (running, most, made) = (running.clone(), most.clone(), made.clone());
            async move {
                most.fetch_max(running.fetch_add(1, SeqCst) + 1, SeqCst);
                made.lock().unwrap().push(call.arguments().to_owned());
                sleep(2 * MS).await;
                running.fetch_sub(1, SeqCst);
                Ok(Output::text("done"))
            }
        }));
        entry.is_sequential = is_sequential;
        let router = Router::new(boxed(entry), RouterOptions::default()).unwrap();
        let mut turn = router.turn([]);
        let numbers: Vec<_> = (0..100).map(|number| number.to_string()).collect();
        for number in &numbers {
            turn.dispatch(&call("functions.f", number, number)).await;
        }
        // A call that is cancelled in the queue does not delay the others.
        turn.cancel("50", "not needed");
        assert_eq!(replies(&mut turn).await.len(), 100);
        let mut order = order.lock().unwrap().clone();
        if is_sequential {
            assert_eq!(most_seen.load(SeqCst), 1);
            order.retain(|number| number != "50");
            let expected: Vec<_> = numbers.iter().filter(|it| *it != "50").cloned().collect();
            assert_eq!(order, expected);
        } else {
            assert!(most_seen.load(SeqCst) > 1);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_is_answered_on_time() {
    let mut options = RouterOptions::default();
    options.at_once = 1;
    options.timeout = 100 * MS;
    let mut turn = Router::new(boxed(takes(500 * MS)), options).unwrap().turn([]);
    let mut patient = call("functions.f", "a", r#"{"deadline_ms":1000}"#);
    patient.content_type = Some("json".into());
    turn.dispatch(&patient).await;
    turn.dispatch(&call("functions.f", "b", "")).await;
    let told = ["start a functions.f", "done b E-TOOL-TIMEOUT", "done a ok"];
    assert_eq!(events(&mut turn).await, told);
}

#[tokio::test(start_paused = true)]
async fn the_time_in_the_queue_counts() {
    let mut options = RouterOptions::default();
    options.at_once = 1;
    options.timeout = 100 * MS;
    let mut turn = Router::new(boxed(takes(80 * MS)), options).unwrap().turn([]);
    for id in ["a", "b"] {
        turn.dispatch(&call("functions.f", id, "")).await;
    }
    let codes: Vec<_> = replies(&mut turn).await;
    let codes =
        codes.iter().map(|it| Reply::parse(&it.body.text(), &Limits::default()).unwrap().code());
    assert_eq!(codes.collect::<Vec<_>>(), [None, Some(Code::ToolTimeout)]);
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_makes_dispatch_wait() {
    let mut options = RouterOptions::default();
    (options.at_once, options.queue) = (1, 1);
    let mut turn = Router::new(boxed(takes(50 * MS)), options).unwrap().turn([]);
    let begun = Instant::now();
    let mut waited = Vec::new();
    for id in ["a", "b", "c"] {
        turn.dispatch(&call("functions.f", id, "")).await;
        waited.push(begun.elapsed().as_millis());
    }
    assert_eq!(waited, [0, 0, 50]);
    // If dispatching is dropped while it waits, nothing is dispatched: the id can be used again.
    let d = call("functions.f", "d", "");
    tokio::select! {
        biased;
        _ = turn.dispatch(&d) => panic!("the queue is full"),
        () = sleep(10 * MS) => {}
    }
    assert!(turn.dispatch(&d).await);
    let ids: Vec<_> = replies(&mut turn).await.into_iter().map(|it| it.call_id.unwrap()).collect();
    assert_eq!(ids, ["a", "b", "c", "d"]);
    assert_eq!(begun.elapsed().as_millis(), 200);
}

#[tokio::test(start_paused = true)]
async fn dispatch_waits_at_most_for_the_timeout_of_the_call() {
    let mut options = RouterOptions::default();
    (options.at_once, options.queue) = (1, 1);
    options.timeout = 100 * MS;
    let mut turn = Router::new(boxed(takes(Duration::from_secs(3600))), options).unwrap().turn([]);
    for id in ["a", "b", "c"] {
        turn.dispatch(&call("functions.f", id, "")).await;
    }
    let replies = replies(&mut turn).await;
    assert_eq!(replies.len(), 3);
    assert!(replies.iter().all(|it| it.body.text().contains("E-TOOL-TIMEOUT")));
}

/// The events of a turn in a short form.
async fn events(turn: &mut openchatml_tools::Turn) -> Vec<String> {
    let mut events = Vec::new();
    while let Some(event) = turn.next().await {
        events.push(match event {
            TurnEvent::Start { call_id, name } => format!("start {call_id} {name}"),
            TurnEvent::Progress { call_id, progress } => format!("{call_id} {}", progress.done),
            TurnEvent::Cancel { call_id, reason } => format!("cancel {call_id} {reason}"),
            TurnEvent::Done { call_id, code, .. } => {
                format!("done {call_id} {}", code.map_or("ok", |code| code.as_str()))
            }
            other => panic!("{other:?}"),
        });
    }
    events
}

#[tokio::test(start_paused = true)]
async fn cancelling_one_call_does_not_affect_others() {
    let dropped = Arc::new(AtomicU32::new(0));
    struct Counts(Arc<AtomicU32>);
    impl Drop for Counts {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    let counter = dropped.clone();
    let tools = one(move |_| {
        let counts = Counts(counter.clone());
        async move {
            let _counts = counts;
            sleep(100 * MS).await;
            Ok(Output::text("done"))
        }
    });
    let mut turn = Router::new(tools, RouterOptions::default()).unwrap().turn([]);
    for id in ["a", "b"] {
        turn.dispatch(&call("functions.f", id, "")).await;
    }
    sleep(10 * MS).await;
    assert!(turn.cancel("a", "not needed"));
    assert!(!turn.cancel("a", "again") && !turn.cancel("c", "never was"));
    sleep(MS).await;
    assert_eq!(dropped.load(SeqCst), 1, "the tool is dropped, and stops by that");
    assert_eq!(
        events(&mut turn).await,
        [
            "start a functions.f",
            "start b functions.f",
            "cancel a not needed",
            "done a E-TOOL-CANCELLED",
            "done b ok",
        ]
    );
    assert!(!turn.cancel("b", "too late"));
    assert!(turn.next().await.is_none());
    // The turn continues afterwards.
    turn.dispatch(&call("functions.f", "c", "")).await;
    turn.dispatch(&call("functions.f", "d", "")).await;
    turn.cancel_all("the user left");
    let told = ["cancel c the user left", "done c E-TOOL-CANCELLED"];
    assert_eq!(events(&mut turn).await[..2], told);
}

#[tokio::test(start_paused = true)]
async fn dropping_a_turn_stops_its_calls() {
    let (running, done) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let (runs, ends) = (running.clone(), done.clone());
    let tools = one(move |_| {
        let (runs, ends) = (runs.clone(), ends.clone());
        async move {
            runs.fetch_add(1, SeqCst);
            sleep(100 * MS).await;
            ends.fetch_add(1, SeqCst);
            Ok(Output::text(""))
        }
    });
    let mut options = RouterOptions::default();
    options.at_once = 2;
    let router = Router::new(tools, options).unwrap();
    let mut turn = router.turn([]);
    for id in ["a", "b", "c"] {
        turn.dispatch(&call("functions.f", id, "")).await;
    }
    sleep(10 * MS).await;
    drop(turn);
    sleep(Duration::from_secs(10)).await;
    assert_eq!((running.load(SeqCst), done.load(SeqCst)), (2, 0));
    // The permits are free again for the next caller.
    let mut turn = router.turn([]);
    turn.dispatch(&call("functions.f", "a", "")).await;
    assert_eq!(replies(&mut turn).await.len(), 1);
}

/// The number of calls of a tool that fails this many times, and the result.
async fn attempts(fails: u32, is_idempotent: bool, body: &str) -> (u32, Option<Code>, u128) {
    let made = Arc::new(AtomicU32::new(0));
    let counter = made.clone();
    let mut entry = Entry::new(function(move |_| {
        let attempt = counter.fetch_add(1, SeqCst);
        let failure = Failure::new("busy").retryable();
        std::future::ready(if attempt < fails { Err(failure) } else { Ok(Output::text("")) })
    }));
    entry.is_idempotent = is_idempotent;
    let mut options = RouterOptions::default();
    options.backoff = 100 * MS;
    let (code, took) = time(entry, options, body).await;
    (made.load(SeqCst), code, took)
}

#[tokio::test(start_paused = true)]
async fn temporary_failures_of_idempotent_tools_are_retried() {
    let (made, code, took) = attempts(2, true, "{}").await;
    assert_eq!((made, code), (3, None));
    // 100 and 200 ms, plus at most a quarter.
    assert!((300..=377).contains(&took), "{took}");
    assert_eq!(attempts(3, true, "{}").await.0, 3, "two retries are enough");
    assert_eq!(attempts(3, true, "{}").await.1, Some(Code::ToolFailed));
    assert_eq!(attempts(1, false, "{}").await, (1, Some(Code::ToolFailed), 0));
    // No attempt is made that would exceed the deadline: the failure itself is more informative
    // than a timeout.
    let hurried = attempts(1, true, r#"{"deadline_ms":90}"#).await;
    assert_eq!(hurried, (1, Some(Code::ToolFailed), 0));
}

#[tokio::test(start_paused = true)]
async fn permanent_failures_are_not_retried() {
    let made = Arc::new(AtomicU32::new(0));
    let counter = made.clone();
    let mut entry = Entry::new(function(move |_| {
        counter.fetch_add(1, SeqCst);
        std::future::ready(Err(Failure::new("no")))
    }));
    entry.is_idempotent = true;
    assert_eq!(time(entry, RouterOptions::default(), "{}").await.0, Some(Code::ToolFailed));
    assert_eq!(made.load(SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn newer_progress_replaces_unfetched_progress() {
    let kept: Arc<Mutex<Option<openchatml_tools::Call>>> = Arc::default();
    let keeps = kept.clone();
    let tools = one(move |call| {
        *keeps.lock().unwrap() = Some(call.clone());
        async move {
            for done in 0..1_000_000 {
                call.progress(Progress::new(f64::from(done)));
            }
            sleep(10 * MS).await;
            call.progress(Progress::new(1e6));
            sleep(10 * MS).await;
            Ok(Output::text(""))
        }
    });
    let mut turn = Router::new(tools, RouterOptions::default()).unwrap().turn([]);
    turn.dispatch(&call("functions.f", "a", "")).await;
    let told = ["start a functions.f", "a 999999", "a 1000000", "done a ok"];
    assert_eq!(events(&mut turn).await, told);
    // Progress of a finished call is ignored.
    kept.lock().unwrap().take().unwrap().progress(Progress::default());
    assert!(turn.next().await.is_none());
}

#[tokio::test]
async fn a_panic_affects_only_its_call() {
    for late in [false, true] {
        let mut turn = Router::new(
            one(move |call| {
                assert!(late || call.call_id() != "a", "a secret of the tool");
                async move {
                    tokio::task::yield_now().await;
                    assert!(call.call_id() != "a", "a secret of the tool");
                    Ok(Output::text("fine"))
                }
            }),
            RouterOptions::default(),
        )
        .unwrap()
        .turn([]);
        for id in ["a", "b"] {
            turn.dispatch(&call("functions.f", id, "")).await;
        }
        for reply in replies(&mut turn).await {
            let body = reply.body.text();
            let is_a = reply.call_id.as_deref() == Some("a");
            let failed = r#"{"ok":false,"content":null,"error":{"code":"E-TOOL-FAILED","message":"the tool panicked"}}"#;
            assert_eq!(body == failed, is_a, "{body}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blocked_thread_does_not_delay_the_reply() {
    let (release, blocked) = mpsc::channel::<()>();
    let blocked = Mutex::new(Some(blocked));
    let tools = one(move |_| {
        let blocked = blocked.lock().unwrap().take().expect("no other call runs");
        async move {
            // Blocks until the test has received the timeout.
            let _ = blocked.recv();
            Ok(Output::text("too late"))
        }
    });
    let mut options = RouterOptions::default();
    options.timeout = 20 * MS;
    options.at_once = 1;
    let mut turn = Router::new(tools, options).unwrap().turn([]);
    turn.dispatch(&call("functions.f", "a", "")).await;
    let told = ["start a functions.f", "done a E-TOOL-TIMEOUT"];
    assert_eq!(events(&mut turn).await, told);
    // A blocking call holds its permit until it ends, even if it is cancelled.
    turn.dispatch(&call("functions.f", "b", "")).await;
    assert_eq!(events(&mut turn).await, ["done b E-TOOL-TIMEOUT"]);
    drop(release);
}

#[tokio::test]
async fn calls_in_formats_without_ids_get_ids() {
    let tools = || one(|_| std::future::ready(Ok(Output::text(""))));
    let router = Router::new(tools(), RouterOptions::default()).unwrap();
    let mut turn = router.turn(["call_1".to_owned(), "call_3".to_owned()]);
    let mut ids = Vec::new();
    for _ in 0..3 {
        let id = turn.unused_id();
        turn.dispatch(&call("functions.f", &id, "")).await;
        ids.push(id);
    }
    assert_eq!(ids, ["call_4", "call_5", "call_6"]);
}
