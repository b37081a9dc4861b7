//! What becomes of the calls of a schedule.

use std::collections::{HashMap, HashSet};

use openchatml::{Code, Limits, Message, Reply, Value};
use openchatml_tools::TurnEvent;
use tokio::time::Instant;

use super::tools::answer;
use super::{Deed, LONGEST, Plan, RETRIES, Schedule, TIMEOUT};

/// Milliseconds.
pub(super) fn since(then: Instant) -> u64 {
    then.elapsed().as_millis() as u64
}

/// What became of the calls so far.
pub(super) struct Story<'s> {
    pub(super) schedule: &'s Schedule,
    began: Instant,
    /// The calls by their id, and when they were dispatched.
    pub(super) calls: HashMap<&'s str, (usize, Instant)>,
    pub(super) refused: usize,
    pub(super) answers: usize,
    pub(super) started: HashSet<String>,
    cancelled: HashSet<String>,
    pub(super) done: HashMap<String, Option<Code>>,
}

impl<'s> Story<'s> {
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
        let came_to = |code| self.done.values().filter(|it| **it == code).count();
        Tally {
            calls: self.done.len(),
            answered: came_to(None),
            cancelled: came_to(Some(Code::ToolCancelled)),
            late: came_to(Some(Code::ToolTimeout)),
        }
    }

    pub(super) fn hear(&mut self, event: TurnEvent) {
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
