//! LFM2.

use super::tokens::V2;
use super::{CARRIES, SECTIONS, compose};
use crate::check::CheckRules;
use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, TextForm};
use crate::grammar::sections::{self, Mark, Replies, Rules};
use crate::lex::Mode;
use crate::model::{FormId, Role};
use crate::rules::{Carries, Completion, Composer, History, kept_without_reasoning};
use crate::signs::{Framing, TextSigns};
use crate::{Control, Section};

/// LFM2: the `<|im_start|>` framing, calls in the syntax of Python between two tokens, and tool replies
/// in turns of their own, each between two tokens.
///
/// ```
/// use openchatml::{Format, ReadOptions, parse};
///
/// let text = "<|tool_call_start|>[weather(city='Paris')]<|tool_call_end|><|im_end|>";
/// let parsed = parse(text, Format::LFM2, &ReadOptions::completion());
/// assert!(parsed.diagnostics.is_empty());
/// let messages = parsed.into_conversation().messages;
/// assert_eq!(messages[0].recipient.as_deref(), Some("functions.weather"));
/// assert_eq!(messages[0].body.text(), r#"{"city": "Paris"}"#);
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "lfm2",
    aliases: &[],
    title: "LFM2",
    used_by: "LFM2",
    carrier: Carrier::Text,
    controls: &V2,
    carries: &CARRIES,
    tools: ToolPlace::Conversation,
    dated: false,
    opening: None,
    text: Some(&TEXT),
    json: None,
};

static TEXT: TextForm = TextForm {
    id: RULES.form,
    controls: &V2,
    header: None,
    legacy: None,
    completion: Mode::Body,
    checks: &CHECKS,
    reader: |_, options, _| Box::new(sections::reader(&RULES, options)),
    write: |_, document, options, sink| sections::write(&RULES, document, options, sink),
    composer: Some(|it, _| COMPOSER.unless_read(it, RULES.form)),
    signs: TextSigns {
        framing: Framing::Turns,
        look: |scan, case| super::look(&V2, |_| false, scan, case),
    },
    stripped: None,
    history: |_| History::Kept(kept_without_reasoning),
    stops: &[Control::End, Control::Eos],
    framing: Some(Completion::Sections(&SECTIONS)),
};

static COMPOSER: Composer = Composer {
    carries: &Carries { tools: true, call_ids: true, ..CARRIES },
    compose: |it, tools, options| {
        compose::compose(&RULES, ["<|tool_list_start|>", "<|tool_list_end|>"], it, tools, options)
    },
};

static CHECKS: CheckRules = CheckRules::by_order(&V2);

static RULES: Rules = super::rules(
    FormId::new("lfm2"),
    &V2,
    Replies {
        turn: Some(Role::Tool),
        item: Some((
            Mark::plain(Control::OpenSection(Section::Reply)),
            Mark::plain(Control::CloseSection(Section::Reply)),
        )),
        alone: true,
        ..Replies::NONE
    },
);
