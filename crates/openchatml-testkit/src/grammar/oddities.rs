//! Oddities that a grammar does not allow, or allows but rarely occur, as data; and damage to whole
//! texts.

use super::frames::Part;
use super::generator::{Generator, Shown};
use super::plan::Act;
use super::words;

/// An oddity of a frame.
struct Oddity {
    what: &'static str,
    acts: &'static [Act],
    part: Part,
    how: InsertionMode,
    /// The inserted text. `$` is replaced by a datum, `%` by a hidden datum.
    text: &'static str,
    /// Whether the specifications forbid it, so that strict reading must report an error.
    is_wrong: bool,
}

#[derive(Clone, Copy)]
enum InsertionMode {
    Instead,
    Before,
    After,
}

use InsertionMode::{After, Before, Instead};

const ASSISTANT: &[Act] = &[Act::Thought, Act::Preamble, Act::Note, Act::Call, Act::Answer];
const SPEAKERS: &[Act] =
    &[Act::System, Act::Developer, Act::User, Act::Thought, Act::Preamble, Act::Note, Act::Answer];
const SEEN: &[Act] = &[Act::Preamble, Act::Answer];

const fn odd(
    what: &'static str,
    acts: &'static [Act],
    part: Part,
    how: InsertionMode,
    text: &'static str,
) -> Oddity {
    Oddity { what, acts, part, how, text, is_wrong: true }
}

/// An oddity that the specifications allow or do not mention.
const fn open(
    what: &'static str,
    acts: &'static [Act],
    part: Part,
    how: InsertionMode,
    text: &'static str,
) -> Oddity {
    Oddity { is_wrong: false, ..odd(what, acts, part, how, text) }
}

