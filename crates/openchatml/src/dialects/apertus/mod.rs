//! Apertus, the format of the Swiss AI models, as its reference chat template renders it.

mod compose;
mod declare;
mod json;
mod settle;
mod tokens;

use self::tokens::CONTROLS;
use super::openai::is_json_call;
use super::{Dialect, JsonForm, TextForm};
use crate::check::{Book, RULES_OF_ALL};
use crate::convert::{Carries, Channels};
use crate::grammar::paired::{self, Rules};
use crate::lex::Mode;
use crate::model::{End, Role};
use crate::pairing::Pairing;

/// Apertus: a pair of tokens for each role, and pairs for reasoning and calls in the assistant's
/// turn.
///
/// ```
/// use openchatml::{Channel, Format, parse};
///
/// let text = "<s><|user_start|>2 + 2?<|user_end|>\
///     <|assistant_start|><|inner_prefix|>Easy.<|inner_suffix|>4.<|assistant_end|>";
/// let format: Format = "apertus".parse()?;
/// let messages = parse(text, format, &Default::default()).into_conversation().messages;
/// let channels: Vec<_> = messages.iter().map(|message| message.channel).collect();
/// assert_eq!(channels, [None, Some(Channel::Analysis), Some(Channel::Final)]);
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "apertus",
    title: "Apertus",
    controls: &CONTROLS,
    carries: &CARRIES,
    text: Some(&TEXT),
    json: Some(JsonForm {
        read: json::read,
        write: json::write,
        carries: &json::CARRIES,
        composer: Some(|conversation, _| {
            (conversation.origin != json::ORIGIN).then_some(&json::COMPOSER)
        }),
    }),
};

static CARRIES: Carries = Carries {
    roles: Role::ALL,
    names: |message| message.role == Role::Tool,
    channels: Channels::Sections,
    recipients: true,
    reply_recipients: true,
    content_types: is_json_call,
    json_calls: true,
    ends: End::ALL,
    ..Carries::NOTHING
};

static TEXT: TextForm = TextForm {
    name: "apertus",
    controls: &CONTROLS,
    header: None,
    legacy: None,
    completion: Mode::Body,
    book: &BOOK,
    reader: |_, options, _| Box::new(paired::reader(&RULES, options)),
    write: |_, document, options, sink| paired::write(&RULES, document, options, sink),
    composer: Some(|conversation, _| {
        (conversation.origin != RULES.dialect).then_some(&compose::COMPOSER)
    }),
};

static BOOK: Book = Book {
    controls: &CONTROLS,
    versions: &[],
    pairing: Pairing::ByOrder,
    requires_channels: false,
    rules: RULES_OF_ALL,
};

pub(super) static RULES: Rules = Rules {
    dialect: "apertus",
    controls: &CONTROLS,
    namespace: "functions",
    outer_tool: "display_answers",
};
