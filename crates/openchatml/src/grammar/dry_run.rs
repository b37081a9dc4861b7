//! Runs a reader over text before it is written, so that a writer knows how it will be read.

use crate::check::{CheckRules, Checker};
use crate::lex::{Escape, Lexeme, TokenTable};
use crate::options::ReadOptions;
use crate::pairing::Pairing;
use crate::reading::{Keep, Out, Reader, Receiver, State};
use crate::{Control, Span};

/// A reader of text that is not written yet, and the receiver of its output.
pub(crate) struct DryRun<R, T> {
    pub(crate) reader: R,
    pub(crate) to: T,
    options: ReadOptions,
    state: State,
    at: usize,
}

impl<'a, R: Reader<'a>, T: Receiver<'a>> DryRun<R, T> {
    /// Creates a run of a reader with these options.
    pub(crate) fn new(reader: R, to: T, options: ReadOptions) -> Self {
        Self { reader, to, options, state: State::new(Checker::new(&UNCHECKED)), at: 0 }
    }

    /// The number of bytes that were read.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Whether reading has stopped.
    pub(crate) fn has_stopped(&self) -> bool {
        self.state.stopped.is_some()
    }

    /// Reads text.
    pub(crate) fn text(&mut self, text: &str) {
        let span = Span::new(self.at, self.at + text.len());
        self.lexeme(Lexeme::Text(text, span));
    }

    /// Reads a control token with this spelling.
    pub(crate) fn control(&mut self, control: Control, spelling: &str) {
        let span = Span::new(self.at, self.at + spelling.len());
        self.lexeme(Lexeme::Control(control, span));
    }

    /// Reads a lexeme, whose span begins where the last one ended.
    pub(crate) fn lexeme(&mut self, lexeme: Lexeme<'_>) {
        self.at = lexeme.span().end;
        self.with(|reader, out| {
            if out.goes_on(lexeme) {
                reader.lexeme(lexeme, out);
            }
        });
    }

    /// Ends the text.
    pub(crate) fn finish(&mut self) {
        let at = self.at;
        self.with(|reader, out| reader.finish(at, out));
    }

    /// Calls the reader.
    pub(crate) fn with(&mut self, call: impl FnOnce(&mut R, &mut Out<'a, '_>)) {
        let Self { reader, to, options, state, .. } = self;
        call(reader, &mut Out { keep: Keep::Copy, options, state, to });
    }
}

/// Returns options without limits, which written text does not have.
pub(crate) fn unlimited() -> ReadOptions {
    let mut options = ReadOptions { open_prompt: true, ..ReadOptions::default() };
    let limits = &mut options.limits;
    (limits.message_bytes, limits.header_bytes, limits.value_bytes) =
        (usize::MAX, usize::MAX, usize::MAX);
    (limits.messages, limits.diagnostics) = (usize::MAX, 0);
    options
}

/// The written conversation is checked elsewhere.
static UNCHECKED: CheckRules = CheckRules {
    controls: &NO_TOKENS,
    versions: &[],
    pairing: Pairing::None,
    requires_channels: false,
    rules: &[],
};

static NO_TOKENS: TokenTable = TokenTable::new(&[], Escape::None);