/// OpenChatML 2.2 §5, §6, §7, §8, §15; HIP-1.
const OF_FRAMES: &[Oddity] = &[
    odd("two channels, one of them hidden", ASSISTANT, Part::Channel, After, "<|channel|>analysis"),
    odd("two channels, one of them final", ASSISTANT, Part::Channel, After, "<|channel|>final"),
    odd("unknown channel", ASSISTANT, Part::Channel, Instead, "<|channel|>Final"),
    odd("unknown channel with a datum", ASSISTANT, Part::Channel, Instead, "<|channel|>$"),
    open("no channel", ASSISTANT, Part::Channel, Instead, ""),
    open(
        "hidden message on final",
        &[Act::Thought, Act::Note],
        Part::Channel,
        Instead,
        "<|channel|>final",
    ),
    odd("unknown role", SPEAKERS, Part::Role, Instead, "narrator"),
    odd("role with a capital letter", SPEAKERS, Part::Role, Instead, "Assistant"),
    odd("role with a datum", SPEAKERS, Part::Role, Instead, "$"),
    open("no role", Act::ALL, Part::Role, Instead, ""),
    open("role of another", Act::ALL, Part::Role, Instead, "system"),
    odd("space before the role", Act::ALL, Part::Role, Before, " "),
    odd("two spaces", &[Act::Call, Act::Reply], Part::Attributes, Before, " "),
    open("space at the end of the header", Act::ALL, Part::Message, Before, " "),
    odd("line break in the header", Act::ALL, Part::Attributes, Before, "\n"),
    odd("line break after the channel", ASSISTANT, Part::Behind, Before, "\n"),
    odd("unknown attribute", Act::ALL, Part::Attributes, After, " mood=$"),
    odd("attribute without a value", Act::ALL, Part::Attributes, After, " name="),
    odd("stray word in the header", Act::ALL, Part::Attributes, After, " $"),
    odd("stray word after the channel", ASSISTANT, Part::Behind, After, " $"),
    odd("name twice", Act::ALL, Part::Attributes, After, " name=$ name=$"),
    odd("two intents", ASSISTANT, Part::Attributes, After, " intent=preamble intent=debug"),
    open("intent of reasoning", &[Act::Thought], Part::Attributes, After, " intent=preamble"),
    open("unknown intent", ASSISTANT, Part::Attributes, After, " intent=$"),
    open("recipient of an answer", SEEN, Part::Attributes, After, " to=$"),
    open("recipient without a channel tag", SEEN, Part::Channel, Instead, " to=functions.$"),
    odd("role of no grammar", &[Act::Reply], Part::Role, Instead, "functions.a$b"),
    open("recipient of no grammar", &[Act::Call], Part::Attributes, Instead, " to=functions.a$b"),
    odd("recipient that breaks off", &[Act::Call], Part::Attributes, Instead, " to="),
    odd(
        "channel glued to a recipient",
        &[Act::Call],
        Part::Channel,
        Instead,
        "<|channel|>commentaryto=functions.$",
    ),
    odd("recipient without to=", &[Act::Call], Part::Behind, Instead, " functions.$"),
    open(
        "call without an id",
        &[Act::Call, Act::Reply],
        Part::Attributes,
        Instead,
        " to=functions.$",
    ),
    odd("call on another channel", &[Act::Call], Part::Channel, Instead, "<|channel|>analysis"),
    odd(
        "two constraints",
        &[Act::Call],
        Part::Constrain,
        Instead,
        "<|constrain|>json<|constrain|>$",
    ),
    open("unknown constraint", ASSISTANT, Part::Constrain, Instead, "<|constrain|>$"),
    odd(
        "constraint that is not kept",
        &[Act::Thought, Act::Note, Act::Answer],
        Part::Constrain,
        Instead,
        "<|constrain|>json",
    ),
    odd("stop in the header", ASSISTANT, Part::Message, Before, "<|return|>"),
    odd("no <|message|>", Act::ALL, Part::Message, Instead, ""),
    odd("<|message|> twice", Act::ALL, Part::Message, After, "% <|message|>"),
    odd("marker in a visible text", SEEN, Part::Body, After, "<|start_reason|>%"),
    odd("marker before a visible text", SEEN, Part::Body, Before, "<|start_reflect|>%"),
    odd("control token in the body", Act::ALL, Part::Body, After, "<|channel|>%"),
    odd("control token before the body", Act::ALL, Part::Body, Before, "<|constrain|>"),
    odd("header in the body", ASSISTANT, Part::Body, After, "<|channel|>analysis<|message|>%"),
    odd(
        "visible header in the body",
        &[Act::Thought],
        Part::Body,
        After,
        "<|channel|>final<|message|>%",
    ),
    open("open literal block", Act::ALL, Part::Body, After, "<|literal|>%"),
    open(
        "literal block in a literal block",
        Act::ALL,
        Part::Body,
        After,
        "<|literal|><|literal|>%<|endliteral|>",
    ),
    odd("<|endliteral|> without a block", Act::ALL, Part::Body, Before, "<|endliteral|>"),
    open("body that is no JSON", &[Act::Call], Part::Body, Instead, "{\"q\": %"),
    open("JSON with a key twice", &[Act::Call], Part::Body, Instead, "{\"q\":\"%\",\"q\":1}"),
    open("empty body", Act::ALL, Part::Body, Instead, ""),
    open("no end", Act::ALL, Part::End, Instead, ""),
    open("another end", Act::ALL, Part::End, Instead, "<|end|>"),
    open("<|return|> of another", Act::ALL, Part::End, Instead, "<|return|>"),
    open("<|call|> of another", Act::ALL, Part::End, Instead, "<|call|>"),
    open("two ends", Act::ALL, Part::End, After, "<|end|>"),
    odd("text between frames", Act::ALL, Part::Between, After, "%"),
    odd("text like a header between frames", Act::ALL, Part::Between, After, "\n%: [1\n"),
    odd("control token between frames", Act::ALL, Part::Between, After, "<|message|>%"),
    odd("no <|start|>", Act::ALL, Part::Start, Instead, ""),
    odd("<|start|> twice", Act::ALL, Part::Start, Before, "<|start|>"),
    odd("message of nobody", Act::ALL, Part::Start, Before, "<|start|>assistant"),
    open(
        "sequence token of another dialect",
        Act::ALL,
        Part::Start,
        Before,
        "<|im_start|>user\n%<|im_end|>\n",
    ),
];

