//! The sections of the assistant's turn, as data: reasoning and calls.

use super::{CallAttributes, Elements, Guard, Literals, Parameters, Tree};
use crate::control::{Control, Section};
use crate::model::Role;
use crate::options::RenderOptions;

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
    /// How reasoning is written.
    pub reasoning: Reasoning,
    /// The tokens around a text for the user, if a text has tokens of its own. A turn whose calls have
    /// no text before them has an empty text, which is no message.
    pub answer: Option<(Mark, Mark)>,
    /// How calls are written.
    pub calls: Calls,
    /// The token that ends the turn.
    pub close: Control,
    /// How prompts end.
    pub prompts: Prompts,
}

/// A token, and the line breaks around it that belong to the framing.
///
/// ```
/// use openchatml::dialects::{self, Completion};
///
/// let Some(Completion::Sections(sections)) = dialects::QWEN3.completion() else {
///     unreachable!("its turns have sections")
/// };
/// let close = sections.reasoning.close;
/// assert_eq!((close.before, close.after), (1, 2));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The token.
    pub control: Control,
    /// The number of line breaks before it.
    pub before: u8,
    /// The number of line breaks after it.
    pub after: u8,
}

/// How reasoning is written.
///
/// ```
/// use openchatml::dialects::{self, Completion, NoReasoning};
///
/// let Some(Completion::Sections(sections)) = dialects::QWEN3.completion() else {
///     unreachable!("its turns have sections")
/// };
/// assert_eq!(sections.reasoning.none, NoReasoning::Nothing);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reasoning {
    /// The token that opens it.
    pub open: Mark,
    /// The token that ends it. The line breaks after it belong to the following text or call.
    pub close: Mark,
    /// How a turn without reasoning is written.
    pub none: NoReasoning,
    /// Whether it stays open around calls, replies and further reasoning, up to an answer.
    pub stays_open: bool,
    /// What a call in it means.
    pub calls: InnerCalls,
    /// The tools whose call ends it, if it is the only call of its list.
    pub ended_by: &'static [&'static str],
}

/// What a call inside of reasoning means.
///
/// ```
/// use openchatml::dialects::{self, Completion, InnerCalls};
///
/// let Some(Completion::Sections(sections)) = dialects::QWEN3.completion() else {
///     unreachable!("its turns have sections")
/// };
/// assert_eq!(sections.reasoning.calls, InnerCalls::Uncertain);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InnerCalls {
    /// A complete call ends the reasoning.
    End,
    /// It is uncertain whether the model makes the call, so that it is not run.
    Uncertain,
    /// The tokens of calls are text.
    Text,
}

/// How a turn without reasoning is written.
///
/// ```
/// use openchatml::dialects::{self, Completion, NoReasoning};
///
/// let Some(Completion::Sections(sections)) = dialects::QWEN3.completion() else {
///     unreachable!("its turns have sections")
/// };
/// assert_ne!(sections.reasoning.none, NoReasoning::Close);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoReasoning {
    /// Without any token.
    Nothing,
    /// With the token that ends reasoning.
    Close,
    /// With empty reasoning.
    Pair,
    /// With empty reasoning, without line breaks.
    Bare,
    /// After the user's last message with empty reasoning, and before it without any token. Both are
    /// read everywhere.
    AfterUser,
    /// The format has no reasoning.
    Never,
}

/// How calls are written.
///
/// ```
/// use openchatml::dialects::{self, Completion};
///
/// let Some(Completion::Sections(sections)) = dialects::QWEN3.completion() else {
///     unreachable!("its turns have sections")
/// };
/// assert!(sections.calls.list.is_none());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Calls {
    /// The tokens around all calls of a turn.
    pub list: Option<(Mark, Mark)>,
    /// The tokens around one call, or around an array of calls. Line breaks before the opening token
    /// follow a text or another call. Without a closing token, a call ends with its arguments, which
    /// must be an object.
    pub item: (Mark, Option<Mark>),
    /// The number of line breaks between a text and the first call.
    pub lead: u8,
    /// The number of line breaks between those behind the end of reasoning and the first call, if it
    /// is not `lead` less the former.
    pub lead_after_reasoning: Option<u8>,
    /// The text around the calls between these tokens, if there can be several. If no token closes
    /// them, the calls are objects of a JSON list, each with its id as the last key.
    pub array: Option<Array>,
    /// The parts of a call.
    pub pieces: &'static [CallPiece],
    /// The text behind the name that ends a call without arguments at once, if there is one. It is
    /// read, and not written.
    pub empty: Option<&'static str>,
    /// How calls are read that are withheld until they are complete. If calls need no token, the writer
    /// writes the token that opens calls only after a text, and no token that closes them.
    pub guard: Option<&'static Guard>,
    /// Whether models forget the token that opens calls. Text that begins a line like a call of a known
    /// tool is then read as a call, if the token that closes calls follows.
    pub unopened: bool,
    /// The namespace of tools that are called without it.
    pub namespace: &'static str,
    /// Whether the tokens of a call are ordinary words, which are tokens only in a list of calls.
    pub are_words: bool,
}

