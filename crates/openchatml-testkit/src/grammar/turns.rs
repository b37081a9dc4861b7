//! Texts of turns: `<|im_start|>` role, a line break, content, `<|im_end|>`.
//!
//! OpenChatML 0.1 (§3, §4; its tasks §5 and files §6), and the compact framing without `<s>` that
//! models use (`chatml`, decision 24).

use super::frames::defuse;
use super::pen::Pen;
use super::plan::{Act, Step, plan};
use super::{Draft, Said, oddities, words};

/// A dialect of turns.
pub(crate) struct Turns {
    tokens: &'static [&'static str],
    /// What begins and ends a conversation.
    sequence: Option<(&'static str, &'static str)>,
    /// Whether a line break before `<|im_end|>` belongs to the framing.
    spaced: bool,
}

pub(crate) static OPENCHATML_0_1: Turns =
    Turns { tokens: words::OPENCHATML_0_1, sequence: Some(("<s>", "</s>")), spaced: true };

pub(crate) static CHATML: Turns = Turns { tokens: words::CHATML, sequence: None, spaced: false };

const ACTS: &[Act] = &[Act::System, Act::User, Act::Reply, Act::Answer];

pub(crate) fn write(turns: &Turns, pen: &mut Pen<'_>) -> Draft {
    let has_more = turns.sequence.is_some();
    match pen.upto(if has_more { 7 } else { 5 }) {
        6 => Draft { text: task(pen), ..Draft::default() },
        7 => files(turns, pen),
        _ => conversation(turns, pen),
    }
}

fn conversation(turns: &Turns, pen: &mut Pen<'_>) -> Draft {
    let line = pen.pick(&["\n", "\n", "\n", "\r\n"]);
    let mut draft = Draft::default();
    let (open, close) = turns.sequence.unwrap_or_default();
    if turns.sequence.is_some() {
        draft.text = format!("{open}{line}");
    }
    let mut plan = plan(pen, ACTS);
    if pen.one_in(20) {
        plan.steps.clear();
    }
    for step in &mut plan.steps {
        step.text = defuse(&step.text, turns.tokens);
        let line = if pen.is_odd(6) { mixed(pen, line) } else { line };
        draft.text.extend(turn(turns, pen, step, line));
        draft.said.push(Said::of(step));
    }
    if turns.sequence.is_some() {
        let last = pen.pick(&[line, line, ""]);
        draft.text.push_str(&format!("{close}{last}"));
    }
    draft
}

/// The other line break.
fn mixed(pen: &mut Pen<'_>, line: &str) -> &'static str {
    pen.flaw("mixed line breaks");
    if line == "\n" { "\r\n" } else { "\n" }
}

/// The parts of a turn: start, role, name, line break, content, line break, end, line break.
fn turn(turns: &Turns, pen: &mut Pen<'_>, step: &Step, line: &str) -> [String; 8] {
    let name = match &step.name {
        Some(name) => format!(" name={name}"),
        None if step.act == Act::Reply && pen.one_in(2) => format!(" name={}", step.tool),
        None => String::new(),
    };
    let ends_in_break = step.text.ends_with('\n') || step.text.ends_with('\r');
    // The choice is made in any case: hidden text must not change what is drawn.
    let may_be_compact = pen.one_in(6);
    let is_compact = !turns.spaced || may_be_compact && !ends_in_break;
    let before_end = if is_compact { "" } else { line };
    let between = pen.pick(&[line, line, line, "", "\n\n"]);
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
    if pen.is_odd(6) {
        oddities::of_turn(pen, &mut parts);
    }
    parts
}

/// A fill-in-the-middle task, in one of the three orders (§5; decision 20).
fn task(pen: &mut Pen<'_>) -> String {
    let [prefix, suffix, middle] = [(); 3].map(|()| pen.datum());
    let middle = if pen.one_in(2) { middle } else { String::new() };
    let (p, s, m) = ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>");
    let text = match pen.upto(2) {
        0 => format!("{p}{prefix}{m}{middle}{s}{suffix}"),
        1 => format!("{p}{prefix}{s}{suffix}{m}{middle}"),
        _ => format!("{s}{suffix}{p}{prefix}{m}{middle}"),
    };
    if !pen.is_odd(3) {
        return text;
    }
    pen.flaw("task without a part");
    let token = pen.pick(&[p, s, m]);
    text.replacen(token, "", 1)
}

/// A multi-file sequence (§6).
fn files(turns: &Turns, pen: &mut Pen<'_>) -> Draft {
    let parts: Vec<_> = (0..2 + pen.upto(2))
        .map(|_| match pen.upto(4) {
            0 => task(pen),
            1 => conversation(turns, pen).text.trim_end_matches(['\r', '\n']).to_owned(),
            2 => pen.pick(&["", " ", "\n", "a\n"]).to_owned(),
            _ => {
                let text = pen.text(super::Shown::User);
                defuse(&text, turns.tokens)
            }
        })
        .collect();
    let separator =
        pen.pick(&["\n<|file_separator|>\n", "<|file_separator|>", "\r\n<|file_separator|>\r\n"]);
    Draft { text: parts.join(separator), ..Draft::default() }
}
