//! Errors of templates.

use std::fmt;

use minijinja::ErrorKind;
use openchatml::{Code, Conversation, Diagnostic, Span};

use crate::environment::{Exceeded, Raised};
use crate::limits::Limits;
use crate::marks::ContentPlace;
use crate::source::Rewritten;

/// The error of an invalid template, or of a conversation that cannot be written with a template.
///
/// ```
/// use openchatml::{Code, Span};
/// use openchatml_templates::{ErrorPlace, Template};
///
/// let error = Template::new("Hi.\n{% fro x in y %}", &Default::default()).unwrap_err();
/// assert_eq!((error.code, error.at), (Code::TemplateSyntax, ErrorPlace::Template(Span::new(7, 10))));
/// assert_eq!(error.message, "unknown statement fro");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TemplateError {
    /// The code: [`Code::TemplateSyntax`], [`Code::TemplateRender`], [`Code::RenderControl`] or
    /// [`Code::Limit`].
    pub code: Code,
    /// The message, without a full stop. A text that the template raises is quoted unchanged; it
    /// may contain content.
    pub message: String,
    /// The place of the error.
    pub at: ErrorPlace,
}

/// The place of an error.
///
/// ```
/// use openchatml::{Conversation, Message, Role, Span};
/// use openchatml_templates::{ErrorPlace, Template};
///
/// let source = "<|user|>{{ messages[0].content }}";
/// let template = Template::new(source, &Default::default())?;
/// let message = Message::new(Role::User, "say <|user|>");
/// let conversation = Conversation::from_messages([message]);
/// let error = template.render(&conversation, &Default::default()).unwrap_err();
/// let field = "content".to_owned();
/// assert_eq!(error.at, ErrorPlace::Content { message: Some(0), field, span: Span::new(4, 12) });
/// assert_eq!(error.to_string(), "message 0, content at byte 4: the text contains the control token `<|user|>`");
/// # Ok::<(), openchatml_templates::TemplateError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ErrorPlace {
    /// In the template.
    Template(Span),
    /// In a message, a tool or a variable.
    Content {
        /// The index of the message; `None` for tools and variables.
        message: Option<usize>,
        /// The part of the message, or the name of the variable.
        field: String,
        /// The span in the text of that part; empty if it is unknown.
        span: Span,
    },
    /// No known place.
    Nowhere,
}

impl TemplateError {
    pub(crate) fn new(code: Code, message: impl Into<String>, at: ErrorPlace) -> Self {
        Self { code, message: message.into(), at }
    }

    pub(crate) fn limit(name: &str, value: impl fmt::Display, at: ErrorPlace) -> Self {
        Self::new(Code::Limit, format!("the template exceeds the limit `{name}` of {value}"), at)
    }

    /// Creates the error for content that contains the spelling of a control token.
    pub(crate) fn control(token: &str, found: Option<(&ContentPlace, usize)>) -> Self {
        let message = format!("the text contains the control token `{}`", token.escape_debug());
        let at = match found {
            Some((ContentPlace { message, field }, start)) => ErrorPlace::Content {
                message: *message,
                field: field.clone(),
                span: Span::new(start, start + token.len()),
            },
            None => ErrorPlace::Nowhere,
        };
        Self::new(Code::RenderControl, message, at)
    }

    /// Converts an error of the engine.
    pub(crate) fn of_engine(error: &minijinja::Error, source: &Rewritten, limits: &Limits) -> Self {
        let at = match error.range() {
            Some(range) => {
                let [start, end] = [range.start, range.end].map(|at| source.place(at));
                ErrorPlace::Template(Span::new(start, end.max(start)))
            }
            None => ErrorPlace::Nowhere,
        };
        // The original cause may be behind several other errors.
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
        while let Some(one) = cause {
            if let Some(Raised(message)) = one.downcast_ref() {
                return Self::new(Code::TemplateRender, message.clone(), at);
            }
            match one.downcast_ref() {
                Some(Exceeded::Bytes) => {
                    return Self::limit("value_bytes", limits.value_bytes, at);
                }
                Some(Exceeded::Items) => {
                    return Self::limit("value_items", limits.value_items, at);
                }
                Some(Exceeded::Depth) => {
                    return Self::limit("value_depth", limits.value_depth, at);
                }
                None => {}
            }
            let engine = one.downcast_ref::<minijinja::Error>();
            if engine.is_some_and(|error| error.kind() == ErrorKind::OutOfFuel) {
                return Self::limit("steps", limits.steps, at);
            }
            if engine.and_then(minijinja::Error::detail) == Some("recursion limit exceeded") {
                return Self::limit("recursion", limits.recursion, at);
            }
            cause = one.source();
        }
        let detail = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
        let code = match error.kind() {
            ErrorKind::SyntaxError | ErrorKind::BadEscape => Code::TemplateSyntax,
            _ => Code::TemplateRender,
        };
        let names = &source.names;
        let message = match error.kind() {
            ErrorKind::UnknownMethod | ErrorKind::UndefinedError if error.detail().is_none() => {
                error.kind().to_string()
            }
            _ => detail,
        };
        let message = message.replace(&format!("{}()", names.generation), "generation");
        Self::new(code, message, at)
    }

    /// Returns the error as a diagnostic. Its span is in the template or in the text from which the
    /// message was read.
    ///
    /// ```
    /// use openchatml::{Conversation, Span};
    /// use openchatml_templates::Template;
    ///
    /// let error = Template::new("{{ 1 + }}", &Default::default()).unwrap_err();
    /// let found = error.to_diagnostic(&Conversation::default());
    /// assert_eq!(found.code.as_str(), "E-TEMPLATE-SYNTAX");
    /// assert_eq!(found.span, Span::new(7, 9));
    /// ```
    pub fn to_diagnostic(&self, conversation: &Conversation<'_>) -> Diagnostic {
        let span = match &self.at {
            ErrorPlace::Template(span) => *span,
            ErrorPlace::Content { message: Some(message), .. } => {
                conversation.messages.get(*message).map(|it| it.span).unwrap_or_default()
            }
            ErrorPlace::Content { .. } | ErrorPlace::Nowhere => Span::default(),
        };
        let found = self.code.at(span, self.to_string());
        match self.code {
            Code::RenderControl => found.help(
                "remove these characters, or write pieces or token ids, where text is never a control token",
            ),
            _ => found,
        }
    }
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let ErrorPlace::Content { message, field, span } = &self.at {
            if let Some(message) = message {
                write!(f, "message {message}, ")?;
            }
            f.write_str(field)?;
            if !span.is_empty() {
                write!(f, " at byte {}", span.start)?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for TemplateError {}