const MESSAGE: &str = "<|message|>";
const LITERAL: &str = "<|literal|>";

/// Adds an oddity to a frame of a dialect with these control tokens.
pub(super) fn of_frame(
    generator: &mut Generator<'_>,
    act: Act,
    tokens: &[&str],
    parts: &mut [String],
) {
    let fitting: Vec<_> = OF_FRAMES.iter().filter(|odd| odd.acts.contains(&act)).collect();
    let odd = generator.pick(&fitting);
    let text = filled(generator, odd.text);
    // In a body, a token of another dialect is text.
    let is_text = odd.part == Part::Body && !tokens.iter().any(|token| odd.text.contains(token));
    // A quoted token in the body takes the place of the missing one.
    let is_quoted = odd.part == Part::Message && parts[Part::Body as usize].contains(MESSAGE);
    let part = &mut parts[odd.part as usize];
    let is_first_channel = odd.part == Part::Channel && part.is_empty();
    // One space before a channel is allowed.
    let is_lone_space = odd.part == Part::Attributes && odd.text == " " && part.is_empty();
    // Everything after `<|literal|>` is text.
    let is_literal = odd.part == Part::Message && text.contains(LITERAL);
    let is_fine = is_text || is_quoted || is_literal || is_first_channel || is_lone_space;
    match odd.is_wrong && !is_fine {
        true => generator.violation(odd.what),
        false => generator.flaw(odd.what),
    }
    match odd.how {
        InsertionMode::Instead => *part = text,
        InsertionMode::Before => part.insert_str(0, &text),
        InsertionMode::After => part.push_str(&text),
    }
}

/// Oddities of `<|im_start|>` turns (OpenChatML 0.1 §3, §8): the name, whether strict reading must
/// report it, the index of the part in `turns::turn`, and the replacement (`&` is the original).
const OF_TURNS: &[(&str, bool, usize, &str)] = &[
    ("unknown role", true, 1, "narrator"),
    ("role with a capital letter", true, 1, "User"),
    ("role with a datum", true, 1, "$"),
    ("role of 2.x", true, 1, "developer"),
    ("no role", true, 1, ""),
    ("space before the role", true, 1, " &"),
    ("stray word in the header", true, 2, "& $"),
    ("name twice", true, 2, " name=$ name=$"),
    ("empty name", true, 2, " name="),
    ("unknown attribute", true, 2, "& mood=$"),
    ("no line break after the header", false, 3, ""),
    ("two line breaks after the header", false, 3, "\n\n"),
    ("space at the end of the header", false, 3, " \n"),
    ("sequence token in the content", false, 4, "&<s>%"),
    ("end of the sequence in the content", false, 4, "&</s>%"),
    ("message in the content", true, 4, "&<|im_start|>assistant\n%"),
    ("task in the content", false, 4, "<|fim_prefix|>&<|fim_middle|>%<|fim_suffix|>"),
    ("file in the content", false, 4, "&<|file_separator|>%"),
    ("no content", false, 4, ""),
    ("no end", false, 6, ""),
    ("two ends", false, 6, "<|im_end|><|im_end|>"),
    ("no start", true, 0, ""),
    ("two starts", true, 0, "<|im_start|><|im_start|>"),
    ("text between turns", true, 7, "&%\n"),
    ("end of the sequence between turns", false, 7, "&</s>"),
    ("sequence begins between turns", false, 7, "&<s>\n"),
];

