//! LFM2.

use super::tokens::V2;
use super::{CARRIES, compose};
use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, TextForm};
use crate::grammar::sections::{Mark, Replies, Rules};
use crate::model::Role;
use crate::rules::{Carries, Composer, Composing, History, kept_without_reasoning};
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
    composer: Composing::UnlessRead(&COMPOSER),
    signs: TextSigns {
        framing: Framing::Turns,
        look: |scan, case| super::look(&V2, |_| false, scan, case),
    },
    history: |_| History::Kept(kept_without_reasoning),
    ..RULES.text_form()
};

static COMPOSER: Composer = Composer {
    carries: &Carries { tools: true, call_ids: true, ..CARRIES },
    compose: |it, tools, options| {
        compose::compose(&RULES, ["<|tool_list_start|>", "<|tool_list_end|>"], it, tools, options)
    },
};

static RULES: Rules = super::rules(
    DIALECT.form(),
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
