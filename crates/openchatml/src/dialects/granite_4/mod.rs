//! Granite 4, as IBM's chat template writes it.

mod compose;
mod tokens;

use self::tokens::CONTROLS;
use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, TextForm};
use crate::grammar::sections::{
    Calls, InnerCalls, Mark, NoReasoning, Opening, OtherNames, Piece, Prompts, Reasoning, Replies,
    Rules, Sections, Title, Turn,
};
use crate::model::{End, Role};
use crate::rules::{Carries, Composing, History, kept_without_reasoning};
use crate::signs::{Case, Framing, Scan, TextSigns};
use crate::{Control, Section};

/// Granite 4: a header with the role before each turn, calls in JSON as in [Qwen 3](super::QWEN3), and
/// tool replies in a turn of the user.
///
/// ```
/// use openchatml::{Format, ReadOptions, parse};
///
/// let text = "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Paris\"}}\n\
///     </tool_call><|end_of_text|>";
/// let parsed = parse(text, Format::GRANITE_4, &ReadOptions::completion());
/// assert!(parsed.diagnostics.is_empty());
/// let messages = parsed.into_conversation().messages;
/// assert_eq!(messages[0].recipient.as_deref(), Some("functions.weather"));
/// assert_eq!(messages[0].body.text(), r#"{"city": "Paris"}"#);
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "granite-4",
    aliases: &[],
    title: "Granite 4",
    used_by: "IBM Granite 4.0",
    carrier: Carrier::Text,
    controls: &CONTROLS,
    carries: &CARRIES,
    tools: ToolPlace::Conversation,
    dated: false,
    opening: None,
    text: Some(&TEXT),
    json: None,
};

static CARRIES: Carries = Carries {
    roles: &[Role::System, Role::User, Role::Assistant, Role::Tool],
    ends: &[End::End, End::Call, End::Open, End::Prompt],
    open_roles: Role::ALL,
    ..Carries::SECTIONS
};

static TEXT: TextForm = TextForm {
    composer: Composing::UnlessRead(&compose::COMPOSER),
    signs: TextSigns { framing: Framing::Pairs, look },
    history: |_| History::Kept(kept_without_reasoning),
    ..RULES.text_form()
};

static SECTIONS: Sections = Sections {
    // The template has none. The vocabulary has the tokens, and tuned models write them.
    reasoning: Reasoning {
        open: Mark::plain(Control::OpenSection(Section::Reasoning)),
        close: Mark::plain(Control::CloseSection(Section::Reasoning)),
        none: NoReasoning::Nothing,
        stays_open: false,
        calls: InnerCalls::Uncertain,
        ended_by: &[],
    },
    answer: None,
    calls: Calls {
        item: (
            Mark::new(Control::OpenSection(Section::Call), 1, 1),
            Some(Mark::new(Control::CloseSection(Section::Call), 1, 0)),
        ),
        lead: 1,
        lead_after_reasoning: Some(0),
        pieces: &[
            Piece::Json("{\"name\": "),
            Piece::Name,
            Piece::Json(", \"arguments\": "),
            Piece::Arguments,
            Piece::Json("}"),
        ],
        ..Calls::NONE
    },
    close: Control::End,
    prompts: Prompts { can_open: true, ..Prompts::NONE },
};

static RULES: Rules = Rules {
    form: DIALECT.form(),
    controls: &CONTROLS,
    bos: None,
    turns: &[
        turn(Role::System, &title("system")),
        turn(Role::User, &title("user")),
        turn(Role::Assistant, &title("assistant")),
        // A template that does not know replies writes them in a turn of the tool.
        turn(Role::Tool, &title("tool")),
    ],
    sections: &SECTIONS,
    replies: Replies {
        turn: Some(Role::User),
        item: Some((
            Mark::new(Control::OpenSection(Section::Reply), 1, 1),
            Mark::new(Control::CloseSection(Section::Reply), 1, 0),
        )),
        lead: 1,
        ..Replies::NONE
    },
    stops: &[Control::End],
};

const fn turn(role: Role, title: &'static Title) -> Turn {
    Turn {
        role,
        opening: Opening::Titled(title),
        close: Some(Mark::new(Control::End, 0, 1)),
        may_stay_open: false,
    }
}

const fn title(name: &'static str) -> Title {
    Title {
        open: Control::Start,
        name,
        end: Control::Message,
        heading: None,
        after: 0,
        others: OtherNames::Unknown,
    }
}

/// Adds the evidence: the tokens around headers and turns.
fn look(scan: &Scan<'_>, case: &mut Case) {
    let token = |control| format!("`{}`", CONTROLS.spelling(control).unwrap_or_default());
    let calls = Control::OpenSection(Section::Call);
    if let Some((control, span)) = scan.completion {
        // Other models write calls and reasoning in the same tokens.
        let weight = if scan.token(Control::End).is_some() && control == calls { 60 } else { 10 };
        let text = format!("a completion begins with {}", token(control));
        return case.sign(weight, text, Some(span));
    }
    if scan.begins_with(Control::Start).is_none() {
        return;
    }
    for control in [Control::Start, Control::Message, Control::End] {
        case.sign(40, token(control), scan.token(control));
    }
}
