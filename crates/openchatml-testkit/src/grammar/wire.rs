//! The wire list of ChatML: strings, and `{"token": …}` (ChatML, "On the wire"; decision 21).

use super::generator::Generator;
use super::json::{Json, object};
use super::plan::{Act, plan};
use super::{Draft, ExpectedMessage, canonical};

pub(crate) fn write(generator: &mut Generator<'_>) -> Draft {
    let plan = plan(generator, &[Act::System, Act::User, Act::Answer]);
    let token = |spelling: &str| object([("token", spelling.into())]);
    let mut items = Vec::new();
    let mut said = Vec::new();
    for step in &plan.steps {
        let mut role = step.act.role().to_owned();
        if step.act == Act::System && generator.one_in(4) {
            role = generator.pick(&["system:example_user", "system:example_assistant"]).to_owned();
        }
        let end = if generator.is_odd(6) {
            generator.flaw("unknown token");
            let datum = generator.datum();
            generator.pick(&["<|end|>", "<|message|>", "end_message"]).to_owned() + &datum
        } else {
            "<|end_message|>".to_owned()
        };
        items.extend([token("<|start|>"), role.into(), token("<|message|>")]);
        items.push(step.text.as_str().into());
        items.push(token(&end));
        said.push(ExpectedMessage::of(step));
    }
    canonical::draft(generator, Json::List(items), said)
}
