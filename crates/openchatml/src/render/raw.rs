//! Text that was read, written again as it was.

use super::{Sink, SinkError};
use crate::lex::{Controls, Lexeme, Lexer, Mode};
use crate::{Control, Span};

/// Writes `raw`, a piece of layout that was read in `mode`, its control tokens as control tokens.
pub(crate) fn write_raw(
    raw: &str,
    mode: Mode,
    controls: &'static Controls,
    sink: &mut dyn Sink,
) -> Result<(), SinkError> {
    let mut lexer = Lexer::new(controls, mode, 0);
    let mut rest = raw;
    while let Some(lexeme) = lexer.next(&mut rest, true) {
        match lexeme {
            Lexeme::Control(control, _) => sink.control(control)?,
            Lexeme::Text(text, _) => sink.text(text)?,
        }
    }
    Ok(())
}

/// A sink that writes nothing and says whether what it was given is a certain text.
#[derive(Debug)]
pub(crate) struct Compare<'t> {
    controls: &'static Controls,
    rest: Option<&'t str>,
}

impl<'t> Compare<'t> {
    pub(crate) fn new(controls: &'static Controls, text: &'t str) -> Self {
        Self { controls, rest: Some(text) }
    }

    /// Whether all of the text was given, and nothing else.
    pub(crate) fn is_equal(&self) -> bool {
        self.rest == Some("")
    }
}

impl Sink for Compare<'_> {
    fn control(&mut self, control: Control) -> Result<(), SinkError> {
        self.text(self.controls.spelling(control).unwrap_or_default())
    }

    fn text(&mut self, text: &str) -> Result<(), SinkError> {
        self.rest = self.rest.and_then(|rest| rest.strip_prefix(text));
        match self.rest {
            Some(_) => Ok(()),
            None => Err(SinkError { span: Span::default(), spelling: "", reason: "differs" }),
        }
    }

    fn preamble(&mut self, yaml: &str) -> Result<(), SinkError> {
        self.text(yaml)
    }
}
