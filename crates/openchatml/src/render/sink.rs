//! Where writers write to.

use crate::model::{Channel, Role};
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

    /// Writes text where chain-of-thought markers count (OpenChatML 2.2 §7): the spelling of a
    /// marker stays text, too.
    ///
    /// # Errors
    ///
    /// As for [`text`](Self::text).
    fn text_among_markers(&mut self, text: &str) -> Result<(), SinkError> {
        self.text(text)
    }

    /// Writes a word of the format's own, such as a role: it has no `<`.
    ///
    /// # Errors
    ///
    /// As for [`text`](Self::text).
    fn word(&mut self, word: &'static str) -> Result<(), SinkError> {
        self.text(word)
    }

    /// Writes all that stands before the body of a message.
    ///
    /// # Errors
    ///
    /// As for [`control`](Self::control).
    fn opening(&mut self, opening: &PlainOpening) -> Result<(), SinkError> {
        opening_in_parts(self, opening)
    }

    /// Writes the YAML header of the document, which stands before all else.
    ///
    /// # Errors
    ///
    /// A line of it would end the header too early.
    fn preamble(&mut self, yaml: &str) -> Result<(), SinkError>;
}

/// All that stands before the body of a message that has a role and at most a channel: written and
/// read at once, since most messages have no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainOpening {
    /// How it is spelled, control tokens included.
    pub text: &'static str,
    /// Who speaks.
    pub role: Role,
    /// On which channel.
    pub channel: Option<Channel>,
}

/// Writes an opening token by token.
pub(super) fn opening_in_parts<S: Sink + ?Sized>(
    sink: &mut S,
    opening: &PlainOpening,
) -> Result<(), SinkError> {
    sink.control(Control::Start)?;
    sink.word(opening.role.as_str())?;
    if let Some(channel) = opening.channel {
        sink.control(Control::Channel)?;
        sink.word(channel.as_str())?;
    }
    sink.control(Control::Message)
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
