//! How completions are framed.

use super::Sections;
use crate::control::Control;

/// How the completions of a dialect are framed, for grammars.
///
/// ```
/// use openchatml::TextFormat;
/// use openchatml::dialects::Completion;
///
/// let Ok(Completion::Messages(framing)) = TextFormat::HARMONY.completion() else {
///     unreachable!("it has messages with headers")
/// };
/// assert!(framing.late_recipients && !framing.call_ids);
/// assert!(matches!(TextFormat::CHATML.completion(), Ok(Completion::Text { .. })));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Completion {
    /// Messages with headers.
    Messages(&'static Framed),
    /// A turn with sections, which the prompt has opened.
    Sections(&'static Sections),
    /// Text, after the header that the prompt has ended.
    Text {
        /// The control token that can precede the text.
        header: Option<Control>,
        /// The text that can be between the text and its end token.
        close: Option<&'static str>,
    },
}

/// The differences between completions with headers.
///
/// ```
/// use openchatml::TextFormat;
/// use openchatml::dialects::Completion;
///
/// let Ok(Completion::Messages(framing)) = TextFormat::OPENCHATML_2_2.completion() else {
///     unreachable!("it has messages with headers")
/// };
/// assert_eq!((framing.gap, framing.preamble), ("\n", " intent=preamble"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Framed {
    /// The text that can be between messages.
    pub gap: &'static str,
    /// Whether calls have ids.
    pub call_ids: bool,
    /// The part of a preamble's header before the channel.
    pub preamble: &'static str,
    /// The text before a constraint, in formats with constraints.
    pub constrain: Option<&'static str>,
    /// Whether the recipient can follow the channel.
    pub late_recipients: bool,
    /// The content type that calls of built-in tools can have.
    pub builtin_type: &'static str,
}
