//! Where writers write to.

use crate::{Control, Span};

/// What a writer writes to: text, token ids, a JSON wire list.
///
/// What is given as text stays text: it can never be read back as a control token.
pub trait Sink {
    /// Writes a control token.
    ///
    /// # Errors
    ///
    /// The dialect has no such token, or what stands before it cannot be kept apart from it.
    fn control(&mut self, control: Control) -> Result<(), SinkError>;

    /// Writes text.
    ///
    /// # Errors
    ///
    /// The text spells a control token, and there is no way to say that it is text.
    fn text(&mut self, text: &str) -> Result<(), SinkError>;

    /// Writes the YAML header of the document, which stands before all else.
    ///
    /// # Errors
    ///
    /// A line of it would end the header too early.
    fn preamble(&mut self, yaml: &str) -> Result<(), SinkError>;
}

/// Why a sink refuses: text that would be read as structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SinkError {
    /// Where in the text that was given.
    pub span: Span,
    /// The token in the way, as it is spelled.
    pub spelling: &'static str,
    pub(crate) reason: &'static str,
}
