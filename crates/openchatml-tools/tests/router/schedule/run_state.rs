//! The observed state of the calls of a schedule.

use std::collections::{HashMap, HashSet};

use openchatml::{Code, Limits, Message, Reply, Value};
use openchatml_tools::TurnEvent;
use tokio::time::Instant;

use super::tools::answer;
use super::{Behaviour, LONGEST, Plan, RETRIES, Schedule, TIMEOUT};

/// The milliseconds since this instant.
pub(super) fn since(then: Instant) -> u64 {
    then.elapsed().as_millis() as u64
}

/// The state of the calls so far.
pub(super) struct RunState<'s> {
    pub(super) schedule: &'s Schedule,
    began: Instant,
    /// The index and the time of dispatch of each call, by its id.
    pub(super) calls: HashMap<&'s str, (usize, Instant)>,
    pub(super) refused: usize,
    pub(super) answers: usize,
    pub(super) started: HashSet<String>,
    cancelled: HashSet<String>,
    pub(super) done: HashMap<String, Option<Code>>,
}

impl<'s> RunState<'s> {
    pub(super) fn new(schedule: &'s Schedule, began: Instant) -> Self {
        Self {
            schedule,
            began,
            calls: HashMap::new(),
            refused: 0,
            answers: 0,
            started: HashSet::new(),
            cancelled: HashSet::new(),
            done: HashMap::new(),
        }
    }

    pub(super) fn tally(&self) -> Tally {
        let ended_with = |code| self.done.values().filter(|it| **it == code).count();
        Tally {
            calls: self.done.len(),
            answered: ended_with(None),
            cancelled: ended_with(Some(Code::ToolCancelled)),
            late: ended_with(Some(Code::ToolTimeout)),
        }
    }

    pub(super) fn record(&mut self, event: TurnEvent) {
        match event {
            TurnEvent::Start { call_id, .. } => {
                assert!(!self.done.contains_key(&call_id), "{call_id} starts after its end");
                assert!(self.started.insert(call_id), "a call starts once");
            }
            TurnEvent::Progress { call_id, progress } => {
                assert!(!self.done.contains_key(&call_id), "{call_id} goes on after its end");
                assert!(self.started.contains(&call_id));
                assert!(progress.done >= 1.0);
            }
            TurnEvent::Cancel { call_id, reason } => {
                assert_eq!(reason, format!("enough of {call_id}"));
                assert!(!self.done.contains_key(&call_id), "{call_id} is cancelled after its end");
                assert!(self.cancelled.insert(call_id), "a call is cancelled once");
            }
            TurnEvent::Done { call_id, code, reply } if call_id.is_empty() => {
                assert_eq!((code, reply.call_id), (Some(Code::ParseHeader), None));
                self.answers += 1;
            }
            TurnEvent::Done { call_id, code, reply } => self.done(call_id, code, &reply),
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
                assert!(matches!(plan.behaviour, Behaviour::Answer | Behaviour::FailFirst(_)));
            }
            Some(Code::ToolTimeout) => assert!(heard >= time, "{call_id} is given up too soon"),
            Some(Code::ToolCancelled) => assert!(plan.cancel.is_some_and(|at| heard >= at)),
            Some(Code::ToolOutput) => assert_eq!(plan.behaviour, Behaviour::ReturnTooMuch),
            Some(Code::ToolFailed) => {
                assert!(matches!(
                    plan.behaviour,
                    Behaviour::Fail | Behaviour::Panic | Behaviour::FailFirst(1..)
                ));
            }
            Some(other) => panic!("{other}"),
        }
        if self.schedule.at_once >= self.schedule.plans.len() {
            check_alone(plan, time, code, heard);
        }
        assert!(self.done.insert(call_id, code).is_none(), "a call has one outcome");
    }
}

/// Checks the result and the time of a call that does not wait for another one. Events of the same
/// millisecond may occur in any order.
fn check_alone(plan: &Plan, time: u64, code: Option<Code>, heard: u64) {
    let attempts = match plan.behaviour {
        Behaviour::FailFirst(times) if plan.is_idempotent => {
            u64::from(times).min(RETRIES.into()) + 1
        }
        _ => 1,
    };
    let takes = if plan.behaviour == Behaviour::Hang { u64::MAX } else { plan.takes * attempts };
    let cancel = plan.cancel.unwrap_or(u64::MAX);
    let said = format!("{plan:?} came to {code:?} after {heard} ms");
    match code {
        Some(Code::ToolCancelled) => assert!(heard == cancel && cancel <= time, "{said}"),
        // The delays between attempts are 10 and 20 ms, plus at most a quarter.
        Some(Code::ToolTimeout) => {
            let least = if attempts > 1 { takes + 38 } else { takes };
            assert!(heard == time && time <= cancel && time <= least, "{said}");
        }
        // An attempt that would start after the deadline is not made.
        _ if attempts > 1 => assert!(heard <= time.min(cancel), "{said}"),
        _ => assert!(heard == takes && takes <= time.min(cancel), "{said}"),
    }
}

/// The number of calls by their result.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub calls: usize,
    pub answered: usize,
    pub cancelled: usize,
    pub late: usize,
}
