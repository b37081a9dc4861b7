//! Errors of writing.

use std::fmt;

use super::SinkError;
use crate::declare::unwritable_name;
use crate::diagnostic::quote;
use crate::model::Tool;
use crate::{Code, Conversation, Diagnostic, Span};

/// A document that a format cannot express, with the reason and the place.
///
/// The message quotes no content, only the control token that caused the error.
///
/// ```
/// use openchatml::render::Place;
/// use openchatml::{Conversation, Message, RenderOptions, Role, render};
///
/// let message = Message::new(Role::User, "say <|im_end|>");
/// let document = Conversation::from_messages([message]).into();
/// let error = render(&document, "chatml".parse()?, &RenderOptions::default()).unwrap_err();
/// assert_eq!((error.message, error.place, error.span.start), (Some(0), Place::Body, 4));
/// assert_eq!(
///     error.to_string(),
///     "message 0, content at byte 4: this dialect cannot escape `<|im_end|>`",
/// );
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderError {
    /// The code of the error.
    pub code: Code,
    /// The number of the refused message, from 0, if it is a message.
    pub message: Option<usize>,
    /// The part of the message or document.
    pub place: Place,
    /// The place in that part, in bytes.
    pub span: Span,
    text: String,
    help: Option<&'static str>,
}

/// The part of a message or document that is refused.
///
/// ```
/// use openchatml::render::Place;
/// use openchatml::{Conversation, Message, RenderOptions, Role, render};
///
/// let mut message = Message::new(Role::User, "Hi.");
/// message.name = Some("Eric Smith".into());
/// let document = Conversation::from_messages([message]).into();
/// let error = render(&document, "chatml".parse()?, &RenderOptions::default()).unwrap_err();
/// assert_eq!(error.place, Place::Name);
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Place {
    /// The body.
    Body,
    /// The role.
    Role,
    /// `name`.
    Name,
    /// `recipient`.
    Recipient,
    /// `call_id`.
    CallId,
    /// `content_type`.
    ContentType,
    /// The end.
    End,
    /// The header of the document.
    Header,
    /// The document as a whole.
    Document,
}

impl Place {
    fn as_str(self) -> &'static str {
        match self {
            Self::Body => "content",
            Self::Role => "role",
            Self::Name => "name",
            Self::Recipient => "recipient",
            Self::CallId => "call_id",
            Self::ContentType => "content_type",
            Self::End => "end",
            Self::Header => "header",
            Self::Document => "document",
        }
    }
}

impl RenderError {
    pub(crate) fn new(code: Code, message: Option<usize>, text: impl Into<String>) -> Self {
        let help = match code {
            Code::RenderControl => {
                Some("remove these characters, or write another format or token ids")
            }
            Code::ParseHeader => Some(
                "remove white space and control tokens, or sanitize values, which writes `_` instead",
            ),
            _ => None,
        };
        let (place, span) = (Place::Document, Span::default());
        Self { code, message, place, span, text: text.into(), help }
    }

    /// Creates the error for files and fill-in-the-middle tasks, which a dialect does not support.
    pub(crate) fn not_a_conversation(dialect: &str) -> Self {
        let text = format!("`{dialect}` supports only conversations");
        Self::new(Code::RenderUnsupported, None, text)
            .help("write `json`, which supports every document")
    }

    /// Creates the error for a tool that cannot be declared as text, if there is one.
    pub(crate) fn of_tools(tools: &[Tool<'_>]) -> Option<Self> {
        let name = quote(unwritable_name(tools)?);
        let text = format!("the declaration of tools cannot contain the name {name}");
        let error = Self::new(Code::RenderUnsupported, None, text);
        Some(error.help("rename the tool: use letters, digits, `_`, `-` and `.`"))
    }

    /// Creates the error for a tool whose declaration contains a control token, or a key that its
    /// syntax cannot express.
    pub(crate) fn of_declaration(tool: &Tool<'_>) -> Self {
        let text = format!("the declaration of the tool {} would end too early", quote(&tool.name));
        Self::new(Code::RenderControl, None, text).help(
            "remove control tokens from its texts, and `{}[],:` from the names of its parameters",
        )
    }

    pub(crate) fn help(mut self, help: &'static str) -> Self {
        self.help = Some(help);
        self
    }

    /// Changes the number of the message.
    pub(crate) fn renumber(mut self, number: impl Fn(usize) -> usize) -> Self {
        self.message = self.message.map(number);
        self
    }

    pub(crate) fn at(mut self, place: Place, span: Span) -> Self {
        self.place = place;
        self.span = span;
        self
    }

    pub(crate) fn sink(error: SinkError, message: Option<usize>, place: Place) -> Self {
        let (text, span) = (error.to_string(), error.span);
        let code = match place {
            // Without a token, the role itself is not supported.
            Place::Role if error.spelling.is_empty() => Code::RenderUnsupported,
            Place::Body | Place::Document | Place::Header | Place::Role | Place::End => {
                Code::RenderControl
            }
            _ => Code::ParseHeader,
        };
        Self::new(code, message, text).at(place, span)
    }

    /// Returns the error as a diagnostic, at the original place of the message if it was read.
    ///
    /// ```
    /// use openchatml::{RenderOptions, Span, parse, render};
    ///
    /// let text = "<|im_start|>user\nsay <|end|>\n<|im_end|>";
    /// let parsed = parse(text, "openchatml-0.1".parse()?, &Default::default());
    /// let conversation = parsed.into_conversation();
    /// let target = "openchatml-2.0".parse()?;
    /// let error = render(&conversation.clone().into(), target, &RenderOptions::default());
    /// let found = error.unwrap_err().to_diagnostic(&conversation);
    /// assert_eq!(&text[found.span.range()], "<|end|>");
    /// # Ok::<(), openchatml::UnknownName>(())
    /// ```
    pub fn to_diagnostic(&self, conversation: &Conversation<'_>) -> Diagnostic {
        let message = self.message.and_then(|index| conversation.messages.get(index));
        let span = match message {
            Some(message) if self.place == Place::Body && message.body_at > 0 => {
                message.body_span(self.span)
            }
            Some(message) => message.header_span(),
            None => Span::default(),
        };
        let found = self.code.at(span, self.to_string());
        match self.help {
            Some(help) => found.help(help),
            None => found,
        }
    }
}

/// Converts an error that does not belong to a single message.
impl From<SinkError> for RenderError {
    fn from(error: SinkError) -> Self {
        Self::sink(error, None, Place::Document)
    }
}

impl fmt::Display for RenderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(message) = self.message {
            write!(f, "message {message}, {}", self.place.as_str())?;
            if !self.span.is_empty() {
                write!(f, " at byte {}", self.span.start)?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&self.text)
    }
}

impl std::error::Error for RenderError {}
