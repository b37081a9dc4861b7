//! Kimi K3, as the encoder of the model writes it.

mod compose;
mod tokens;

use self::tokens::CONTROLS;
use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, TextForm};
use crate::grammar::sections::{
    AttributeHeader, Calls, InnerCalls, Mark, NoReasoning, Opening, Piece, PromptEnd, Prompts,
    Reasoning, Replies, Rules, Sections, Turn,
};
use crate::model::{End, Role};
use crate::rules::{
    CallAttributes, Carries, Composing, ParameterAttributes, Parameters, Tag, Words,
};
use crate::signs::{Case, Framing, Scan, TextSigns};
use crate::{Control, Section};

/// Kimi K3: elements with attributes. A turn of the assistant has reasoning, a text and calls, each in
/// an element of its own, and a parameter of a call contains the type of its value.
///
/// ```
/// use openchatml::{Format, ReadOptions, parse};
///
/// let text = "A tool.<|close|>think<|sep|><|open|>response<|sep|>One moment.<|close|>response<|sep|>\
///     <|open|>tools<|sep|><|open|>call tool=\"weather\" index=\"1\"<|sep|>\
///     <|open|>argument key=\"days\" type=\"number\"<|sep|>3<|close|>argument<|sep|>\
///     <|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|><|end_of_msg|>";
/// let mut options = ReadOptions::completion();
/// options.in_reasoning = true;
/// let parsed = parse(text, Format::KIMI_K3, &options);
/// assert!(parsed.diagnostics.is_empty());
/// let messages = parsed.into_conversation().messages;
/// assert_eq!(messages[1].body.text(), "One moment.");
/// assert_eq!(messages[2].recipient.as_deref(), Some("functions.weather"));
/// assert_eq!(messages[2].body.text(), r#"{"days": 3}"#);
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "kimi-k3",
    aliases: &[],
    title: "Kimi K3",
    used_by: "Kimi K3",
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
    names: |message| message.role == Role::Tool || RULES.is_speaker(message),
    open_roles: Role::ALL,
    // The end of a value depends on what follows.
    open_calls: false,
    ..Carries::SECTIONS
};

static TEXT: TextForm = TextForm {
    composer: Composing::UnlessRead(&compose::COMPOSER),
    signs: TextSigns { framing: Framing::Pairs, look },
    ..RULES.text_form()
};

static SECTIONS: Sections = Sections {
    reasoning: Reasoning {
        open: Mark::plain(Control::OpenSection(Section::Reasoning)),
        close: Mark::plain(Control::CloseSection(Section::Reasoning)),
        none: NoReasoning::Pair,
        stays_open: false,
        calls: InnerCalls::End,
        ended_by: &[],
    },
    answer: Some((
        Mark::plain(Control::OpenSection(Section::Answer)),
        Mark::plain(Control::CloseSection(Section::Answer)),
    )),
    calls: Calls {
        list: Some((
            Mark::plain(Control::OpenSection(Section::Calls)),
            Mark::plain(Control::CloseSection(Section::Calls)),
        )),
        item: (
            Mark::plain(Control::OpenSection(Section::Call)),
            Some(Mark::plain(Control::CloseSection(Section::Call))),
        ),
        pieces: &[
            Piece::Attributes(CallAttributes {
                name: "tool",
                index: "index",
                end: Control::Message,
            }),
            Piece::Parameters(&PARAMETERS),
        ],
        namespace: "functions",
        ..Calls::NONE
    },
    close: Control::End,
    prompts: Prompts {
        thinks: true,
        ends: [PromptEnd::Open, PromptEnd::Answer],
        can_open: true,
        ..Prompts::NONE
    },
};

static PARAMETERS: Parameters = Parameters {
    open: Tag::Token(Mark::plain(Control::OpenSection(Section::Key))),
    name_end: Tag::Token(Mark::plain(Control::Message)),
    typed: None,
    attributes: Some(ParameterAttributes { name: "key", kind: "type" }),
    value: None,
    close: Tag::Token(Mark::plain(Control::CloseSection(Section::Value))),
    words: Words::Json,
    empty: 0,
};

pub(super) static RULES: Rules = Rules {
    form: DIALECT.form(),
    controls: &CONTROLS,
    bos: None,
    turns: &[
        turn(Role::System, &SYSTEM),
        turn(Role::User, &header(Role::User)),
        turn(Role::Assistant, &header(Role::Assistant)),
        turn(Role::Tool, &TOOL),
    ],
    sections: &SECTIONS,
    replies: Replies { turn: Some(Role::Tool), ..Replies::NONE },
    stops: &[Control::Eos],
};

const fn turn(role: Role, header: &'static AttributeHeader) -> Turn {
    Turn {
        role,
        opening: Opening::Attributes(header),
        close: Some(Mark::plain(Control::End)),
        may_stay_open: false,
    }
}

const fn header(role: Role) -> AttributeHeader {
    AttributeHeader {
        open: Control::Open(role),
        name: "name",
        kind: None,
        index: None,
        end: Control::Message,
        stop: Control::Eos,
    }
}

/// The kind of the message that declares tools.
const DECLARATION: &str = "tool-declare";

/// The kinds of messages in which the system gives options of a request.
const KINDS: [&str; 4] = [DECLARATION, "thinking-effort", "tool-choice", "response-format"];

static SYSTEM: AttributeHeader =
    AttributeHeader { kind: Some(("type", &KINDS)), ..header(Role::System) };

static TOOL: AttributeHeader =
    AttributeHeader { name: "tool", index: Some("index"), ..header(Role::Tool) };

/// Adds the evidence: the elements of turns, and those of the assistant's turn.
fn look(scan: &Scan<'_>, case: &mut Case) {
    let token = |control| format!("`{}`", CONTROLS.spelling(control).unwrap_or_default());
    if let Some((control, span)) = scan.completion {
        let text = format!("a completion begins with {}", token(control));
        return case.sign(100, text, Some(span));
    }
    let opens = [Role::System, Role::User, Role::Assistant, Role::Tool].map(Control::Open);
    if opens.iter().all(|control| scan.begins_with(*control).is_none()) {
        return;
    }
    for control in opens.into_iter().chain([Control::Eos]) {
        case.sign(60, token(control), scan.token(control));
    }
}
