//! Records of data sets with a prompt and its completion, or with an instruction and its output, as
//! Alpaca and the documentation of TRL ("Dataset formats and types") have them.

use super::generator::Generator;
use super::json::{Json, object};
use super::plan::{Act, Step, plan};
use super::{Draft, ExpectedMessage, canonical};

const ACTS: &[Act] = &[Act::System, Act::User, Act::Answer];

pub(crate) fn write(generator: &mut Generator<'_>) -> Draft {
    let mut steps = plan(generator, ACTS).steps;
    // The records have no names.
    steps.iter_mut().for_each(|step| step.name = None);
    let first = steps.iter().position(|step| step.act == Act::User).unwrap_or_default();
    let (mut record, mut said) = match generator.upto(5) {
        0 => instruction(generator, &steps[first..]),
        1 | 2 => completion(generator, &steps, first),
        _ => pair(generator, &steps, first),
    };
    if generator.one_in(4) {
        record.set("source", generator.datum());
    }
    if generator.is_odd(10) {
        generator.flaw("a key that is not part of a record");
        record.set("x", generator.datum());
        said.clear();
    }
    canonical::draft(generator, record, said)
}

fn expected(steps: &[Step]) -> Vec<ExpectedMessage> {
    steps.iter().map(ExpectedMessage::of).collect()
}

/// A question and its answer as two texts, or all messages as two lists.
fn completion(
    generator: &mut Generator<'_>,
    steps: &[Step],
    first: usize,
) -> (Json, Vec<ExpectedMessage>) {
    if let Some([question, answer]) = steps.get(first..first + 2)
        && generator.one_in(2)
    {
        let [prompt, completion] = [question, answer].map(|step| Json::from(step.text.as_str()));
        let record = object([("prompt", prompt), ("completion", completion)]);
        return (record, expected(&[question.clone(), answer.clone()]));
    }
    let (prompt, completion) = steps.split_at(steps.len().saturating_sub(1));
    let record = object([("prompt", list(prompt)), ("completion", list(completion))]);
    (record, expected(steps))
}

fn instruction(generator: &mut Generator<'_>, steps: &[Step]) -> (Json, Vec<ExpectedMessage>) {
    let (history, last) = steps.split_at(steps.len().saturating_sub(2));
    let [question, answer] = last else {
        return (object([("instruction", "".into()), ("output", "".into())]), Vec::new());
    };
    let mut record = object([
        ("instruction", question.text.as_str().into()),
        ("input", "".into()),
        ("output", answer.text.as_str().into()),
    ]);
    if generator.one_in(2) {
        let rounds = history
            .chunks(2)
            .map(|round| Json::List(round.iter().map(|step| step.text.as_str().into()).collect()));
        record.set("history", Json::List(rounds.collect()));
        return (record, expected(steps));
    }
    (record, expected(last))
}

/// A pair with its prompt as texts or lists, or with the prompt in both lists.
fn pair(
    generator: &mut Generator<'_>,
    steps: &[Step],
    first: usize,
) -> (Json, Vec<ExpectedMessage>) {
    let Some((answer, prompt)) = steps.split_last() else {
        return (object([("chosen", list(&[])), ("rejected", list(&[]))]), Vec::new());
    };
    let mut other = answer.clone();
    other.text = generator.datum();
    let all = || expected(&[prompt, &[answer.clone(), other.clone()]].concat());
    match generator.upto(3) {
        0 => {
            let question = steps[first].clone();
            let key = if generator.one_in(3) { "question" } else { "prompt" };
            let record = object([
                (key, question.text.as_str().into()),
                ("chosen", answer.text.as_str().into()),
                ("rejected", other.text.as_str().into()),
            ]);
            (record, expected(&[question, answer.clone(), other.clone()]))
        }
        1 => {
            let record = object([
                ("prompt", list(prompt)),
                ("chosen", list(std::slice::from_ref(answer))),
                ("rejected", list(std::slice::from_ref(&other))),
            ]);
            (record, all())
        }
        _ => {
            let [chosen, rejected] =
                [answer, &other].map(|last| list(&[prompt, std::slice::from_ref(last)].concat()));
            (object([("chosen", chosen), ("rejected", rejected)]), all())
        }
    }
}

fn list(steps: &[Step]) -> Json {
    let message = |step: &Step| {
        object([("role", step.act.role().into()), ("content", step.text.as_str().into())])
    };
    Json::List(steps.iter().map(message).collect())
}
