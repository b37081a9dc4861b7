//! Llama 3.1, 3.2 and 3.3.

use super::tokens::V3;
use super::{CARRIES, JSON, METHOD, REASONING, REPLIES, TURNS, compose};
use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, TextForm};
use crate::grammar::sections::{
    Array, CallForm, Calls, Guard, Mark, Owner, Piece, Prompts, Rules, Sections,
};
use crate::rules::{Carries, Composer, Composing};
use crate::signs::{Framing, TextSigns};
use crate::{Control, Section};

/// Llama 3: a header with the role before each turn, and calls in JSON that are a whole turn.
///
/// ```
/// use openchatml::{Format, ReadOptions, parse};
///
/// let options = ReadOptions::completion();
/// let text = "{\"name\": \"weather\", \"parameters\": {\"city\": \"Paris\"}}<|eot_id|>";
/// let parsed = parse(text, Format::LLAMA_3, &options);
/// assert!(parsed.diagnostics.is_empty());
/// let messages = parsed.into_conversation().messages;
/// assert_eq!(messages[0].recipient.as_deref(), Some("functions.weather"));
/// assert_eq!(messages[0].body.text(), r#"{"city": "Paris"}"#);
/// // JSON without the keys of a call is an answer.
/// let parsed = parse("{\"capital\": \"Paris\"}<|eot_id|>", Format::LLAMA_3, &options);
/// assert!(!parsed.into_conversation().messages[0].is_call());
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "llama-3",
    aliases: &[],
    title: "Llama 3",
    used_by: "Llama 3.1, 3.2 and 3.3",
    carrier: Carrier::Text,
    controls: &V3,
    carries: &CARRIES,
    tools: ToolPlace::Conversation,
    dated: true,
    opening: None,
    text: Some(&TEXT),
    json: None,
};

static TEXT: TextForm = TextForm {
    composer: Composing::UnlessRead(&COMPOSER),
    signs: TextSigns { framing: Framing::Pairs, look: |scan, case| super::look(&V3, scan, case) },
    ..RULES.text_form()
};

static COMPOSER: Composer = Composer {
    carries: &Carries { tools: true, call_ids: true, ..CARRIES },
    compose: |it, tools, options| compose::compose(&RULES, compose::dated, it, tools, options),
};

static SECTIONS: Sections = Sections {
    reasoning: REASONING,
    calls: Calls {
        item: (Mark::plain(Control::OpenSection(Section::Call)), None),
        array: Some(Array { open: "", between: "; ", close: "}" }),
        pieces: &[
            Piece::Json("{\"name\": "),
            Piece::Name,
            Piece::Json(", \"parameters\": "),
            Piece::Arguments,
            Piece::Json("}"),
        ],
        // The small models of Llama 3.2 write a list in the syntax of Python.
        guard: Some(&Guard {
            bare: &[JSON, CallForm::Python],
            marked: &[JSON, CallForm::Python, METHOD],
        }),
        ..Calls::NONE
    },
    answer: None,
    close: Control::End,
    prompts: Prompts::NONE,
};

static RULES: Rules = Rules {
    form: DIALECT.form(),
    controls: &V3,
    bos: Some((Control::Bos, Owner::Opening)),
    turns: &TURNS,
    sections: &SECTIONS,
    replies: REPLIES,
    stops: &[Control::End, Control::Call],
};
