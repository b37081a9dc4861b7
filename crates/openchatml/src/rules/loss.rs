//! What a conversion loses, by name.

use std::fmt;

use crate::diagnostic::quote;
use crate::{Code, Diagnostic, Severity, Span};

/// Something that the target format cannot carry.
///
/// ```
/// use openchatml::convert::{self, Lost};
/// use openchatml::{Conversation, Message};
///
/// let document = Conversation::from_messages([Message::reasoning("Easy.")]).into();
/// let (_, losses) = convert::adapt(&document, "chatml".parse()?);
/// assert_eq!((losses[0].message, losses[0].lost), (Some(0), Lost::Analysis));
/// assert_eq!(losses[0].to_string(), "message 0: analysis dropped");
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// The message that loses it, from 0; `None` for the document.
    pub message: Option<usize>,
    /// Where the message stood in the input, or the parameters of the tool, in bytes. Empty if it
    /// was not read, and for the document.
    pub span: Span,
    /// What is lost.
    pub lost: Lost,
    /// Which one of that kind, where there are many: the key of a field.
    pub detail: Option<Box<str>>,
}

macro_rules! lost {
    ($($(#[$doc:meta])+ $variant:ident = $name:literal,)+) => {
        /// What a conversion loses.
        ///
        /// ```
        /// use openchatml::convert::{self, Lost};
        /// use openchatml::{Conversation, Message, Role};
        ///
        /// // A caller that can do without reasoning, but not without anything else.
        /// let mut named = Message::new(Role::User, "Hi.");
        /// named.name = Some("Eric".into());
        /// let document = Conversation::from_messages([Message::reasoning("Hm."), named]).into();
        /// let (_, mut losses) = convert::adapt(&document, "chatml".parse()?);
        /// losses.retain(|loss| loss.lost != Lost::Analysis);
        /// assert_eq!(losses[0].lost.as_str(), "name dropped");
        /// # Ok::<(), openchatml::UnknownName>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Lost { $($(#[$doc])+ $variant),+ }

        impl Lost {
            /// Every kind of loss.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Its stable name.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// The name as one word, for command lines and configuration: `call_id`,
            /// `developer-merged-into-system`.
            ///
            /// ```
            /// use openchatml::convert::Lost;
            ///
            /// assert_eq!(Lost::CallId.word(), "call_id");
            /// assert_eq!(Lost::LateSystem.word(), "late-system-message");
            /// ```
            pub fn word(self) -> String {
                let name = self.as_str();
                name.strip_suffix(" dropped").unwrap_or(name).replace(' ', "-")
            }
        }
    };
}

lost! {
    /// The header of the document.
    Header = "header dropped",
    /// Comments in the YAML of the header.
    Comments = "header comments dropped",
    /// `capabilities` of the header.
    Capabilities = "capabilities dropped",
    /// `profiles` of the header.
    Profiles = "profiles dropped",
    /// The version that the header names, which the target format replaces by its own.
    Version = "version replaced",
    /// The declarations of tools become text of a message, and are not read back as declarations.
    ToolsAsText = "tools written as text",
    /// What the system or the developer declares as data becomes the text that it stands for.
    DeclaredAsText = "declarations written as text",
    /// The declarations of tools.
    Tools = "tools dropped",
    /// What the declaration of a tool does not say: a keyword of its schema, for which
    /// [`typescript`](crate::declare::typescript) tells the place, or a field such as `strict`.
    Declaration = "tool declared in part",
    /// `developer` becomes `system`.
    Developer = "developer merged into system",
    /// A message of reasoning.
    Analysis = "analysis dropped",
    /// Reasoning that is no part of the next prompt: that of turns that an answer ended. No format lacks a
    /// place for it; see [`history`](crate::history).
    History = "earlier reasoning dropped",
    /// A message of commentary.
    Commentary = "commentary dropped",
    /// Commentary that is not for the user becomes reasoning, where a format would show it.
    CommentaryMoved = "commentary moved to analysis",
    /// A tool call.
    Call = "call dropped",
    /// A tool's reply.
    Reply = "tool reply dropped",
    /// What a completion said in the name of somebody else.
    Foreign = "foreign message dropped",
    /// A message that is hidden for another reason.
    Hidden = "hidden message dropped",
    /// `name`.
    Name = "name dropped",
    /// `recipient`.
    Recipient = "recipient dropped",
    /// `channel`.
    Channel = "channel dropped",
    /// `call_id`.
    CallId = "call_id dropped",
    /// `intent`.
    Intent = "intent dropped",
    /// `content_type`.
    ContentType = "content_type dropped",
    /// A value of a header becomes one that a header can hold.
    Sanitized = "header value sanitized",
    /// The constraint on the body.
    Constraint = "constraint dropped",
    /// Chain-of-thought markers.
    Markers = "markers dropped",
    /// Reasoning that follows a marker in a message for the user becomes a message of its own.
    ReasoningMoved = "reasoning moved to analysis",
    /// That the message ended by `<|return|>`.
    Return = "return dropped",
    /// That the message ended by `<|call|>`.
    CallEnd = "call end dropped",
    /// That the message is open.
    Open = "open end dropped",
    /// A message that is open and says nothing yet, where the format has no open messages.
    Prompt = "prompt dropped",
    /// That it was a message of its own: it goes on the one before.
    Merged = "merged with the message before",
    /// That a reply stood before another one: replies are put in the order of their calls.
    Order = "replies put in order",
    /// What the system or the developer says after the conversation has begun.
    LateSystem = "late system message dropped",
    /// A message that says nothing.
    Empty = "empty message dropped",
    /// That the reader had to guess at the message.
    Recovered = "recovered mark dropped",
    /// Words of a header that the reader could not understand.
    Unread = "unread header words dropped",
    /// An image.
    Image = "image dropped",
    /// Sound.
    Audio = "audio dropped",
    /// A video.
    Video = "video dropped",
    /// A file.
    File = "file dropped",
    /// A part of content that is none of these.
    Part = "content part dropped",
    /// That what the assistant says is a refusal.
    Refusal = "refusal mark dropped",
    /// What is cited in the text, and where.
    Annotations = "annotations dropped",
    /// How much a message counts in training.
    Weight = "weight dropped",
    /// A summary of reasoning.
    Summary = "reasoning summary dropped",
    /// Reasoning that only the service can read.
    Encrypted = "encrypted reasoning dropped",
    /// An item that stands for one that the service keeps.
    Reference = "item reference dropped",
    /// The call of a tool that the service runs itself, or what came of it.
    Hosted = "hosted tool call dropped",
    /// The declaration of a tool that is no function.
    HostedTool = "hosted tool dropped",
    /// Something else that only the format of the input has a place for.
    Item = "item dropped",
    /// A key that only the format of the input has a place for: a parameter of a request, a field of
    /// a record.
    Field = "field dropped",
    /// A preamble becomes an answer, where a format has preambles before calls only, or none.
    Preamble = "preamble moved to final",
    /// A message that went so that the rest fits a budget.
    Truncated = "message dropped to fit",
    /// The end of a long text, which went so that the rest fits a budget.
    Cut = "text cut to fit",
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(message) = self.message {
            write!(f, "message {message}: ")?;
        }
        match &self.detail {
            Some(detail) => write!(f, "{}: {}", self.lost, quote(detail)),
            None => self.lost.fmt(f),
        }
    }
}

impl Loss {
    /// The loss of this at a message, or in the document.
    ///
    /// ```
    /// use openchatml::Span;
    /// use openchatml::convert::{Loss, Lost};
    ///
    /// let loss = Loss::new(Some(2), Span::default(), Lost::CallId);
    /// assert_eq!(loss.to_string(), "message 2: call_id dropped");
    /// ```
    pub fn new(message: Option<usize>, span: Span, lost: Lost) -> Self {
        Self { message, span, lost, detail: None }
    }

    /// The loss of this in the document as a whole.
    pub(crate) fn of_document(lost: Lost) -> Self {
        Self::new(None, Span::default(), lost)
    }

    /// The same loss, of one of many such.
    pub(crate) fn of(mut self, detail: &str) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// The same as a diagnostic of the code [`Code::Loss`], as bad as the caller takes it.
    ///
    /// ```
    /// use openchatml::{Code, Conversation, Message, Severity, convert};
    ///
    /// let document = Conversation::from_messages([Message::reasoning("Hm.")]).into();
    /// let (_, losses) = convert::adapt(&document, "im".parse()?);
    /// let found = losses[0].to_diagnostic(Severity::Error);
    /// assert_eq!((found.code, found.severity), (Code::Loss, Severity::Error));
    /// # Ok::<(), openchatml::UnknownName>(())
    /// ```
    pub fn to_diagnostic(&self, severity: Severity) -> Diagnostic {
        Code::Loss.at(self.span, self.to_string()).severity(severity)
    }
}
