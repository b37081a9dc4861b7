//! Reads the text before it is written, to check that it is read back without differences.

use std::borrow::Cow;

use super::Rules;
use super::attributes::escaped;
use super::between::{Written, quoted};
use super::elements;
use super::in_body::Piece;
use super::laid_out::{LaidOut, Target};
use super::parameters::respelled;
use super::reader::{Reader, reader};
use super::tree;
use super::writer::Failed;
use crate::grammar::dry_run::{DryRun, unlimited};
use crate::grammar::owner::Owner;
use crate::json::Json;
use crate::limits::Limits;
use crate::model::{End, FormId, Infill, Message, Part, Raw};
use crate::reading::{Place, Receiver};
use crate::{Diagnostic, Header, Span};

/// A reader of the written text, and the expected result.
pub(super) struct WriteCheck<'p> {
    rules: &'static Rules,
    run: DryRun<Reader<'p>, Comparison<'p>>,
    /// The message whose body is written, and the number of bytes of it that were written before.
    body: Option<(usize, usize)>,
}

/// Compares the result of reading with the written conversation.
struct Comparison<'p> {
    rules: &'static Rules,
    messages: &'p [Message<'p>],
    /// The number of messages that have ended.
    ended: usize,
    /// The number of bytes of the next body that were read, if it has begun.
    read: Option<usize>,
    /// This body, as it must be read.
    body: Cow<'p, str>,
    /// Whether the last message is left open.
    is_open: bool,
    wrong: Option<usize>,
}

impl<'p> WriteCheck<'p> {
    /// Checks that a conversation is read back without differences.
    pub(super) fn of(laid_out: &LaidOut<'p>) -> Result<(), Failed> {
        let messages = &laid_out.conversation.messages;
        let options = unlimited();
        let comparison = Comparison {
            rules: laid_out.rules,
            messages,
            body: Cow::Borrowed(""),
            ended: 0,
            read: None,
            is_open: laid_out.is_open(),
            wrong: None,
        };
        let run = DryRun::new(reader(laid_out.rules, &options), comparison, options);
        let mut write_check = Self { rules: laid_out.rules, run, body: None };
        let failed = |at| Err(Failed::new(at, 0, messages.len()));
        if let Err(at) = laid_out.run(&mut write_check) {
            let body = write_check.body.filter(|(message, _)| *message == at);
            return Err(Failed::new(at, body.map_or(0, |(_, byte)| byte), messages.len()));
        }
        if laid_out.options.generation_prompt.is_none() {
            write_check.run.finish();
            if let Some(at) = write_check.run.to.wrong {
                return failed(at);
            }
        }
        match write_check.run.to.ended < messages.len() {
            true => failed(write_check.run.to.ended),
            false => Ok(()),
        }
    }

    fn text(&mut self, text: &str) -> Result<(), usize> {
        self.run.text(text);
        self.result()
    }

    /// Returns the first message that is read back with differences.
    fn result(&self) -> Result<(), usize> {
        self.run.to.wrong.map_or(Ok(()), Err)
    }
}

impl Target for WriteCheck<'_> {
    type Error = usize;

    fn piece(&mut self, _: Owner, piece: Written<'_>, _: usize) -> Result<(), usize> {
        match piece {
            Written::Control(control) => {
                self.run.control(control, self.rules.spelling(control));
                self.result()
            }
            Written::Word(text) | Written::Text(text) | Written::Name(text) => self.text(text),
            Written::JsonName(name) => self.text(&quoted(name)),
            Written::Attribute(name) => self.text(&escaped(name)),
            Written::Count(count) => self.text(&count.to_string()),
        }
    }

    fn body(&mut self, message: &Message<'_>, index: usize) -> Result<(), usize> {
        let text = message.body.text();
        self.body = Some((index, 0));
        if text.is_empty() {
            return Ok(());
        }
        let rules = self.rules;
        rules.in_body(message, &text, |at, piece| {
            self.body = Some((index, at));
            match piece {
                Piece::Text(text) | Piece::Word(text) => self.text(text),
                Piece::Example(control) | Piece::Quoted(control) | Piece::Token(control) => {
                    self.run.control(control, rules.spelling(control));
                    self.result()
                }
            }
        })
    }
}

impl Rules {
    /// Returns the body of a message as it is read back. `None` if it cannot be written.
    pub(super) fn read_back<'m>(&self, message: &'m Message<'_>) -> Option<Cow<'m, str>> {
        let text = message.body.text();
        if !message.is_call() {
            return Some(text);
        }
        let limits = Limits::default();
        if let Some(form) = self.sections.calls.elements() {
            return Some(elements::respelled(self, form, &text, &limits)?.into());
        }
        match (self.sections.calls.parameters(), self.sections.calls.tree()) {
            (Some(form), _) => Some(respelled(&text, form, &limits)?.into()),
            (_, Some(_)) => Some(tree::respelled(&text, &limits)?.into()),
            _ if self.sections.calls.has_python() => Some(self.python_read_back(&text)?.into()),
            // A call that is not valid JSON would be text.
            _ if self.sections.calls.guard.is_some() && !is_object(&text, &limits) => None,
            _ => Some(text),
        }
    }
}

/// Whether a text is a JSON object.
fn is_object(text: &str, limits: &Limits) -> bool {
    let mut json = Json::new(text, limits).without_notes();
    json.object(|json, _, _| json.skip()).and_then(|_| json.end()).is_ok()
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
        let body = expected.and_then(|it| self.rules.read_back(it));
        self.body = body.unwrap_or_default();
    }

    fn text(&mut self, text: &str) {
        let Some(read) = &mut self.read else { return self.wrong() };
        if self.body.get(*read..).is_some_and(|rest| rest.starts_with(text)) {
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
            // A prompt after an incomplete message ends it.
            false if is_last && expected.end == End::Open => message.end == End::End,
            false => expected.end == message.end,
        };
        let is_whole = self.read == Some(self.body.len());
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
