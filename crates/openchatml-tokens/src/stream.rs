//! Parses token ids incrementally.

use openchatml::lex::{Utf8Decoder, Utf8Piece};
use openchatml::{Event, Events, Keep, Message, Policy, ReadOptions, Span, Stream};

use crate::encoding::Encoding;
use crate::ids::{Lexeme, REPLACEMENT, foreign, not_text, unknown};
use crate::tokenizer::Tokenizer;

/// The number of ids to prefetch.
const AHEAD: usize = 12;

/// An incremental parser of token ids.
///
/// If the bytes of a character are spread over several ids, the stream emits the character when it
/// is complete. Spans refer to the text of the ids, in which control tokens are spelled out.
///
/// The stream shares the encoding of its tokenizer and borrows nothing. It can be a field of a
/// struct or move to another task.
///
/// ```
/// use openchatml::{ReadOptions, TextFormat};
/// use openchatml_tokens::{ByteEncoding, TokenStream, Tokenizer};
///
/// /// A completion that a server is sending.
/// struct Completion {
///     stream: TokenStream<ByteEncoding>,
/// }
///
/// let tokenizer = Tokenizer::new(TextFormat::CHATML, ByteEncoding::default());
/// let mut completion = Completion { stream: tokenizer.stream(&ReadOptions::completion()) };
/// drop(tokenizer);
/// let task = std::thread::spawn(move || completion.stream.feed(&[72, 105, 33]).collect::<Vec<_>>());
/// let events = task.join().unwrap();
/// assert!(!events.is_empty());
/// ```
pub struct TokenStream<E> {
    tokenizer: Tokenizer<E>,
    text: Text,
}

/// The text of ids that was not passed to the stream yet.
struct Text {
    stream: Stream,
    utf8: Utf8Decoder,
}

impl<E: Encoding> Tokenizer<E> {
    /// Creates a stream that parses ids.
    ///
    /// ```
    /// use openchatml::{Control, Event, ReadOptions, Role, TextFormat};
    /// use openchatml_tokens::{ByteEncoding, Tokenizer};
    ///
    /// let tokenizer = Tokenizer::new(TextFormat::HARMONY, ByteEncoding::default());
    /// let id = |control| tokenizer.id(control).expect("it has one");
    /// let mut options = ReadOptions::default();
    /// options.continues = Some(Role::Assistant); // The prompt ended in `<|start|>assistant`.
    /// let mut stream = tokenizer.stream(&options);
    /// let mut events: Vec<_> = stream.feed(&[id(Control::Channel)]).collect();
    /// events.extend(stream.feed(&"final".bytes().map(u32::from).collect::<Vec<_>>()));
    /// events.extend(stream.feed(&[id(Control::Message), 52, 46, id(Control::Return)]));
    /// events.extend(stream.finish());
    /// let deltas = events.iter().filter_map(|event| match event {
    ///     Event::Delta { text, .. } => Some(text.as_ref()),
    ///     _ => None,
    /// });
    /// assert_eq!(deltas.collect::<String>(), "4.");
    /// ```
    pub fn stream(&self, options: &ReadOptions) -> TokenStream<E> {
        let stream = Stream::of_pieces(self.format(), self.spelled(), options);
        let text = Text { stream, utf8: Utf8Decoder::default() };
        TokenStream { tokenizer: self.clone(), text }
    }
}

impl<E: Encoding> TokenStream<E> {
    /// Sets whether the stream keeps the text of messages.
    #[must_use]
    pub fn keep(mut self, keep: Keep) -> Self {
        self.text.stream = self.text.stream.keep(keep);
        self
    }

    /// Makes the stream emit only what a user may see: see [`Stream::for_user`].
    #[must_use]
    pub fn for_user(mut self, policy: Policy) -> Self {
        self.text.stream = self.text.stream.for_user(policy);
        self
    }

