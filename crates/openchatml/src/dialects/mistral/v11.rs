//! Version 11.

use super::tokens::V11;
use super::{TURNS, Weights, compose};
use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, TextForm};
use crate::grammar::sections::{
    Calls, Mark, Owner, Piece, Reasoning, Replies, Rules, Sections, Which,
};
use crate::rules::{Carries, Composer, Composing};
use crate::signs::{Case, Framing, Scan, TextSigns};
use crate::{Control, Section};

/// Mistral v11: tokens around each turn except that of the assistant, which has only an end token.
/// Calls have no end token, and can have ids.
///
/// A declaration of tools is a message of the system with the name `available_tools`.
///
/// ```
/// use openchatml::{Format, parse};
///
/// let text = "<s>[INST]Rain?[/INST][TOOL_CALLS]weather[CALL_ID]abcdefghi[ARGS]{}</s>\
///     [TOOL_RESULTS]abcdefghi[TOOL_CONTENT]Rain.[/TOOL_RESULTS]Yes.</s>";
/// let messages = parse(text, Format::MISTRAL_V11, &Default::default()).into_conversation().messages;
/// assert_eq!(messages[1].call_id.as_deref(), Some("abcdefghi"));
/// assert_eq!(messages[2].call_id.as_deref(), Some("abcdefghi"));
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "mistral-v11",
    aliases: &[],
    title: "Mistral v11",
    used_by: "Mistral Small 3.2, Devstral 2507 and Magistral 2506",
    carrier: Carrier::Text,
    controls: &V11,
    carries: &CARRIES,
    tools: ToolPlace::Conversation,
    dated: false,
    opening: None,
    text: Some(&TEXT),
    json: None,
};

static CARRIES: Carries = Carries { call_ids: true, ..super::CARRIES };

static TEXT: TextForm = TextForm {
    composer: Composing::UnlessRead(&COMPOSER),
    signs: TextSigns { framing: Framing::Pairs, look },
    ..RULES.text_form()
};

static COMPOSER: Composer = Composer {
    carries: &Carries { tools: true, call_ids: true, ..super::CARRIES },
    compose: |it, tools, options| compose::before_user(&RULES, Which::Last, it, tools, options),
};

static SECTIONS: Sections = Sections {
    reasoning: Reasoning {
        open: Mark::new(Control::OpenSection(Section::Reasoning), 0, 1),
        close: Mark::new(Control::CloseSection(Section::Reasoning), 1, 2),
        ..super::REASONING
    },
    answer: None,
    calls: Calls {
        pieces: &[
            Piece::NameAndId { id: Control::CallId, end: Control::Arguments },
            Piece::Arguments,
        ],
        ..super::CALLS
    },
    close: Control::Eos,
    prompts: super::PROMPTS,
};

static RULES: Rules = Rules {
    form: DIALECT.form(),
    controls: &V11,
    bos: Some((Control::Bos, Owner::Opening)),
    turns: &TURNS,
    sections: &SECTIONS,
    replies: Replies { content: Some(Control::Message), ..super::REPLIES },
    stops: &[Control::Eos],
};

static WEIGHTS: Weights = Weights {
    begins: 20,
    user: 18,
    calls: [70, 30],
    others: &[(Control::Arguments, 10), (Control::Message, 30)],
};

/// Adds the evidence, in which the token of ids is what calls look like.
fn look(scan: &Scan<'_>, case: &mut Case) {
    let control = Control::CallId;
    let text = format!("`{}`", V11.spelling(control).unwrap_or_default());
    super::look(&V11, &WEIGHTS, (text, scan.token(control)), scan, case);
}
