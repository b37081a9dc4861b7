//! Texts of frames: `<|start|>` header `<|message|>` body `<|end|>`.
//!
//! OpenChatML 2.2 (§2, §6, §15), OpenChatML 2.0 (§2, §6), Harmony (HIP-1: OpenChatML 2.2 §12) and
//! the text form of ChatML ("Grammar") share this grammar. [`Frames`] contains the differences.

use super::generator::{Generator, Shown};
use super::plan::{Act, Plan, Step, plan};
use super::{Draft, ExpectedMessage, oddities, words};

/// A dialect of frames.
pub(crate) struct Frames {
    /// The version in the YAML header, if there is a header (§2).
    version: Option<&'static str>,
    /// The spellings that are control tokens in a body.
    tokens: &'static [&'static str],
    acts: &'static [Act],
    /// `<<|start|>` and literal blocks (2.2 §3).
    escapes: bool,
    /// Markers of reasoning (2.x §7).
    markers: bool,
    /// `call_id=`, `intent=`, `content_type=` (2.2 §6).
    attributes: bool,
    /// `<|channel|>` (2.x §5).
    channels: bool,
    /// `<|constrain|>` (2.2 §6).
    constrains: bool,
    replies: Replies,
    names: Names,
    /// The end token of a message.
    end: &'static str,
    /// The allowed text between two frames.
    between: &'static [&'static str],
}

/// The role of replies of tools.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Replies {
    /// `tool name=functions.f` (2.2 §4), or the role of 2.0 for compatibility.
    Named,
    /// `functions.f` (2.0 §4, HIP-1 §3).
    Role,
}

/// How names of users are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    /// ` name=Eric`
    Attribute,
    /// `user:Eric`, as the reference renderer of Harmony writes it.
    Colon,
    /// `system:example_user` (ChatML, `RoleName`).
    Examples,
}

pub(crate) static OPENCHATML_2_2: Frames = Frames {
    version: Some("2.2"),
    tokens: words::OPENCHATML_2_2,
    acts: Act::ALL,
    escapes: true,
    markers: true,
    attributes: true,
    channels: true,
    constrains: true,
    replies: Replies::Named,
    names: Names::Attribute,
    end: "<|end|>",
    between: &["\n", "\n", "", "\n\n", " \t\r\n"],
};

pub(crate) static OPENCHATML_2_0: Frames = Frames {
    version: Some("2.0"),
    tokens: words::OPENCHATML_2_0,
    acts: &[
        Act::System,
        Act::Developer,
        Act::User,
        Act::Thought,
        Act::Call,
        Act::Reply,
        Act::Answer,
    ],
    escapes: false,
    attributes: false,
    constrains: false,
    replies: Replies::Role,
    ..OPENCHATML_2_2
};

pub(crate) static HARMONY: Frames = Frames {
    version: None,
    tokens: words::HARMONY,
    acts: &[
        Act::System,
        Act::Developer,
        Act::User,
        Act::Thought,
        Act::Preamble,
        Act::Call,
        Act::Reply,
        Act::Answer,
    ],
    escapes: false,
    markers: false,
    attributes: false,
    replies: Replies::Role,
    names: Names::Colon,
    between: &["", "", "\n"],
    ..OPENCHATML_2_2
};

pub(crate) static CHATML_WIRE: Frames = Frames {
    tokens: words::CHATML_WIRE,
    acts: &[Act::System, Act::User, Act::Answer],
    channels: false,
    constrains: false,
    names: Names::Examples,
    end: "<|end_message|>",
    between: &[""],
    ..HARMONY
};

/// The parts of a frame in their order, as places for oddities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Start,
    Role,
    Attributes,
    Channel,
    /// Attributes after the channel.
    Behind,
    Constrain,
    Message,
    Body,
    End,
    /// The text between this frame and the next.
    Between,
}

const PARTS: usize = Part::Between as usize + 1;

