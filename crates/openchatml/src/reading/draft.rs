//! The message whose body is being read.

use super::out::State;
use super::withhold;
use super::{Keep, Kept, Out};
use crate::model::{Body, End, Marker, Message, PiecePlace, Pieces, Role, Segment};
use crate::options::ReadOptions;
use crate::{Code, Dropped, Span};

/// A message from the end of its header to its own end. The memory is used again for the next
/// message.
#[derive(Debug)]
pub(crate) struct Draft<'a> {
    pub(crate) message: Message<'a>,
    text: Kept<'a>,
    segments: Vec<Segment<'a>>,
    /// Whether a literal block is open.
    literal: bool,
    bytes: usize,
    /// The start of the next piece of text, if it follows directly.
    next: usize,
    pieces: Vec<PiecePlace>,
    /// Whether the text that is added is not in the input.
    inserts: bool,
    keeps: bool,
    /// The text that exceeds the limit of one message.
    excess: Option<Span>,
}

impl Default for Draft<'_> {
    fn default() -> Self {
        Self {
            message: Message::new(Role::Assistant, ""),
            text: Kept::default(),
            segments: Vec::new(),
            literal: false,
            bytes: 0,
            next: 0,
            pieces: Vec::new(),
            inserts: false,
            keeps: false,
            excess: None,
        }
    }
}

impl<'a> Draft<'a> {
    /// Begins the body of `message` and reports the start.
    #[inline]
    pub(crate) fn begin(&mut self, message: Message<'a>, out: &mut Out<'a, '_>) {
        self.message = message;
        if out.state.is_over {
            withhold(&mut self.message);
        }
        out.to.start(&self.message);
        // Bodies that will be checked must be kept, even if the receiver does not want them.
        self.keeps = out.to.keeps_bodies() || self.message.constrained || self.message.is_call();
        self.bytes = 0;
        self.next = self.message.body_at;
    }

    /// Creates a draft and begins `message`.
    pub(crate) fn started(message: Message<'a>, out: &mut Out<'a, '_>) -> Self {
        let mut draft = Self::default();
        draft.begin(message, out);
        draft
    }

    /// Whether a literal block is open.
    pub(crate) fn in_literal(&self) -> bool {
        self.literal
    }

    /// Returns the text so far, without literal blocks and markers before it, if it is kept.
    pub(crate) fn kept_text(&self) -> Option<&str> {
        self.keeps.then(|| self.text.as_str())
    }

    /// Whether text was dropped because the message exceeds its limit. The diagnostic then covers
    /// the rest of the message.
    pub(crate) fn is_full(&self) -> bool {
        self.excess.is_some()
    }

    /// Adds the text at `span` and reports it.
    #[inline]
    pub(crate) fn push(&mut self, text: &str, span: Span, out: &mut Out<'a, '_>) {
        let text = self.add(text, span, out.keep, out.options, out.state);
        if !text.is_empty() {
            out.to.text(text);
        }
    }

    /// Adds text that the input expresses differently, at `span`.
    pub(crate) fn insert(&mut self, text: &str, span: Span, out: &mut Out<'a, '_>) {
        self.inserts = true;
        // Text with the length of its span would be taken from the input.
        self.push(text, Span::at(span.start), out);
        // The next text is a piece of its own.
        (self.inserts, self.next) = (false, usize::MAX);
    }

    /// Adds the text at `span` and returns the part within the limit, for the event.
    #[inline]
    pub(crate) fn add<'t>(
        &mut self,
        text: &'t str,
        span: Span,
        keep: Keep<'a>,
        options: &ReadOptions,
        state: &State,
    ) -> &'t str {
        let most = options.limits.message_bytes;
        let fits = self.bytes.saturating_add(text.len()) <= most && self.excess.is_none();
        let (text, span) = match fits && state.stopped.is_none() {
            true => (text, span),
            false => self.within_limit(text, span, most, state),
        };
        if text.is_empty() {
            return text;
        }
        if self.keeps {
            self.keep(text, span, keep);
        }
        self.next = span.end;
        self.bytes += text.len();
        text
    }

    fn keep(&mut self, text: &str, span: Span, keep: Keep<'a>) {
        // Places in a body that is not kept are not needed.
        if span.start != self.next || self.inserts {
            let (body, input, is_inserted) = (self.bytes, span.start, self.inserts);
            self.pieces.push(PiecePlace { body, input, is_inserted });
        }
        self.text.push(text, span, keep);
    }

    /// Returns the part of `text` within the limit.
    #[cold]
    fn within_limit<'t>(
        &mut self,
        text: &'t str,
        span: Span,
        most: usize,
        state: &State,
    ) -> (&'t str, Span) {
        if let Some(stopped) = state.stopped {
            // The rest of the text in which reading stopped is dropped.
            return cut_at(text, span, stopped.at.saturating_sub(span.start));
        }
        if let Some(excess) = &mut self.excess {
            excess.end = span.end;
            return ("", Span::at(span.start));
        }
        let is_exact = span.len() == text.len();
        let (text, kept) = cut_at(text, span, most.saturating_sub(self.bytes));
        let start = if is_exact { span.start + text.len() } else { span.start };
        self.excess = Some(Span::new(start, span.end));
        (text, kept)
    }

    /// Adds a marker.
    pub(crate) fn marker(&mut self, marker: Marker) {
        self.cut();
        if self.keeps {
            self.segments.push(Segment::Marker(marker));
        }
    }

    /// Opens a literal block.
    pub(crate) fn open_literal(&mut self) {
        self.cut();
        self.literal = true;
    }

    /// Closes a literal block.
    pub(crate) fn close_literal(&mut self) {
        self.literal = true;
        self.cut();
        self.literal = false;
    }

    /// Turns the text so far into a segment.
    fn cut(&mut self) {
        let literal = std::mem::take(&mut self.literal);
        let text = self.text.take();
        if literal && self.keeps {
            self.segments.push(Segment::Literal(text));
        } else if !text.is_empty() {
            self.segments.push(Segment::Text(text));
        }
    }

    /// Ends the message at byte `at` and passes it on.
    pub(crate) fn end(&mut self, end: End, at: usize, out: &mut Out<'a, '_>) {
        let mut message = std::mem::replace(&mut self.message, Message::new(Role::Assistant, ""));
        message.end = end;
        message.span.end = at;
        if !self.pieces.is_empty() {
            message.pieces = Some(Box::new(Pieces(std::mem::take(&mut self.pieces))));
        }
        if let Some(span) = self.excess.take() {
            let most = out.options.limits.message_bytes;
            let text =
                format!("the text of this message exceeds the limit `message_bytes` of {most}");
            message.recovered = true;
            out.to.cut();
            let found =
                Code::Limit.at(span, text).help("the text beyond the limit will be dropped");
            out.report(found.drops(Dropped::Limit));
        }
        message.body = if self.segments.is_empty() && !self.literal {
            Body::from(self.text.take())
        } else {
            self.cut();
            Body::from_segments(std::mem::take(&mut self.segments))
        };
        out.end(message);
    }
}

/// Returns the first `len` bytes of `text`, which is at `span`. Text that was joined from parts has
/// no exact place, so it keeps the whole span.
fn cut_at(text: &str, span: Span, len: usize) -> (&str, Span) {
    let len = text.floor_char_boundary(len);
    let exact = span.len() == text.len();
    (&text[..len], if exact { Span::new(span.start, span.start + len) } else { span })
}
