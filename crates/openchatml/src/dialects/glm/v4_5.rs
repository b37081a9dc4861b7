//! GLM 4.5.

use super::tokens::CONTROLS;
use super::{CALLS, CARRIES, PROMPTS, REASONING, compose};
use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, TextForm};
use crate::grammar::sections::{
    Calls, Mark, NoReasoning, Opening, Piece, PromptEnd, Prompts, Reasoning, Rules, Sections, Turn,
};
use crate::model::Role;
use crate::rules::{Carries, Composer, Composing, History, Parameters, Tag, kept_after_last_user};
use crate::signs::{Framing, TextSigns};
use crate::{Control, Section};

/// GLM 4.5: a token before each role's text, reasoning in the assistant's turn, calls whose arguments
/// are keys and raw values, and tool replies in a turn of the tools.
///
/// ```
/// use openchatml::{Format, ReadOptions, parse};
///
/// let text = "\n<think>A tool.</think>\n<tool_call>weather\n<arg_key>city</arg_key>\n\
///     <arg_value>Paris</arg_value>\n</tool_call><|endoftext|>";
/// let parsed = parse(text, Format::GLM_4_5, &ReadOptions::completion());
/// assert!(parsed.diagnostics.is_empty());
/// let messages = parsed.into_conversation().messages;
/// assert_eq!(messages[1].recipient.as_deref(), Some("functions.weather"));
/// assert_eq!(messages[1].body.text(), r#"{"city": "Paris"}"#);
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "glm-4.5",
    aliases: &[],
    title: "GLM 4.5",
    used_by: "GLM 4.5 and 4.6",
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
    signs: TextSigns { framing: Framing::Pairs, look: |scan, case| super::look(true, scan, case) },
    history: |_| History::Kept(kept_after_last_user),
    ..RULES.text_form()
};

static COMPOSER: Composer = Composer {
    carries: &Carries { tools: true, call_ids: true, ..CARRIES },
    compose: |it, tools, options| compose::compose(&RULES, FORM, it, tools, options),
};

/// What the declaration of tools says about calls.
const FORM: &str = "<tool_call>{function-name}\n<arg_key>{arg-key-1}</arg_key>\n\
    <arg_value>{arg-value-1}</arg_value>\n<arg_key>{arg-key-2}</arg_key>\n\
    <arg_value>{arg-value-2}</arg_value>\n...\n</tool_call>";

static SECTIONS: Sections = Sections {
    reasoning: Reasoning {
        close: Mark::new(Control::CloseSection(Section::Reasoning), 0, 1),
        none: NoReasoning::Pair,
        ..REASONING
    },
    calls: Calls {
        item: (
            Mark::new(Control::OpenSection(Section::Call), 1, 0),
            Some(Mark::plain(Control::CloseSection(Section::Call))),
        ),
        lead: 1,
        pieces: &[Piece::NameBefore("\n"), Piece::Parameters(&PARAMETERS)],
        ..CALLS
    },
    answer: None,
    close: Control::Eos,
    prompts: Prompts { ends: [PromptEnd::Turn, PromptEnd::Pair], ..PROMPTS },
};

static PARAMETERS: Parameters = Parameters {
    name_end: Tag::Token(Mark::new(Control::CloseSection(Section::Key), 0, 1)),
    close: Tag::Token(Mark::new(Control::CloseSection(Section::Value), 0, 1)),
    ..super::PARAMETERS
};

static TURNS: [Turn; 4] = super::turns([
    Opening::Line(Control::Open(Role::System)),
    Opening::Line(Control::Open(Role::User)),
    Opening::Line(Control::Open(Role::Assistant)),
    Opening::Line(Control::Open(Role::Tool)),
]);

static RULES: Rules = super::rules(DIALECT.form(), &TURNS, &SECTIONS, 1);