/// Writes a document.
pub(crate) fn write(frames: &Frames, generator: &mut Generator<'_>) -> Draft {
    let mut plan = plan(generator, frames.acts);
    if frames.end == CHATML_WIRE.end && generator.one_in(4) {
        example(generator, &mut plan);
    }
    let mut draft = Draft::default();
    if let Some(version) = frames.version {
        header(generator, version, &mut draft.text);
    }
    let count = plan.steps.len();
    for (at, step) in plan.steps.iter_mut().enumerate() {
        fit(frames, &mut step.text);
        if frames.names == Names::Examples && step.act != Act::System {
            step.name = None;
        }
        if frames.markers && step.act.role() == "assistant" {
            step.text = defuse(&step.text, words::MARKERS);
        }
        if step.act.role() == "assistant" {
            draft.spoken.get_or_insert(draft.text.len());
        }
        let parts = frame(frames, generator, step, at + 1 == count);
        draft.text.extend(parts);
        let name = step.name.clone();
        draft.said.push(ExpectedMessage { name, ..ExpectedMessage::of(step) });
    }
    draft
}

/// Generates a few-shot example of ChatML.
fn example(generator: &mut Generator<'_>, plan: &mut Plan) {
    let name = generator.pick(&["example_user", "example_assistant"]);
    let text = generator.text(Shown::Hidden);
    let step = Step {
        act: Act::System,
        text,
        name: Some(name.to_owned()),
        tool: String::new(),
        id: String::new(),
    };
    plan.steps.insert(0, step);
}

/// Changes a text so that the body of a frame can contain it.
fn fit(frames: &Frames, text: &mut String) {
    if !frames.escapes {
        *text = defuse(text, frames.tokens);
    }
}

/// Removes these spellings from a text.
pub(crate) fn defuse(text: &str, tokens: &[&str]) -> String {
    let mut text = text.to_owned();
    for token in tokens {
        let other = token.replacen('<', "(", 1);
        text = text.replace(token, &other);
    }
    text
}

/// Writes the YAML header (2.x §2), with or without fences, and with unknown keys.
fn header(generator: &mut Generator<'_>, version: &str, text: &mut String) {
    if generator.is_odd(6) {
        return generator.violation("no header");
    }
    let fence = if generator.one_in(6) { "---\n" } else { "" };
    text.push_str(&format!("{fence}version: {version}\n"));
    for _ in 0..generator.upto(2) {
        let datum = generator.datum();
        let line = match generator.upto(5) {
            0 => format!("model: {datum}\n"),
            1 => format!("x_{datum}: [1, {{a: {}}}]\n", generator.datum()),
            2 => format!("generation_settings:\n  temperature: 0.7\n  {datum}: ~\n"),
            3 => format!("\"{datum}\": |\n  a\n  b: {}\n", generator.datum()),
            4 => format!("{datum}: {}\n", generator.number()),
            _ => format!("? {datum}\n: 'it''s'\n"),
        };
        let key = line.split(':').next().unwrap_or_default();
        if !text.contains(key) {
            text.push_str(&line);
        }
    }
    text.push_str(fence);
    text.push_str(generator.pick(&["\n", "\n", ""]));
}

/// Writes one message.
fn frame(
    frames: &Frames,
    generator: &mut Generator<'_>,
    step: &Step,
    is_last: bool,
) -> [String; PARTS] {
    let mut parts = [const { String::new() }; PARTS];
    let mut set = |part: Part, text: String| parts[part as usize] = text;
    set(Part::Start, "<|start|>".to_owned());
    let role = role(frames, generator, step);
    let (before, behind) = attributes(frames, generator, step, &role);
    set(Part::Role, role);
    set(Part::Attributes, before);
    set(Part::Behind, behind);
    if let Some(channel) = channel(frames, generator, step) {
        set(Part::Channel, format!("<|channel|>{channel}"));
    }
    if frames.constrains && step.act == Act::Call && generator.one_in(2) {
        let space = if frames.attributes { "" } else { " " };
        set(Part::Constrain, format!("{space}<|constrain|>json"));
    }
    set(Part::Message, "<|message|>".to_owned());
    set(Part::Body, body(frames, generator, step));
    let end = match step.act {
        Act::Call if frames.attributes && generator.one_in(8) => "<|call|><|end|>",
        Act::Call => "<|call|>",
        Act::Answer if frames.channels && (is_last || generator.one_in(4)) => "<|return|>",
        _ => frames.end,
    };
    set(Part::End, end.to_owned());
    set(Part::Between, generator.pick(frames.between).to_owned());
    if generator.is_odd(6) {
        oddities::of_frame(generator, step.act, frames.tokens, &mut parts);
    }
    parts
}

