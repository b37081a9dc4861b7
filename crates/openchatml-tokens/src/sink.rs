//! The sink that writes token ids.

use std::ops::Range;

use openchatml::render::{Escaper, Part, Sink, SinkError};
use openchatml::{Control, Message, Span};

use crate::boundaries::Boundaries;
use crate::encoding::Encoding;
use crate::ids::Ids;
use crate::sampled_ids::SampledIds;

/// A conversation as token ids, with the spans of its messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rendered {
    /// The ids.
    pub ids: Vec<u32>,
    /// The span of each message, in order. Ids between two spans are layout.
    pub spans: Vec<MessageSpan>,
    /// The control tokens that were written as ordinary text, because the encoding has no id for
    /// them (OpenChatML 2.2 §3, portability).
    pub spelled: Vec<Control>,
}

/// The ids of a message. Its parts are adjacent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MessageSpan {
    /// The index of the message in its conversation. A generation prompt has the index after the
    /// last message.
    pub message: usize,
    /// The token that opens the message, and its role: the end of a prompt for this message.
    pub opening: Range<usize>,
    /// The rest of the header, including the token that ends it.
    pub header: Range<usize>,
    /// The body.
    pub body: Range<usize>,
    /// The end token; empty if the message is open.
    pub end: Range<usize>,
    /// The layout between this message and the next one.
    pub gap: Range<usize>,
    /// Whether a stop token of the format ends it: the model does not go on after it.
    pub is_stopped: bool,
}

impl Rendered {
    /// Whether `other` begins with all of these ids. If it does, a model that has read these ids
    /// does not need to read them again. If not, [`first_difference`] returns the reason.
    ///
    /// [`first_difference`]: crate::Tokenizer::first_difference
    ///
    /// ```
    /// use openchatml_tokens::Rendered;
    ///
    /// let of = |ids: &[u32]| {
    ///     let mut rendered = Rendered::default();
    ///     rendered.ids = ids.to_vec();
    ///     rendered
    /// };
    /// assert!(of(&[1, 2]).is_prefix_of(&of(&[1, 2, 3])));
    /// assert!(!of(&[1, 2]).is_prefix_of(&of(&[1])));
    /// ```
    pub fn is_prefix_of(&self, other: &Self) -> bool {
        other.ids.starts_with(&self.ids)
    }
}

/// The number of ids of a conversation, and the spans that its messages would have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counted {
    /// The number of ids.
    pub ids: usize,
    /// The span that each message would have: see [`Rendered::spans`].
    pub spans: Vec<MessageSpan>,
    /// The control tokens that would be written as ordinary text: see [`Rendered::spelled`].
    pub spelled: Vec<Control>,
}

/// The output of a sink: the ids with the positions of the messages.
pub(crate) struct WrittenIds<T> {
    pub(crate) target: T,
    pub(crate) spans: Vec<MessageSpan>,
    pub(crate) spelled: Vec<Control>,
}

impl MessageSpan {
    /// Returns the range of the whole message.
    pub fn ids(&self) -> Range<usize> {
        self.opening.start..self.gap.end
    }
}

/// The target of ids: a list, or a counter.
pub(crate) trait Target {
    /// Adds the ids of text.
    fn text<E: Encoding>(&mut self, encoding: &E, text: &str);

    /// Encodes text without adding its ids.
    fn encode<E: Encoding>(&mut self, encoding: &E, text: &str, ids: &mut Vec<u32>) {
        encoding.encode(text, ids);
    }

    /// Adds ids.
    fn ids(&mut self, ids: &[u32]);

    /// Returns the number of ids so far.
    fn len(&self) -> usize;
}

impl Target for Vec<u32> {
    fn text<E: Encoding>(&mut self, encoding: &E, text: &str) {
        encoding.encode(text, self);
    }

    fn ids(&mut self, ids: &[u32]) {
        self.extend_from_slice(ids);
    }

    fn len(&self) -> usize {
        self.len()
    }
}

/// A counter of ids.
impl Target for usize {
    fn text<E: Encoding>(&mut self, encoding: &E, text: &str) {
        *self += encoding.count(text);
    }

