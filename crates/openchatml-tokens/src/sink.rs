//! The sink that writes token ids.

use std::ops::Range;

use openchatml::render::{Escaper, Part, Sink, SinkError};
use openchatml::{Control, Span};

use crate::encoding::Encoding;
use crate::tokenizer::Ids;

/// A conversation as token ids, and where its messages are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rendered {
    /// The ids.
    pub ids: Vec<u32>,
    /// Where each message is, in order. What stands between two of them is layout.
    pub spans: Vec<MessageSpan>,
}

/// Where a message is among ids. Its parts follow each other without a gap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageSpan {
    /// The place of the message in its conversation. A generation prompt stands after the last.
    pub message: usize,
    /// The token that opens it, and who speaks: what a prompt for it ends in.
    pub opening: Range<usize>,
    /// The rest of the header, with the token that ends it.
    pub header: Range<usize>,
    /// The body.
    pub body: Range<usize>,
    /// The token that ends it; empty where the message is open.
    pub end: Range<usize>,
    /// What stands between it and the next one.
    pub gap: Range<usize>,
}

impl MessageSpan {
    /// All of it.
    pub fn ids(&self) -> Range<usize> {
        self.opening.start..self.gap.end
    }
}

/// Writes a dialect as token ids.
pub(crate) struct TokenSink<'t, E> {
    encoding: &'t E,
    controls: &'t Ids,
    escaper: Escaper,
    /// Text that is encoded once a control token or another part follows.
    run: String,
    out: Rendered,
    /// Where the parts of the last message begin so far.
    starts: Vec<usize>,
    /// Whether the next control token ends the message.
    ends: bool,
}

/// How many parts a message has.
const PARTS: usize = 5;

impl<'t, E: Encoding> TokenSink<'t, E> {
    pub(crate) fn new(encoding: &'t E, controls: &'t Ids) -> Self {
        Self {
            encoding,
            controls,
            escaper: Escaper::only(controls.table(), controls.spelled()),
            run: String::new(),
            out: Rendered::default(),
            starts: Vec::with_capacity(PARTS),
            ends: false,
        }
    }

    pub(crate) fn finish(mut self) -> Rendered {
        self.escaper.finish(&mut self.run);
        self.flush();
        self.close();
        self.out
    }

    /// Encodes the text so far.
    fn flush(&mut self) {
        if !self.run.is_empty() {
            self.encoding.encode(&self.run, &mut self.out.ids);
            self.run.clear();
        }
    }

    /// The parts up to this one begin here, if they did not begin before.
    fn begin(&mut self, part: usize) {
        let at = self.out.ids.len();
        if !self.starts.is_empty() {
            self.starts.resize(part + 1, at);
        }
    }

    /// The message that is being written is complete.
    fn close(&mut self) {
        let stop = self.out.ids.len();
        self.begin(PARTS);
        let at = |part: usize| self.starts.get(part).copied().unwrap_or(stop);
        if let Some(span) = self.out.spans.last_mut() {
            span.opening = at(0)..at(1);
            span.header = at(1)..at(2);
            span.body = at(2)..at(3);
            span.end = at(3)..at(4);
            span.gap = at(4)..stop;
        }
        self.starts.clear();
    }
}

impl<E: Encoding> Sink for TokenSink<'_, E> {
    fn control(&mut self, control: Control) -> Result<(), SinkError> {
        let is_spelled = self.escaper.control(control, &mut self.run)?;
        if is_spelled && self.ends {
            // The body is encoded by itself.
            let spelling = self.controls.table().spelling(control).unwrap_or_default();
            let end = self.run.split_off(self.run.len() - spelling.len());
            self.flush();
            self.run = end;
        } else if !is_spelled {
            self.flush();
        }
        if std::mem::take(&mut self.ends) {
            self.begin(3);
        }
        if !is_spelled {
            self.out.ids.extend(self.controls.id(control));
        }
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<(), SinkError> {
        self.escaper.text(text, &mut self.run)
    }

    fn text_among_markers(&mut self, text: &str) -> Result<(), SinkError> {
        self.escaper.text_among_markers(text, &mut self.run)
    }

    fn word(&mut self, word: &'static str) -> Result<(), SinkError> {
        self.escaper.word(word, &mut self.run)
    }

    fn part(&mut self, part: Part) {
        if part == Part::End {
            // What is held back of the body is decided by the token that ends it.
            self.ends = true;
            return;
        }
        self.flush();
        match part {
            Part::Opening(message) => {
                self.close();
                self.out.spans.push(MessageSpan { message, ..MessageSpan::default() });
                self.starts.push(self.out.ids.len());
            }
            Part::Header => self.begin(1),
            Part::Body => self.begin(2),
            _ => self.begin(4),
        }
    }

    fn preamble(&mut self, yaml: &str) -> Result<(), SinkError> {
        let starts = |line: &str| self.controls.table().find(line).is_some_and(|it| it.0 == 0);
        if self.controls.spelled().contains(&Control::Start) && yaml.lines().any(starts) {
            let reason = "a line of the header cannot begin with a control token";
            return Err(SinkError::new(Span::default(), "", reason));
        }
        self.run.push_str(yaml);
        Ok(())
    }
}
