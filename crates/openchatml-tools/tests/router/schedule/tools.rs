//! The tools that a schedule calls.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use openchatml::{Channel, Data, End, Limits, Message, Role, Value};
use openchatml_tools::{
    Call, Entry, Failure, Outcome, Output, Progress, Router, RouterOptions, Toolbox, function,
};
use tokio::time::{Instant, sleep};

use super::run_state::since;
use super::{Behaviour, FITS, LONGEST, Plan, RETRIES, Schedule, TIMEOUT};

/// What the tools recorded.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) running: AtomicUsize,
    pub(super) most: AtomicUsize,
    pub(super) attempts: Mutex<HashMap<usize, u8>>,
}

/// A running call. Dropping it records its end.
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

/// The number of the call. A tool knows nothing else, so it cannot answer another call.
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
    call.progress(Progress::new(f64::from(attempt)));
    sleep(Duration::from_millis(plan.takes)).await;
    match plan.behaviour {
        Behaviour::Answer => Ok(Output::json(answer(number))),
        Behaviour::Fail => Err(Failure::new("no")),
        Behaviour::FailFirst(times) if attempt <= times => Err(Failure::new("not yet").retryable()),
        Behaviour::FailFirst(_) => Ok(Output::json(answer(number))),
        Behaviour::Panic => panic!("a secret of the tool"),
        Behaviour::Hang => std::future::pending().await,
        Behaviour::ReturnTooMuch => Ok(Output::text("x".repeat(FITS + 1))),
    }
}

/// Arguments as a model writes them.
fn arguments(number: usize, deadline: Option<u64>) -> String {
    let deadline = deadline.map(|ms| format!(r#""deadline_ms": {ms}, "#)).unwrap_or_default();
    format!(r#"{{{deadline}"number":  {number}}}"#)
}

pub(super) fn answer(number: usize) -> Value<'static> {
    Data::Number(number.to_string().into()).into()
}

pub(super) fn router(schedule: &Schedule, seen: &Arc<Seen>, began: Instant) -> Router {
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

pub(super) fn message(number: usize, plan: &Plan) -> Message<'static> {
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
