//! What comes of reading.

use crate::{Conversation, Diagnostic, Document, Severity};

/// A document and what was found while it was read.
///
/// ```
/// use openchatml::{Parsed, parse};
///
/// let text = "<|im_start|>user\nHello<|im_end|>\nOops\n";
/// let Parsed { document, diagnostics, .. } = parse(text, "im".parse()?, &Default::default());
/// assert_eq!(diagnostics[0].code.as_str(), "E-PARSE-FRAME");
/// // What stood outside of a message is a hidden message of its own.
/// let messages = document.into_conversation().messages;
/// assert!(messages.len() == 2 && messages[1].recovered);
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Parsed<'a> {
    /// Everything that could be saved.
    pub document: Document<'a>,
    /// What was found, in the order of reading.
    pub diagnostics: Vec<Diagnostic>,
}

impl<'a> Parsed<'a> {
    /// A document, and what was found while it was read.
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

    /// Whether a finding is an error.
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

    /// Whether the reader dropped any of the input: it is not in the document.
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

    /// The document if nothing is wrong with it.
    ///
    /// # Errors
    ///
    /// The first error that was found.
    ///
    /// ```
    /// use openchatml::{Code, Format, parse};
    ///
    /// let im: Format = "im".parse()?;
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

    /// The conversation; an empty one if the document is something else.
    ///
    /// ```
    /// use openchatml::{Message, Role, parse};
    ///
    /// let parsed = parse("<|im_start|>user\nHi.<|im_end|>\n", "im".parse()?, &Default::default());
    /// assert_eq!(parsed.into_conversation().messages, [Message::new(Role::User, "Hi.")]);
    /// # Ok::<(), openchatml::UnknownName>(())
    /// ```
    pub fn into_conversation(self) -> Conversation<'a> {
        self.document.into_conversation()
    }
}