fn role(frames: &Frames, generator: &mut Generator<'_>, step: &Step) -> String {
    let role = step.act.role();
    match (step.act, frames.names, &step.name) {
        (Act::Reply, ..) => match frames.replies {
            Replies::Named if !generator.one_in(6) => "tool".to_owned(),
            _ => format!("functions.{}", step.tool),
        },
        (_, Names::Colon | Names::Examples, Some(name)) => format!("{role}:{name}"),
        _ => role.to_owned(),
    }
}

/// Returns the attributes before and after the channel.
fn attributes(
    frames: &Frames,
    generator: &mut Generator<'_>,
    step: &Step,
    role: &str,
) -> (String, String) {
    let tool = format!("functions.{}", step.tool);
    let mut all = Vec::new();
    match step.act {
        Act::Call => {
            all.push(format!(" to={tool}"));
            if frames.attributes {
                all.push(format!(" call_id={}", step.id));
            }
        }
        Act::Reply => {
            if role == "tool" {
                all.push(format!(" name={tool}"));
            }
            if frames.attributes {
                all.push(format!(" call_id={}", step.id));
            }
            all.push(" to=assistant".to_owned());
        }
        Act::Preamble if frames.attributes => all.push(" intent=preamble".to_owned()),
        Act::Note => all.push(format!(" intent={}", generator.pick(&["status", "debug"]))),
        _ => {}
    }
    if let (Names::Attribute, Some(name)) = (frames.names, &step.name) {
        all.push(format!(" name={name}"));
    }
    if frames.attributes && step.act == Act::Answer && generator.one_in(8) {
        all.push(" content_type=markdown".to_owned());
    }
    if frames.attributes && generator.one_in(6) {
        all.reverse();
    }
    // HIP-1 §3: `to=` may follow the channel.
    let is_call = step.act == Act::Call;
    let cut = if is_call && frames.constrains && generator.one_in(4) { 0 } else { all.len() };
    let behind = all.split_off(cut).concat();
    (all.concat(), behind)
}

fn channel(frames: &Frames, generator: &mut Generator<'_>, step: &Step) -> Option<&'static str> {
    let channel = match step.act {
        _ if !frames.channels => return None,
        Act::System | Act::Developer | Act::User => return None,
        Act::Thought => "analysis",
        Act::Answer => "final",
        Act::Preamble | Act::Note | Act::Call | Act::Reply => "commentary",
    };
    // §5: a message without a channel is final.
    let may_lack = frames.version.is_some() && step.act == Act::Answer;
    (!(may_lack && generator.one_in(6))).then_some(channel)
}

/// Writes a body with one of the escapes (2.2 §3).
fn body(frames: &Frames, generator: &mut Generator<'_>, step: &Step) -> String {
    let is_hidden = step.act.shown() == Shown::Hidden;
    let mut choose = |n: usize| match is_hidden {
        true => generator.secretly(&[0, 1, 2, 3]) % n,
        false => generator.upto(n - 1),
    };
    let mut text = match frames.escapes {
        false => step.text.clone(),
        true if choose(4) == 0 && !step.text.contains("<|endliteral|>") => {
            format!("<|literal|>{}<|endliteral|>", step.text)
        }
        true => escaped(&step.text),
    };
    if frames.markers && step.act == Act::Thought && choose(4) == 0 {
        let marker = words::MARKERS[choose(3)];
        text = format!("{marker}{text}");
    }
    text
}

/// Adds a `<` before each control token. A `<` at the end would escape the following token.
fn escaped(text: &str) -> String {
    let stem = text.trim_end_matches('<');
    let mut out = stem.to_owned();
    for token in words::OPENCHATML_2_2 {
        out = out.replace(token, &format!("<{token}"));
    }
    match &text[stem.len()..] {
        "" => out,
        tail => format!("{out}<|literal|>{tail}<|endliteral|>"),
    }
}