    fn ids(&mut self, ids: &[u32]) {
        *self += ids.len();
    }

    fn len(&self) -> usize {
        *self
    }
}

/// Writes a dialect as token ids.
pub(crate) struct TokenSink<'t, E, T> {
    encoding: &'t E,
    controls: &'t Ids,
    escaper: Escaper,
    /// The messages to write. Some of them store their sampled ids.
    messages: &'t [Message<'t>],
    /// The remaining sampled ids of the current message.
    sampled: SampledIds<'t>,
    /// Text that is encoded when a control token or another part follows.
    run: String,
    /// The parts that begin inside the text.
    boundaries: Boundaries,
    target: T,
    spans: Vec<MessageSpan>,
    /// The tokens that end a completion.
    stops: &'static [Control],
    /// The start of each part of the current message that has begun.
    starts: Vec<usize>,
    /// Whether the next control token ends the message.
    ends: bool,
    /// The control tokens that were written as their spelling.
    spelled: Vec<Control>,
}

/// The number of parts of a message.
const PARTS: usize = 5;

impl<'t, E: Encoding, T: Target> TokenSink<'t, E, T> {
    pub(crate) fn new(
        encoding: &'t E,
        controls: &'t Ids,
        stops: &'static [Control],
        messages: &'t [Message<'t>],
        target: T,
    ) -> Self {
        Self {
            encoding,
            controls,
            escaper: Escaper::only(controls.table(), controls.spelled()),
            messages,
            sampled: SampledIds::default(),
            run: String::new(),
            boundaries: Boundaries::default(),
            target,
            spans: Vec::new(),
            stops,
            starts: Vec::with_capacity(PARTS),
            ends: false,
            spelled: Vec::new(),
        }
    }

    pub(crate) fn finish(mut self) -> Result<WrittenIds<T>, SinkError> {
        self.escaper.finish(&mut self.run)?;
        self.flush();
        self.close(self.target.len());
        if self.escaper.has_blocks() {
            self.spell(Control::Literal);
            self.spell(Control::EndLiteral);
        }
        self.spelled.sort_unstable();
        Ok(WrittenIds { target: self.target, spans: self.spans, spelled: self.spelled })
    }

    /// Notes that a control token was written as ordinary text.
    fn spell(&mut self, control: Control) {
        if !self.spelled.contains(&control) {
            self.spelled.push(control);
        }
    }

    /// Writes a control token that has no id of its own, at the end of the text so far. Some of its
    /// pieces have an id.
    fn pieces(&mut self, control: Control, len: usize, pieces: &[Result<u32, &'static str>]) {
        self.run.truncate(self.run.len() - len);
        self.flush();
        if std::mem::take(&mut self.ends) {
            self.begin(3, self.target.len());
        }
        for piece in pieces {
            match piece {
                Ok(id) => {
                    self.sampled.control(*id);
                    self.target.ids(&[*id]);
                }
                Err(text) => {
                    self.run.push_str(text);
                    self.flush();
                }
            }
        }
        self.stop(control);
    }

    /// Notes that a stop token ends the message, if this is one.
    fn stop(&mut self, control: Control) {
        // The end of the message has begun.
        if self.starts.len() > 3
            && self.stops.contains(&control)
            && let Some(span) = self.spans.last_mut()
        {
            span.is_stopped = true;
        }
    }

    /// Encodes the text so far.
    fn flush(&mut self) {
        if self.run.is_empty() {
            return;
        }
        if !self.boundaries.is_empty() {
            return self.flush_shared();
        }
        match self.sampled.text(self.encoding, &self.run) {
            Some(ids) => self.target.ids(ids),
            None => self.target.text(self.encoding, &self.run),
        }
        self.run.clear();
    }

    /// Encodes the text so far if parts begin inside it.
    fn flush_shared(&mut self) {
        let (encoding, target) = (self.encoding, &mut self.target);
        let encode = |text: &str, ids: &mut Vec<u32>| target.encode(encoding, text, ids);
        let text_ids = self.boundaries.encode_shared(
            encoding,
            &self.run,
            &mut self.sampled,
            self.messages,
            encode,
        );
        let first = self.target.len();
        let mut boundaries = std::mem::take(&mut self.boundaries);
        for (at, part) in boundaries.drain() {
            self.place(part, first + text_ids.before(at));
        }
        self.boundaries = boundaries;
        self.target.ids(&text_ids.ids);
        self.run.clear();
    }

    /// Starts a part between two texts.
    fn enter(&mut self, part: Part) {
        match part {
            Part::Opening(message) => {
                self.sampled = SampledIds::of(self.messages.get(message).and_then(Message::ids));
            }
            Part::Header => self.sampled.after_opening(),
            _ => {}
        }
        self.place(part, self.target.len());
    }

    /// Starts a part at this id.
    fn place(&mut self, part: Part, at: usize) {
        match part {
            Part::Opening(message) => {
                self.close(at);
                self.spans.push(MessageSpan { message, ..MessageSpan::default() });
                self.starts.push(at);
            }
            Part::Header => self.begin(1, at),
            Part::Body => self.begin(2, at),
            Part::End => self.begin(3, at),
            _ => self.begin(4, at),
        }
    }

    /// Starts all parts up to this one at this id, unless they have already begun.
    fn begin(&mut self, part: usize, at: usize) {
        if !self.starts.is_empty() {
            self.starts.resize(part + 1, at);
        }
    }

    /// Ends the current message before this id.
    fn close(&mut self, stop: usize) {
        self.begin(PARTS, stop);
        let at = |part: usize| self.starts.get(part).copied().unwrap_or(stop);
        if let Some(span) = self.spans.last_mut() {
            span.opening = at(0)..at(1);
            span.header = at(1)..at(2);
            span.body = at(2)..at(3);
            span.end = at(3)..at(4);
            span.gap = at(4)..stop;
        }
        self.starts.clear();
    }
}

