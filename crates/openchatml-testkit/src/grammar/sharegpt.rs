//! Records of data sets: `conversations` of `from` and `value` (ShareGPT, as LLaMA-Factory and
//! others document it).

use super::json::{Json, compact, object};
use super::pen::Pen;
use super::plan::{Act, Step, plan};
use super::{Draft, Said, canonical};

const ACTS: &[Act] = &[Act::System, Act::User, Act::Call, Act::Reply, Act::Answer];

pub(crate) fn write(pen: &mut Pen<'_>) -> Draft {
    let plan = plan(pen, ACTS);
    let keys = pen.pick(&[("from", "value"), ("from", "value"), ("role", "content")]);
    let mut turns: Vec<Json> = Vec::new();
    for step in &plan.steps {
        let mut turn = object([(keys.0, from(pen, step.act).into())]);
        let value = match step.act {
            Act::Call => call(step),
            _ => step.text.clone(),
        };
        turn.set(keys.1, value);
        if step.act == Act::Answer && pen.one_in(6) {
            turn.set("weight", Json::Number(pen.pick(&["0", "1", "0.5"]).to_owned()));
        }
        if pen.is_odd(10) {
            pen.flaw("id of a turn");
            turn.set("id", pen.datum());
        }
        turns.push(turn);
    }
    let said = plan.steps.iter().map(Said::of).collect();
    if plan.tools.is_empty() && pen.one_in(4) {
        return canonical::draft(pen, turns.into(), said);
    }
    let mut record = object([("conversations", turns.into())]);
    for key in ["id", "source", "images"] {
        if pen.one_in(6) {
            let datum: Json = pen.datum().into();
            record.set(key, if key == "images" { vec![datum].into() } else { datum });
        }
    }
    if !plan.tools.is_empty() {
        let tools = canonical::tools(pen, &plan.tools);
        match pen.one_in(2) {
            true => record.set("tools", compact(&tools)),
            false => record.set("tools", tools),
        }
    }
    canonical::draft(pen, record, said)
}

fn from(pen: &mut Pen<'_>, act: Act) -> &'static str {
    match act {
        Act::System => "system",
        Act::User => pen.pick(&["human", "user"]),
        Act::Call => pen.pick(&["function_call", "tool_call"]),
        Act::Reply => pen.pick(&["observation", "tool", "tool_response"]),
        _ => pen.pick(&["gpt", "assistant", "model"]),
    }
}

/// A call as JSON in a string.
fn call(step: &Step) -> String {
    let name = compact(&step.tool.as_str().into());
    format!("{{\"name\": {name}, \"arguments\": {}}}", step.text)
}
