//! Schedules of calls and cancellations, and what must hold whatever they are. Tests make them of
//! seeds, the fuzzer of bytes.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arbitrary::Unstructured;
use openchatml::{Channel, Code, Data, End, Limits, Message, Reply, Role, Value};
use openchatml_tools::{
    Call, Entry, Failure, Happening, Outcome, Output, Progress, Router, RouterOptions, Toolbox,
    Turn, function,
};
use tokio::time::{Instant, sleep, sleep_until};

/// What a tool does with a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Deed {
    /// Answers.
    Answer,
    /// Fails for good.
    Fail,
    /// Fails in a way that may pass, so many times, and answers then.
    Falter(u8),
    Panic,
    /// Never ends.
    Hang,
    /// Returns more than fits.
    Flood,
}

/// One call.
#[derive(Clone, Debug)]
pub struct Plan {
    pub id: String,
    /// When it is dispatched, in milliseconds after the one before.
    pub after: u64,
    pub deed: Deed,
    /// How long the tool takes, in milliseconds.
    pub takes: u64,
    pub deadline: Option<u64>,
    pub is_idempotent: bool,
    /// When it is cancelled, in milliseconds after it was dispatched.
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
    /// So many calls at most: about 30 % are cancelled, and about 10 % have no time.
    pub fn any(source: &mut Unstructured<'_>, calls: usize) -> Self {
        let mut up_to = |most: u64| source.int_in_range(0..=most).unwrap_or(0);
        let is_wide = up_to(1) == 0;
        let at_once = if is_wide { calls.max(1) } else { 1 + up_to(63) as usize };
        let queue = 1 + up_to(if is_wide { 1023 } else { 63 }) as usize;
        let plan = |number: usize| {
            let deed = match up_to(15) {
                0 => Deed::Panic,
                1 => Deed::Hang,
                2 => Deed::Flood,
                3 => Deed::Fail,
                4..=5 => Deed::Falter(up_to(3) as u8),
                _ => Deed::Answer,
            };
            let (takes, is_idempotent) = (up_to(255), up_to(1) == 0);
            let deadline = match up_to(9) {
                0 => Some(takes / 2),
                1..=3 => Some(takes + up_to(1023)),
                _ => None,
            };
            let cancel = (up_to(9) < 3).then(|| up_to(255));
            // Ids that another language would take for equal, and some that were used before.
            let id = match up_to(31) {
                0 => format!("{}", number / 2),
                1 => format!("0{number}"),
                2 => format!("{number}.0"),
                _ => format!("{number}"),
            };
            Plan { id, after: up_to(3), deed, takes, deadline, is_idempotent, cancel }
        };
        Self { at_once, queue, plans: (0..calls).map(plan).collect() }
    }
}

/// What the tools saw.
#[derive(Default)]
struct Seen {
    running: AtomicUsize,
    most: AtomicUsize,
    attempts: Mutex<HashMap<usize, u8>>,
}

/// A call that runs, until it is dropped.
struct Runs(Arc<Seen>);

impl Runs {
    fn new(seen: &Arc<Seen>) -> Self {
        let running = seen.running.fetch_add(1, SeqCst) + 1;
        seen.most.fetch_max(running, SeqCst);
        Self(seen.clone())
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, SeqCst);
    }
}

/// What a tool is told: the number of the call, and nothing that would help it answer another.
fn number_of(call: &Call) -> usize {
    let arguments = call.parse().expect("they were checked");
    let number = arguments.get("number").and_then(Value::as_spelling).expect("it is required");
    number.parse().expect("it is a number")
}

async fn act(call: Call, plans: Arc<Vec<Plan>>, seen: Arc<Seen>) -> Outcome {
    let number = number_of(&call);
    let plan = &plans[number];
    assert_eq!(call.arguments(), arguments(number, None), "its own arguments, byte for byte");
    assert_eq!(call.call_id(), plan.id, "its own id, letter for letter");
    let attempt = {
        let mut attempts = seen.attempts.lock().unwrap();
        let attempt = attempts.entry(number).or_default();
        *attempt += 1;
        *attempt
    };
    let _runs = Runs::new(&seen);
    call.progress(Progress { done: f64::from(attempt), total: None, message: None });
    sleep(Duration::from_millis(plan.takes)).await;
    match plan.deed {
        Deed::Answer => Ok(Output::json(answer(number))),
        Deed::Fail => Err(Failure::new("no")),
        Deed::Falter(times) if attempt <= times => Err(Failure::new("not yet").retryable()),
        Deed::Falter(_) => Ok(Output::json(answer(number))),
        Deed::Panic => panic!("a secret of the tool"),
        Deed::Hang => std::future::pending().await,
        Deed::Flood => Ok(Output::text("x".repeat(FITS + 1))),
    }
}

