//! How completions are framed.

use super::Sections;
use crate::control::Control;

/// How the completions of a dialect are framed, for who makes grammars of them.
///
/// ```
/// use openchatml::TextFormat;
/// use openchatml::dialects::Completion;
///
/// let Ok(Completion::Messages(framing)) = TextFormat::HARMONY.completion() else {
///     unreachable!("it has messages with headers")
/// };
/// assert!(framing.late_recipients && !framing.call_ids);
/// assert!(matches!(TextFormat::IM.completion(), Ok(Completion::Text { .. })));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Completion {
    /// Messages with headers.
    Messages(&'static Framed),
    /// A turn with sections: the prompt opened it.
    Sections(&'static Sections),
    /// Text: the prompt ended the header.
    Text {
        /// The control token that may stand before the text.
        header: Option<Control>,
        /// What may stand between the text and its end.
        close: Option<&'static str>,
    },
}

/// What completions with headers differ in.
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
    /// What may stand between messages.
    pub gap: &'static str,
    /// Whether a call has an id.
    pub call_ids: bool,
    /// What the header of a preamble has before the channel.
    pub preamble: &'static str,
    /// What stands before a constraint, where there are constraints.
    pub constrain: Option<&'static str>,
    /// Whether a recipient may stand behind the channel.
    pub late_recipients: bool,
    /// The type that a call of a built-in tool may have.
    pub builtin_type: &'static str,
}
