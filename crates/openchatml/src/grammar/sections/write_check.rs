//! Reads the text before it is written, to check that it is read back without differences.

use super::Rules;
use super::between::{Owner, Written, quoted};
use super::laid_out::{LaidOut, Target};
use super::reader::{Reader, reader};
use super::writer::Failed;
use crate::check::{CheckRules, Checker};
use crate::lex::{Escape, Lexeme, Lexer, Mode, TokenTable};
use crate::model::{End, FormId, Infill, Message, Part, Raw, Role};
use crate::options::ReadOptions;
use crate::pairing::Pairing;
use crate::reading::{Keep, Out, Place, Reader as _, Receiver, State};
use crate::{Diagnostic, Header, Span};

/// A reader of the written text, and the expected result.
pub(super) struct WriteCheck<'p> {
    rules: &'static Rules,
    reader: Reader<'p>,
    options: ReadOptions,
    state: State,
    at: usize,
    /// The message whose body is written, and the number of bytes of it that were written before.
    body: Option<(usize, usize)>,
    comparison: Comparison<'p>,
}

/// Compares the result of reading with the written conversation.
struct Comparison<'p> {
    messages: &'p [Message<'p>],
    /// The number of messages that have ended.
    ended: usize,
    /// The number of bytes of the next body that were read, if it has begun.
    read: Option<usize>,
    /// Whether the last message is left open.
    is_open: bool,
    wrong: Option<usize>,
}

impl<'p> WriteCheck<'p> {
    /// Checks that a conversation is read back without differences.
    pub(super) fn of(laid_out: &LaidOut<'p>) -> Result<(), Failed> {
        let messages = &laid_out.conversation.messages;
        let options = unlimited();
        let mut write_check = Self {
            rules: laid_out.rules,
            reader: reader(laid_out.rules, &options),
            options,
            state: State::new(Checker::new(&UNCHECKED)),
            at: 0,
            body: None,
            comparison: Comparison {
                messages,
                ended: 0,
                read: None,
                is_open: laid_out.is_open(),
                wrong: None,
            },
        };
        let failed = |at| Err(Failed::new(at, 0, messages.len()));
        if let Err(at) = laid_out.run(&mut write_check) {
            let body = write_check.body.filter(|(message, _)| *message == at);
            return Err(Failed::new(at, body.map_or(0, |(_, byte)| byte), messages.len()));
        }
        if laid_out.options.generation_prompt.is_none() {
            write_check.finish();
            if let Some(at) = write_check.comparison.wrong {
                return failed(at);
            }
        }
        match write_check.comparison.ended < messages.len() {
            true => failed(write_check.comparison.ended),
            false => Ok(()),
        }
    }

    fn text(&mut self, text: &str) -> Result<(), usize> {
        let span = Span::new(self.at, self.at + text.len());
        self.lexeme(Lexeme::Text(text, span))
    }

    fn lexeme(&mut self, lexeme: Lexeme<'_>) -> Result<(), usize> {
        self.at = lexeme.span().end;
        let Self { reader, options, state, comparison, .. } = self;
        let mut out = Out { keep: Keep::Copy, options, state, to: comparison };
        reader.lexeme(lexeme, &mut out);
        self.comparison.wrong.map_or(Ok(()), Err)
    }

    fn finish(&mut self) {
        let Self { reader, options, state, comparison, at, .. } = self;
        let mut out = Out { keep: Keep::Copy, options, state, to: comparison };
        reader.finish(*at, &mut out);
    }
}

impl Target for WriteCheck<'_> {
    type Error = usize;

    fn piece(&mut self, _: Owner, piece: Written<'_>, _: usize) -> Result<(), usize> {
        match piece {
            Written::Control(control) => {
                let len = self.rules.spelling(control).len();
                self.lexeme(Lexeme::Control(control, Span::new(self.at, self.at + len)))
            }
            Written::Text(text) | Written::Name(text) => self.text(text),
            Written::JsonName(name) => self.text(&quoted(name)),
        }
    }

    fn body(&mut self, message: &Message<'_>, index: usize) -> Result<(), usize> {
        let text = message.body.text();
        self.body = Some((index, 0));
        if text.is_empty() {
            return Ok(());
        }
        if !matches!(message.role, Role::System | Role::Developer) {
            return self.text(&text);
        }
        let start = self.at;
        let mut lexer = Lexer::new(self.rules.controls, Mode::Body, start);
        let mut rest = &*text;
        while let Some(lexeme) = lexer.next(&mut rest, true) {
            self.body = Some((index, lexeme.span().start - start));
            match lexeme {
                // The sink refuses the token, and reports its position.
                Lexeme::Control(control, _) if self.rules.ends_said(control) => {
                    self.text(self.rules.spelling(control))?;
                }
                lexeme => self.lexeme(lexeme)?,
            }
        }
        Ok(())
    }
}

impl Comparison<'_> {
    fn wrong(&mut self) {
        self.wrong.get_or_insert(self.ended.min(self.messages.len()));
    }
}

impl<'a> Receiver<'a> for Comparison<'_> {
    fn keeps_bodies(&self) -> bool {
        false
    }

    fn header(&mut self, _: Header<'a>) {}

    fn start(&mut self, message: &Message<'a>) {
        let expected = self.messages.get(self.ended);
        if !expected.is_some_and(|it| it.has_header_of(message)) || self.read.is_some() {
            return self.wrong();
        }
        self.read = Some(0);
    }

    fn text(&mut self, text: &str) {
        let (Some(message), Some(read)) = (self.messages.get(self.ended), &mut self.read) else {
            return self.wrong();
        };
        let body = message.body.text();
        if body.get(*read..).is_some_and(|rest| rest.starts_with(text)) {
            *read += text.len();
        } else {
            self.wrong();
        }
    }

    fn end(&mut self, message: Message<'a>) {
        let Some(expected) = self.messages.get(self.ended) else { return self.wrong() };
        let is_last = self.ended + 1 == self.messages.len();
        let is_open = matches!(message.end, End::Open | End::Prompt);
        let ends = match is_last && self.is_open {
            true => is_open,
            false => expected.end == message.end,
        };
        let is_whole = self.read == Some(expected.body.len());
        if !ends || !is_whole || message.recovered != expected.recovered {
            return self.wrong();
        }
        self.read = None;
        self.ended += 1;
    }

    fn layout(&mut self, _: Place, _: Raw<'a>, _: FormId) {}

    fn part(&mut self, _: Option<Part<'a>>, _: Span) {}

    fn infill(&mut self, _: Infill<'a>) {}

    fn finding(&mut self, _: Diagnostic) {}
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

/// Written text has no limits.
fn unlimited() -> ReadOptions {
    let mut options = ReadOptions { open_prompt: true, ..ReadOptions::default() };
    let limits = &mut options.limits;
    (limits.message_bytes, limits.header_bytes, limits.value_bytes) =
        (usize::MAX, usize::MAX, usize::MAX);
    (limits.messages, limits.diagnostics) = (usize::MAX, 0);
    options
}