/// The text around the items of an array, and between them.
///
/// ```
/// use openchatml::dialects::{self, Completion};
///
/// let Some(Completion::Sections(sections)) = dialects::QWEN3.completion() else {
///     unreachable!("its turns have sections")
/// };
/// assert!(sections.calls.array.is_none());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Array {
    /// The text before the first item.
    pub open: &'static str,
    /// The text between two items.
    pub between: &'static str,
    /// The end of the last item, and the text after it.
    pub close: &'static str,
}

/// A part of a call.
///
/// ```
/// use openchatml::dialects::{self, Completion, CallPiece};
///
/// let Some(Completion::Sections(sections)) = dialects::QWEN3.completion() else {
///     unreachable!("its turns have sections")
/// };
/// assert!(sections.calls.pieces.contains(&CallPiece::Arguments));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallPiece {
    /// JSON punctuation and keys. White space in it is layout.
    Json(&'static str),
    /// The name of the tool, as a JSON string.
    Name,
    /// The name of the tool as it is, between quotation marks of the pieces around it.
    PlainName,
    /// The name of the tool, and the token that ends it.
    NameUpTo(Control),
    /// A token.
    Token(Control),
    /// The name of the tool, and the token that ends it. Between them, there can be a token and the id
    /// of the call.
    NameAndId {
        /// The token before the id.
        id: Control,
        /// The token that ends the name, or the id.
        end: Control,
    },
    /// The id of the call, which contains the name of the tool, such as `functions.now:0`, and the
    /// token that ends it.
    IdUpTo(Control),
    /// The arguments, as a JSON value.
    Arguments,
    /// The attributes of the call, and the token that ends them.
    Attributes(CallAttributes),
    /// Text of the framing. White space around it is layout. After a token it can be line breaks, which
    /// are layout, too.
    Word(&'static str),
    /// The name of the tool, and the text that ends it. If that is only line breaks, the name ends
    /// at the first parameter, or at the end of the call.
    NameBefore(&'static str),
    /// The arguments, as parameters.
    Parameters(&'static Parameters),
    /// The arguments, as the members of an object and the brace that closes it.
    Tree(&'static Tree),
    /// The arguments, as elements.
    Elements(&'static Elements),
    /// The arguments, as keyword arguments of Python: `city='Bern', days=3`.
    Python(Literals),
}

/// How generation prompts handle reasoning.
///
/// ```
/// use openchatml::dialects::{self, Completion};
///
/// let Some(Completion::Sections(sections)) = dialects::QWEN3.completion() else {
///     unreachable!("its turns have sections")
/// };
/// assert!(sections.prompts.thinks);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Prompts {
    /// Whether the model thinks by default.
    pub thinks: bool,
    /// The end of a prompt if the model thinks, and if it does not.
    pub ends: [PromptEnd; 2],
    /// The end of a prompt if nothing says whether the model thinks, in formats where the model then
    /// decides it. Otherwise, the prompt is that of the default.
    pub undecided: Option<PromptEnd>,
    /// Whether the assistant's turn continues without a new opening token after its own messages
    /// and after tool replies. Prompts then add nothing there.
    pub goes_on: bool,
    /// Whether a turn that continues after tool replies says again whether it has reasoning. Prompts
    /// then end there as at the beginning of a turn.
    pub again: bool,
    /// Whether the turn continues only after tool replies. If the model thinks, prompts open reasoning
    /// there.
    pub reopens: bool,
    /// Whether a prompt can end with the token that opens reasoning, if that is
    /// [requested](RenderOptions::open_reasoning).
    pub can_open: bool,
}

/// The end of a generation prompt.
///
/// ```
/// use openchatml::dialects::{self, Completion, PromptEnd};
///
/// let Some(Completion::Sections(sections)) = dialects::QWEN3.completion() else {
///     unreachable!("its turns have sections")
/// };
/// assert_eq!(sections.prompts.ends, [PromptEnd::Turn, PromptEnd::Pair]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PromptEnd {
    /// The opening of the turn.
    Turn,
    /// The token that opens reasoning.
    Open,
    /// The token that ends reasoning.
    Close,
    /// Empty reasoning.
    Pair,
    /// Empty reasoning, without the line breaks before its end token.
    Empty,
    /// Empty reasoning, without line breaks.
    Bare,
    /// The token that opens the text for the user.
    Answer,
}

impl Prompts {
    /// Values that most formats share. A table writes only the others.
    pub(crate) const NONE: Self = Self {
        thinks: false,
        ends: [PromptEnd::Turn; 2],
        undecided: None,
        goes_on: false,
        again: false,
        reopens: false,
        can_open: false,
    };

    /// Returns the end of a prompt after a message of `last`.
    ///
    /// ```
    /// use openchatml::dialects::{self, Completion, PromptEnd};
    /// use openchatml::{RenderOptions, Role};
    ///
    /// let Some(Completion::Sections(sections)) = dialects::QWEN3.completion() else {
    ///     unreachable!("its turns have sections")
    /// };
    /// let mut options = RenderOptions::default();
    /// assert_eq!(sections.prompts.end(Some(Role::User), &options), PromptEnd::Turn);
    /// options.thinking = Some(false);
    /// assert_eq!(sections.prompts.end(Some(Role::User), &options), PromptEnd::Pair);
    /// ```
    pub fn end(&self, last: Option<Role>, options: &RenderOptions) -> PromptEnd {
        let goes_on = match last {
            Some(Role::Assistant) => self.goes_on && !self.reopens,
            Some(Role::Tool) => self.goes_on && !self.again,
            _ => false,
        };
        if goes_on {
            let opens = self.reopens && options.thinking.unwrap_or(self.thinks);
            return if opens { PromptEnd::Open } else { PromptEnd::Turn };
        }
        if options.open_reasoning && self.can_open {
            return PromptEnd::Open;
        }
        match (options.thinking, self.undecided) {
            (None, Some(end)) => end,
            (thinking, _) => self.ends[usize::from(!thinking.unwrap_or(self.thinks))],
        }
    }
}

impl Mark {
    /// Creates a token with this number of line breaks before and after it.
    pub(crate) const fn new(control: Control, before: u8, after: u8) -> Self {
        Self { control, before, after }
    }

    /// Creates a token without line breaks.
    pub(crate) const fn plain(control: Control) -> Self {
        Self::new(control, 0, 0)
    }
}

impl CallPiece {
    /// Whether it is the arguments.
    pub(crate) fn is_arguments(&self) -> bool {
        matches!(
            self,
            Self::Arguments
                | Self::Parameters(_)
                | Self::Tree(_)
                | Self::Elements(_)
                | Self::Python(_)
        )
    }
}

impl Calls {
    /// Values that most formats share. A table writes only the others.
    pub(crate) const NONE: Self = Self {
        list: None,
        item: (Mark::plain(Control::OpenSection(Section::Call)), None),
        lead: 0,
        lead_after_reasoning: None,
        array: None,
        pieces: &[],
        empty: None,
        guard: None,
        unopened: false,
        namespace: "functions",
        are_words: false,
    };

    /// Returns the token after which a malformed call is over: the one that closes calls, or else
    /// the one that opens the next.
    pub(crate) fn limit(&self) -> Control {
        self.item.1.map_or(self.item.0.control, |close| close.control)
    }

    /// Whether calls are the objects of a JSON list.
    pub(crate) fn are_listed(&self) -> bool {
        self.array.is_some() && self.item.1.is_none() && self.guard.is_none()
    }

    /// Whether this token closes a call.
    pub(crate) fn closes(&self, control: Control) -> bool {
        self.item.1.is_some_and(|close| close.control == control)
    }

    /// Returns the form of the arguments, if they are parameters.
    pub(crate) fn parameters(&self) -> Option<&'static Parameters> {
        self.pieces.iter().find_map(|piece| match piece {
            CallPiece::Parameters(parameters) => Some(*parameters),
            _ => None,
        })
    }

    /// Whether the arguments are written as JSON.
    pub(crate) fn has_json(&self) -> bool {
        self.parameters().is_none()
            && self.tree().is_none()
            && self.elements().is_none()
            && !self.has_python()
    }

    /// Whether the arguments are written in the syntax of Python.
    pub(crate) fn has_python(&self) -> bool {
        self.python().is_some()
    }

    /// Returns how the values of arguments are written, if they are in the syntax of Python.
    pub(crate) fn python(&self) -> Option<Literals> {
        self.pieces.iter().find_map(|piece| match piece {
            CallPiece::Python(literals) => Some(*literals),
            _ => None,
        })
    }

    /// Whether calls always stand between tokens.
    pub(crate) fn are_marked(&self) -> bool {
        self.guard.is_none_or(|guard| guard.bare.is_empty())
    }

    /// Returns the form of the arguments, if they are written in a syntax of their own.
    pub(crate) fn tree(&self) -> Option<&'static Tree> {
        self.pieces.iter().find_map(|piece| match piece {
            CallPiece::Tree(tree) => Some(*tree),
            _ => None,
        })
    }

    /// Returns the form of the arguments, if they are elements.
    pub(crate) fn elements(&self) -> Option<&'static Elements> {
        self.pieces.iter().find_map(|piece| match piece {
            CallPiece::Elements(elements) => Some(*elements),
            _ => None,
        })
    }

    /// Returns the name of the tool of a recipient as calls write it: without the namespace for
    /// functions.
    ///
    /// ```
    /// use openchatml::dialects::{self, Completion};
    ///
    /// let Some(Completion::Sections(sections)) = dialects::QWEN3.completion() else {
    ///     unreachable!("its turns have sections")
    /// };
    /// assert_eq!(sections.calls.tool("functions.now"), "now");
    /// assert_eq!(sections.calls.tool("functions.clock.now"), "clock.now");
    /// assert_eq!(sections.calls.tool("browser.search"), "browser.search");
    /// ```
    pub fn tool<'r>(&self, recipient: &'r str) -> &'r str {
        let bare = recipient.strip_prefix(self.namespace).and_then(|it| it.strip_prefix('.'));
        bare.filter(|bare| !bare.is_empty()).unwrap_or(recipient)
    }
}
