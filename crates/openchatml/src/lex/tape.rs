//! Text with control tokens at known places.

use super::{Mask, TokenTable};
use crate::{Control, Span};

/// Text with control tokens at known places, such as the text of token ids. The tokens are not
/// found by their spelling.
///
/// Text that was added as text stays text, even if it spells a control token.
///
/// ```
/// use openchatml::lex::Tape;
/// use openchatml::{Control, TextFormat, parse_tape};
///
/// let mut tape = Tape::new(TextFormat::HARMONY.controls());
/// tape.control(Control::Start);
/// tape.text("user");
/// tape.control(Control::Message);
/// tape.text("What is <|end|>?");
/// tape.control(Control::End);
///
/// let parsed = parse_tape(&tape, TextFormat::HARMONY, &Default::default());
/// assert!(parsed.diagnostics.is_empty());
/// assert_eq!(parsed.into_conversation().messages[0].body.text(), "What is <|end|>?");
/// ```
#[derive(Clone, Debug)]
pub struct Tape {
    dialect: &'static TokenTable,
    text: String,
    controls: Vec<(Control, Span)>,
    spelled: Mask,
}

impl Tape {
    /// Creates an empty tape for a dialect with these control tokens.
    pub fn new(controls: &'static TokenTable) -> Self {
        Self {
            dialect: controls,
            text: String::new(),
            controls: Vec::new(),
            spelled: Mask::of(&[]),
        }
    }

    /// Sets the control tokens that text can spell, because the carrier has no other way to write
    /// them (OpenChatML 2.2 §3, portability).
    ///
    /// ```
    /// use openchatml::lex::Tape;
    /// use openchatml::{Control, Segment, TextFormat, parse_tape};
    ///
    /// let format = TextFormat::OPENCHATML_2_2;
    /// let spelled = [Control::Literal, Control::EndLiteral];
    /// let mut tape = Tape::new(format.controls()).spelled(&spelled);
    /// tape.text("version: 2.2\n\n");
    /// tape.control(Control::Start);
    /// tape.text("user");
    /// tape.control(Control::Message);
    /// tape.text("<|literal|>x<|endliteral|>");
    /// tape.control(Control::End);
    /// let messages = parse_tape(&tape, format, &Default::default()).into_conversation().messages;
    /// assert_eq!(messages[0].body.segments().next(), Some(Segment::Literal("x".into())));
    /// ```
    #[must_use]
    pub fn spelled(mut self, controls: &[Control]) -> Self {
        self.spelled = Mask::of(controls);
        self
    }

    /// Adds a control token. A token that the dialect does not have adds nothing.
    pub fn control(&mut self, control: Control) {
        let start = self.text.len();
        let Some(spelling) = self.dialect.spelling(control) else { return };
        self.text.push_str(spelling);
        self.controls.push((control, Span::new(start, self.text.len())));
    }

    /// Adds text.
    #[inline]
    pub fn text(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Returns everything as text, with spelled control tokens. Spans are places in this text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the text.
    pub fn into_string(self) -> String {
        self.text
    }

    /// Returns the control tokens and their places.
    pub fn controls(&self) -> &[(Control, Span)] {
        &self.controls
    }

    pub(crate) fn mask(&self) -> Mask {
        self.spelled
    }
}
