//! Apertus: the text of its template ("Chat Template and Tokens"), and its messages as JSON
//! ("Basic Message Structure" to "Format Consistency Rules").

use super::frames::defuse;
use super::generator::{Generator, Shown};
use super::json::{Json, compact, object};
use super::plan::{Act, Plan, Step, plan};
use super::{Draft, ExpectedMessage, canonical, oddities, openai, words};

const ACTS: &[Act] = &[Act::System, Act::User, Act::Thought, Act::Call, Act::Reply, Act::Answer];

/// Sorts replies in the order of their calls, because the format pairs them only by order.
fn in_order(plan: &mut Plan) {
    let ids: Vec<_> = plan.steps.iter().map(|step| step.id.clone()).collect();
    let call = |step: &Step| ids.iter().position(|id| *id == step.id);
    let mut at = 0;
    while at < plan.steps.len() {
        let rest = &plan.steps[at..];
        let len = rest.iter().take_while(|step| step.act == Act::Reply).count();
        plan.steps[at..at + len].sort_by_key(call);
        at += len.max(1);
    }
}

/// Writes the text.
pub(crate) fn write(generator: &mut Generator<'_>) -> Draft {
    let mut plan = plan(generator, ACTS);
    in_order(&mut plan);
    for step in &mut plan.steps {
        step.text = match step.act {
            // The end of a JSON reply is the end of its JSON.
            Act::Reply => defuse(&compact(&step.text.as_str().into()), words::APERTUS),
            _ => defuse(&step.text, words::APERTUS),
        };
    }
    let mut draft = Draft { text: "<s>".to_owned(), ..Draft::default() };
    let mut turn = Turn::default();
    for at in 0..plan.steps.len() {
        let step = &plan.steps[at];
        draft.said.push(ExpectedMessage::of(step));
        match step.act {
            Act::System => {
                draft.text.push_str(&format!("<|system_start|>{}<|system_end|>", step.text));
                developer(generator, &mut draft);
            }
            Act::User => {
                draft.text.push_str(&format!("<|user_start|>{}<|user_end|>", step.text));
            }
            _ => turn.section(generator, &plan.steps, at, &mut draft.text),
        }
        if generator.is_odd(4) {
            oddities::of_sections(generator, &mut draft.text);
        }
    }
    draft
}

/// The state within a turn of the assistant.
#[derive(Default)]
struct Turn {
    is_open: bool,
    is_inner: bool,
}

impl Turn {
    /// Writes reasoning, a call, an answer, or the reply of a tool.
    fn section(
        &mut self,
        generator: &mut Generator<'_>,
        steps: &[Step],
        at: usize,
        out: &mut String,
    ) {
        let act = |at: Option<usize>| at.and_then(|at| steps.get(at)).map(|step| step.act);
        let (before, after) = (act(at.checked_sub(1)), act(Some(at + 1)));
        let step = &steps[at];
        if step.act != Act::Reply && !self.is_open {
            out.push_str("<|assistant_start|>");
            self.is_open = true;
        }
        match step.act {
            Act::Thought => {
                out.push_str(if self.is_inner { "" } else { "<|inner_prefix|>" });
                out.push_str(&step.text);
                // Calls may be in the inner section or after it.
                self.is_inner = after == Some(Act::Call) && generator.one_in(2);
                out.push_str(if self.is_inner { "" } else { "<|inner_suffix|>" });
            }
            Act::Call => {
                let open = if before == Some(Act::Call) { ", " } else { "<|tools_prefix|>[" };
                let close = if after == Some(Act::Call) { "" } else { "]<|tools_suffix|>" };
                out.push_str(&format!("{open}{{\"{}\": {}}}{close}", step.tool, step.text));
            }
            Act::Reply => {
                let open = if before == Some(Act::Reply) { ", " } else { "[" };
                let close = if after == Some(Act::Reply) { "" } else { "]" };
                out.push_str(&format!("{open}{}{close}", step.text));
            }
            _ => {
                out.push_str(if self.is_inner { "<|inner_suffix|>" } else { "" });
                out.push_str(&step.text);
                // The template leaves the last turn open.
                if at + 1 < steps.len() || !generator.one_in(4) {
                    out.push_str("<|assistant_end|>");
                }
                *self = Self::default();
            }
        }
    }
}