/// Adds an oddity to a turn.
pub(super) fn of_turn(generator: &mut Generator<'_>, parts: &mut [String]) {
    let (what, is_wrong, part, template) = generator.pick(OF_TURNS);
    let text = filled(generator, template);
    parts[part] = text.replacen('&', &parts[part], 1);
    match is_wrong {
        true => generator.violation(what),
        false => generator.flaw(what),
    }
}

/// Oddities after any section of Apertus.
const OF_SECTIONS: &[(&str, &str)] = &[
    ("text between sections", "%"),
    ("line break between sections", "\n"),
    ("second beginning", "<s>"),
    ("section that is not closed", "<|inner_prefix|>%"),
    ("section that is not open", "<|inner_suffix|>"),
    ("message that is not closed", "<|user_start|>%"),
    ("message of the system in the middle", "<|system_start|>%<|system_end|>"),
    ("message of the developer in the middle", "<|developer_start|>%<|developer_end|>"),
    ("calls that are no JSON", "<|tools_prefix|>[{\"$\": %<|tools_suffix|>"),
    ("calls that are no list", "<|tools_prefix|>{\"$\": {}}<|tools_suffix|>"),
    ("call without a name", "<|tools_prefix|>[{}]<|tools_suffix|>"),
    ("call with two names", "<|tools_prefix|>[{\"$\": {}, \"$\": {}}]<|tools_suffix|>"),
    ("no calls", "<|tools_prefix|>[]<|tools_suffix|>"),
    ("no list of calls", "<|tools_prefix|><|tools_suffix|>"),
    ("replies to no calls", "<|tools_prefix|>[]<|tools_suffix|>[\"%\"]"),
    ("reply that is no JSON", "<|tools_prefix|><|tools_suffix|>[\"]%<|tools_suffix|>"),
    ("end of calls", "<|tools_suffix|>["),
    ("calls that break off", "<|tools_prefix|>[{\"$\": {\"q\":\"%"),
    ("reply to nothing", "[\"%\"]"),
    ("end of nothing", "<|assistant_end|>"),
    ("token of another dialect", "<|end|>"),
];

/// Adds an oddity after a section.
pub(super) fn of_sections(generator: &mut Generator<'_>, text: &mut String) {
    let (what, template) = generator.pick(OF_SECTIONS);
    text.push_str(&filled(generator, template));
    generator.flaw(what);
}

/// Fills data into a template.
pub(super) fn filled(generator: &mut Generator<'_>, template: &str) -> String {
    let mut text = String::new();
    for c in template.chars() {
        match c {
            '$' => text.push_str(&generator.datum()),
            '%' => text.push_str(&generator.text(Shown::Hidden)),
            c => text.push(c),
        }
    }
    text
}

/// Damages a text in a realistic way.
pub(super) fn damage(generator: &mut Generator<'_>, text: &str) -> String {
    let mut out = text.to_owned();
    for _ in 0..=generator.upto(1) {
        let mut place = || {
            let at = generator.upto(out.len());
            out.floor_char_boundary(at)
        };
        let (at, to) = (place(), place());
        let (at, to) = (at.min(to), at.max(to));
        match generator.upto(9) {
            0 => out.truncate(at),
            1 => drop(out.drain(at..to.min(out.floor_char_boundary(at + 16)))),
            2 => {
                let copy = out[at..to].to_owned();
                out.insert_str(at, &copy);
            }
            3 => out.insert_str(at, words::piece(&mut generator.source)),
            4 => {
                let tail = out.split_off(at);
                out.insert_str(0, &tail);
            }
            5 => {
                let [here, there] = [(); 2].map(|()| words::token(&mut generator.source));
                out = out.replacen(here, there, 1);
            }
            6 => {
                let token = words::token(&mut generator.source);
                out = out.replacen(token, "", 1);
            }
            7 => out.insert(0, '\u{feff}'),
            8 => out = out.replace('\n', "\r\n"),
            _ => out.insert_str(at, &generator.datum()),
        }
    }
    out
}
