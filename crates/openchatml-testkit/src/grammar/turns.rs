//! Texts of turns: `<|im_start|>` role, a line break, content, `<|im_end|>`.
//!
//! OpenChatML 0.1 (§3, §4; its tasks §5 and files §6), and the compact framing without `<s>` that
//! models use (`chatml`, decision 24).

use super::frames::defuse;
use super::generator::Generator;
use super::plan::{Act, Step, plan};
use super::{Draft, ExpectedMessage, oddities, words};

/// A dialect of turns.
pub(crate) struct Turns {
    tokens: &'static [&'static str],
    /// The tokens at the beginning and at the end of a conversation.
    sequence: Option<(&'static str, &'static str)>,
    /// Whether a line break before `<|im_end|>` belongs to the framing.
    spaced: bool,
}

pub(crate) static OPENCHATML_0_1: Turns =
    Turns { tokens: words::OPENCHATML_0_1, sequence: Some(("<s>", "</s>")), spaced: true };

pub(crate) static CHATML: Turns = Turns { tokens: words::CHATML, sequence: None, spaced: false };

const ACTS: &[Act] = &[Act::System, Act::User, Act::Reply, Act::Answer];

pub(crate) fn write(turns: &Turns, generator: &mut Generator<'_>) -> Draft {
    let has_more = turns.sequence.is_some();
    match generator.upto(if has_more { 7 } else { 5 }) {
        6 => Draft { text: task(generator), ..Draft::default() },
        7 => files(turns, generator),
        _ => conversation(turns, generator),
    }
}

fn conversation(turns: &Turns, generator: &mut Generator<'_>) -> Draft {
    let line = generator.pick(&["\n", "\n", "\n", "\r\n"]);
    let mut draft = Draft::default();
    let (open, close) = turns.sequence.unwrap_or_default();
    if turns.sequence.is_some() {
        draft.text = format!("{open}{line}");
    }
    let mut plan = plan(generator, ACTS);
    if generator.one_in(20) {
        plan.steps.clear();
    }
    for step in &mut plan.steps {
        step.text = defuse(&step.text, turns.tokens);
        let line = if generator.is_odd(6) { mixed(generator, line) } else { line };
        draft.text.extend(turn(turns, generator, step, line));
        draft.said.push(ExpectedMessage::of(step));
    }
    if turns.sequence.is_some() {
        let last = generator.pick(&[line, line, ""]);
        draft.text.push_str(&format!("{close}{last}"));
    }
    draft
}

/// Returns the other line break now and then.
fn mixed(generator: &mut Generator<'_>, line: &str) -> &'static str {
    generator.flaw("mixed line breaks");
    if line == "\n" { "\r\n" } else { "\n" }
}

/// Writes the parts of a turn: start, role, name, line break, content, line break, end, line break.
fn turn(turns: &Turns, generator: &mut Generator<'_>, step: &Step, line: &str) -> [String; 8] {
    let name = match &step.name {
        Some(name) => format!(" name={name}"),
        None if step.act == Act::Reply && generator.one_in(2) => format!(" name={}", step.tool),
        None => String::new(),
    };
    let ends_in_break = step.text.ends_with('\n') || step.text.ends_with('\r');
    // The choice is always made, because hidden text must not change the random choices.
    let may_be_compact = generator.one_in(6);
    let is_compact = !turns.spaced || may_be_compact && !ends_in_break;
    let before_end = if is_compact { "" } else { line };
    let between = generator.pick(&[line, line, line, "", "\n\n"]);
    let mut parts = [
        "<|im_start|>",
        step.act.role(),
        &name,
        line,
        &step.text,
        before_end,
        "<|im_end|>",
        between,
    ]
    .map(str::to_owned);
    if generator.is_odd(6) {
        oddities::of_turn(generator, &mut parts);
    }
    parts
}

/// Writes a fill-in-the-middle task, in one of the three orders (§5; decision 20).
fn task(generator: &mut Generator<'_>) -> String {
    let [prefix, suffix, middle] = [(); 3].map(|()| generator.datum());
    let middle = if generator.one_in(2) { middle } else { String::new() };
    let (p, s, m) = ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>");
    let text = match generator.upto(2) {
        0 => format!("{p}{prefix}{m}{middle}{s}{suffix}"),
        1 => format!("{p}{prefix}{s}{suffix}{m}{middle}"),
        _ => format!("{s}{suffix}{p}{prefix}{m}{middle}"),
    };
    if !generator.is_odd(3) {
        return text;
    }
    generator.flaw("task without a part");
    let token = generator.pick(&[p, s, m]);
    text.replacen(token, "", 1)
}

/// Writes a multi-file sequence (§6).
fn files(turns: &Turns, generator: &mut Generator<'_>) -> Draft {
    let parts: Vec<_> = (0..2 + generator.upto(2))
        .map(|_| match generator.upto(4) {
            0 => task(generator),
            1 => conversation(turns, generator).text.trim_end_matches(['\r', '\n']).to_owned(),
            2 => generator.pick(&["", " ", "\n", "a\n"]).to_owned(),
            _ => {
                let text = generator.text(super::Shown::User);
                defuse(&text, turns.tokens)
            }
        })
        .collect();
    let separator = generator.pick(&[
        "\n<|file_separator|>\n",
        "<|file_separator|>",
        "\r\n<|file_separator|>\r\n",
    ]);
    Draft { text: parts.join(separator), ..Draft::default() }
}