/// Writes the declarations of tools and thinking.
fn developer(generator: &mut Generator<'_>, draft: &mut Draft) {
    let text = generator.pick(&[
        "Deliberation: enabled\nTool Capabilities: disabled",
        "Deliberation: disabled\nTool Capabilities: disabled",
    ]);
    draft.text.push_str(&format!("<|developer_start|>{text}<|developer_end|>"));
    let text = text.to_owned();
    draft.said.push(ExpectedMessage { role: "developer", name: None, text, shown: Shown::Hidden });
}

/// Writes the messages.
pub(crate) fn write_json(generator: &mut Generator<'_>) -> Draft {
    let mut plan = plan(generator, ACTS);
    in_order(&mut plan);
    let blocks = generator.one_in(2);
    if !blocks {
        // Strings cannot contain reasoning.
        plan.steps.retain(|step| step.act != Act::Thought);
    }
    let mut messages = Vec::new();
    let mut at = 0;
    while let Some(step) = plan.steps.get(at) {
        at += 1;
        let content = match step.act {
            Act::System if generator.one_in(2) => object([("text", step.text.as_str().into())]),
            Act::User if generator.one_in(2) => {
                let part = object([("type", "text".into()), ("text", step.text.as_str().into())]);
                object([("parts", vec![part].into())])
            }
            Act::System | Act::User | Act::Reply => step.text.as_str().into(),
            _ => {
                at -= 1;
                let message = assistant(generator, &plan.steps, &mut at, blocks);
                messages.push(message);
                continue;
            }
        };
        messages.push(object([("role", step.act.role().into()), ("content", content)]));
    }
    let mut said: Vec<_> = plan.steps.iter().map(ExpectedMessage::of).collect();
    let document = match messages.as_slice() {
        [one] if plan.tools.is_empty() && generator.one_in(2) => one.clone(),
        _ if plan.tools.is_empty() && generator.one_in(3) => messages.into(),
        _ => {
            let mut document = object([("messages", messages.into())]);
            if !plan.tools.is_empty() {
                document.set("tools", canonical::tools(generator, &plan.tools));
                said.clear();
            }
            if generator.one_in(2) {
                // The declarations are a message of the developer.
                document.set("enable_thinking", Json::Word(generator.pick(&["true", "false"])));
                said.clear();
            }
            document
        }
    };
    canonical::draft(generator, document, said)
}

/// Writes the steps of the assistant up to the next message of another role: blocks, or a string
/// and calls.
fn assistant(
    generator: &mut Generator<'_>,
    steps: &[Step],
    at: &mut usize,
    in_blocks: bool,
) -> Json {
    let mut message = object([("role", "assistant".into())]);
    if !in_blocks {
        let text = match steps.get(*at) {
            Some(step) if step.act == Act::Answer => {
                *at += 1;
                step.text.as_str()
            }
            _ => "",
        };
        message.set("content", text);
        if steps.get(*at).is_some_and(|step| step.act == Act::Call) {
            openai::calls(generator, steps, at, &mut message);
        }
        return message;
    }
    let mut blocks = Vec::new();
    let mut block = |kind: &str, key: &str, value: Json| {
        blocks.push(object([("type", kind.into()), (key, value)]));
    };
    let replies_outside = generator.one_in(3);
    while let Some(step) = steps.get(*at) {
        let rest = &steps[*at..];
        match step.act {
            Act::Thought => block("thoughts", "text", step.text.as_str().into()),
            Act::Answer => block("response", "text", step.text.as_str().into()),
            Act::Call => {
                let calls = rest.iter().take_while(|step| step.act == Act::Call);
                let calls: Vec<_> = calls.map(call).collect();
                *at += calls.len() - 1;
                block("tool_calls", "calls", calls.into());
            }
            Act::Reply if !replies_outside => {
                let outputs = rest.iter().take_while(|step| step.act == Act::Reply);
                let output = |step: &Step| object([("output", step.text.as_str().into())]);
                let outputs: Vec<_> = outputs.map(output).collect();
                *at += outputs.len() - 1;
                block("tool_outputs", "outputs", outputs.into());
            }
            _ => break,
        }
        *at += 1;
        if step.act == Act::Answer {
            break;
        }
    }
    message.set("content", object([("blocks", blocks.into())]));
    message
}

fn call(step: &Step) -> Json {
    object([("name", step.tool.as_str().into()), ("arguments", step.text.as_str().into())])
}