/// As the model writes them.
fn arguments(number: usize, deadline: Option<u64>) -> String {
    let deadline = deadline.map(|ms| format!(r#""deadline_ms": {ms}, "#)).unwrap_or_default();
    format!(r#"{{{deadline}"number":  {number}}}"#)
}

fn answer(number: usize) -> Value<'static> {
    Data::Number(number.to_string().into()).into()
}

fn router(schedule: &Schedule, seen: &Arc<Seen>, began: Instant) -> Router {
    let plans = Arc::new(schedule.plans.clone());
    let mut tools = Toolbox::default();
    let schema = r#"{"type":"object","properties":{"number":{"type":"integer"}},
        "required":["number"],"additionalProperties":false}"#;
    for name in ["functions.once", "functions.again"] {
        let (plans, seen) = (plans.clone(), seen.clone());
        let mut entry = Entry::new(function(move |call| act(call, plans.clone(), seen.clone())));
        let schema = Value::from_json(schema, &Limits::default()).unwrap();
        entry.parameters = Some(schema.into_owned());
        entry.is_idempotent = name == "functions.again";
        tools.insert(name, entry).unwrap();
    }
    let mut options = RouterOptions::default();
    options.at_once = schedule.at_once;
    options.queue = schedule.queue;
    options.timeout = Duration::from_millis(TIMEOUT);
    options.longest = Duration::from_millis(LONGEST);
    options.output_bytes = FITS;
    options.retries = RETRIES;
    options.backoff = Duration::from_millis(10);
    options.clock = Some(Arc::new(move || since(began).to_string()));
    Router::new(tools, options).unwrap()
}

/// Milliseconds.
fn since(then: Instant) -> u64 {
    then.elapsed().as_millis() as u64
}

fn message(number: usize, plan: &Plan) -> Message<'static> {
    let mut call = Message::new(Role::Assistant, arguments(number, plan.deadline));
    call.recipient =
        Some(if plan.is_idempotent { "functions.again" } else { "functions.once" }.into());
    call.call_id = Some(plan.id.clone().into());
    call.channel = Some(Channel::Commentary);
    call.content_type = Some("json".into());
    call.constrained = true;
    call.end = End::Call;
    call
}

/// What became of the calls so far.
struct Story<'s> {
    schedule: &'s Schedule,
    began: Instant,
    /// The calls by their id, and when they were dispatched.
    calls: HashMap<&'s str, (usize, Instant)>,
    refused: usize,
    answers: usize,
    started: HashSet<String>,
    cancelled: HashSet<String>,
    done: HashMap<String, Option<Code>>,
}

impl Story<'_> {
    fn hear(&mut self, happening: Happening) {
        match happening {
            Happening::Start { call_id, .. } => {
                assert!(!self.done.contains_key(&call_id), "{call_id} starts after its end");
                assert!(self.started.insert(call_id), "a call starts once");
            }
            Happening::Progress { call_id, progress } => {
                assert!(!self.done.contains_key(&call_id), "{call_id} goes on after its end");
                assert!(self.started.contains(&call_id));
                assert!(progress.done >= 1.0);
            }
            Happening::Cancel { call_id, reason } => {
                assert_eq!(reason, format!("enough of {call_id}"));
                assert!(!self.done.contains_key(&call_id), "{call_id} is cancelled after its end");
                assert!(self.cancelled.insert(call_id), "a call is cancelled once");
            }
            Happening::Done { call_id, code, reply } if call_id.is_empty() => {
                assert_eq!((code, reply.call_id), (Some(Code::ParseHeader), None));
                self.answers += 1;
            }
            Happening::Done { call_id, code, reply } => self.done(call_id, code, &reply),
            other => panic!("{other:?}"),
        }
    }

    fn done(&mut self, call_id: String, code: Option<Code>, reply: &Message<'_>) {
        assert_eq!(reply.call_id.as_deref(), Some(call_id.as_str()));
        let (number, begun) = self.calls[call_id.as_str()];
        let plan = &self.schedule.plans[number];
        let body = reply.body.text();
        let envelope = Reply::parse(&body, &Limits::default()).expect("an envelope");
        assert_eq!((envelope.ok, envelope.code()), (code.is_none(), code));
        assert!(!body.contains("secret"), "{body}");
        let time = plan.deadline.unwrap_or(TIMEOUT).min(LONGEST);
        let was_cancelled = self.cancelled.contains(&call_id);
        assert_eq!(was_cancelled, code == Some(Code::ToolCancelled), "{call_id}");
        let heard = since(begun);
        match code {
            None => {
                assert_eq!(envelope.content, Some(answer(number)), "its own answer");
                let made = envelope.provenance.as_ref().and_then(|it| it.get("timestamp"));
                let made: u64 = made.and_then(Value::as_str).unwrap().parse().unwrap();
                let took = made - (begun - self.began).as_millis() as u64;
                assert!(took <= time, "{call_id} is late: {took} ms of {time} ms");
                assert!(matches!(plan.deed, Deed::Answer | Deed::Falter(_)));
            }
            Some(Code::ToolTimeout) => assert!(heard >= time, "{call_id} is given up too soon"),
            Some(Code::ToolCancelled) => assert!(plan.cancel.is_some_and(|at| heard >= at)),
            Some(Code::ToolOutput) => assert_eq!(plan.deed, Deed::Flood),
            Some(Code::ToolFailed) => {
                assert!(matches!(plan.deed, Deed::Fail | Deed::Panic | Deed::Falter(1..)));
            }
            Some(other) => panic!("{other}"),
        }
        if self.schedule.at_once >= self.schedule.plans.len() {
            check_alone(plan, time, code, heard);
        }
        assert!(self.done.insert(call_id, code).is_none(), "a call has one outcome");
    }
}

