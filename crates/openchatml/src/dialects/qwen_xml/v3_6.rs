//! Qwen 3.6.

use super::tokens::CONTROLS;
use super::{CARRIES, JSON, JSON_WORDS, Traits, compose, pieces};
use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, TextForm};
use crate::grammar::sections::{NoReasoning, Opened, Piece, Rules, Sections};
use crate::rules::{Carries, Composer, Composing, History, kept_after_last_user};
use crate::signs::{Framing, TextSigns};

/// Qwen 3.6: the format of Qwen 3.5, in which values are JSON unless they are strings.
///
/// ```
/// use openchatml::{Format, ReadOptions, parse};
///
/// let mut options = ReadOptions::completion();
/// options.in_reasoning = true; // The prompt ends in `<think>`.
/// let text = "A tool.\n</think>\n\n<tool_call>\n<function=weather>\n<parameter=city>\nParis\n\
///     </parameter>\n</function>\n</tool_call><|im_end|>";
/// let parsed = parse(text, Format::QWEN3_6, &options);
/// assert!(parsed.diagnostics.is_empty());
/// let messages = parsed.into_conversation().messages;
/// assert!(messages[0].is_reasoning());
/// assert_eq!(messages[1].body.text(), r#"{"city": "Paris"}"#);
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "qwen3.6",
    aliases: &[],
    title: "Qwen 3.6",
    used_by: "Qwen 3.6",
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
        look: |scan, case| super::look(&Traits { thinks: true, words: JSON_WORDS }, scan, case),
    },
    history: |_| History::Kept(kept_after_last_user),
    ..RULES.text_form()
};

static COMPOSER: Composer = Composer {
    carries: &Carries { tools: true, call_ids: true, ..CARRIES },
    compose: |it, tools, options| {
        let open = |messages| match tools {
            [] => Opened::new(messages),
            _ => Opened::declaring(messages, "", |system| compose::lines(system, tools)),
        };
        compose::compose(&RULES, it, open, options)
    },
};

static SECTIONS: Sections = super::thinking(NoReasoning::AfterUser, &PIECES);

static PIECES: [Piece; 4] = pieces(&JSON);

static RULES: Rules = super::rules(DIALECT.form(), &SECTIONS);
