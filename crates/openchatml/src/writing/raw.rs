//! Writes text in its original layout.

use super::{Sink, SinkError};
use crate::lex::{Lexeme, Lexer, Mode, TokenTable};

/// Writes `raw`, a piece of layout that was read in `mode`. Its control tokens are written as
/// control tokens.
pub(crate) fn write_raw(
    raw: &str,
    mode: Mode,
    controls: &'static TokenTable,
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
