//! LFM2.5.

use super::tokens::V2_5;
use super::{CARRIES, compose};
use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, TextForm};
use crate::grammar::sections::{Replies, Rules};
use crate::model::Role;
use crate::rules::{Carries, Composer, Composing, History, kept_after_last_user};
use crate::signs::{Framing, Scan, TextSigns};
use crate::{Control, Section};

/// LFM2.5: the format of [LFM2](super::V2) with reasoning, and without tokens around tools and replies.
///
/// ```
/// use openchatml::{Format, ReadOptions, parse};
///
/// let text = "<think>A tool.</think><|tool_call_start|>[weather(city='Paris')]<|tool_call_end|>\
///     <|im_end|>";
/// let parsed = parse(text, Format::LFM2_5, &ReadOptions::completion());
/// assert!(parsed.diagnostics.is_empty());
/// let messages = parsed.into_conversation().messages;
/// assert!(messages[0].is_reasoning());
/// assert_eq!(messages[1].body.text(), r#"{"city": "Paris"}"#);
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "lfm2.5",
    aliases: &[],
    title: "LFM2.5",
    used_by: "LFM2.5",
    carrier: Carrier::Text,
    controls: &V2_5,
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
        look: |scan, case| super::look(&V2_5, is_of_lfm2, scan, case),
    },
    history: |_| History::Kept(kept_after_last_user),
    ..RULES.text_form()
};

static COMPOSER: Composer = Composer {
    carries: &Carries { tools: true, call_ids: true, ..CARRIES },
    compose: |it, tools, options| compose::compose(&RULES, [""; 2], it, tools, options),
};

static RULES: Rules =
    super::rules(DIALECT.form(), &V2_5, Replies { turn: Some(Role::Tool), ..Replies::NONE });

/// Whether a text has the tokens of LFM2 around tools or replies.
fn is_of_lfm2(scan: &Scan<'_>) -> bool {
    let tokens = [Section::Unknown, Section::Declaration].map(Control::OpenSection);
    tokens.iter().any(|control| scan.token(*control).is_some())
}
