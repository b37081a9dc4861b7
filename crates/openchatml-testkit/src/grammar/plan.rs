//! What a conversation says, before a grammar spells it: who speaks in which order, and what for.

use super::pen::{Pen, Shown};

/// What a message is for. Formats differ in which of these they have, and in how they spell them.
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
    /// The acts of a format that has all.
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

    /// The role of who does it.
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
    /// The name of who speaks, where formats have names.
    pub(crate) name: Option<String>,
    /// The tool of a call or a reply, without a namespace.
    pub(crate) tool: String,
    /// The id of a call or a reply.
    pub(crate) id: String,
}

/// A function that is declared.
#[derive(Clone, Debug)]
pub(crate) struct Declared {
    pub(crate) name: String,
    pub(crate) description: String,
    /// A property of its arguments, a string.
    pub(crate) property: String,
}

/// A conversation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) steps: Vec<Step>,
    pub(crate) tools: Vec<Declared>,
}

/// Plans a conversation of these acts: rounds of a question, reasoning, calls with their replies,
/// and an answer (OpenChatML 2.2 §8.1).
pub(crate) fn plan(pen: &mut Pen<'_>, acts: &[Act]) -> Plan {
    let mut plan = Plan::default();
    let has = |act| acts.contains(&act);
    if has(Act::Call) && pen.one_in(3) {
        plan.tools.push(declared(pen));
    }
    let add = |pen: &mut Pen<'_>, steps: &mut Vec<Step>, act, one_in| {
        if has(act) && pen.one_in(one_in) {
            steps.push(step(pen, act));
        }
    };
    add(pen, &mut plan.steps, Act::System, 3);
    add(pen, &mut plan.steps, Act::Developer, 3);
    for _ in 0..=pen.upto(2) {
        add(pen, &mut plan.steps, Act::User, 1);
        add(pen, &mut plan.steps, Act::Thought, 2);
        add(pen, &mut plan.steps, Act::Note, 6);
        let replies_alone = !has(Act::Call);
        if !replies_alone && pen.one_in(2) {
            add(pen, &mut plan.steps, Act::Preamble, 3);
            calls(pen, &mut plan);
            add(pen, &mut plan.steps, Act::Thought, 3);
        } else if replies_alone {
            add(pen, &mut plan.steps, Act::Reply, 4);
        }
        add(pen, &mut plan.steps, Act::Answer, 1);
    }
    plan
}

/// One call or two, and their replies in any order.
fn calls(pen: &mut Pen<'_>, plan: &mut Plan) {
    let first = plan.steps.len();
    for _ in 0..=usize::from(pen.one_in(3)) {
        let mut call = step(pen, Act::Call);
        if let Some(tool) = plan.tools.first().filter(|_| pen.one_in(2)) {
            call.tool.clone_from(&tool.name);
        }
        plan.steps.push(call);
    }
    let calls = plan.steps[first..].to_vec();
    let mut replies: Vec<_> = calls.into_iter().map(|call| reply(pen, call)).collect();
    if pen.one_in(3) {
        replies.reverse();
    }
    plan.steps.append(&mut replies);
}

fn reply(pen: &mut Pen<'_>, call: Step) -> Step {
    let text = match pen.one_in(2) {
        true => format!("{{\"ok\":true,\"content\":\"{}\"}}", pen.hidden_datum()),
        false => pen.text(Shown::Hidden),
    };
    Step { act: Act::Reply, text, ..call }
}

fn step(pen: &mut Pen<'_>, act: Act) -> Step {
    let text = match act {
        Act::Call => arguments(pen),
        act => pen.text(act.shown()),
    };
    let name = (act == Act::User && pen.one_in(6)).then(|| pen.datum());
    let is_of_tool = matches!(act, Act::Call | Act::Reply);
    let mut word = |prefix: &str| match is_of_tool {
        true => format!("{prefix}{}", pen.datum()),
        false => String::new(),
    };
    Step { act, text, name, tool: word("f_"), id: word("c") }
}

/// The arguments of a call: a JSON object (RFC 8259).
fn arguments(pen: &mut Pen<'_>) -> String {
    let datum = pen.hidden_datum();
    const MORE: &[&str] = &[
        "",
        ",\"n\":1.50",
        ",\"deadline_ms\":100",
        ",\"x\":[null,true,{\"y\":\"é😀\"}]",
        ",\"e\":1e400",
        ",\"i\":12345678901234567890",
        ",\"u\":\"\\u003c|end|>\"",
    ];
    let more = pen.secretly(MORE);
    match pen.knobs.hostile {
        true => {
            let token = pen.secretly(&["<|end|>", "<|call|>", "<|tools_suffix|>", "]", "}]", "<"]);
            format!("{{\"q\": \"{datum}{token}\"{more}}}")
        }
        false => format!("{{\"q\":\"{datum}\"{more}}}"),
    }
}

fn declared(pen: &mut Pen<'_>) -> Declared {
    let [name, description, property] = [(); 3].map(|()| pen.datum());
    Declared { name: format!("f_{name}"), description, property }
}
