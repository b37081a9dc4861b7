//! The wire list of ChatML: strings, and `{"token": …}` (ChatML, "On the wire"; decision 21).

use super::json::{Json, object};
use super::pen::Pen;
use super::plan::{Act, plan};
use super::{Draft, Said, canonical};

pub(crate) fn write(pen: &mut Pen<'_>) -> Draft {
    let plan = plan(pen, &[Act::System, Act::User, Act::Answer]);
    let token = |spelling: &str| object([("token", spelling.into())]);
    let mut items = Vec::new();
    let mut said = Vec::new();
    for step in &plan.steps {
        let mut role = step.act.role().to_owned();
        if step.act == Act::System && pen.one_in(4) {
            role = pen.pick(&["system:example_user", "system:example_assistant"]).to_owned();
        }
        let end = if pen.is_odd(6) {
            pen.flaw("unknown token");
            let datum = pen.datum();
            pen.pick(&["<|end|>", "<|message|>", "end_message"]).to_owned() + &datum
        } else {
            "<|end_message|>".to_owned()
        };
        items.extend([token("<|start|>"), role.into(), token("<|message|>")]);
        items.push(step.text.as_str().into());
        items.push(token(&end));
        said.push(Said::of(step));
    }
    canonical::draft(pen, Json::List(items), said)
}
