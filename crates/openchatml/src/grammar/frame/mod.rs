//! Framed messages: `<|start|>` header `<|message|>` body `<|end|>` (OpenChatML 2.x, ChatML).

mod attribute;
mod header;
mod look;
mod marker;
mod opening;
mod reader;
mod recover;
mod speaker;
mod whole;
mod write_header;
mod writer;

pub(crate) use self::attribute::{is_type_word, may_hide};
pub(crate) use self::header::lost_call;
pub(crate) use self::look::{look, look_between, marks};
pub(crate) use self::reader::reader;
pub(crate) use self::speaker::speaker;
pub(crate) use self::write_header::{needs_sanitizing, raw_header, sanitized};
pub(crate) use self::writer::write;

use crate::Control;
use crate::lex::TokenTable;
use crate::model::{FormId, Message, Role};
use crate::words::words;
use crate::writing::PlainOpening;

/// What the dialects of the family differ in.
#[derive(Debug)]
pub(crate) struct Rules {
    /// The name of the dialect.
    pub(crate) form: FormId,
    pub(crate) controls: &'static TokenTable,
    /// The attributes of a header in their canonical order.
    pub(crate) attributes: &'static [Attribute],
    /// Their order in a tool's reply.
    pub(crate) reply_attributes: &'static [Attribute],
    /// How a content type is written that is no constraint.
    pub(crate) type_style: TypeStyle,
    /// What a role word says.
    pub(crate) speaker: fn(&str) -> Option<Speaker<'_>>,
    /// The role word for a message, and whether it says the name, too.
    pub(crate) role_word: for<'m> fn(&'m Message<'_>) -> RoleWord<'m>,
    /// Adds what the format implies to a message whose header was read.
    pub(crate) settle: fn(&mut Message<'_>),
    /// The openings of most messages, in full: a shortcut past their words.
    pub(crate) openings: &'static [PlainOpening],
    /// What stands after each message in the canonical layout.
    pub(crate) gap: &'static str,
    /// The control tokens that stop a completion.
    pub(crate) stops: &'static [Control],
    /// Whether a completion is the body of a message: the prompt ended the header already.
    pub(crate) completes_in_body: bool,
    /// What white space its headers may have.
    pub(crate) spaces: Spaces,
    /// Whether the slips in the specification's own examples are mended.
    pub(crate) mends_slips: bool,
}

/// What most messages of a dialect with channels begin with, from how it spells `<|start|>`, `<|channel|>` and
/// `<|message|>`.
macro_rules! openings {
    ($start:literal, $channel:literal, $message:literal) => {
        &[
            $crate::writing::PlainOpening {
                text: concat!($start, "user", $message),
                role: $crate::Role::User,
                channel: None,
            },
            $crate::writing::PlainOpening {
                text: concat!($start, "assistant", $channel, "final", $message),
                role: $crate::Role::Assistant,
                channel: Some($crate::Channel::Final),
            },
            $crate::writing::PlainOpening {
                text: concat!($start, "assistant", $channel, "analysis", $message),
                role: $crate::Role::Assistant,
                channel: Some($crate::Channel::Analysis),
            },
            $crate::writing::PlainOpening {
                text: concat!($start, "system", $message),
                role: $crate::Role::System,
                channel: None,
            },
        ]
    };
}
pub(crate) use openings;

/// An attribute of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attribute {
    To,
    CallId,
    Name,
    Intent,
    ContentType,
}

words!(pub(crate) Attribute {
    To = "to",
    CallId = "call_id",
    Name = "name",
    Intent = "intent",
    ContentType = "content_type",
});

impl Attribute {
    /// How many there are.
    const COUNT: usize = Self::ALL.len();
}

/// What white space the headers of a dialect may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spaces {
    /// There is no grammar.
    Any,
    /// One space or tab between words, and before a control token.
    One,
    /// None: a header is one word.
    None,
}

/// How the content type of a body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TypeStyle {
    /// As an attribute; a constraint directly after what stands before it.
    Attribute,
    /// As a word after the channel; a constraint after a space.
    Word,
}

/// What a role word says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speaker<'w> {
    /// A role.
    Role(Role),
    /// A role and a name in one word: `functions.search`, `system:example_user`.
    Named(Role, &'w str),
    /// The same in an old spelling that is still accepted.
    Legacy(Role, &'w str),
    /// A tool that may speak for itself where it is built in: `python`, `browser.search`.
    Builtin(&'w str),
    /// A tool, if it says to whom it speaks.
    Addressed(&'w str),
    /// A slip for which this was meant.
    Slip(Role, Option<&'static str>),
}

/// How the role of a message is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RoleWord<'m> {
    /// The role alone.
    Role(&'static str),
    /// The name stands for both.
    Name(&'m str),
    /// The role and the name, joined.
    Joined(&'static str, &'m str),
    /// There is no word for it, for this reason.
    Refused(&'static str),
}
