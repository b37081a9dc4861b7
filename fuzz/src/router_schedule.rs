//! Calls and cancellations at any times: each call has one outcome.

use openchatml_testkit::Source;

#[path = "../../crates/openchatml-tools/tests/router/schedule/mod.rs"]
mod schedule;

use self::schedule::{Behaviour, Schedule};

pub(crate) fn run(source: &mut Source<'_>) {
    let calls = source.int_in_range(0..=100).unwrap_or_default();
    let mut schedule = Schedule::any(source, calls);
    // Here a panic is a finding, even one that is caught.
    let panics = schedule.plans.iter_mut().filter(|plan| plan.behaviour == Behaviour::Panic);
    panics.for_each(|plan| plan.behaviour = Behaviour::Fail);
    schedule::run(&schedule);
}
