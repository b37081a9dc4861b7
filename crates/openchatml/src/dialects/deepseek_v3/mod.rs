//! DeepSeek V3 and R1, as their chat templates write it.

mod compose;
mod tokens;

use self::tokens::CONTROLS;
use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, TextForm};
use crate::grammar::sections::{
    Calls, InnerCalls, Mark, NoReasoning, Opening, Owner, Piece, PromptEnd, Prompts, Reasoning,
    Replies, Rules, Sections, Turn,
};
use crate::model::{End, Role};
use crate::rules::{Carries, Composing, History, kept_without_reasoning};
use crate::signs::{Case, Framing, Scan, TextSigns};
use crate::{Control, Section};

/// DeepSeek V3 and R1: the turns of [DeepSeek V3.1](super::DEEPSEEK_V3_1), with reasoning on lines of its
/// own, arguments in a fence, and tool replies in a list.
///
/// ```
/// use openchatml::{Format, ReadOptions, parse};
///
/// let text = "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n\
///     ```json\n{\"city\": \"Bern\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>";
/// let parsed = parse(text, Format::DEEPSEEK_V3, &ReadOptions::completion());
/// assert!(parsed.diagnostics.is_empty());
/// let messages = parsed.into_conversation().messages;
/// assert_eq!(messages[0].recipient.as_deref(), Some("functions.weather"));
/// assert_eq!(messages[0].body.text(), r#"{"city": "Bern"}"#);
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "deepseek-v3",
    aliases: &[],
    title: "DeepSeek V3",
    used_by: "DeepSeek V3 and R1",
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
    // Messages of other roles have no end token.
    open_roles: &[Role::Assistant, Role::Tool],
    ..Carries::SECTIONS
};

static TEXT: TextForm = TextForm {
    composer: Composing::UnlessRead(&compose::COMPOSER),
    signs: TextSigns { framing: Framing::Pairs, look },
    history: |_| History::Kept(kept_without_reasoning),
    ..RULES.text_form()
};

static SECTIONS: Sections = Sections {
    reasoning: Reasoning {
        open: Mark::new(Control::OpenSection(Section::Reasoning), 0, 1),
        close: Mark::new(Control::CloseSection(Section::Reasoning), 1, 2),
        none: NoReasoning::Nothing,
        stays_open: false,
        calls: InnerCalls::Uncertain,
        ended_by: &[],
    },
    answer: None,
    calls: Calls {
        list: Some((
            Mark::plain(Control::OpenSection(Section::Calls)),
            Mark::plain(Control::CloseSection(Section::Calls)),
        )),
        item: (
            Mark::new(Control::OpenSection(Section::Call), 1, 0),
            Some(Mark::plain(Control::CloseSection(Section::Call))),
        ),
        pieces: &[
            Piece::Word("function"),
            Piece::Token(Control::Arguments),
            Piece::NameBefore("\n```json\n"),
            Piece::Arguments,
            Piece::Word("\n```"),
        ],
        namespace: "functions",
        ..Calls::NONE
    },
    close: Control::Close(Role::Assistant),
    prompts: Prompts {
        thinks: false,
        ends: [PromptEnd::Open, PromptEnd::Turn],
        goes_on: true,
        can_open: true,
        ..Prompts::NONE
    },
};

pub(super) static RULES: Rules = Rules {
    form: DIALECT.form(),
    controls: &CONTROLS,
    bos: Some((Control::Bos, Owner::Opening)),
    turns: &[
        Turn { role: Role::System, opening: Opening::Bare, close: None, may_stay_open: false },
        Turn {
            role: Role::User,
            opening: Opening::Mark(Control::Open(Role::User)),
            close: None,
            may_stay_open: false,
        },
        Turn {
            role: Role::Assistant,
            opening: Opening::Mark(Control::Open(Role::Assistant)),
            close: Some(Mark::plain(Control::Close(Role::Assistant))),
            may_stay_open: false,
        },
    ],
    sections: &SECTIONS,
    replies: Replies {
        item: Some((
            Mark::plain(Control::OpenSection(Section::Reply)),
            Mark::plain(Control::CloseSection(Section::Reply)),
        )),
        list: Some((
            Mark::plain(Control::OpenSection(Section::Replies)),
            Mark::plain(Control::CloseSection(Section::Replies)),
        )),
        ..Replies::NONE
    },
    stops: &[Control::Close(Role::Assistant)],
};

/// Adds the evidence: the tokens of the roles, if there is a call or a reply.
fn look(scan: &Scan<'_>, case: &mut Case) {
    let token = |control| format!("`{}`", CONTROLS.spelling(control).unwrap_or_default());
    let call = scan.token(Control::OpenSection(Section::Call)).filter(|span| {
        let behind = scan.text.get(span.end..).unwrap_or_default();
        behind.trim_ascii_start().strip_prefix("function").is_some_and(|behind| {
            behind.starts_with(CONTROLS.spelling(Control::Arguments).unwrap_or_default())
        })
    });
    let replies = scan.token(Control::OpenSection(Section::Replies));
    let Some(span) = call.or(replies) else { return };
    let what = match call {
        Some(_) => "`function` in a call".to_owned(),
        None => token(Control::OpenSection(Section::Replies)),
    };
    if scan.completion.is_some() {
        return case.sign(100, what, Some(span));
    }
    let opens = [Role::User, Role::Assistant].map(Control::Open);
    let begins = opens.into_iter().chain([Control::Bos]);
    if begins.clone().all(|control| scan.begins_with(control).is_none()) {
        return;
    }
    for control in begins {
        case.sign(30, token(control), scan.token(control));
    }
    case.sign(60, what, Some(span));
}
