//! JSON of APIs whose messages are turns: what one side says in a row may share one message, and the
//! results of calls belong to the user.

use super::generator::Generator;
use super::json::{Json, object};
use super::plan::{Act, Plan, Step, plan};
use super::{Draft, ExpectedMessage, canonical};

const ACTS: &[Act] =
    &[Act::System, Act::User, Act::Thought, Act::Preamble, Act::Call, Act::Reply, Act::Answer];

/// How an API writes its documents.
pub(super) struct Api {
    pub(super) request: fn(&mut Generator<'_>, Plan) -> Json,
    /// Writes a response that contains this message.
    pub(super) response: fn(&mut Generator<'_>, Json) -> Json,
    /// Writes the steps as messages.
    pub(super) messages: fn(&mut Generator<'_>, &[Step]) -> Vec<Json>,
}

/// Writes a request, a response, or a list of messages.
pub(super) fn write(generator: &mut Generator<'_>, api: &Api) -> Draft {
    let mut plan = plan(generator, ACTS);
    // The APIs have no names.
    plan.steps.iter_mut().for_each(|step| step.name = None);
    let said = |steps: &[Step]| steps.iter().map(ExpectedMessage::of).collect::<Vec<_>>();
    let (document, said) = match generator.upto(5) {
        0 => {
            let step: Vec<_> = plan.steps.last().cloned().into_iter().collect();
            let message = (api.messages)(generator, &step).pop().unwrap_or(object([]));
            ((api.response)(generator, message), said(&step))
        }
        1 if plan.tools.is_empty() => {
            let steps: Vec<_> =
                plan.steps.iter().filter(|step| step.act != Act::System).cloned().collect();
            ((api.messages)(generator, &steps).into(), said(&steps))
        }
        _ => {
            let said = said(&plan.steps);
            ((api.request)(generator, plan), said)
        }
    };
    canonical::draft(generator, document, said)
}

/// Splits off the system messages at the beginning.
pub(super) fn split_system(steps: &[Step]) -> (&[Step], &[Step]) {
    steps.split_at(steps.iter().take_while(|step| step.act == Act::System).count())
}

/// Splits steps into turns.
pub(super) fn turns(steps: &[Step]) -> impl Iterator<Item = &[Step]> {
    let mut rest = steps;
    std::iter::from_fn(move || {
        let count = if is_model(rest.first()?) { of_model(rest) } else { of_user(rest) };
        let (turn, others) = rest.split_at(count.max(1));
        rest = others;
        Some(turn)
    })
}

pub(super) fn is_model(step: &Step) -> bool {
    step.act.role() == "assistant"
}

/// How many steps can share a turn of the user: results, and then one text.
fn of_user(steps: &[Step]) -> usize {
    let results = steps.iter().take_while(|step| step.act == Act::Reply).count();
    results + usize::from(steps.get(results).is_some_and(|step| step.act == Act::User))
}

/// How many steps can share a turn of the model: text next to text would be one, and an answer
/// before a call a preamble.
fn of_model(steps: &[Step]) -> usize {
    let count = steps.iter().take_while(|step| is_model(step)).count();
    let is_text = |step: &Step| matches!(step.act, Act::Answer | Act::Preamble);
    let ends = |at: &usize| {
        let (one, two) = (&steps[at - 1], &steps[*at]);
        is_text(one) && is_text(two) || one.act == Act::Answer && two.act == Act::Call
    };
    (1..count).find(ends).unwrap_or(count)
}