    /// Returns the message to which the next id belongs, as in [`Stream::open_message`].
    ///
    /// ```
    /// use openchatml::{Control, Message, ReadOptions, Role, TextFormat};
    /// use openchatml_tokens::{ByteEncoding, Tokenizer};
    ///
    /// let tokenizer = Tokenizer::new(TextFormat::HARMONY, ByteEncoding::default());
    /// let id = |control| tokenizer.id(control).expect("it has one");
    /// let text = |text: &str| text.bytes().map(u32::from).collect::<Vec<_>>();
    /// let mut options = ReadOptions::default();
    /// options.continues = Some(Role::Assistant);
    /// let mut stream = tokenizer.stream(&options);
    /// let mut is_answer = |ids: &[u32]| {
    ///     drop(stream.feed(ids));
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
    /// ```
    pub fn open_message(&self) -> Option<&Message<'_>> {
        self.text.stream.open_message()
    }

    /// Parses the next ids and returns the events that are certain.
    pub fn feed(&mut self, ids: &[u32]) -> Events {
        let mut events = Vec::new();
        self.feed_with(ids, |event| events.push(event.into_owned()));
        events.into()
    }

    /// Parses the next ids and passes the events that are certain to `emit`. The events borrow.
    #[inline]
    pub fn feed_with(&mut self, ids: &[u32], mut emit: impl FnMut(Event<'_>)) {
        let Self { tokenizer, text } = self;
        for (at, id) in ids.iter().enumerate() {
            if let Some(next) = ids.get(at + AHEAD) {
                tokenizer.encoding().prefetch(*next);
            }
            text.feed(tokenizer.lexeme(*id), *id, &mut emit);
        }
    }

    /// Ends the input and returns the last events.
    pub fn finish(self) -> Events {
        let mut events = Vec::new();
        self.finish_with(|event| events.push(event.into_owned()));
        events.into()
    }

    /// Like [`finish`](Self::finish), but passes borrowed events to `emit`.
    pub fn finish_with(mut self, mut emit: impl FnMut(Event<'_>)) {
        self.text.end(&mut emit);
        self.text.stream.finish_with(emit);
    }

    /// Ends the stream because generation was cancelled, and returns the last events.
    pub fn cancel(self) -> Events {
        let mut events = Vec::new();
        self.cancel_with(|event| events.push(event.into_owned()));
        events.into()
    }

    /// Like [`cancel`](Self::cancel), but passes borrowed events to `emit`.
    pub fn cancel_with(mut self, mut emit: impl FnMut(Event<'_>)) {
        self.text.end(&mut emit);
        self.text.stream.cancel_with(emit);
    }
}

impl Text {
    #[inline]
    fn feed(&mut self, lexeme: Lexeme<'_>, id: u32, emit: &mut impl FnMut(Event<'_>)) {
        match lexeme {
            Lexeme::Text(text) if self.utf8.is_empty() => self.stream.feed_text_with(text, emit),
            Lexeme::Text(text) => self.bytes(text.as_bytes(), emit),
            Lexeme::Bytes(bytes) => self.bytes(bytes, emit),
            Lexeme::Control(control) => {
                self.end(emit);
                self.stream.feed_control_with(control, emit);
            }
            Lexeme::Foreign(spelling) => {
                self.end(emit);
                let found = foreign(spelling, span_of(&self.stream, spelling));
                self.stream.report_with(found, &mut *emit);
                self.stream.feed_text_with(spelling, emit);
            }
            Lexeme::Unknown => {
                self.end(emit);
                let found = unknown(id, span_of(&self.stream, REPLACEMENT));
                self.stream.report_with(found, &mut *emit);
                self.stream.feed_text_with(REPLACEMENT, emit);
            }
        }
    }

    #[inline]
    fn bytes(&mut self, bytes: &[u8], emit: &mut impl FnMut(Event<'_>)) {
        if self.utf8.is_empty()
            && let Ok(text) = std::str::from_utf8(bytes)
        {
            return self.stream.feed_text_with(text, emit);
        }
        self.part_of_character(bytes, emit);
    }

    fn part_of_character(&mut self, bytes: &[u8], emit: &mut impl FnMut(Event<'_>)) {
        for piece in self.utf8.decode(bytes) {
            match piece {
                Utf8Piece::Text(text) => self.stream.feed_text_with(text, &mut *emit),
                Utf8Piece::Invalid(_) => replace(&mut self.stream, emit),
            }
        }
    }

    /// Ends the text. An incomplete character is invalid.
    fn end(&mut self, emit: &mut impl FnMut(Event<'_>)) {
        if self.utf8.finish().is_some() {
            replace(&mut self.stream, emit);
        }
    }
}

/// Feeds U+FFFD, for bytes that are not UTF-8.
fn replace(stream: &mut Stream, emit: &mut impl FnMut(Event<'_>)) {
    stream.report_with(not_text(span_of(stream, REPLACEMENT)), &mut *emit);
    stream.feed_text_with(REPLACEMENT, emit);
}

/// Returns the span of the text that comes next.
fn span_of(stream: &Stream, text: &str) -> Span {
    let at = stream.offset();
    Span::new(at, at + text.len())
}