/// What a call comes to, and when, if none waits for another. What happens in the same millisecond
/// may happen in any order.
fn check_alone(plan: &Plan, time: u64, code: Option<Code>, heard: u64) {
    let attempts = match plan.deed {
        Deed::Falter(times) if plan.is_idempotent => u64::from(times).min(RETRIES.into()) + 1,
        _ => 1,
    };
    let takes = if plan.deed == Deed::Hang { u64::MAX } else { plan.takes * attempts };
    let cancel = plan.cancel.unwrap_or(u64::MAX);
    let said = format!("{plan:?} came to {code:?} after {heard} ms");
    match code {
        Some(Code::ToolCancelled) => assert!(heard == cancel && cancel <= time, "{said}"),
        // The pauses between attempts take at most 10 + 20 ms and a quarter more.
        Some(Code::ToolTimeout) => {
            let least = if attempts > 1 { takes + 38 } else { takes };
            assert!(heard == time && time <= cancel && time <= least, "{said}");
        }
        // An attempt that would come too late is not made.
        _ if attempts > 1 => assert!(heard <= time.min(cancel), "{said}"),
        _ => assert!(heard == takes && takes <= time.min(cancel), "{said}"),
    }
}

/// How many calls came to what.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub calls: usize,
    pub answered: usize,
    pub cancelled: usize,
    pub late: usize,
}

/// Runs a schedule, and checks that each call comes to one end that it may come to.
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
    let mut story = Story {
        schedule,
        began,
        calls: HashMap::new(),
        refused: 0,
        answers: 0,
        started: HashSet::new(),
        cancelled: HashSet::new(),
        done: HashMap::new(),
    };
    let mut next = 0;
    let mut due = began;
    // When calls are to be cancelled, the soonest one last.
    let mut cancels: Vec<(Instant, usize)> = Vec::new();
    loop {
        if let Some(plan) = schedule.plans.get(next)
            && due <= Instant::now()
        {
            let begun = Instant::now();
            let is_fresh = !story.calls.contains_key(plan.id.as_str());
            if is_fresh {
                story.calls.insert(&plan.id, (next, begun));
                cancels.extend(plan.cancel.map(|at| (begun + Duration::from_millis(at), next)));
                cancels.sort_by_key(|(at, number)| (std::cmp::Reverse(*at), *number));
            } else {
                story.refused += 1;
            }
            assert!(turn.dispatch(&message(next, plan)).await);
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
            cancel(&mut turn, &schedule.plans[number].id, &story);
            continue;
        }
        let more = next < schedule.plans.len();
        let wake = more.then_some(due).into_iter().chain(cancels.last().map(|it| it.0)).min();
        tokio::select! {
            biased;
            happening = turn.next() => match (happening, wake) {
                (Some(happening), _) => story.hear(happening),
                (None, Some(at)) => sleep_until(at).await,
                (None, None) => break,
            },
            () = sleep_until(wake.unwrap_or(began)), if wake.is_some() => {}
        }
    }
    finish(&story, &seen).await;
    let came_to = |code| story.done.values().filter(|it| **it == code).count();
    Tally {
        calls: story.done.len(),
        answered: came_to(None),
        cancelled: came_to(Some(Code::ToolCancelled)),
        late: came_to(Some(Code::ToolTimeout)),
    }
}

fn cancel(turn: &mut Turn, id: &str, story: &Story<'_>) {
    let was_live = turn.cancel(id, &format!("enough of {id}"));
    assert!(!(was_live && story.done.contains_key(id)), "{id} was over");
    assert!(!turn.cancel(id, "again"), "{id} is over now");
}

async fn finish(story: &Story<'_>, seen: &Seen) {
    let schedule = story.schedule;
    assert_eq!(story.answers, story.refused, "each refusal is told once");
    assert_eq!(story.done.len(), story.calls.len(), "no call is lost");
    assert!(story.calls.keys().all(|id| story.done.contains_key(*id)));
    // What was cancelled is dropped when its task is next polled.
    tokio::task::yield_now().await;
    sleep(Duration::from_millis(1)).await;
    assert_eq!(seen.running.load(SeqCst), 0, "nothing runs on");
    assert!(seen.most.load(SeqCst) <= schedule.at_once, "no more than {} run", schedule.at_once);
    for (number, attempts) in seen.attempts.lock().unwrap().iter() {
        let plan = &schedule.plans[*number];
        let most = match plan.deed {
            Deed::Falter(times) if plan.is_idempotent => u32::from(times).min(RETRIES) + 1,
            _ => 1,
        };
        assert!(u32::from(*attempts) <= most, "{plan:?} was called {attempts} times");
        let id = plan.id.as_str();
        let is_done = story.done[id].is_none() && story.calls[id].0 == *number;
        assert!(!is_done || story.started.contains(id));
    }
}
