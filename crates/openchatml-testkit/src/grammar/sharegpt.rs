//! Records of data sets: `conversations` of `from` and `value` (ShareGPT, as LLaMA-Factory and
//! others document it).

use super::generator::Generator;
use super::json::{Json, compact, object};
use super::plan::{Act, Step, plan};
use super::{Draft, ExpectedMessage, canonical};

const ACTS: &[Act] = &[Act::System, Act::User, Act::Call, Act::Reply, Act::Answer];

pub(crate) fn write(generator: &mut Generator<'_>) -> Draft {
    let plan = plan(generator, ACTS);
    let keys = generator.pick(&[("from", "value"), ("from", "value"), ("role", "content")]);
    let mut turns: Vec<Json> = Vec::new();
    for step in &plan.steps {
        let mut turn = object([(keys.0, from(generator, step.act).into())]);
        let value = match step.act {
            Act::Call => call(step),
            _ => step.text.clone(),
        };
        turn.set(keys.1, value);
        if step.act == Act::Answer && generator.one_in(6) {
            turn.set("weight", Json::Number(generator.pick(&["0", "1", "0.5"]).to_owned()));
        }
        if generator.is_odd(10) {
            generator.flaw("id of a turn");
            turn.set("id", generator.datum());
        }
        turns.push(turn);
    }
    let said = plan.steps.iter().map(ExpectedMessage::of).collect();
    if plan.tools.is_empty() && generator.one_in(4) {
        return canonical::draft(generator, turns.into(), said);
    }
    let mut record = object([("conversations", turns.into())]);
    for key in ["id", "source", "images"] {
        if generator.one_in(6) {
            let datum: Json = generator.datum().into();
            record.set(key, if key == "images" { vec![datum].into() } else { datum });
        }
    }
    if !plan.tools.is_empty() {
        let tools = canonical::tools(generator, &plan.tools);
        match generator.one_in(2) {
            true => record.set("tools", compact(&tools)),
            false => record.set("tools", tools),
        }
    }
    canonical::draft(generator, record, said)
}

fn from(generator: &mut Generator<'_>, act: Act) -> &'static str {
    match act {
        Act::System => "system",
        Act::User => generator.pick(&["human", "user"]),
        Act::Call => generator.pick(&["function_call", "tool_call"]),
        Act::Reply => generator.pick(&["observation", "tool", "tool_response"]),
        _ => generator.pick(&["gpt", "assistant", "model"]),
    }
}

/// Writes a call as JSON in a string.
fn call(step: &Step) -> String {
    let name = compact(&step.tool.as_str().into());
    format!("{{\"name\": {name}, \"arguments\": {}}}", step.text)
}
