//! Framed messages: `<|start|>` header `<|message|>` body `<|end|>` (OpenChatML 2.x, ChatML).

mod attribute;
mod canonical;
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
pub(crate) use self::speaker::speaker;
pub(crate) use self::write_header::{needs_sanitizing, raw_header, sanitized};
pub(crate) use self::writer::write;

use crate::dialect::Grammar;
use crate::lex::TokenTable;
use crate::model::{Document, FormId, Message, Role};
use crate::options::{ReadOptions, RenderOptions};
use crate::words::words;
use crate::writing::{PlainOpening, RenderError, Sink};
use crate::{Control, reading};

/// The differences between the dialects of the family.
#[derive(Debug)]
pub(crate) struct Rules {
    /// The text form of the dialect.
    pub(crate) form: FormId,
    pub(crate) controls: &'static TokenTable,
    /// The attributes of a header in canonical order.
    pub(crate) attributes: &'static [Attribute],
    /// Their order in a tool reply.
    pub(crate) reply_attributes: &'static [Attribute],
    /// How a content type without a constraint is written.
    pub(crate) type_style: TypeStyle,
    /// Returns the meaning of a role word.
    pub(crate) speaker: fn(&str) -> Option<Speaker<'_>>,
    /// Returns the role word of a message, and whether it includes the name.
    pub(crate) role_word: for<'m> fn(&'m Message<'_>) -> RoleWord<'m>,
    /// Adds what the format implies to a message after its header was read.
    pub(crate) settle: fn(&mut Message<'_>),
    /// The complete openings of most messages, as a fast path.
    pub(crate) openings: &'static [PlainOpening],
    /// The text after each message in the canonical layout.
    pub(crate) gap: &'static str,
    /// The control tokens that stop a completion.
    pub(crate) stops: &'static [Control],
    /// Whether a completion is the body of a message, because the prompt has ended the header.
    pub(crate) completes_in_body: bool,
    /// The allowed white space in headers.
    pub(crate) spaces: Spaces,
    /// Whether the typing errors in the specification's own examples are corrected.
    pub(crate) mends_slips: bool,
}

impl Grammar for Rules {
    fn reader<'a>(
        &'static self,
        options: &ReadOptions,
    ) -> Box<dyn reading::Reader<'a> + Send + Sync + 'a> {
        Box::new(reader::reader(self, options))
    }

    fn write(
        &'static self,
        document: &Document<'_>,
        options: &RenderOptions,
        sink: &mut dyn Sink,
    ) -> Result<(), RenderError> {
        writer::write(self, document, options, sink)
    }
}

/// Defines the openings of most messages in a dialect with channels, from its spellings of
/// `<|start|>`, `<|channel|>` and `<|message|>`.
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
    /// The number of attributes.
    const COUNT: usize = Self::ALL.len();
}

/// The allowed white space in the headers of a dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spaces {
    /// Any: the dialect has no grammar.
    Any,
    /// One space or tab between words, and before a control token.
    One,
    /// None: a header is one word.
    None,
}

/// How the content type of a body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TypeStyle {
    /// As an attribute. A constraint directly follows the part before it.
    Attribute,
    /// As a word after the channel. A constraint follows a space.
    Word,
}

/// The meaning of a role word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speaker<'w> {
    /// A role.
    Role(Role),
    /// A role and a name in one word: `functions.search`, `system:example_user`.
    Named(Role, &'w str),
    /// A role and a name in an old spelling that is still accepted.
    Legacy(Role, &'w str),
    /// A tool that can be a role if it is built in: `python`, `browser.search`.
    Builtin(&'w str),
    /// A tool that can be a role if the message has a recipient.
    Addressed(&'w str),
    /// A typing error, with the role and name that are meant.
    Slip(Role, Option<&'static str>),
}

/// How the role of a message is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RoleWord<'m> {
    /// Only the role.
    Role(&'static str),
    /// The name, which implies the role.
    Name(&'m str),
    /// The role and the name, joined.
    Joined(&'static str, &'m str),
    /// No word, for this reason.
    Refused(&'static str),
}
