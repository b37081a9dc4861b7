//! Qwen 3.8.

use super::tokens::CONTROLS;
use super::{CARRIES, JSON, compose, pieces};
use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, TextForm};
use crate::grammar::sections::{NoReasoning, Opened, Piece, Rules, Sections};
use crate::rules::{Carries, Composer, Composing};
use crate::signs::{Framing, TextSigns};

/// Qwen 3.8: the format of Qwen 3.6. Prompts contain all reasoning, and a line with the effort.
///
/// ```
/// use openchatml::{Format, ReadOptions, parse};
///
/// let mut options = ReadOptions::completion();
/// options.in_reasoning = true; // The prompt ends in `<think>`.
/// let text = "A tool.\n</think>\n\n<tool_call>\n<function=weather>\n<parameter=city>\nParis\n\
///     </parameter>\n</function>\n</tool_call><|im_end|>";
/// let parsed = parse(text, Format::QWEN3_8, &options);
/// assert!(parsed.diagnostics.is_empty());
/// let messages = parsed.into_conversation().messages;
/// assert!(messages[0].is_reasoning());
/// assert_eq!(messages[1].body.text(), r#"{"city": "Paris"}"#);
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "qwen3.8",
    aliases: &[],
    title: "Qwen 3.8",
    used_by: "Qwen 3.8",
    carrier: Carrier::Text,
    controls: &CONTROLS,
    carries: &CARRIES,
    tools: ToolPlace::Conversation,
    dated: false,
    opening: None,
    text: Some(&TEXT),
    json: None,
};

static TEXT: TextForm = TextForm {
    composer: Composing::UnlessRead(&COMPOSER),
    signs: TextSigns { framing: Framing::Turns, look: |_, _| {} },
    ..RULES.text_form()
};

/// How a system message begins that has a sentence about the effort already.
const ABOUT_EFFORT: &str = "Reasoning effort is set to ";

/// What prompts say about the effort if the model thinks.
const EFFORT: &str = "Reasoning effort is set to xhigh. Please think carefully through the task, \
    validate key assumptions, consider plausible alternatives, and prioritize correctness, \
    consistency, and clarity in the final answer.";

static COMPOSER: Composer = Composer {
    carries: &Carries { tools: true, call_ids: true, ..CARRIES },
    compose: |it, tools, options| {
        // A conversion does not add to what the system has said.
        let thinks = options.thinking.unwrap_or(options.generation_prompt.is_some());
        let effort = if thinks { EFFORT } else { "" };
        let with_effort = |text: &str| match text.starts_with(ABOUT_EFFORT) {
            true => text.to_owned(),
            false => compose::joined(effort, text),
        };
        let open = |messages| match tools {
            [] if effort.is_empty() => Opened::new(messages),
            [] => Opened::changing(messages, "", with_effort),
            _ => Opened::declaring(messages, "", |system| {
                with_effort(&compose::lines(system, tools))
            }),
        };
        compose::compose(&RULES, it, open, options)
    },
};

static SECTIONS: Sections = super::thinking(NoReasoning::Pair, &PIECES);

static PIECES: [Piece; 4] = pieces(&JSON);

static RULES: Rules = super::rules(DIALECT.form(), &SECTIONS);
