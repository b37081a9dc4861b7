//! The losses of a conversion, by name.

use std::fmt;

use crate::diagnostic::quote;
use crate::{Code, Diagnostic, Severity, Span};

/// Something that the target format cannot express.
///
/// ```
/// use openchatml::convert::{self, Lost};
/// use openchatml::{Conversation, Message};
///
/// let document = Conversation::from_messages([Message::reasoning("Easy.")]).into();
/// let (_, losses) = convert::adapt(&document, "chatml-wire:text".parse()?);
/// assert_eq!((losses[0].message, losses[0].lost), (Some(0), Lost::Analysis));
/// assert_eq!(losses[0].to_string(), "message 0: analysis dropped");
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// The number of the message, from 0, or `None` for the document. See
    /// [`join_losses`](crate::convert::join_losses) for the numbers in a pair.
    pub message: Option<usize>,
    /// The original place of the message, or of the parameters of the tool, in bytes. Empty for a
    /// message that was not read, and for the document.
    pub span: Span,
    /// The kind of loss.
    pub lost: Lost,
    /// Which item of that kind is lost, if there are several: the key of a field.
    pub detail: Option<Box<str>>,
}

macro_rules! lost {
    ($($(#[$doc:meta])+ $variant:ident = $name:literal,)+) => {
        /// A kind of loss.
        ///
        /// ```
        /// use openchatml::convert::{self, Lost};
        /// use openchatml::{Conversation, Message, Role};
        ///
        /// // A caller that can do without reasoning, but not without anything else.
        /// let mut named = Message::new(Role::User, "Hi.");
        /// named.name = Some("Eric".into());
        /// let document = Conversation::from_messages([Message::reasoning("Hm."), named]).into();
        /// let (_, mut losses) = convert::adapt(&document, "chatml-wire:text".parse()?);
        /// losses.retain(|loss| loss.lost != Lost::Analysis);
        /// assert_eq!(losses[0].lost.as_str(), "name dropped");
        /// # Ok::<(), openchatml::UnknownName>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Lost { $($(#[$doc])+ $variant),+ }

        impl Lost {
            /// All kinds of losses.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the stable name.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// Returns the name as one word, for command lines and configuration: `call_id`,
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

            /// Whether weights are lost. A loss mask has them, whatever the format.
            ///
            /// ```
            /// use openchatml::convert::Lost;
            ///
            /// assert!(Lost::Weight.is_of_weights() && !Lost::Name.is_of_weights());
            /// ```
            pub const fn is_of_weights(self) -> bool {
                matches!(self, Self::Weight | Self::Untrained | Self::Context)
            }
        }
    };
}

lost! {
    /// The header of the document.
    Header = "header dropped",
    /// The comments in the YAML of the header.
    Comments = "header comments dropped",
    /// `capabilities` of the header.
    Capabilities = "capabilities dropped",
    /// `profiles` of the header.
    Profiles = "profiles dropped",
    /// The version in the header, which the target format replaces with its own.
    Version = "version replaced",
    /// The declarations of tools become text of a message and are not read back as declarations.
    ToolsAsText = "tools written as text",
    /// Declarations of the system or the developer as data become text.
    DeclaredAsText = "declarations written as text",
    /// The declarations of tools.
    Tools = "tools dropped",
    /// A part of a tool's declaration: a keyword of its schema (see
    /// [`typescript`](crate::declare::typescript) for its place), or a field such as `strict`.
    Declaration = "tool declared in part",
    /// `developer` becomes `system`.
    Developer = "developer merged into system",
    /// A message of reasoning.
    Analysis = "analysis dropped",
    /// Reasoning of earlier turns that ended with an answer, which the next prompt does not
    /// contain. Every format could carry it; see [`history`](crate::history).
    History = "earlier reasoning dropped",
    /// A message of commentary.
    Commentary = "commentary dropped",
    /// Commentary that is not for the user becomes reasoning, because the format would show it.
    CommentaryMoved = "commentary moved to analysis",
    /// A tool call.
    Call = "call dropped",
    /// A tool reply.
    Reply = "tool reply dropped",
    /// A message that a completion wrote for another role.
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
    /// `call_id`, in a format where no two calls share one: the later call and its reply get another.
    CallIdChanged = "call_id changed",
    /// `intent`.
    Intent = "intent dropped",
    /// `content_type`.
    ContentType = "content_type dropped",
    /// Input of a custom tool, which is no JSON, in a format where calls have JSON arguments.
    CustomInput = "input of a custom tool written as arguments",
    /// White space and the spelling of numbers in arguments, in a format that writes values anew.
    Arguments = "arguments respelled",
    /// The type of an argument, in a format where a string looks like another value: it is read back
    /// as that value, unless a schema says otherwise.
    ArgumentTypes = "type of an argument dropped",
    /// Characters of a header value that are not allowed in a header.
    Sanitized = "header value sanitized",
    /// The constraint on the body.
    Constraint = "constraint dropped",
    /// Chain-of-thought markers.
    Markers = "markers dropped",
    /// Reasoning after a marker in a visible message becomes a separate message.
    ReasoningMoved = "reasoning moved to analysis",
    /// The end `<|return|>` of the message.
    Return = "return dropped",
    /// The end `<|call|>` of the message.
    CallEnd = "call end dropped",
    /// The mark that the message is open.
    Open = "open end dropped",
    /// An empty open message, in a format without open messages.
    Prompt = "prompt dropped",
    /// The boundary between the message and the one before: they are joined.
    Merged = "merged with the message before",
    /// The position of a reply: replies are sorted by their calls.
    Order = "replies put in order",
    /// The call of a reply: in the target format, the reply is read as the reply to another call.
    Pairing = "reply paired with another call",
    /// A message of the system or the developer after the beginning of the conversation.
    LateSystem = "late system message dropped",
    /// The position of a message of the system after the beginning of the conversation.
    SystemMoved = "late system message moved to the beginning",
    /// An empty message.
    Empty = "empty message dropped",
    /// The mark that the reader guessed at the message.
    Recovered = "recovered mark dropped",
    /// Unknown words of the header.
    Unread = "unread header words dropped",
    /// An image.
    Image = "image dropped",
    /// Audio.
    Audio = "audio dropped",
    /// A video.
    Video = "video dropped",
    /// A file.
    File = "file dropped",
    /// Another content part.
    Part = "content part dropped",
    /// Where the text parts of a content begin and end: they are joined to one text. Nothing is lost
    /// in a prompt, whose parts every template joins, and in an answer, which services cut anywhere.
    TextParts = "borders of text parts dropped",
    /// The mark that a text is a refusal.
    Refusal = "refusal mark dropped",
    /// Citations in the text.
    Annotations = "annotations dropped",
    /// The weight of a message in training.
    Weight = "weight dropped",
    /// A summary of reasoning.
    Summary = "reasoning summary dropped",
    /// Reasoning that only the service can read.
    Encrypted = "encrypted reasoning dropped",
    /// A reference to an item that the service stores.
    Reference = "item reference dropped",
    /// A call to a tool that the service runs itself, or its result.
    Hosted = "hosted tool call dropped",
    /// The declaration of a tool that is not a function.
    HostedTool = "hosted tool dropped",
    /// Another item that only the format of the input can express.
    Item = "item dropped",
    /// A key that only the format of the input can express: a parameter of a request, a field of a
    /// record.
    Field = "field dropped",
    /// A preamble becomes an answer, in a format without preambles or with preambles only before
    /// calls.
    Preamble = "preamble moved to final",
    /// A message that was dropped so that the rest fits a budget.
    Truncated = "message dropped to fit",
    /// The end of a long text that was cut so that the rest fits a budget.
    Cut = "text cut to fit",
    /// A part of the output that the service of the format does not accept. Nothing is dropped: the
    /// detail is the reason.
    Unaccepted = "not accepted by the service",
    /// The weights of a sample that a model is not trained on at all, such as a bad answer. Without
    /// them it would look like a good one.
    Untrained = "mark of an untrained sample dropped",
    /// The training of an earlier answer: in records, everything before the completion is only
    /// context. The answer gets the weight 0.
    Context = "training of an earlier answer dropped",
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
    /// Creates the loss at a message, or in the document.
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

    /// Creates the loss in the whole document.
    pub(crate) fn of_document(lost: Lost) -> Self {
        Self::new(None, Span::default(), lost)
    }

    /// Sets which item of that kind is lost.
    pub(crate) fn of(mut self, detail: &str) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Returns the loss as a diagnostic with the code [`Code::Loss`] and this severity.
    ///
    /// ```
    /// use openchatml::{Code, Conversation, Message, Severity, convert};
    ///
    /// let document = Conversation::from_messages([Message::reasoning("Hm.")]).into();
    /// let (_, losses) = convert::adapt(&document, "chatml".parse()?);
    /// let found = losses[0].to_diagnostic(Severity::Error);
    /// assert_eq!((found.code, found.severity), (Code::Loss, Severity::Error));
    /// # Ok::<(), openchatml::UnknownName>(())
    /// ```
    pub fn to_diagnostic(&self, severity: Severity) -> Diagnostic {
        Code::Loss.at(self.span, self.to_string()).severity(severity)
    }
}
