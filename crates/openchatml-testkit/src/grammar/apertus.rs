//! Apertus: the text of its template ("Chat Template and Tokens"), and its messages as JSON
//! ("Basic Message Structure" to "Format Consistency Rules").

use super::frames::defuse;
use super::json::{Json, compact, object};
use super::pen::{Pen, Shown};
use super::plan::{Act, Plan, Step, plan};
use super::{Draft, Said, canonical, oddities, openai, words};

const ACTS: &[Act] = &[Act::System, Act::User, Act::Thought, Act::Call, Act::Reply, Act::Answer];

/// Replies in the order of their calls: the format knows them by nothing else.
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

/// The text.
pub(crate) fn write(pen: &mut Pen<'_>) -> Draft {
    let mut plan = plan(pen, ACTS);
    in_order(&mut plan);
    for step in &mut plan.steps {
        step.text = match step.act {
            // A reply that is JSON ends where it ends.
            Act::Reply => defuse(&compact(&step.text.as_str().into()), words::APERTUS),
            _ => defuse(&step.text, words::APERTUS),
        };
    }
    let mut draft = Draft { text: "<s>".to_owned(), ..Draft::default() };
    let mut turn = Turn::default();
    for at in 0..plan.steps.len() {
        let step = &plan.steps[at];
        draft.said.push(Said::of(step));
        match step.act {
            Act::System => {
                draft.text.push_str(&format!("<|system_start|>{}<|system_end|>", step.text));
                developer(pen, &mut draft);
            }
            Act::User => {
                draft.text.push_str(&format!("<|user_start|>{}<|user_end|>", step.text));
            }
            _ => turn.section(pen, &plan.steps, at, &mut draft.text),
        }
        if pen.is_odd(4) {
            oddities::of_sections(pen, &mut draft.text);
        }
    }
    draft
}

/// Where in a turn of the assistant a text is.
#[derive(Default)]
struct Turn {
    is_open: bool,
    is_inner: bool,
}

impl Turn {
    /// Writes what the assistant thinks, calls or answers, or what a tool replies to it.
    fn section(&mut self, pen: &mut Pen<'_>, steps: &[Step], at: usize, out: &mut String) {
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
                // Calls may stand in the inner section or behind it.
                self.is_inner = after == Some(Act::Call) && pen.one_in(2);
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
                if at + 1 < steps.len() || !pen.one_in(4) {
                    out.push_str("<|assistant_end|>");
                }
                *self = Self::default();
            }
        }
    }
}

/// What the template tells of tools and of thinking.
fn developer(pen: &mut Pen<'_>, draft: &mut Draft) {
    let text = pen.pick(&[
        "Deliberation: enabled\nTool Capabilities: disabled",
        "Deliberation: disabled\nTool Capabilities: disabled",
    ]);
    draft.text.push_str(&format!("<|developer_start|>{text}<|developer_end|>"));
    let text = text.to_owned();
    draft.said.push(Said { role: "developer", name: None, text, shown: Shown::Hidden });
}

/// The messages.
pub(crate) fn write_json(pen: &mut Pen<'_>) -> Draft {
    let mut plan = plan(pen, ACTS);
    in_order(&mut plan);
    let blocks = pen.one_in(2);
    if !blocks {
        // Strings have no place for thoughts.
        plan.steps.retain(|step| step.act != Act::Thought);
    }
    let mut messages = Vec::new();
    let mut at = 0;
    while let Some(step) = plan.steps.get(at) {
        at += 1;
        let content = match step.act {
            Act::System if pen.one_in(2) => object([("text", step.text.as_str().into())]),
            Act::User if pen.one_in(2) => {
                let part = object([("type", "text".into()), ("text", step.text.as_str().into())]);
                object([("parts", vec![part].into())])
            }
            Act::System | Act::User | Act::Reply => step.text.as_str().into(),
            _ => {
                at -= 1;
                let message = assistant(pen, &plan.steps, &mut at, blocks);
                messages.push(message);
                continue;
            }
        };
        messages.push(object([("role", step.act.role().into()), ("content", content)]));
    }
    let mut said: Vec<_> = plan.steps.iter().map(Said::of).collect();
    let document = match messages.as_slice() {
        [one] if plan.tools.is_empty() && pen.one_in(2) => one.clone(),
        _ if plan.tools.is_empty() && pen.one_in(3) => messages.into(),
        _ => {
            let mut document = object([("messages", messages.into())]);
            if !plan.tools.is_empty() {
                document.set("tools", canonical::tools(pen, &plan.tools));
                said.clear();
            }
            if pen.one_in(2) {
                // What is told of them is a message of the developer's.
                document.set("enable_thinking", Json::Word(pen.pick(&["true", "false"])));
                said.clear();
            }
            document
        }
    };
    canonical::draft(pen, document, said)
}

/// What the assistant does up to the next message of somebody else: blocks, or a string and calls.
fn assistant(pen: &mut Pen<'_>, steps: &[Step], at: &mut usize, in_blocks: bool) -> Json {
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
            openai::calls(pen, steps, at, &mut message);
        }
        return message;
    }
    let mut blocks = Vec::new();
    let mut block = |kind: &str, key: &str, value: Json| {
        blocks.push(object([("type", kind.into()), (key, value)]));
    };
    let replies_outside = pen.one_in(3);
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
