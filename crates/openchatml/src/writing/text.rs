//! The sink that writes text.

use super::sink::opening_in_parts;
use super::{Escaper, PlainOpening, Sink, SinkError};
use crate::lex::TokenTable;
use crate::{Control, Span};

/// Writes the text form of a dialect, and escapes or refuses text that would become structure.
///
/// ```
/// use openchatml::render::{Sink, TextSink};
/// use openchatml::{Control, dialects};
///
/// let mut out = String::new();
/// let mut sink = TextSink::new(dialects::OPENCHATML_2_2.controls, &mut out);
/// sink.control(Control::Start)?;
/// sink.text("user")?;
/// sink.control(Control::Message)?;
/// sink.text("a <|end|> of my own")?;
/// sink.control(Control::End)?;
/// sink.finish()?;
/// assert_eq!(out, "<|start|>user<|message|>a <<|end|> of my own<|end|>");
/// # Ok::<(), openchatml::render::SinkError>(())
/// ```
#[derive(Debug)]
pub struct TextSink<'o> {
    controls: &'static TokenTable,
    escaper: Escaper,
    out: &'o mut String,
    /// Whether a header was written, but no message yet.
    after_preamble: bool,
}

impl<'o> TextSink<'o> {
    /// Creates a sink for the text form of a dialect, which appends to `out`.
    ///
    /// ```
    /// use openchatml::dialects;
    /// use openchatml::render::{Sink, TextSink};
    ///
    /// let mut out = String::from("before: ");
    /// let mut sink = TextSink::new(dialects::CHATML_WIRE.controls, &mut out);
    /// sink.text("a < b")?;
    /// assert_eq!(out, "before: a < b");
    /// # Ok::<(), openchatml::render::SinkError>(())
    /// ```
    pub fn new(controls: &'static TokenTable, out: &'o mut String) -> Self {
        Self { controls, escaper: Escaper::new(controls), out, after_preamble: false }
    }

    /// Ends the text.
    ///
    /// # Errors
    ///
    /// The last text contains a control token that is also the beginning of another one. No dialect
    /// has such tokens today.
    ///
    /// ```
    /// use openchatml::dialects;
    /// use openchatml::render::{Sink, TextSink};
    ///
    /// // As long as `<|e` may still become a token, it is held back.
    /// let mut out = String::new();
    /// let mut sink = TextSink::new(dialects::OPENCHATML_2_2.controls, &mut out);
    /// sink.text("a <|e")?;
    /// sink.finish()?;
    /// assert_eq!(out, "a <|e");
    /// # Ok::<(), openchatml::render::SinkError>(())
    /// ```
    pub fn finish(mut self) -> Result<(), SinkError> {
        self.escaper.finish(self.out)
    }
}

impl Sink for TextSink<'_> {
    fn control(&mut self, control: Control) -> Result<(), SinkError> {
        if std::mem::take(&mut self.after_preamble) && !self.out.ends_with('\n') {
            // A header ends at a line that begins with the token.
            self.out.push('\n');
        }
        self.escaper.control(control, self.out).map(|_| ())
    }

    fn text(&mut self, text: &str) -> Result<(), SinkError> {
        self.escaper.text(text, self.out)
    }

    fn text_among_markers(&mut self, text: &str) -> Result<(), SinkError> {
        self.escaper.text_among_markers(text, self.out)
    }

    fn word(&mut self, word: &'static str) -> Result<(), SinkError> {
        self.escaper.word(word, self.out)
    }

    fn opening(&mut self, opening: &PlainOpening) -> Result<(), SinkError> {
        if !self.escaper.is_between() || self.after_preamble {
            return opening_in_parts(self, opening);
        }
        self.out.push_str(opening.text);
        self.escaper.opened();
        Ok(())
    }

    fn preamble(&mut self, yaml: &str) -> Result<(), SinkError> {
        let mut at = 0;
        for line in yaml.split_inclusive('\n') {
            if let Some((Control::Start | Control::Bos, _)) = self.controls.front(line) {
                let reason = "a line of the header cannot begin with a control token";
                return Err(SinkError::new(Span::new(at, at + line.len()), "", reason));
            }
            at += line.len();
        }
        self.out.push_str(yaml);
        self.after_preamble = true;
        Ok(())
    }
}
