//! The result of reading.

use crate::{Conversation, Diagnostic, Document, Severity};

/// A document and the diagnostics of reading it.
///
/// ```
/// use openchatml::{Parsed, parse};
///
/// let text = "<|im_start|>user\nHello<|im_end|>\nOops\n";
/// let Parsed { document, diagnostics, .. } = parse(text, "chatml".parse()?, &Default::default());
/// assert_eq!(diagnostics[0].code.as_str(), "E-PARSE-FRAME");
/// // What stood outside of a message is a hidden message of its own.
/// let messages = document.into_conversation().messages;
/// assert!(messages.len() == 2 && messages[1].recovered);
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Parsed<'a> {
    /// Everything that could be read.
    pub document: Document<'a>,
    /// The diagnostics, in the order of reading.
    pub diagnostics: Vec<Diagnostic>,
}

impl<'a> Parsed<'a> {
    /// Creates a result from a document and its diagnostics.
    ///
    /// ```
    /// use openchatml::{Conversation, Message, Parsed};
    ///
    /// let document = Conversation::from_messages([Message::user("Hi!")]).into();
    /// assert!(!Parsed::new(document, Vec::new()).has_errors());
    /// ```
    pub fn new(document: Document<'a>, diagnostics: Vec<Diagnostic>) -> Self {
        Self { document, diagnostics }
    }

    /// Whether any diagnostic is an error.
    ///
    /// ```
    /// use openchatml::parse;
    ///
    /// // That there is no header is a warning, unless the mode is strict.
    /// let text = "<|start|>user<|message|>Hi.<|end|>\n";
    /// let parsed = parse(text, "openchatml-2.2".parse()?, &Default::default());
    /// assert!(!parsed.diagnostics.is_empty() && !parsed.has_errors());
    /// # Ok::<(), openchatml::UnknownName>(())
    /// ```
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|found| found.severity == Severity::Error)
    }

    /// Whether the reader dropped input, so that it is not in the document.
    ///
    /// ```
    /// use openchatml::parse;
    ///
    /// let text = r#"{"messages":[],"mood":"sad"}"#;
    /// assert!(parse(text, "json".parse()?, &Default::default()).dropped_input());
    /// # Ok::<(), openchatml::UnknownName>(())
    /// ```
    pub fn dropped_input(&self) -> bool {
        self.diagnostics.iter().any(|found| found.dropped.is_some())
    }

    /// Returns the document if there is no error.
    ///
    /// # Errors
    ///
    /// The first error.
    ///
    /// ```
    /// use openchatml::{Code, Format, parse};
    ///
    /// let im: Format = "chatml".parse()?;
    /// let whole = parse("<|im_start|>user\nHi.<|im_end|>\n", im, &Default::default());
    /// assert!(whole.strict().is_ok());
    /// let cut_off = parse("<|im_start|>user\nHi", im, &Default::default());
    /// assert_eq!(cut_off.strict().unwrap_err().code, Code::StreamTruncated);
    /// # Ok::<(), openchatml::UnknownName>(())
    /// ```
    pub fn strict(self) -> Result<Document<'a>, Box<Diagnostic>> {
        match self.diagnostics.into_iter().find(|found| found.severity == Severity::Error) {
            Some(error) => Err(Box::new(error)),
            None => Ok(self.document),
        }
    }

    /// Returns the conversation, or an empty one for other documents.
    ///
    /// ```
    /// use openchatml::{Message, Role, parse};
    ///
    /// let parsed = parse("<|im_start|>user\nHi.<|im_end|>\n", "chatml".parse()?, &Default::default());
    /// assert_eq!(parsed.into_conversation().messages, [Message::new(Role::User, "Hi.")]);
    /// # Ok::<(), openchatml::UnknownName>(())
    /// ```
    pub fn into_conversation(self) -> Conversation<'a> {
        self.document.into_conversation()
    }
}
