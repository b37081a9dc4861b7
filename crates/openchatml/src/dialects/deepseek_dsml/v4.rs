//! DeepSeek V4.

use super::compose;
use super::tokens::V4;
use super::{CARRIES, SECTIONS, TURNS, look};
use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, TextForm};
use crate::grammar::sections::{Mark, Owner, Replies, Rules};
use crate::model::Role;
use crate::rules::{Carries, Composer, Composing, History, kept_with_tools};
use crate::signs::{Framing, TextSigns};
use crate::{Control, Section};

/// DeepSeek V4: the calls of [DeepSeek V3.2](super::super::DEEPSEEK_V3_2) in another list, and tool
/// replies in a turn of the user.
///
/// ```
/// use openchatml::{Format, ReadOptions, parse};
///
/// let text = "\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"weather\">\n\
///     <｜DSML｜parameter name=\"city\" string=\"true\">Bern</｜DSML｜parameter>\n\
///     <｜DSML｜parameter name=\"days\" string=\"false\">3</｜DSML｜parameter>\n\
///     </｜DSML｜invoke>\n</｜DSML｜tool_calls><｜end▁of▁sentence｜>";
/// let parsed = parse(text, Format::DEEPSEEK_V4, &ReadOptions::completion());
/// assert!(parsed.diagnostics.is_empty());
/// let messages = parsed.into_conversation().messages;
/// assert_eq!(messages[0].recipient.as_deref(), Some("functions.weather"));
/// assert_eq!(messages[0].body.text(), r#"{"city": "Bern", "days": 3}"#);
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "deepseek-v4",
    aliases: &[],
    title: "DeepSeek V4",
    used_by: "DeepSeek V4",
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
    signs: TextSigns { framing: Framing::Pairs, look: |scan, case| look(&V4, &TAGS, scan, case) },
    history: |_| History::Kept(kept_with_tools),
    ..RULES.text_form()
};

static COMPOSER: Composer = Composer {
    carries: &Carries { tools: true, call_ids: true, ..CARRIES },
    compose: |it, tools, options| compose::joined(&RULES, it, tools, options),
};

/// The tags that no other dialect has.
static TAGS: [Control; 2] =
    [Control::OpenSection(Section::Calls), Control::OpenSection(Section::Reply)];

static RULES: Rules = Rules {
    form: DIALECT.form(),
    controls: &V4,
    bos: Some((Control::Bos, Owner::Opening)),
    turns: &TURNS,
    sections: &SECTIONS,
    replies: Replies {
        turn: Some(Role::User),
        item: Some((
            Mark::new(Control::OpenSection(Section::Reply), 2, 0),
            Mark::plain(Control::CloseSection(Section::Reply)),
        )),
        said: Some(2),
        are_words: true,
        ..Replies::NONE
    },
    stops: &[Control::Close(Role::Assistant)],
};
