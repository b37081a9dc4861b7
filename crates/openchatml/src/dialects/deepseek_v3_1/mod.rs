//! DeepSeek V3.1, as its chat template writes it.

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

/// DeepSeek V3.1: a token before each role's text, reasoning and calls in the assistant's turn, and
/// tool replies after it.
///
/// ```
/// use openchatml::{Channel, Format, parse};
///
/// let text = "<｜begin▁of▁sentence｜>Be brief.<｜User｜>2 + 2?\
///     <｜Assistant｜><think>Easy.</think>4.<｜end▁of▁sentence｜>";
/// let messages = parse(text, Format::DEEPSEEK_V3_1, &Default::default()).into_conversation().messages;
/// let channels: Vec<_> = messages.iter().map(|message| message.channel).collect();
/// assert_eq!(channels, [None, None, Some(Channel::Analysis), Some(Channel::Final)]);
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "deepseek-v3.1",
    aliases: &[],
    title: "DeepSeek V3.1",
    used_by: "DeepSeek V3.1",
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
        open: Mark::plain(Control::OpenSection(Section::Reasoning)),
        close: Mark::plain(Control::CloseSection(Section::Reasoning)),
        none: NoReasoning::Close,
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
            Mark::plain(Control::OpenSection(Section::Call)),
            Some(Mark::plain(Control::CloseSection(Section::Call))),
        ),
        pieces: &[Piece::NameUpTo(Control::Arguments), Piece::Arguments],
        namespace: "functions",
        ..Calls::NONE
    },
    close: Control::Close(Role::Assistant),
    prompts: Prompts {
        thinks: false,
        ends: [PromptEnd::Open, PromptEnd::Close],
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
        ..Replies::NONE
    },
    stops: &[Control::Close(Role::Assistant)],
};

/// Adds the evidence: the tokens of the roles.
fn look(scan: &Scan<'_>, case: &mut Case) {
    let token = |control| format!("`{}`", CONTROLS.spelling(control).unwrap_or_default());
    let opens = [Role::User, Role::Assistant].map(Control::Open);
    let begins = opens.into_iter().chain([Control::Bos]);
    if let Some((control, span)) = scan.completion {
        // Other models write reasoning in the same tokens.
        let calls = Control::OpenSection(Section::Calls);
        let weight = if control == calls { 50 } else { 20 };
        case.sign(weight, format!("a completion begins with {}", token(control)), Some(span));
        return case.sign(40, token(calls), scan.token(calls).filter(|_| control != calls));
    }
    if begins.clone().all(|control| scan.begins_with(control).is_none()) {
        return;
    }
    for control in begins {
        case.sign(30, token(control), scan.token(control));
    }
}