impl<E: Encoding, T: Target> Sink for TokenSink<'_, E, T> {
    fn control(&mut self, control: Control) -> Result<(), SinkError> {
        let is_spelled = self.escaper.control(control, &mut self.run)?;
        if is_spelled {
            let spelling = self.controls.table().spelling(control).unwrap_or_default();
            let pieces = self.controls.split(spelling);
            if pieces.iter().any(Result::is_ok) {
                self.pieces(control, spelling.len(), &pieces);
                return Ok(());
            }
            self.spell(control);
        }
        if is_spelled && self.ends {
            // The body is encoded separately.
            let spelling = self.controls.table().spelling(control).unwrap_or_default();
            let end = self.run.split_off(self.run.len() - spelling.len());
            self.flush();
            self.run = end;
        } else if !is_spelled {
            self.flush();
        }
        if std::mem::take(&mut self.ends) {
            self.begin(3, self.target.len());
        }
        self.stop(control);
        if !is_spelled {
            let id = self.controls.id(control);
            id.inspect(|id| self.sampled.control(*id));
            self.target.ids(id.as_slice());
        }
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<(), SinkError> {
        self.escaper.text(text, &mut self.run)
    }

    fn text_among_markers(&mut self, text: &str) -> Result<(), SinkError> {
        self.escaper.text_among_markers(text, &mut self.run)
    }

    fn spelled(&mut self, control: Control) -> Result<(), SinkError> {
        match self.controls.table().spelling(control) {
            Some(spelling) if self.controls.id(control).is_some() => self.text(spelling),
            _ => self.control(control),
        }
    }

    fn word(&mut self, word: &'static str) -> Result<(), SinkError> {
        self.escaper.word(word, &mut self.run)
    }

    fn part(&mut self, part: Part) {
        if part == Part::End {
            // The end token determines how the pending text of the body is encoded.
            self.ends = true;
            return;
        }
        self.flush();
        if std::mem::take(&mut self.ends) {
            // Text ends the message, and is encoded together with the body.
            self.begin(3, self.target.len());
        }
        self.enter(part);
    }

    fn seam(&mut self, part: Part) {
        let at = self.run.len() + self.escaper.held();
        if at == 0 {
            return self.enter(part);
        }
        self.boundaries.push(at, part);
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
