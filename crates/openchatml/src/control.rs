//! The closed set of meanings that a control token can have.

use crate::model::{Marker, Role};

/// What a control token means, whatever its spelling or id in a dialect.
///
/// Only a lexer makes one out of input, and only [`Sink::control`](crate::writing::Sink::control)
/// turns one into output. Everything else that looks like a control token is text.
///
/// ```
/// use openchatml::{Control, dialects};
///
/// // One meaning, and two dialects that spell it in their own way.
/// let spell = |dialect: &dialects::Dialect| dialect.controls.spelling(Control::End);
/// assert_eq!(spell(&dialects::OPENCHATML_2_2), Some("<|end|>"));
/// assert_eq!(spell(&dialects::IM), Some("<|im_end|>"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Control {
    /// Opens a message header: `<|start|>`, `<|im_start|>`.
    Start,
    /// Declares the channel: `<|channel|>`.
    Channel,
    /// Opens the body: `<|message|>`.
    Message,
    /// Closes the body of an outgoing tool call: `<|call|>`.
    Call,
    /// Declares the type of the body: `<|constrain|>`.
    Constrain,
    /// Closes the body and ends sampling: `<|return|>`.
    Return,
    /// Closes the body: `<|end|>`, `<|end_message|>`, `<|im_end|>`.
    End,
    /// Opens a literal block: `<|literal|>`.
    Literal,
    /// Closes a literal block: `<|endliteral|>`.
    EndLiteral,
    /// A chain-of-thought marker: `<|start_reason|>` and its like.
    Marker(Marker),
    /// Begins a sequence: `<s>`.
    Bos,
    /// Ends a sequence: `</s>`.
    Eos,
    /// Stands before the text before the cursor: `<|fim_prefix|>`.
    FimPrefix,
    /// Stands where the cursor is: `<|fim_middle|>`.
    FimMiddle,
    /// Stands before the text after the cursor: `<|fim_suffix|>`.
    FimSuffix,
    /// Stands between files: `<|file_separator|>`.
    FileSeparator,
    /// Opens what a role says: `<|user_start|>` and its like.
    Open(Role),
    /// Closes what a role says: `<|user_end|>` and its like.
    Close(Role),
    /// Opens a section of a turn: `<think>`, `<|tools_prefix|>`.
    OpenSection(Section),
    /// Closes a section of a turn: `</think>`, `<|tools_suffix|>`.
    CloseSection(Section),
    /// Stands between the name of a tool and the arguments of its call.
    Arguments,
}

/// A section of a turn: a part that tokens of its own mark.
///
/// ```
/// use openchatml::{Control, Section, dialects};
///
/// let controls = dialects::APERTUS.controls;
/// let reasoning = Control::OpenSection(Section::Reasoning);
/// assert_eq!(controls.spelling(reasoning), Some("<|inner_prefix|>"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Section {
    /// Private reasoning of the assistant.
    Reasoning,
    /// A list of tool calls.
    Calls,
    /// One tool call.
    Call,
    /// A list of replies of tools.
    Replies,
    /// The reply of one tool.
    Reply,
}

impl Control {
    /// How many there are.
    pub(crate) const COUNT: usize = 39;

    /// A number for each, from 0.
    pub(crate) const fn index(self) -> usize {
        match self {
            Self::Start => 0,
            Self::Channel => 1,
            Self::Message => 2,
            Self::Call => 3,
            Self::Constrain => 4,
            Self::Return => 5,
            Self::End => 6,
            Self::Literal => 7,
            Self::EndLiteral => 8,
            Self::Marker(Marker::Reflect) => 9,
            Self::Marker(Marker::Introspect) => 10,
            Self::Marker(Marker::Reason) => 11,
            Self::Bos => 12,
            Self::Eos => 13,
            Self::FimPrefix => 14,
            Self::FimMiddle => 15,
            Self::FimSuffix => 16,
            Self::FileSeparator => 17,
            Self::Open(role) => 18 + role as usize,
            Self::Close(role) => 23 + role as usize,
            Self::OpenSection(section) => 28 + section as usize,
            Self::CloseSection(section) => 33 + section as usize,
            Self::Arguments => 38,
        }
    }

    /// Whether this control ends a message: [`Call`](Self::Call), [`Return`](Self::Return) or
    /// [`End`](Self::End).
    ///
    /// ```
    /// use openchatml::Control;
    ///
    /// assert!(Control::Call.ends_message());
    /// assert!(!Control::Eos.ends_message()); // It ends a sequence of messages.
    /// ```
    pub const fn ends_message(self) -> bool {
        matches!(self, Self::Call | Self::Return | Self::End | Self::Close(_))
    }
}
