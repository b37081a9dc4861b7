//! Nemotron 3 Ultra.

use super::tokens::CONTROLS;
use super::{CARRIES, compose};
use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, TextForm};
use crate::grammar::sections::{Rules, Sections};
use crate::rules::{Carries, Composer, Composing, History, kept_after_last_user};
use crate::signs::{Framing, TextSigns};

/// Nemotron 3 Ultra: the format of Nemotron 3, without line breaks around the end of reasoning.
///
/// ```
/// use openchatml::{Format, ReadOptions, parse};
///
/// let mut options = ReadOptions::completion();
/// options.in_reasoning = true; // The prompt ends in `<think>`.
/// let text = "A tool.</think>\n<tool_call>\n<function=weather>\n<parameter=city>\nParis\n\
///     </parameter>\n</function>\n</tool_call>\n<|im_end|>";
/// let parsed = parse(text, Format::NEMOTRON_3_ULTRA, &options);
/// assert!(parsed.diagnostics.is_empty());
/// let messages = parsed.into_conversation().messages;
/// assert!(messages[0].is_reasoning());
/// assert_eq!(messages[1].body.text(), r#"{"city": "Paris"}"#);
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "nemotron-3-ultra",
    aliases: &[],
    title: "Nemotron 3 Ultra",
    used_by: "Nemotron 3 Ultra and 3.5",
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
    history: |_| History::Kept(kept_after_last_user),
    ..RULES.text_form()
};

static COMPOSER: Composer = Composer {
    carries: &Carries { tools: true, call_ids: true, ..CARRIES },
    compose: |it, tools, options| compose::compose(&RULES, it, tools, options),
};

static SECTIONS: Sections = super::sections(0, 0);

static RULES: Rules = super::rules(DIALECT.form(), &SECTIONS);
