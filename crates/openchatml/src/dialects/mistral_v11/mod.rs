//! Mistral's tokenizer version 11, as `mistral-common` writes it.

mod compose;
mod tokens;

use self::tokens::CONTROLS;
use crate::check::CheckRules;
use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, TextForm};
use crate::grammar::sections::{
    self, Calls, DECLARATION, InnerCalls, Mark, NoReasoning, Opening, Owner, Piece, PromptEnd,
    Prompts, Reasoning, Replies, Rules, Sections, Turn,
};
use crate::lex::Mode;
use crate::model::{End, FormId, Role};
use crate::rules::{Carries, Completion, History};
use crate::signs::{Case, Framing, Scan, TextSigns};
use crate::{Control, Section};

/// Mistral v11: tokens around each turn except that of the assistant, which has only an end token.
/// Calls have no end token, and can have ids.
///
/// A declaration of tools is a message of the system with the name `available_tools`.
///
/// ```
/// use openchatml::{Format, parse};
///
/// let text = "<s>[INST]Rain?[/INST][TOOL_CALLS]weather[CALL_ID]abcdefghi[ARGS]{}</s>\
///     [TOOL_RESULTS]abcdefghi[TOOL_CONTENT]Rain.[/TOOL_RESULTS]Yes.</s>";
/// let messages = parse(text, Format::MISTRAL_V11, &Default::default()).into_conversation().messages;
/// assert_eq!(messages[1].call_id.as_deref(), Some("abcdefghi"));
/// assert_eq!(messages[2].call_id.as_deref(), Some("abcdefghi"));
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "mistral-v11",
    aliases: &[],
    title: "Mistral v11",
    used_by: "Mistral Small 3.2, Devstral 2507 and Magistral 2506",
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
    names: |it| {
        it.role == Role::Tool || it.role == Role::System && it.name.as_deref() == Some(DECLARATION)
    },
    call_ids: true,
    // No token opens the turn of the assistant, so that nothing shows a prompt.
    ends: &[End::End, End::Call, End::Open],
    open_roles: &[Role::System, Role::User, Role::Assistant, Role::Tool],
    // A call ends with its arguments.
    open_calls: false,
    ..Carries::SECTIONS
};

static TEXT: TextForm = TextForm {
    id: FormId::new("mistral-v11"),
    controls: &CONTROLS,
    header: None,
    legacy: None,
    completion: Mode::Body,
    checks: &CHECKS,
    reader: |_, options, _| Box::new(sections::reader(&RULES, options)),
    write: |_, document, options, sink| sections::write(&RULES, document, options, sink),
    composer: Some(|it, _| compose::COMPOSER.unless_read(it, RULES.form)),
    signs: TextSigns { framing: Framing::Pairs, look },
    stripped: None,
    history: |_| History::All,
    stops: &[Control::Eos],
    framing: Some(Completion::Sections(&SECTIONS)),
};

static CHECKS: CheckRules = CheckRules::by_order(&CONTROLS);

static SECTIONS: Sections = Sections {
    reasoning: Reasoning {
        open: Mark::new(Control::OpenSection(Section::Reasoning), 0, 1),
        close: Mark::new(Control::CloseSection(Section::Reasoning), 1, 2),
        none: NoReasoning::Nothing,
        stays_open: false,
        calls: InnerCalls::Text,
        ended_by: &[],
    },
    calls: Calls {
        item: (Mark::plain(Control::OpenSection(Section::Call)), None),
        pieces: &[
            Piece::NameAndId { id: Control::CallId, end: Control::Arguments },
            Piece::Arguments,
        ],
        namespace: "functions",
        ..Calls::NONE
    },
    close: Control::Eos,
    prompts: Prompts {
        thinks: true,
        ends: [PromptEnd::Turn, PromptEnd::Turn],
        goes_on: true,
        can_open: true,
        ..Prompts::NONE
    },
};

pub(super) static RULES: Rules = Rules {
    form: FormId::new("mistral-v11"),
    controls: &CONTROLS,
    bos: Some((Control::Bos, Owner::Opening)),
    turns: &[
        turn(Role::System),
        Turn {
            opening: Opening::Declaration(Control::Open(Role::Developer)),
            ..turn(Role::Developer)
        },
        turn(Role::User),
        Turn {
            role: Role::Assistant,
            opening: Opening::Implied,
            close: Some(Mark::plain(Control::Eos)),
            may_stay_open: false,
        },
    ],
    sections: &SECTIONS,
    replies: Replies {
        item: Some((
            Mark::plain(Control::OpenSection(Section::Reply)),
            Mark::plain(Control::CloseSection(Section::Reply)),
        )),
        content: Some(Control::Message),
        ..Replies::NONE
    },
    stops: &[],
};

const fn turn(role: Role) -> Turn {
    let close = Mark::plain(Control::Close(role));
    Turn {
        role,
        opening: Opening::Mark(Control::Open(role)),
        close: Some(close),
        may_stay_open: false,
    }
}

/// Adds the evidence: the tokens of the roles, and those of ids.
fn look(scan: &Scan<'_>, case: &mut Case) {
    let token = |control| format!("`{}`", CONTROLS.spelling(control).unwrap_or_default());
    let opens = [Role::System, Role::Developer, Role::User].map(Control::Open);
    if let Some((control, span)) = scan.completion {
        // Other models write reasoning in the same tokens, and other versions calls.
        case.sign(20, format!("a completion begins with {}", token(control)), Some(span));
        return case.sign(70, token(Control::CallId), scan.token(Control::CallId));
    }
    let begins = opens.into_iter().chain([Control::Bos]);
    if begins.clone().all(|control| scan.begins_with(control).is_none()) {
        return;
    }
    let closes = Control::Close(Role::User);
    if scan.token(closes).is_none() {
        return;
    }
    // Without tokens of its own, it can be another version.
    let words = [
        (Control::Open(Role::User), 18),
        (closes, 18),
        (Control::Open(Role::System), 10),
        (Control::Open(Role::Developer), 10),
        (Control::Arguments, 10),
        (Control::CallId, 30),
        (Control::Message, 30),
    ];
    for (control, weight) in words {
        case.sign(weight, token(control), scan.token(control));
    }
}
