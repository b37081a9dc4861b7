//! Records of data sets with a prompt and its completion, or with an instruction and its output, as
//! Alpaca and the documentation of TRL ("Dataset formats and types") have them.

use super::generator::Generator;
use super::json::{Json, object};
use super::plan::{Act, Step, plan};
use super::{Draft, ExpectedMessage, canonical, openai};

const ACTS: &[Act] = &[Act::System, Act::User, Act::Answer];

pub(crate) fn write(generator: &mut Generator<'_>) -> Draft {
    let (mut record, said) = match generator.upto(7) {
        0 => instruction(generator),
        1 => completion(generator),
        2 => pair(generator),
        3 | 4 => lists(generator),
        5 => pair_after_messages(generator),
        _ => pair_of_lists(generator),
    };
    if generator.one_in(4) {
        record.set("source", generator.datum());
    }
    if generator.one_in(10) {
        // A column of the data set.
        record.set("x", generator.datum());
    }
    canonical::draft(generator, record, said)
}

/// Plans messages that are only text, without names.
fn texts(generator: &mut Generator<'_>) -> Vec<Step> {
    let mut steps = plan(generator, ACTS).steps;
    steps.iter_mut().for_each(|step| step.name = None);
    let first = steps.iter().position(|step| step.act == Act::User).unwrap_or_default();
    steps.split_off(first)
}

fn expected(steps: &[Step]) -> Vec<ExpectedMessage> {
    steps.iter().map(ExpectedMessage::of).collect()
}

/// A question and its answer as two texts.
fn completion(generator: &mut Generator<'_>) -> (Json, Vec<ExpectedMessage>) {
    let steps = texts(generator);
    let [question, answer] = [&steps[0], &steps[1]];
    let record = object([
        ("prompt", question.text.as_str().into()),
        ("completion", answer.text.as_str().into()),
    ]);
    (record, expected(&steps[..2]))
}

/// All messages as two lists of the messages of Chat Completions, with tools.
fn lists(generator: &mut Generator<'_>) -> (Json, Vec<ExpectedMessage>) {
    let plan = plan(generator, openai::ACTS);
    let is_weighted = generator.one_in(4);
    let mut prompt = openai::messages(generator, &plan.steps, is_weighted);
    let completion = prompt.split_off(generator.upto(prompt.len()));
    let mut record = object([("prompt", prompt.into()), ("completion", completion.into())]);
    if !plan.tools.is_empty() {
        record.set("tools", canonical::tools(generator, &plan.tools));
    }
    (record, expected(&plan.steps))
}

fn instruction(generator: &mut Generator<'_>) -> (Json, Vec<ExpectedMessage>) {
    let steps = texts(generator);
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
        return (record, expected(&steps));
    }
    (record, expected(last))
}

/// A pair of texts.
fn pair(generator: &mut Generator<'_>) -> (Json, Vec<ExpectedMessage>) {
    let steps = texts(generator);
    let [question, answer] = [&steps[0], &steps[1]];
    let other = other(generator, answer);
    let key = if generator.one_in(3) { "question" } else { "prompt" };
    let record = object([
        (key, question.text.as_str().into()),
        ("chosen", answer.text.as_str().into()),
        ("rejected", other.text.as_str().into()),
    ]);
    (record, expected(&[question.clone(), answer.clone(), other]))
}

/// Another answer.
fn other(generator: &mut Generator<'_>, answer: &Step) -> Step {
    Step { text: generator.datum(), ..answer.clone() }
}

/// A prompt as a list of messages, which both sides have or which is beside them, and two answers.
fn pair_of_lists(generator: &mut Generator<'_>) -> (Json, Vec<ExpectedMessage>) {
    let (prompt, sides, tools, said) = sides(generator);
    let is_beside = generator.one_in(2);
    let mut record = object([]);
    if is_beside {
        record.set("prompt", prompt.clone());
    }
    for (key, side) in ["chosen", "rejected"].into_iter().zip(sides) {
        let before = if is_beside { Vec::new() } else { prompt.clone() };
        record.set(key, [before, vec![side]].concat());
    }
    if let Some(tools) = tools {
        record.set("tools", tools);
    }
    (record, said)
}

/// A prompt under `messages`, and two single answers.
fn pair_after_messages(generator: &mut Generator<'_>) -> (Json, Vec<ExpectedMessage>) {
    let (prompt, [chosen, rejected], tools, said) = sides(generator);
    let mut record =
        object([("messages", prompt.into()), ("chosen", chosen), ("rejected", rejected)]);
    if let Some(tools) = tools {
        record.set("tools", tools);
    }
    (record, said)
}

/// Returns the messages of a prompt, two answers, tools, and what they say.
fn sides(
    generator: &mut Generator<'_>,
) -> (Vec<Json>, [Json; 2], Option<Json>, Vec<ExpectedMessage>) {
    let mut plan = plan(generator, openai::ACTS);
    let answer = plan.steps.pop().into_iter().collect::<Vec<_>>();
    let prompt = openai::messages(generator, &plan.steps, false);
    let others: Vec<_> = answer.iter().map(|answer| other(generator, answer)).collect();
    let sides = [&answer, &others]
        .map(|side| openai::messages(generator, side, false).pop().unwrap_or_else(|| object([])));
    let tools = (!plan.tools.is_empty()).then(|| canonical::tools(generator, &plan.tools));
    (prompt, sides, tools, expected(&[plan.steps, answer, others].concat()))
}
