//! Version 13.

use super::tokens::V13;
use super::{TURNS, Weights, compose};
use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, TextForm};
use crate::grammar::sections::{Calls, Owner, Piece, Rules, Sections, Which};
use crate::rules::{Carries, Composer, Composing};
use crate::signs::{Case, Framing, Scan, TextSigns};
use crate::{Control, Section};

/// Mistral v13: tokens around each turn except that of the assistant, which has only an end token.
/// Calls have no end token.
///
/// A declaration of tools is a message of the system with the name `available_tools`.
///
/// ```
/// use openchatml::{Format, ReadOptions, parse};
///
/// let text = "[THINK]A tool.[/THINK][TOOL_CALLS]weather[ARGS]{\"city\": \"Paris\"}</s>";
/// let parsed = parse(text, Format::MISTRAL_V13, &ReadOptions::completion());
/// assert!(parsed.diagnostics.is_empty());
/// let messages = parsed.into_conversation().messages;
/// assert_eq!(messages[1].recipient.as_deref(), Some("functions.weather"));
/// assert_eq!(messages[1].body.text(), r#"{"city": "Paris"}"#);
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "mistral-v13",
    aliases: &[],
    title: "Mistral v13",
    used_by: "Magistral since 2507, Ministral 3 and Devstral 2",
    carrier: Carrier::Text,
    controls: &V13,
    carries: &super::CARRIES,
    tools: ToolPlace::Conversation,
    dated: false,
    opening: None,
    text: Some(&TEXT),
    json: None,
};

static TEXT: TextForm = TextForm {
    composer: Composing::UnlessRead(&COMPOSER),
    signs: TextSigns { framing: Framing::Pairs, look },
    ..RULES.text_form()
};

static COMPOSER: Composer = Composer {
    carries: &Carries { tools: true, call_ids: true, ..super::CARRIES },
    compose: |it, tools, options| compose::before_user(&RULES, Which::First, it, tools, options),
};

static SECTIONS: Sections = Sections {
    reasoning: super::REASONING,
    answer: None,
    calls: Calls {
        pieces: &[Piece::NameUpTo(Control::Arguments), Piece::Arguments],
        ..super::CALLS
    },
    close: Control::Eos,
    prompts: super::PROMPTS,
};

static RULES: Rules = Rules {
    form: DIALECT.form(),
    controls: &V13,
    bos: Some((Control::Bos, Owner::Opening)),
    turns: &TURNS,
    sections: &SECTIONS,
    replies: super::REPLIES,
    stops: &[Control::Eos],
};

static WEIGHTS: Weights = Weights {
    begins: 50,
    user: 20,
    calls: [20, 10],
    others: &[(Control::OpenSection(Section::Reasoning), 20)],
};

/// Adds the evidence, in which the token before arguments is what calls look like.
fn look(scan: &Scan<'_>, case: &mut Case) {
    let control = Control::Arguments;
    let text = format!("`{}`", V13.spelling(control).unwrap_or_default());
    super::look(&V13, &WEIGHTS, (text, scan.token(control)), scan, case);
}
