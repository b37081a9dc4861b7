//! Lints: findings about conversations that their format allows, but that usually spoil training data
//! or deceive readers.
//!
//! ```
//! use openchatml::{Code, Conversation, Message, lint};
//!
//! let conversation = Conversation::from_messages([
//!     Message::user("What is 2 + 2?"),
//!     Message::answer("<think>Easy.</think>4."),
//! ]);
//! let found = lint::check(&conversation.into(), lint::DOCUMENT);
//! let codes: Vec<_> = found.iter().map(|found| found.code).collect();
//! assert_eq!(codes, [Code::VisibleReasoning]);
//! ```

mod fingerprint;
mod pairs;
mod reasoning;
mod turns;
mod unicode;

pub use self::fingerprint::{fingerprint, fingerprint_beside_text};
pub use self::unicode::invisible;

use std::collections::HashSet;

use crate::model::Document;
use crate::{Code, Diagnostic};

/// The lints for any conversation.
pub const DOCUMENT: &[Code] = &[
    Code::EmptyMessage,
    Code::OpenMessage,
    Code::LateSystem,
    Code::VisibleReasoning,
    Code::HiddenUnicode,
    Code::UnbalancedPair,
];

/// The lints for samples of a data set, each of which is a whole conversation.
pub const SAMPLE: &[Code] = &[
    Code::EmptyMessage,
    Code::OpenMessage,
    Code::NoAssistant,
    Code::RepeatedRole,
    Code::LateSystem,
    Code::VisibleReasoning,
    Code::HiddenUnicode,
    Code::UnbalancedPair,
];

/// The lints for conversations that are written as token ids: text that spells control tokens is
/// encoded as text, which a writer of text would refuse, and a model learns to say nothing.
pub const OF_TOKENS: &[Code] = &[Code::EmptyMessage, Code::VisibleReasoning];

/// The errors of readers that a check can ignore: the conversation is read as it is.
///
/// ```
/// use openchatml::{Code, lint};
///
/// assert!(lint::PAIRING.contains(&Code::CallUnanswered));
/// ```
pub const PAIRING: &[Code] = &[Code::CallUnanswered, Code::ReplyUnmatched];

/// Checks the conversations of a document with the lints of these codes. Codes without a lint are
/// ignored. The diagnostics are in the order of the messages.
///
/// ```
/// use openchatml::{Code, Conversation, Message, lint};
///
/// let question = Conversation::from_messages([Message::user("What is 2 + 2?")]).into();
/// assert_eq!(lint::check(&question, lint::DOCUMENT), []);
/// assert_eq!(lint::check(&question, lint::SAMPLE)[0].code, Code::NoAssistant);
/// ```
pub fn check(document: &Document<'_>, codes: &[Code]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut told = HashSet::new();
    for conversation in document.conversations() {
        let mut own = Vec::new();
        for code in codes {
            match code {
                Code::EmptyMessage => turns::empty(conversation, &mut own),
                Code::OpenMessage => turns::open(conversation, &mut own),
                Code::NoAssistant => turns::no_assistant(conversation, &mut own),
                Code::RepeatedRole => turns::repeated(conversation, &mut own),
                Code::LateSystem => turns::late_system(conversation, &mut own),
                Code::VisibleReasoning => reasoning::visible(conversation, &mut own),
                Code::HiddenUnicode => unicode::hidden(conversation, &mut own),
                _ => {}
            }
        }
        // The sides of a pair can have messages at the same place: their prompt.
        own.retain(|found| told.insert((found.code, found.span)));
        found.append(&mut own);
    }
    if let Document::Pair(pair) = document
        && codes.contains(&Code::UnbalancedPair)
    {
        pairs::unbalanced(pair, &mut found);
    }
    found.sort_by_key(|found| found.span.start);
    found
}
