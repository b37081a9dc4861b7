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
//! let found = lint::check(&conversation, lint::DOCUMENT);
//! let codes: Vec<_> = found.iter().map(|found| found.code).collect();
//! assert_eq!(codes, [Code::VisibleReasoning]);
//! ```

mod reasoning;
mod turns;
mod unicode;

pub use self::unicode::invisible;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use crate::model::Conversation;
use crate::{Code, Diagnostic};

/// The lints for any conversation.
pub const DOCUMENT: &[Code] =
    &[Code::EmptyMessage, Code::LateSystem, Code::VisibleReasoning, Code::HiddenUnicode];

/// The lints for samples of a data set, each of which is a whole conversation.
pub const SAMPLE: &[Code] = &[
    Code::EmptyMessage,
    Code::NoAssistant,
    Code::RepeatedRole,
    Code::LateSystem,
    Code::VisibleReasoning,
    Code::HiddenUnicode,
];

/// Checks a conversation with the lints of these codes. Codes without a lint are ignored. The
/// diagnostics are in the order of the messages.
///
/// ```
/// use openchatml::{Code, Conversation, Message, lint};
///
/// let question = Conversation::from_messages([Message::user("What is 2 + 2?")]);
/// assert_eq!(lint::check(&question, lint::DOCUMENT), []);
/// assert_eq!(lint::check(&question, lint::SAMPLE)[0].code, Code::NoAssistant);
/// ```
pub fn check(conversation: &Conversation<'_>, codes: &[Code]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for code in codes {
        match code {
            Code::EmptyMessage => turns::empty(conversation, &mut found),
            Code::NoAssistant => turns::no_assistant(conversation, &mut found),
            Code::RepeatedRole => turns::repeated(conversation, &mut found),
            Code::LateSystem => turns::late_system(conversation, &mut found),
            Code::VisibleReasoning => reasoning::visible(conversation, &mut found),
            Code::HiddenUnicode => unicode::hidden(conversation, &mut found),
            _ => {}
        }
    }
    found.sort_by_key(|found| found.span.start);
    found
}

/// Returns a number that two conversations share if their messages are the same, and hardly
/// otherwise, to find [duplicates](Code::Duplicate) in a data set. It depends on the version of the
/// library, so do not store it.
///
/// ```
/// use openchatml::{Conversation, Message, lint};
///
/// let say = |text| Conversation::from_messages([Message::user(text)]);
/// assert_eq!(lint::fingerprint(&say("Hi.")), lint::fingerprint(&say("Hi.")));
/// assert_ne!(lint::fingerprint(&say("Hi.")), lint::fingerprint(&say("Bye.")));
/// ```
pub fn fingerprint(conversation: &Conversation<'_>) -> u128 {
    let half = |seed: u8| {
        let mut hasher = DefaultHasher::new();
        seed.hash(&mut hasher);
        for message in &conversation.messages {
            (message.role.as_str(), &message.name, &message.recipient).hash(&mut hasher);
            (message.channel.map(|it| it.as_str()), &message.content_type).hash(&mut hasher);
            message.body.text().hash(&mut hasher);
        }
        u128::from(hasher.finish())
    };
    half(0) << 64 | half(1)
}
