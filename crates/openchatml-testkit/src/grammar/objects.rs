//! JSON of OpenChatML: one object for each message (2.2 §10) or for each turn (2.0 §10).

use super::frames::defuse;
use super::generator::Generator;
use super::json::{Json, object};
use super::openai;
use super::plan::{Act, Step, plan};
use super::{Draft, ExpectedMessage, canonical, words};

/// `openchatml-2.2:json`.
pub(crate) fn write_2_2(generator: &mut Generator<'_>) -> Draft {
    let plan = plan(generator, Act::ALL);
    let mut objects: Vec<Json> = Vec::new();
    let mut steps = plan.steps.iter().peekable();
    while let Some(step) = steps.next() {
        let goes_on = |next: &&Step| matches!(next.act, Act::Preamble | Act::Answer | Act::Call);
        match steps.peek().filter(|next| step.act == Act::Thought && goes_on(next)) {
            Some(next) if generator.one_in(2) => {
                let mut message = of_message(generator, next);
                message.set("thinking", step.text.as_str());
                objects.push(message);
                steps.next();
            }
            _ => objects.push(of_message(generator, step)),
        }
    }
    let said = plan.steps.iter().map(ExpectedMessage::of).collect();
    let document = match objects.as_slice() {
        [one] if generator.one_in(2) => one.clone(),
        _ => objects.into(),
    };
    canonical::draft(generator, document, said)
}

fn of_message(generator: &mut Generator<'_>, step: &Step) -> Json {
    let mut message = object([("role", step.act.role().into())]);
    if let Some(name) = &step.name {
        message.set("name", name.as_str());
    }
    let channel = match step.act {
        Act::System | Act::Developer | Act::User => None,
        Act::Thought => Some("analysis"),
        Act::Answer => Some("final"),
        _ => Some("commentary"),
    };
    if let Some(channel) = channel {
        message.set("channel", channel);
    }
    let tool = format!("functions.{}", step.tool);
    match step.act {
        Act::Call => {
            let call = object([
                ("id", step.id.as_str().into()),
                ("recipient", tool.into()),
                ("content_type", "json".into()),
                ("arguments", step.text.as_str().into()),
            ]);
            message.set("tool_call", call);
            if generator.is_odd(6) {
                generator.flaw("content beside a call");
                message.set("content", generator.datum());
            }
            return message;
        }
        Act::Reply => {
            message.set("name", tool);
            message.set("call_id", step.id.as_str());
            message.set("recipient", "assistant");
        }
        Act::Preamble => message.set("intent", "preamble"),
        Act::Note => message.set("intent", generator.pick(&["status", "debug"])),
        Act::Answer if generator.one_in(4) => message.set("end", "return"),
        _ => {}
    }
    odd_words(generator, &mut message);
    message.set("content", canonical::content(generator, step));
    message
}

/// Adds values that JSON can represent but a header of the text form cannot.
fn odd_words(generator: &mut Generator<'_>, message: &mut Json) {
    if !generator.is_odd(8) {
        return;
    }
    let datum = generator.datum();
    let (what, key, value) = match generator.upto(4) {
        0 => ("space in a name", "name", format!("{datum} b")),
        1 => ("space in a call id", "call_id", format!("{datum} b")),
        2 => ("control token in a name", "name", format!("{datum}<|end|>")),
        3 => ("open end in the middle", "end", "open".to_owned()),
        _ => ("line break in a content type", "content_type", format!("{datum}\n")),
    };
    generator.violation(what);
    message.set(key, value);
}

/// `openchatml-2.0:json`.
pub(crate) fn write_2_0(generator: &mut Generator<'_>) -> Draft {
    let acts =
        [Act::System, Act::Developer, Act::User, Act::Thought, Act::Call, Act::Reply, Act::Answer];
    let mut plan = plan(generator, &acts);
    for step in plan.steps.iter_mut().filter(|step| step.act == Act::Thought) {
        // A string marks the place of a marker only by its spelling.
        step.text = defuse(&step.text, words::MARKERS);
    }
    let mut turns: Vec<Json> = Vec::new();
    let mut at = 0;
    while let Some(step) = plan.steps.get(at) {
        let mut turn = object([("role", step.act.role().into())]);
        at += 1;
        match step.act {
            Act::Thought => {
                turn.set("thinking", step.text.as_str());
                match plan.steps.get(at).map(|next| next.act) {
                    Some(Act::Answer) if generator.one_in(2) => {
                        turn.set("content", plan.steps[at].text.as_str());
                        at += 1;
                    }
                    Some(Act::Call) if generator.one_in(2) => {
                        openai::calls(generator, &plan.steps, &mut at, &mut turn);
                    }
                    _ => {}
                }
            }
            Act::Call => {
                at -= 1;
                openai::calls(generator, &plan.steps, &mut at, &mut turn);
                if generator.is_odd(4) {
                    // The example of §10 has all three in one object.
                    generator.flaw("content beside calls");
                    let text = if generator.one_in(2) { String::new() } else { generator.datum() };
                    turn.set("content", text);
                }
            }
            Act::Reply => {
                turn.set("name", format!("functions.{}", step.tool));
                turn.set("tool_call_id", step.id.as_str());
                turn.set("content", step.text.as_str());
            }
            _ => {
                if let Some(name) = &step.name {
                    turn.set("name", name.as_str());
                }
                turn.set("content", step.text.as_str());
            }
        }
        turns.push(turn);
    }
    let said = plan.steps.iter().map(ExpectedMessage::of).collect();
    let document = match turns.as_slice() {
        [one] if generator.one_in(2) => one.clone(),
        _ => turns.into(),
    };
    canonical::draft(generator, document, said)
}
