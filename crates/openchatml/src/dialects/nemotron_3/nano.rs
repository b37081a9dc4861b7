//! Nemotron 3.

use super::tokens::CONTROLS;
use super::{CARRIES, compose};
use crate::Control;
use crate::check::CheckRules;
use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, TextForm};
use crate::grammar::sections::{self, Rules, Sections};
use crate::lex::Mode;
use crate::model::FormId;
use crate::rules::{Carries, Completion, Composer, History, kept_after_last_user};
use crate::signs::{Framing, TextSigns};

/// Nemotron 3: the `<|im_start|>` framing, reasoning in the assistant's turn, and calls whose arguments
/// are parameters with raw values.
///
/// ```
/// use openchatml::{Format, ReadOptions, parse};
///
/// let mut options = ReadOptions::completion();
/// options.in_reasoning = true; // The prompt ends in `<think>`.
/// let text = "A tool.\n</think>\n<tool_call>\n<function=weather>\n<parameter=city>\nParis\n\
///     </parameter>\n</function>\n</tool_call>\n<|im_end|>";
/// let parsed = parse(text, Format::NEMOTRON_3, &options);
/// assert!(parsed.diagnostics.is_empty());
/// let messages = parsed.into_conversation().messages;
/// assert!(messages[0].is_reasoning());
/// assert_eq!(messages[1].body.text(), r#"{"city": "Paris"}"#);
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "nemotron-3",
    aliases: &[],
    title: "Nemotron 3",
    used_by: "Nemotron 3 Nano and Super",
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
    id: RULES.form,
    controls: &CONTROLS,
    header: None,
    legacy: None,
    completion: Mode::Body,
    checks: &CHECKS,
    reader: |_, options, _| Box::new(sections::reader(&RULES, options)),
    write: |_, document, options, sink| sections::write(&RULES, document, options, sink),
    composer: Some(|it, _| COMPOSER.unless_read(it, RULES.form)),
    signs: TextSigns { framing: Framing::Turns, look: |_, _| {} },
    stripped: None,
    history: |_| History::Kept(kept_after_last_user),
    stops: &[Control::End, Control::Eos],
    framing: Some(Completion::Sections(&SECTIONS)),
};

static COMPOSER: Composer = Composer {
    carries: &Carries { tools: true, call_ids: true, ..CARRIES },
    compose: |it, tools, options| compose::compose(&RULES, it, tools, options),
};

static CHECKS: CheckRules = CheckRules::by_order(&CONTROLS);

static SECTIONS: Sections = super::sections(1, 1);

static RULES: Rules = super::rules(FormId::new("nemotron-3"), &SECTIONS);
