//! Ids as they arrive.

use openchatml::lex::{Utf8Decoder, Utf8Piece};
use openchatml::{Event, Keep, Message, ReadOptions, Span, Stream};

use crate::encoding::Encoding;
use crate::ids::{Lexeme, REPLACEMENT, foreign, not_text, unknown};
use crate::tokenizer::Tokenizer;

/// How many ids ahead memory is asked for.
const AHEAD: usize = 12;

/// A conversation that arrives as ids.
///
/// Characters whose bytes are spread over several ids are told once they are whole. Spans are
/// places in the text that the ids stand for, control tokens as their spelling.
pub struct TokenStream<'t, E> {
    tokenizer: &'t Tokenizer<E>,
    stream: Stream,
    utf8: Utf8Decoder,
}

impl<E: Encoding> Tokenizer<E> {
    /// A stream of ids.
    ///
    /// ```
    /// use openchatml::{Control, Event, ReadOptions, Role};
    /// use openchatml_tokens::{ByteEncoding, Tokenizer};
    ///
    /// let tokenizer = Tokenizer::new("harmony".parse()?, ByteEncoding::default())?;
    /// let id = |control| tokenizer.id(control).expect("it has one");
    /// let mut options = ReadOptions::default();
    /// options.continues = Some(Role::Assistant); // The prompt ended in `<|start|>assistant`.
    /// let mut said = String::new();
    /// let mut hear = |event: Event<'_>| {
    ///     if let Event::Delta { text, .. } = event {
    ///         said.push_str(text);
    ///     }
    /// };
    /// let mut stream = tokenizer.stream(&options);
    /// stream.feed(&[id(Control::Channel)], &mut hear);
    /// stream.feed(&"final".bytes().map(u32::from).collect::<Vec<_>>(), &mut hear);
    /// stream.feed(&[id(Control::Message), 52, 46, id(Control::Return)], &mut hear);
    /// stream.finish(&mut hear);
    /// assert_eq!(said, "4.");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stream(&self, options: &ReadOptions) -> TokenStream<'_, E> {
        TokenStream::new(self, options)
    }
}

impl<'t, E: Encoding> TokenStream<'t, E> {
    fn new(tokenizer: &'t Tokenizer<E>, options: &ReadOptions) -> Self {
        let stream = Stream::of_pieces(tokenizer.format(), tokenizer.spelled(), options)
            .expect("a tokenizer's format has a text form");
        Self { tokenizer, stream, utf8: Utf8Decoder::default() }
    }

    /// The same stream, keeping the text of messages or not.
    #[must_use]
    pub fn keep(mut self, keep: Keep) -> Self {
        self.stream = self.stream.keep(keep);
        self
    }

    /// The message whose text arrives now, as [`Stream::open_message`] has it: what the next id is
    /// part of.
    ///
    /// ```
    /// use openchatml::{Control, Message, ReadOptions, Role};
    /// use openchatml_tokens::{ByteEncoding, Tokenizer};
    ///
    /// let tokenizer = Tokenizer::new("harmony".parse()?, ByteEncoding::default())?;
    /// let id = |control| tokenizer.id(control).expect("it has one");
    /// let text = |text: &str| text.bytes().map(u32::from).collect::<Vec<_>>();
    /// let mut options = ReadOptions::default();
    /// options.continues = Some(Role::Assistant);
    /// let mut stream = tokenizer.stream(&options);
    /// let mut is_answer = |ids: &[u32]| {
    ///     stream.feed(ids, |_| {});
    ///     stream.open_message().is_some_and(Message::is_answer)
    /// };
    /// // That text spells a control token ends no reasoning.
    /// is_answer(&[id(Control::Channel)]);
    /// is_answer(&text("analysis"));
    /// assert!(!is_answer(&[id(Control::Message)]));
    /// assert!(!is_answer(&text("<|channel|>final<|message|>")));
    /// is_answer(&[id(Control::End), id(Control::Start)]);
    /// is_answer(&text("assistant"));
    /// is_answer(&[id(Control::Channel)]);
    /// assert!(!is_answer(&text("final")));
    /// assert!(is_answer(&[id(Control::Message)]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_message(&self) -> Option<&Message<'_>> {
        self.stream.open_message()
    }

    /// Takes ids that have arrived, and gives the events that are certain.
    #[inline]
    pub fn feed(&mut self, ids: &[u32], mut emit: impl FnMut(Event<'_>)) {
        for (at, id) in ids.iter().enumerate() {
            if let Some(next) = ids.get(at + AHEAD) {
                self.tokenizer.encoding().prefetch(*next);
            }
            match self.tokenizer.lexeme(*id) {
                Lexeme::Text(text) if self.utf8.is_empty() => {
                    self.stream.feed_text(text, &mut emit);
                }
                Lexeme::Text(text) => self.bytes(text.as_bytes(), &mut emit),
                Lexeme::Bytes(bytes) => self.bytes(bytes, &mut emit),
                Lexeme::Control(control) => {
                    self.end_text(&mut emit);
                    self.stream.feed_control(control, &mut emit);
                }
                Lexeme::Foreign(spelling) => {
                    self.end_text(&mut emit);
                    let found = foreign(spelling, span_of(&self.stream, spelling));
                    self.stream.report(found, &mut emit);
                    self.stream.feed_text(spelling, &mut emit);
                }
                Lexeme::Unknown => {
                    self.end_text(&mut emit);
                    let found = unknown(*id, span_of(&self.stream, REPLACEMENT));
                    self.stream.report(found, &mut emit);
                    self.stream.feed_text(REPLACEMENT, &mut emit);
                }
            }
        }
    }

    /// Takes the end of the ids.
    pub fn finish(mut self, mut emit: impl FnMut(Event<'_>)) {
        self.end_text(&mut emit);
        self.stream.finish(emit);
    }

    /// Ends the stream because the model was stopped.
    pub fn cancel(mut self, mut emit: impl FnMut(Event<'_>)) {
        self.end_text(&mut emit);
        self.stream.cancel(emit);
    }

    #[inline]
    fn bytes(&mut self, bytes: &[u8], emit: &mut impl FnMut(Event<'_>)) {
        if self.utf8.is_empty()
            && let Ok(text) = std::str::from_utf8(bytes)
        {
            return self.stream.feed_text(text, emit);
        }
        self.part_of_character(bytes, emit);
    }

    fn part_of_character(&mut self, bytes: &[u8], emit: &mut impl FnMut(Event<'_>)) {
        for piece in self.utf8.decode(bytes) {
            match piece {
                Utf8Piece::Text(text) => self.stream.feed_text(text, &mut *emit),
                Utf8Piece::Invalid(_) => replace(&mut self.stream, emit),
            }
        }
    }

    /// No more text follows: half a character is none.
    fn end_text(&mut self, emit: &mut impl FnMut(Event<'_>)) {
        if self.utf8.finish().is_some() {
            replace(&mut self.stream, emit);
        }
    }
}

/// Feeds U+FFFD, for bytes that are not UTF-8.
fn replace(stream: &mut Stream, emit: &mut impl FnMut(Event<'_>)) {
    stream.report(not_text(span_of(stream, REPLACEMENT)), &mut *emit);
    stream.feed_text(REPLACEMENT, emit);
}

/// The place of a text that comes next.
fn span_of(stream: &Stream, text: &str) -> Span {
    let at = stream.offset();
    Span::new(at, at + text.len())
}
