//! Llama 4.

use super::tokens::V4;
use super::{CARRIES, JSON, METHOD, REASONING, REPLIES, TURNS, compose};
use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, TextForm};
use crate::grammar::sections::{
    Array, CallForm, Calls, Guard, Literals, Mark, Owner, Piece, Prompts, Rules, Sections,
};
use crate::rules::{Carries, Composer, Composing};
use crate::signs::{Framing, TextSigns};
use crate::{Control, Section};

/// Llama 4: a header with the role before each turn, and calls in the syntax of Python that are a
/// whole turn.
///
/// ```
/// use openchatml::{Format, ReadOptions, parse};
///
/// let options = ReadOptions::completion();
/// let parsed = parse("[weather(city='Paris'), now()]<|eot|>", Format::LLAMA_4, &options);
/// assert!(parsed.diagnostics.is_empty());
/// let messages = parsed.into_conversation().messages;
/// assert_eq!(messages[0].recipient.as_deref(), Some("functions.weather"));
/// assert_eq!(messages[0].body.text(), r#"{"city": "Paris"}"#);
/// assert_eq!(messages[1].body.text(), "{}");
/// // A list that is no list of calls is an answer.
/// let parsed = parse("[Paris](paris.html)<|eot|>", Format::LLAMA_4, &options);
/// assert!(!parsed.into_conversation().messages[0].is_call());
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "llama-4",
    aliases: &[],
    title: "Llama 4",
    used_by: "Llama 4 Scout and Maverick",
    carrier: Carrier::Text,
    controls: &V4,
    carries: &CARRIES,
    tools: ToolPlace::Conversation,
    dated: false,
    opening: None,
    text: Some(&TEXT),
    json: None,
};

static TEXT: TextForm = TextForm {
    composer: Composing::UnlessRead(&COMPOSER),
    signs: TextSigns { framing: Framing::Pairs, look: |scan, case| super::look(&V4, scan, case) },
    ..RULES.text_form()
};

static COMPOSER: Composer = Composer {
    carries: &Carries { tools: true, call_ids: true, ..CARRIES },
    compose: |it, tools, options| compose::compose(&RULES, compose::undated, it, tools, options),
};

static SECTIONS: Sections = Sections {
    reasoning: REASONING,
    calls: Calls {
        item: (
            Mark::plain(Control::OpenSection(Section::Call)),
            Some(Mark::plain(Control::CloseSection(Section::Call))),
        ),
        array: Some(Array { open: "[", between: ", ", close: ")]" }),
        pieces: &[
            Piece::PlainName,
            Piece::Word("("),
            Piece::Python(Literals::Repr),
            Piece::Word(")"),
        ],
        guard: Some(&Guard {
            bare: &[CallForm::Python, JSON],
            marked: &[CallForm::Python, JSON, METHOD],
        }),
        ..Calls::NONE
    },
    answer: None,
    close: Control::End,
    prompts: Prompts::NONE,
};

static RULES: Rules = Rules {
    form: DIALECT.form(),
    controls: &V4,
    bos: Some((Control::Bos, Owner::Opening)),
    turns: &TURNS,
    sections: &SECTIONS,
    replies: REPLIES,
    stops: &[Control::End, Control::Call],
};
