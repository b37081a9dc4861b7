//! The writer of turns with sections. It checks what it is about to write with the reader.

use super::between::Written;
use super::in_body::Piece;
use super::laid_out::{LaidOut, Target};
use super::write_check::WriteCheck;
use super::{Opening, Rules, Turn};
use crate::grammar::owner::Owner;
use crate::grammar::python;
use crate::model::{Document, Message};
use crate::options::RenderOptions;
use crate::writing::{Part, Place, RenderError, Sink, SinkError};
use crate::{Code, Control, Section, Span};

/// The help for tokens of reasoning in content.
const APART: &str = "write reasoning as a message or field of its own, such as `reasoning_content`";

/// The help for reasoning that reading can move out of content.
const SPLIT: &str = "write reasoning as a message or field of its own, such as `reasoning_content`; reading with `split_reasoning` (`--split-reasoning`) does it";

/// Writes a document.
pub(crate) fn write(
    rules: &'static Rules,
    document: &Document<'_>,
    options: &RenderOptions,
    sink: &mut dyn Sink,
) -> Result<(), RenderError> {
    let Document::Conversation(conversation) = document else {
        return Err(RenderError::not_a_conversation(rules.form.name()));
    };
    rules.has_prompt(options, conversation.messages.len())?;
    if let Some((at, text)) = rules.unwritable_call(&conversation.messages) {
        let error = RenderError::new(Code::RenderUnsupported, Some(at), text);
        return Err(error.at(Place::Body, Span::default()));
    }
    let mut laid_out = LaidOut { rules, conversation, options, canonical: Vec::new() };
    settle(&mut laid_out)?;
    let mut writer = Writer { rules, sink, owner: Owner::Gap };
    laid_out.run(&mut writer)
}

impl Rules {
    /// Returns an error if the options ask for a prompt that the dialect does not have. `messages`
    /// is the number of messages before the prompt.
    pub(super) fn has_prompt(
        &self,
        options: &RenderOptions,
        messages: usize,
    ) -> Result<(), RenderError> {
        let Some(role) = options.generation_prompt else { return Ok(()) };
        let has_prompt =
            |turn: &Turn| !matches!(turn.opening, Opening::Bare | Opening::Declaration(_));
        if self.turn(role).is_some_and(has_prompt) {
            return Ok(());
        }
        let text = "this dialect has no prompt for this role";
        let error = RenderError::new(Code::RenderUnsupported, Some(messages), text);
        Err(error.at(Place::Role, Span::default()))
    }
}

impl Rules {
    /// Returns the position of the first call that cannot be written, and why: arguments must be an
    /// object where they end the call, and JSON where they are written in another syntax.
    fn unwritable_call(&self, messages: &[Message<'_>]) -> Option<(usize, &'static str)> {
        let calls = &self.sections.calls;
        let has_keys = calls.tree().is_some() || calls.elements().is_some() || calls.has_python();
        let is_open = |message: &Message<'_>| message.body.text().starts_with('{');
        let mut all = messages.iter().enumerate().filter(|(_, message)| message.is_call());
        all.find_map(|(at, message)| {
            if calls.has_python() && !python::is_name(self.tool(message)) {
                return Some((at, "this name of a tool cannot be written in the syntax of Python"));
            }
            let is_object = calls.item.1.is_some() || is_open(message);
            if is_object && self.read_back(message).is_some() {
                return None;
            }
            Some((
                at,
                match has_keys {
                    false => "the arguments of this call are not a JSON object",
                    true => {
                        "the arguments of this call are not a JSON object whose keys can be written"
                    }
                },
            ))
        })
    }
}

/// The number of attempts that give only the failing messages the canonical layout. After them, all
/// messages get it.
const MOST_TRIES: usize = 8;

/// Finds a layout with which the conversation is read back without differences. Kept layout is used
/// if it still fits.
fn settle(laid_out: &mut LaidOut<'_>) -> Result<(), RenderError> {
    let count = laid_out.conversation.messages.len();
    let mut tries = 0;
    loop {
        let Err(failed) = WriteCheck::of(laid_out) else { return Ok(()) };
        let is_kept = |at: &usize| !laid_out.canonical.contains(at);
        let next = [failed.message, failed.message + 1].into_iter().filter(|at| *at <= count);
        let next: Vec<_> = next.filter(is_kept).collect();
        if next.is_empty() {
            return Err(failed.error);
        }
        tries += 1;
        laid_out.canonical.extend(next);
        if tries == MOST_TRIES {
            laid_out.canonical = (0..=count).collect();
        }
    }
}

struct Writer<'w> {
    rules: &'static Rules,
    sink: &'w mut dyn Sink,
    owner: Owner,
}

impl Target for Writer<'_> {
    type Error = RenderError;

    fn piece(&mut self, owner: Owner, piece: Written<'_>, index: usize) -> Result<(), RenderError> {
        self.owner.advance(owner, index, self.sink);
        let written = piece.write(self.sink);
        // The end of a text and the token behind it can spell another token.
        let at = if owner == Owner::Before { index.saturating_sub(1) } else { index };
        written.map_err(|failed| RenderError::sink(failed.1, Some(at), failed.0))
    }

    fn body(&mut self, message: &Message<'_>, index: usize) -> Result<(), RenderError> {
        self.owner.advance(Owner::Header, index, self.sink);
        self.sink.seam(Part::Body);
        self.owner = Owner::Before;
        let text = message.body.text();
        let fail = |error: SinkError| {
            let is = |tag| self.rules.controls.spelling(tag) == Some(error.spelling);
            let opens = is(Control::OpenSection(Section::Reasoning));
            let closes = is(Control::CloseSection(Section::Reasoning));
            let begins = opens && text.trim_start().starts_with(error.spelling);
            let refused = RenderError::sink(error, Some(index), Place::Body);
            match (begins || closes, opens) {
                (true, _) => refused.help(SPLIT),
                (false, true) => refused.help(APART),
                (false, false) => refused,
            }
        };
        let written = self.rules.in_body(message, &text, |at, piece| match piece {
            Piece::Text(text) => self.sink.text(text).map_err(|error| error.within(at)),
            Piece::Example(control) => self.sink.control(control),
            Piece::Quoted(control) => self.sink.spelled(control),
            Piece::Word(text) => self.sink.word(text),
            Piece::Token(control) => self.sink.control(control),
        });
        written.map_err(fail)?;
        self.sink.seam(Part::End);
        Ok(())
    }
}

/// A conversation that would be read back with differences.
pub(super) struct Failed {
    /// The first message that would differ.
    pub(super) message: usize,
    pub(super) error: RenderError,
}

impl Failed {
    /// Creates the error for message `message` of `count`, at `byte` of its body.
    pub(super) fn new(message: usize, byte: usize, count: usize) -> Self {
        let text = "this content would be read as another message";
        let at = Some(message).filter(|at| *at < count);
        let error = RenderError::new(Code::RenderControl, at, text);
        let help =
            "remove control tokens, and white space at the beginning and the end, from the content";
        Self { message, error: error.at(Place::Body, Span::at(byte)).help(help) }
    }
}
