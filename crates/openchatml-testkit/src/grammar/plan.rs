//! The plan of a conversation before a grammar writes it: the order of speakers and the purpose of
//! each message.

use super::generator::{Generator, Shown};

/// The purpose of a message. Formats support different purposes, and write them differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    System,
    Developer,
    User,
    /// Private reasoning.
    Thought,
    /// Commentary that a user may see.
    Preamble,
    /// Commentary that no user may see (OpenChatML 2.2 §6, intents `status` and `debug`).
    Note,
    Call,
    Reply,
    Answer,
}

impl Act {
    /// All purposes.
    pub(crate) const ALL: &'static [Self] = &[
        Self::System,
        Self::Developer,
        Self::User,
        Self::Thought,
        Self::Preamble,
        Self::Note,
        Self::Call,
        Self::Reply,
        Self::Answer,
    ];

    /// Returns the role.
    pub(crate) fn role(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Developer => "developer",
            Self::User => "user",
            Self::Reply => "tool",
            Self::Thought | Self::Preamble | Self::Note | Self::Call | Self::Answer => "assistant",
        }
    }

    /// Whether a user may see it (OpenChatML 2.2 §4, §5, §6).
    pub(crate) fn shown(self) -> Shown {
        match self {
            Self::User | Self::Answer | Self::Preamble => Shown::User,
            _ => Shown::Hidden,
        }
    }
}

/// One message.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) act: Act,
    pub(crate) text: String,
    /// The name of the speaker, for formats with names.
    pub(crate) name: Option<String>,
    /// The tool of a call or a reply, without a namespace.
    pub(crate) tool: String,
    /// The id of a call or a reply.
    pub(crate) id: String,
}

/// A declared function.
#[derive(Clone, Debug)]
pub(crate) struct Declared {
    pub(crate) name: String,
    pub(crate) description: String,
    /// The name of a string property of its arguments.
    pub(crate) property: String,
}

/// A conversation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) steps: Vec<Step>,
    pub(crate) tools: Vec<Declared>,
}

/// Plans a conversation with these purposes: rounds of a question, reasoning, calls with replies,
/// and an answer (OpenChatML 2.2 §8.1).
pub(crate) fn plan(generator: &mut Generator<'_>, acts: &[Act]) -> Plan {
    let mut plan = Plan::default();
    let has = |act| acts.contains(&act);
    if has(Act::Call) && generator.one_in(3) {
        plan.tools.push(declared(generator));
    }
    let add = |generator: &mut Generator<'_>, steps: &mut Vec<Step>, act, one_in| {
        if has(act) && generator.one_in(one_in) {
            steps.push(step(generator, act));
        }
    };
    add(generator, &mut plan.steps, Act::System, 3);
    add(generator, &mut plan.steps, Act::Developer, 3);
    for _ in 0..=generator.upto(2) {
        add(generator, &mut plan.steps, Act::User, 1);
        add(generator, &mut plan.steps, Act::Thought, 2);
        add(generator, &mut plan.steps, Act::Note, 6);
        let replies_alone = !has(Act::Call);
        if !replies_alone && generator.one_in(2) {
            add(generator, &mut plan.steps, Act::Preamble, 3);
            calls(generator, &mut plan);
            add(generator, &mut plan.steps, Act::Thought, 3);
        } else if replies_alone {
            add(generator, &mut plan.steps, Act::Reply, 4);
        }
        add(generator, &mut plan.steps, Act::Answer, 1);
    }
    plan
}

/// Plans one or two calls with replies in any order.
fn calls(generator: &mut Generator<'_>, plan: &mut Plan) {
    let first = plan.steps.len();
    for _ in 0..=usize::from(generator.one_in(3)) {
        let mut call = step(generator, Act::Call);
        if let Some(tool) = plan.tools.first().filter(|_| generator.one_in(2)) {
            call.tool.clone_from(&tool.name);
        }
        plan.steps.push(call);
    }
    let calls = plan.steps[first..].to_vec();
    let mut replies: Vec<_> = calls.into_iter().map(|call| reply(generator, call)).collect();
    if generator.one_in(3) {
        replies.reverse();
    }
    plan.steps.append(&mut replies);
}

fn reply(generator: &mut Generator<'_>, call: Step) -> Step {
    let text = match generator.one_in(2) {
        true => format!("{{\"ok\":true,\"content\":\"{}\"}}", generator.hidden_datum()),
        false => generator.text(Shown::Hidden),
    };
    Step { act: Act::Reply, text, ..call }
}

fn step(generator: &mut Generator<'_>, act: Act) -> Step {
    let text = match act {
        Act::Call => arguments(generator),
        act => generator.text(act.shown()),
    };
    let name = (act == Act::User && generator.one_in(6)).then(|| generator.datum());
    let is_of_tool = matches!(act, Act::Call | Act::Reply);
    let mut word = |prefix: &str| match is_of_tool {
        true => format!("{prefix}{}", generator.datum()),
        false => String::new(),
    };
    Step { act, text, name, tool: word("f_"), id: word("c") }
}

/// Generates the arguments of a call: a JSON object (RFC 8259).
fn arguments(generator: &mut Generator<'_>) -> String {
    let datum = generator.hidden_datum();
    const MORE: &[&str] = &[
        "",
        ",\"n\":1.50",
        ",\"deadline_ms\":100",
        ",\"x\":[null,true,{\"y\":\"é😀\"}]",
        ",\"e\":1e400",
        ",\"i\":12345678901234567890",
        ",\"u\":\"\\u003c|end|>\"",
    ];
    let more = generator.secretly(MORE);
    match generator.generator_options.hostile {
        true => {
            let token =
                generator.secretly(&["<|end|>", "<|call|>", "<|tools_suffix|>", "]", "}]", "<"]);
            format!("{{\"q\": \"{datum}{token}\"{more}}}")
        }
        false => format!("{{\"q\":\"{datum}\"{more}}}"),
    }
}

fn declared(generator: &mut Generator<'_>) -> Declared {
    let [name, description, property] = [(); 3].map(|()| generator.datum());
    Declared { name: format!("f_{name}"), description, property }
}
