//! The sections of the assistant's turn, as data: reasoning and calls.

use crate::control::Control;
use crate::model::Role;

/// The sections of the assistant's turn: how reasoning and calls are written.
///
/// ```
/// use openchatml::dialects::{self, CallPiece, Completion};
///
/// let Some(Completion::Sections(sections)) = dialects::QWEN3.completion() else {
///     unreachable!("its turns have sections")
/// };
/// assert_eq!(sections.calls.pieces[0], CallPiece::Json("{\"name\": "));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sections {
    /// How reasoning is marked.
    pub reasoning: Reasoning,
    /// How calls are written.
    pub calls: Calls,
    /// The token that closes the turn.
    pub close: Control,
    /// What prompts end in.
    pub prompts: Prompts,
}

/// A token, and the line breaks around it that belong to the framing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The token.
    pub control: Control,
    /// How many line breaks stand before it.
    pub before: u8,
    /// How many line breaks follow it.
    pub after: u8,
}

/// How reasoning is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reasoning {
    /// What opens it.
    pub open: Mark,
    /// What closes it. The line breaks that follow it belong to the text or the call behind it.
    pub close: Mark,
    /// How a turn says that it has no reasoning.
    pub none: NoReasoning,
}

/// How a turn says that it has no reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoReasoning {
    /// By nothing.
    Nothing,
    /// By the token that closes reasoning.
    Close,
}

/// How calls are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Calls {
    /// What stands around all calls of a turn.
    pub list: Option<(Mark, Mark)>,
    /// What opens and closes one call. The line breaks before the one that opens it stand behind a text
    /// or another call.
    pub item: (Mark, Mark),
    /// What stands in a call.
    pub pieces: &'static [CallPiece],
    /// The namespace of the tools that are called by their bare names.
    pub namespace: &'static str,
}

/// A piece of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallPiece {
    /// JSON punctuation and keys. White space in it is layout.
    Json(&'static str),
    /// The name of the tool, as a string of JSON.
    Name,
    /// The name of the tool, and the token that ends it.
    NameUpTo(Control),
    /// The arguments: a JSON value.
    Arguments,
}

/// What a generation prompt says of reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Prompts {
    /// Whether the model thinks where nothing is said of it.
    pub thinks: bool,
    /// What a prompt ends in where the model thinks, and where it does not.
    pub ends: [PromptEnd; 2],
    /// Whether the turn of the assistant goes on without a token of its own behind what it said, and
    /// behind replies of tools: then prompts write nothing there.
    pub goes_on: bool,
}

/// What a generation prompt ends in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PromptEnd {
    /// The opening of the turn.
    Turn,
    /// The token that opens reasoning.
    Open,
    /// The token that closes reasoning.
    Close,
    /// Reasoning in which nothing is said.
    Pair,
}

impl Prompts {
    /// What a prompt ends in, behind a message of `last`.
    ///
    /// ```
    /// use openchatml::Role;
    /// use openchatml::dialects::{self, Completion, PromptEnd};
    ///
    /// let Some(Completion::Sections(sections)) = dialects::QWEN3.completion() else {
    ///     unreachable!("its turns have sections")
    /// };
    /// assert_eq!(sections.prompts.end(Some(Role::User), None), PromptEnd::Turn);
    /// assert_eq!(sections.prompts.end(Some(Role::User), Some(false)), PromptEnd::Pair);
    /// ```
    pub fn end(&self, last: Option<Role>, thinking: Option<bool>) -> PromptEnd {
        if self.goes_on && matches!(last, Some(Role::Assistant | Role::Tool)) {
            return PromptEnd::Turn;
        }
        self.ends[usize::from(!thinking.unwrap_or(self.thinks))]
    }
}

impl Mark {
    /// A token with so many line breaks before it, and behind it.
    pub(crate) const fn new(control: Control, before: u8, after: u8) -> Self {
        Self { control, before, after }
    }
}

impl Calls {
    /// The token that opens the first call of a turn.
    pub(crate) fn first(&self) -> Mark {
        self.list.map_or(self.item.0, |(open, _)| open)
    }

    /// The bare name of the tool that a recipient stands for: functions of the namespace are called
    /// without it.
    ///
    /// ```
    /// use openchatml::dialects::{self, Completion};
    ///
    /// let Some(Completion::Sections(sections)) = dialects::QWEN3.completion() else {
    ///     unreachable!("its turns have sections")
    /// };
    /// assert_eq!(sections.calls.tool("functions.now"), "now");
    /// assert_eq!(sections.calls.tool("browser.search"), "browser.search");
    /// ```
    pub fn tool<'r>(&self, recipient: &'r str) -> &'r str {
        let bare = recipient.strip_prefix(self.namespace).and_then(|it| it.strip_prefix('.'));
        // A tool outside of the namespace keeps its name, unless it would be taken for one inside.
        bare.filter(|bare| !bare.contains('.')).unwrap_or(recipient)
    }
}
