//! GLM 4.7.

use super::tokens::CONTROLS;
use super::{CALLS, CARRIES, PROMPTS, REASONING, compose};
use crate::Control;
use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, TextForm};
use crate::grammar::sections::{Calls, Opening, Piece, PromptEnd, Prompts, Rules, Sections, Turn};
use crate::model::Role;
use crate::rules::{Carries, Composer, Composing, History, kept_after_last_user};
use crate::signs::{Framing, TextSigns};

/// GLM 4.7: the format of GLM 4.5 without line breaks. A turn without reasoning begins with
/// `</think>`.
///
/// ```
/// use openchatml::{Format, ReadOptions, parse};
///
/// let mut options = ReadOptions::completion();
/// options.in_reasoning = true; // The prompt ends in `<think>`.
/// let text = "A tool.</think><tool_call>weather<arg_key>city</arg_key>\
///     <arg_value>Paris</arg_value></tool_call><|endoftext|>";
/// let parsed = parse(text, Format::GLM_4_7, &options);
/// assert!(parsed.diagnostics.is_empty());
/// let messages = parsed.into_conversation().messages;
/// assert!(messages[0].is_reasoning());
/// assert_eq!(messages[1].body.text(), r#"{"city": "Paris"}"#);
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "glm-4.7",
    aliases: &[],
    title: "GLM 4.7",
    used_by: "GLM 4.7 and 5",
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
    signs: TextSigns { framing: Framing::Pairs, look: |scan, case| super::look(false, scan, case) },
    history: |_| History::Kept(kept_after_last_user),
    ..RULES.text_form()
};

static COMPOSER: Composer = Composer {
    carries: &Carries { tools: true, call_ids: true, ..CARRIES },
    compose: |it, tools, options| compose::compose(&RULES, FORM, it, tools, options),
};

/// What the declaration of tools says about calls.
const FORM: &str = "<tool_call>{function-name}<arg_key>{arg-key-1}</arg_key>\
    <arg_value>{arg-value-1}</arg_value><arg_key>{arg-key-2}</arg_key>\
    <arg_value>{arg-value-2}</arg_value>...</tool_call>";

static SECTIONS: Sections = Sections {
    reasoning: REASONING,
    calls: Calls {
        pieces: &[Piece::NameBefore(""), Piece::Parameters(&super::PARAMETERS)],
        ..CALLS
    },
    answer: None,
    close: Control::Eos,
    prompts: Prompts { ends: [PromptEnd::Open, PromptEnd::Close], ..PROMPTS },
};

static TURNS: [Turn; 4] = super::turns([
    Opening::Mark(Control::Open(Role::System)),
    Opening::Mark(Control::Open(Role::User)),
    Opening::Mark(Control::Open(Role::Assistant)),
    Opening::Mark(Control::Open(Role::Tool)),
]);

static RULES: Rules = super::rules(DIALECT.form(), &TURNS, &SECTIONS, 0);
