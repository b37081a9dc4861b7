//! The meanings of control tokens.

use crate::roles::{Marker, Role};

/// The meaning of a control token, independent of its spelling or id in a dialect.
///
/// Only a lexer creates one from input, and only [`Sink::control`](crate::writing::Sink::control)
/// writes one. Anything else that looks like a control token is text.
///
/// ```
/// use openchatml::{Control, dialects};
///
/// // One meaning, and two dialects that spell it in their own way.
/// let spell = |dialect: &dialects::Dialect| dialect.controls.spelling(Control::End);
/// assert_eq!(spell(&dialects::OPENCHATML_2_2), Some("<|end|>"));
/// assert_eq!(spell(&dialects::CHATML), Some("<|im_end|>"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Control {
    /// Opens the header of a message: `<|start|>`, `<|im_start|>`.
    Start,
    /// Precedes the channel: `<|channel|>`.
    Channel,
    /// Opens the body: `<|message|>`, `[TOOL_CONTENT]`.
    Message,
    /// Ends the body of a tool call: `<|call|>`.
    Call,
    /// Precedes the content type that the body must have: `<|constrain|>`.
    Constrain,
    /// Ends the body and the sampling: `<|return|>`.
    Return,
    /// Ends the body: `<|end|>`, `<|end_message|>`, `<|im_end|>`.
    End,
    /// Opens a literal block: `<|literal|>`.
    Literal,
    /// Ends a literal block: `<|endliteral|>`.
    EndLiteral,
    /// A chain-of-thought marker, such as `<|start_reason|>`.
    Marker(Marker),
    /// Begins a sequence: `<s>`.
    Bos,
    /// Ends a sequence: `</s>`.
    Eos,
    /// Precedes the text before the cursor: `<|fim_prefix|>`.
    FimPrefix,
    /// Marks the cursor: `<|fim_middle|>`.
    FimMiddle,
    /// Precedes the text after the cursor: `<|fim_suffix|>`.
    FimSuffix,
    /// Separates files: `<|file_separator|>`.
    FileSeparator,
    /// Opens the turn of a role, such as `<|user_start|>`.
    Open(Role),
    /// Ends the turn of a role, such as `<|user_end|>`.
    Close(Role),
    /// Opens a section of a turn: `<think>`, `<|tools_prefix|>`.
    OpenSection(Section),
    /// Ends a section of a turn: `</think>`, `<|tools_suffix|>`.
    CloseSection(Section),
    /// Separates the name of a tool from the arguments of its call.
    Arguments,
    /// Precedes the id of a call, between the name of the tool and the arguments.
    CallId,
}

/// A section of a turn: a part with its own opening and closing tokens.
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
    /// A list of tool replies.
    Replies,
    /// One tool reply.
    Reply,
    /// The name of a parameter.
    Key,
    /// The value of a parameter, or a string in a value.
    Value,
    /// The declaration of a tool.
    Declaration,
    /// The instruction to think.
    Thinking,
    /// The text of the assistant for the user, in formats that write tokens around it.
    Answer,
    /// A section of a kind that the format does not have.
    Unknown,
}

impl Control {
    /// The number of controls.
    pub(crate) const COUNT: usize = 52;

    /// Returns a unique number for each control, counted from 0.
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
            Self::CloseSection(section) => 39 + section as usize,
            Self::Arguments => 50,
            Self::CallId => 51,
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

    /// Whether a text that begins with this control continues a prompt, because the control stands
    /// inside of a message or of a turn of the assistant.
    pub(crate) const fn begins_completion(self) -> bool {
        match self {
            Self::Channel => true,
            Self::OpenSection(section) => {
                matches!(
                    section,
                    Section::Reasoning | Section::Calls | Section::Call | Section::Answer
                )
            }
            Self::CloseSection(section) => {
                matches!(section, Section::Reasoning | Section::Answer)
            }
            _ => false,
        }
    }
}
