//! Qwen3-Coder.

use super::tokens::CONTROLS;
use super::{CALLS, CARRIES, PROMPTS, PYTHON, PYTHON_WORDS, REASONING, Traits, compose, pieces};
use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, TextForm};
use crate::grammar::sections::{
    Calls, Mark, Opened, Piece, PromptEnd, Prompts, Replies, Rules, Sections,
};
use crate::rules::{Carries, Composer, Composing, History, kept_without_reasoning};
use crate::signs::{Framing, TextSigns};
use crate::{Control, Section};

/// Qwen3-Coder: the `<|im_start|>` framing, with calls whose arguments are parameters with raw
/// values, and tool replies in a turn of the user.
///
/// ```
/// use openchatml::{Format, ReadOptions, parse};
///
/// let text = "<tool_call>\n<function=weather>\n<parameter=city>\nParis\n</parameter>\n\
///     <parameter=days>\n3\n</parameter>\n</function>\n</tool_call><|im_end|>";
/// let parsed = parse(text, Format::QWEN3_CODER, &ReadOptions::completion());
/// assert!(parsed.diagnostics.is_empty());
/// let messages = parsed.into_conversation().messages;
/// assert_eq!(messages[0].recipient.as_deref(), Some("functions.weather"));
/// assert_eq!(messages[0].body.text(), r#"{"city": "Paris", "days": 3}"#);
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "qwen3-coder",
    aliases: &[],
    title: "Qwen3-Coder",
    used_by: "Qwen3-Coder",
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
    signs: TextSigns {
        framing: Framing::Turns,
        look: |scan, case| super::look(&Traits { thinks: false, words: PYTHON_WORDS }, scan, case),
    },
    // The template writes no reasoning.
    history: |_| History::Kept(kept_without_reasoning),
    ..RULES.text_form()
};

static COMPOSER: Composer = Composer {
    carries: &Carries { tools: true, call_ids: true, ..CARRIES },
    compose: |it, tools, options| {
        let open = |messages| match tools {
            [] => Opened::new(messages),
            _ => compose::declaring_elements(messages, tools),
        };
        compose::compose(&RULES, it, open, options)
    },
};

static SECTIONS: Sections = Sections {
    reasoning: REASONING,
    calls: Calls { pieces: &PIECES, ..CALLS },
    answer: None,
    close: Control::End,
    prompts: Prompts { thinks: false, ends: [PromptEnd::Turn, PromptEnd::Turn], ..PROMPTS },
};

static PIECES: [Piece; 4] = pieces(&PYTHON);

static RULES: Rules = Rules {
    // Only this template writes a line break behind each reply, and none before the first one.
    replies: Replies {
        item: Some((
            Mark::new(Control::OpenSection(Section::Reply), 0, 1),
            Mark::new(Control::CloseSection(Section::Reply), 1, 1),
        )),
        ..super::REPLIES
    },
    ..super::rules(DIALECT.form(), &SECTIONS)
};
