//! DeepSeek V3.2.

use super::compose;
use super::tokens::V3_2;
use super::{CARRIES, TURNS, look};
use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, TextForm};
use crate::grammar::sections::{Mark, Owner, Prompts, Replies, Rules, Sections};
use crate::model::Role;
use crate::rules::{Carries, Composer, Composing, History, kept_after_last_user};
use crate::signs::{Framing, TextSigns};
use crate::{Control, Section};

/// DeepSeek V3.2: the turns of [DeepSeek V3.1](super::super::DEEPSEEK_V3_1), with calls as tags that say
/// the types of their values, and a list of tool replies after the turn of the assistant.
///
/// ```
/// use openchatml::{Format, ReadOptions, parse};
///
/// let text = "\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"weather\">\n\
///     <｜DSML｜parameter name=\"city\" string=\"true\">Bern</｜DSML｜parameter>\n\
///     <｜DSML｜parameter name=\"days\" string=\"false\">3</｜DSML｜parameter>\n\
///     </｜DSML｜invoke>\n</｜DSML｜function_calls><｜end▁of▁sentence｜>";
/// let parsed = parse(text, Format::DEEPSEEK_V3_2, &ReadOptions::completion());
/// assert!(parsed.diagnostics.is_empty());
/// let messages = parsed.into_conversation().messages;
/// assert_eq!(messages[0].recipient.as_deref(), Some("functions.weather"));
/// assert_eq!(messages[0].body.text(), r#"{"city": "Bern", "days": 3}"#);
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "deepseek-v3.2",
    aliases: &[],
    title: "DeepSeek V3.2",
    used_by: "DeepSeek V3.2",
    carrier: Carrier::Text,
    controls: &V3_2,
    carries: &CARRIES,
    tools: ToolPlace::Conversation,
    dated: false,
    opening: None,
    text: Some(&TEXT),
    json: None,
};

static TEXT: TextForm = TextForm {
    composer: Composing::UnlessRead(&COMPOSER),
    signs: TextSigns { framing: Framing::Pairs, look: |scan, case| look(&V3_2, &TAGS, scan, case) },
    history: |_| History::Kept(kept_after_last_user),
    ..RULES.text_form()
};

static COMPOSER: Composer = Composer {
    carries: &Carries { tools: true, call_ids: true, ..CARRIES },
    compose: |it, tools, options| compose::joined(&RULES, it, tools, options),
};

/// The tags that no other dialect has.
static TAGS: [Control; 2] =
    [Control::OpenSection(Section::Calls), Control::OpenSection(Section::Replies)];

static SECTIONS: Sections = Sections {
    prompts: Prompts { goes_on: true, again: true, ..super::SECTIONS.prompts },
    ..super::SECTIONS
};

static RULES: Rules = Rules {
    form: DIALECT.form(),
    controls: &V3_2,
    bos: Some((Control::Bos, Owner::Opening)),
    turns: &TURNS,
    sections: &SECTIONS,
    replies: Replies {
        item: Some((
            Mark::new(Control::OpenSection(Section::Reply), 1, 0),
            Mark::plain(Control::CloseSection(Section::Reply)),
        )),
        list: Some((
            Mark::new(Control::OpenSection(Section::Replies), 2, 1),
            Mark::new(Control::CloseSection(Section::Replies), 1, 2),
        )),
        are_words: true,
        ..Replies::NONE
    },
    stops: &[Control::Close(Role::Assistant)],
};
