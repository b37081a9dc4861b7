//! Version 7.

use super::tokens::V7;
use super::{TURNS, Weights, compose};
use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, TextForm};
use crate::grammar::sections::{
    Array, Calls, Mark, Owner, Piece, Reasoning, Replies, Rules, Sections, Which,
};
use crate::rules::{Carries, Composer, Composing};
use crate::signs::{Case, Framing, Scan, TextSigns};
use crate::{Control, Section};

/// Mistral v7: tokens around each turn except that of the assistant, which has only an end token.
/// Calls are objects of a JSON list. Completions of versions 2 and 3 are the same.
///
/// A declaration of tools is a message of the system with the name `available_tools`.
///
/// ```
/// use openchatml::{Format, parse};
///
/// let text = "<s>[INST]Rain?[/INST][TOOL_CALLS][{\"name\": \"weather\", \"arguments\": {}, \"id\": \"abcdefghi\"}]</s>\
///     [TOOL_RESULTS]abcdefghi[TOOL_CONTENT]Rain.[/TOOL_RESULTS]Yes.</s>";
/// let messages = parse(text, Format::MISTRAL_V7, &Default::default()).into_conversation().messages;
/// assert_eq!(messages[1].call_id.as_deref(), Some("abcdefghi"));
/// assert_eq!(messages[2].call_id.as_deref(), Some("abcdefghi"));
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "mistral-v7",
    aliases: &[],
    title: "Mistral v7",
    used_by: "Mistral Large 2411 and Mistral Small 2501",
    carrier: Carrier::Text,
    controls: &V7,
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
        array: Some(Array { open: "[", between: ", ", close: "]" }),
        pieces: &[
            Piece::Json("{\"name\": "),
            Piece::Name,
            Piece::Json(", \"arguments\": "),
            Piece::Arguments,
        ],
        ..super::CALLS
    },
    close: Control::Eos,
    prompts: super::PROMPTS,
};

static RULES: Rules = Rules {
    form: DIALECT.form(),
    controls: &V7,
    bos: Some((Control::Bos, Owner::Opening)),
    turns: &TURNS,
    sections: &SECTIONS,
    replies: Replies { content: Some(Control::Message), ..super::REPLIES },
    stops: &[Control::Eos],
};

static WEIGHTS: Weights =
    Weights { begins: 15, user: 16, calls: [75, 28], others: &[(Control::Message, 20)] };

/// Adds the evidence, in which a list is what calls look like.
fn look(scan: &Scan<'_>, case: &mut Case) {
    let call = Control::OpenSection(Section::Call);
    let list = scan.token(call).filter(|span| {
        let rest = scan.text.get(span.end..).unwrap_or_default();
        rest.trim_ascii_start().starts_with('[')
    });
    let text = format!("a list after `{}`", V7.spelling(call).unwrap_or_default());
    super::look(&V7, &WEIGHTS, (text, list), scan, case);
}
