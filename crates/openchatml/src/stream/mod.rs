//! Conversations that arrive piece by piece.

mod event;
mod live;
mod user;
pub mod wire;

pub use self::event::{Done, Event};
pub use self::user::UserEvents;

use self::live::{Live, LiveState};
use crate::dialect::{Carrier, Format};
use crate::engine::Engine;
use crate::lex::{Mask, Utf8Decoder, Utf8Piece};
use crate::options::ReadOptions;
use crate::{Code, Control, Diagnostic, Message, Span, UnknownName, reading};

/// Whether the text of messages is kept until they are done.
///
/// ```
/// use openchatml::{Event, Keep, Stream};
///
/// // The bytes of text in what `MessageDone` has.
/// let done = |keep| {
///     let mut bytes = 0;
///     let mut stream = Stream::new("im".parse()?, &Default::default())?.keep(keep);
///     stream.feed(b"<|im_start|>assistant\nHello!<|im_end|>\n", |event| {
///         if let Event::MessageDone { message, .. } = event {
///             bytes += message.body.len();
///         }
///     });
///     Ok::<_, openchatml::UnknownName>(bytes)
/// };
/// assert_eq!((done(Keep::Bodies)?, done(Keep::Nothing)?), (6, 0));
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Keep {
    /// [`Event::MessageDone`] has the whole message.
    #[default]
    Bodies,
    /// It has no text: the deltas had it. Memory does not grow with the length of a message,
    /// except of one whose content must be checked: a call, a body with a constraint.
    Nothing,
}

/// Reads text as it arrives and gives events.
///
/// Chunks may be cut anywhere, inside control tokens and UTF-8 sequences too: the events are the
/// same, but for where one delta ends and the next begins. Only what may still become a control
/// token is held back.
///
/// ```
/// use openchatml::{Event, ReadOptions, Role, Stream};
///
/// let mut options = ReadOptions::default();
/// options.continues = Some(Role::Assistant);
/// let mut stream = Stream::new("openchatml-2.2".parse()?, &options)?;
/// let mut seen = String::new();
/// let mut show = |event: Event<'_>| {
///     if let Event::Delta { text, .. } = event {
///         seen.push_str(text);
///     }
/// };
/// for chunk in ["<|channel|>analysis<|message|>Hm.<|e", "nd|><|start|>assistant<|channel",
///     "|>final<|message|>Hel", "lo!<|return|>"]
/// {
///     stream.feed(chunk.as_bytes(), &mut show);
/// }
/// stream.finish(&mut show);
/// assert_eq!(seen, "Hello!");
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
pub struct Stream {
    engine: Engine<'static>,
    utf8: Utf8Decoder,
    state: LiveState,
    /// Whether it takes pieces, and not bytes.
    has_pieces: bool,
    /// How much text has arrived, in bytes.
    at: usize,
}

impl Stream {
    /// A stream of a text format.
    ///
    /// # Errors
    ///
    /// The format is JSON, which is read as a whole.
    ///
    /// ```
    /// use openchatml::{Format, Stream};
    ///
    /// let stream = |format: Format| Stream::new(format, &Default::default());
    /// assert!(stream("chatml".parse()?).is_ok());
    /// assert!(stream("chatml:json".parse()?).is_err());
    /// # Ok::<(), openchatml::UnknownName>(())
    /// ```
    pub fn new(format: Format, options: &ReadOptions) -> Result<Self, UnknownName> {
        let form = format.dialect.text.filter(|_| format.carrier == Carrier::Text);
        let form = form.ok_or_else(|| UnknownName::new("stream format", &format.to_string()))?;
        Ok(Self {
            engine: Engine::new(form, options, reading::Keep::Copy),
            utf8: Utf8Decoder::default(),
            state: LiveState::default(),
            has_pieces: false,
            at: 0,
        })
    }

    /// A stream of pieces in the text form of a format: text, and control tokens that the carrier
    /// has by other means than their spelling. The control tokens in `spelled` count when text
    /// spells them.
    ///
    /// It takes [`feed_text`](Self::feed_text) and [`feed_control`](Self::feed_control). Spans are
    /// places in the text that the pieces make together, control tokens as their spelling.
    ///
    /// # Errors
    ///
    /// The format has no text form.
    ///
    /// ```
    /// use openchatml::{Control, Event, Format, Stream};
    ///
    /// let harmony: Format = "harmony".parse()?;
    /// let mut stream = Stream::of_pieces(harmony, &[], &Default::default())?;
    /// let mut said = String::new();
    /// let mut hear = |event: Event<'_>| {
    ///     if let Event::Delta { text, .. } = event {
    ///         said.push_str(text);
    ///     }
    /// };
    /// stream.feed_control(Control::Start, &mut hear);
    /// stream.feed_text("assistant", &mut hear);
    /// stream.feed_control(Control::Channel, &mut hear);
    /// stream.feed_text("final", &mut hear);
    /// stream.feed_control(Control::Message, &mut hear);
    /// stream.feed_text("4 <|end|>", &mut hear); // It only looks like one.
    /// stream.feed_control(Control::Return, &mut hear);
    /// stream.finish(&mut hear);
    /// assert_eq!(said, "4 <|end|>");
    /// # Ok::<(), openchatml::UnknownName>(())
    /// ```
    pub fn of_pieces(
        format: Format,
        spelled: &[Control],
        options: &ReadOptions,
    ) -> Result<Self, UnknownName> {
        let form = format.dialect.text;
        let form = form.ok_or_else(|| UnknownName::new("stream format", &format.to_string()))?;
        Ok(Self {
            engine: Engine::new(form, options, reading::Keep::Copy).spelled(Mask::of(spelled)),
            utf8: Utf8Decoder::default(),
            state: LiveState::default(),
            has_pieces: true,
            at: 0,
        })
    }

    /// Takes text that has arrived in a stream [of pieces](Self::of_pieces).
    #[inline]
    pub fn feed_text(&mut self, text: &str, mut emit: impl FnMut(Event<'_>)) {
        if !self.has_pieces {
            return self.feed(text.as_bytes(), emit);
        }
        let span = Span::new(self.at, self.at + text.len());
        self.at = span.end;
        match self.engine.body_piece(text, span) {
            Some(text) => self.state.text(text, &mut emit),
            None => {
                let live = &mut Live { state: &mut self.state, emit: &mut emit };
                self.engine.piece(text, span, live);
            }
        }
    }

    /// Takes a control token that has arrived in a stream [of pieces](Self::of_pieces). One that
    /// the dialect lacks is left out.
    pub fn feed_control(&mut self, control: Control, mut emit: impl FnMut(Event<'_>)) {
        let Some(spelling) = self.engine.spelling(control) else { return };
        if !self.has_pieces {
            return self.feed(spelling.as_bytes(), emit);
        }
        let span = Span::new(self.at, self.at + spelling.len());
        self.at = span.end;
        self.engine.control(control, span, &mut Live { state: &mut self.state, emit: &mut emit });
    }

    /// How much has arrived, in bytes of text.
    pub fn offset(&self) -> usize {
        self.at
    }

    /// The message whose text arrives now: all is known of it but its text and its end. `None`
    /// between messages, and in a header that has not ended.
    ///
    /// It says what the next token is part of: whether reasoning has ended and a grammar holds
    /// from here on, or which tool's arguments are being written.
    ///
    /// ```
    /// use openchatml::{Message, ReadOptions, Role, Stream};
    ///
    /// let mut options = ReadOptions::default();
    /// options.continues = Some(Role::Assistant);
    /// let mut stream = Stream::new("harmony".parse()?, &options)?;
    /// let mut answers = |chunk: &str| {
    ///     stream.feed(chunk.as_bytes(), |_| {});
    ///     stream.open_message().is_some_and(Message::is_answer)
    /// };
    /// assert!(!answers("<|channel|>analysis<|message|>Easy.<|end|>"));
    /// assert!(!answers("<|start|>assistant<|channel|>final"));
    /// assert!(answers("<|message|>"));
    /// assert!(answers("4"));
    /// assert!(!answers(".<|return|>"));
    /// # Ok::<(), openchatml::UnknownName>(())
    /// ```
    pub fn open_message(&self) -> Option<&Message<'_>> {
        self.engine.message()
    }

    /// Tells a finding of the caller's own as an event, among those of the reader.
    pub fn report(&mut self, diagnostic: Diagnostic, mut emit: impl FnMut(Event<'_>)) {
        self.engine.report(diagnostic, &mut Live { state: &mut self.state, emit: &mut emit });
    }

    /// The same stream, keeping the text of messages or not.
    ///
    /// ```
    /// use openchatml::{Event, Keep, Stream};
    ///
    /// let mut stream = Stream::new("im".parse()?, &Default::default())?.keep(Keep::Nothing);
    /// let mut said = String::new();
    /// stream.feed(b"<|im_start|>assistant\nHi!<|im_end|>\n", |event| match event {
    ///     Event::Delta { text, .. } => said.push_str(text),
    ///     Event::MessageDone { message, .. } => assert!(message.body.is_empty()),
    ///     _ => {}
    /// });
    /// assert_eq!(said, "Hi!");
    /// # Ok::<(), openchatml::UnknownName>(())
    /// ```
    #[must_use]
    pub fn keep(mut self, keep: Keep) -> Self {
        self.state.keep = keep;
        self
    }

    /// Takes bytes that have arrived, and gives the events that are certain.
    ///
    /// ```
    /// use openchatml::Stream;
    ///
    /// let mut stream = Stream::new("im".parse()?, &Default::default())?;
    /// let mut names = Vec::new();
    /// stream.feed(b"<|im_start|>assis", |event| names.push(event.name()));
    /// assert!(names.is_empty());
    /// stream.feed(b"tant\nHi!<|im", |event| names.push(event.name()));
    /// assert_eq!(names, ["message.start", "response.delta"]);
    /// # Ok::<(), openchatml::UnknownName>(())
    /// ```
    pub fn feed(&mut self, bytes: &[u8], mut emit: impl FnMut(Event<'_>)) {
        let Self { engine, utf8, state, at, .. } = self;
        let mut live = Live { state, emit: &mut emit };
        for piece in utf8.decode(bytes) {
            take(engine, piece, at, &mut live);
        }
    }

    /// Takes the end of the input, and gives the last events.
    ///
    /// ```
    /// use openchatml::{Code, Event, Stream};
    ///
    /// let mut stream = Stream::new("im".parse()?, &Default::default())?;
    /// stream.feed(b"<|im_start|>assistant\nOnce upon", |_| {});
    /// let mut found = Vec::new();
    /// stream.finish(|event| {
    ///     if let Event::Diagnostic { diagnostic, .. } = event {
    ///         found.push(diagnostic.code);
    ///     }
    /// });
    /// assert_eq!(found, [Code::StreamTruncated]);
    /// # Ok::<(), openchatml::UnknownName>(())
    /// ```
    pub fn finish(mut self, mut emit: impl FnMut(Event<'_>)) {
        let Self { engine, utf8, state, has_pieces, at } = &mut self;
        let mut live = Live { state, emit: &mut emit };
        if let Some(piece) = utf8.finish() {
            take(engine, piece, at, &mut live);
        }
        if *has_pieces {
            engine.finish_pieces(*at, &mut live);
        } else {
            engine.feed("", true, &mut live);
            engine.finish(&mut live);
        }
        live.finish();
    }

    /// Ends the stream because nobody wants the rest: the message that is being read is given as
    /// it is, and then [`Event::Cancel`].
    ///
    /// ```
    /// use openchatml::{Event, Stream};
    ///
    /// let mut stream = Stream::new("im".parse()?, &Default::default())?;
    /// stream.feed(b"<|im_start|>assistant\nOnce upon", |_| {});
    /// let mut last = String::new();
    /// stream.cancel(|event| last = event.to_json());
    /// assert_eq!(last, r#"{"type":"response.cancel","message_id":"m0"}"#);
    /// # Ok::<(), openchatml::UnknownName>(())
    /// ```
    pub fn cancel(mut self, mut emit: impl FnMut(Event<'_>)) {
        self.state.cancelled = true;
        let (event, at) = ("response.cancel", Span::at(self.at));
        if !self.engine.has_event(event) {
            let text = format!("event `{event}` is not among the declared capabilities");
            let found = Code::Capability.at(at, text).help("add it to `capabilities.streaming`");
            self.engine.report(found, &mut Live { state: &mut self.state, emit: &mut emit });
        }
        self.finish(&mut emit);
    }
}

/// Takes a piece that begins at byte `at` of what has arrived.
fn take(engine: &mut Engine<'static>, piece: Utf8Piece<'_>, at: &mut usize, live: &mut Live<'_>) {
    match piece {
        Utf8Piece::Text(text) => {
            *at += text.len();
            engine.feed(text, false, live);
        }
        Utf8Piece::Invalid(len) => {
            let span = Span::new(*at, *at + len);
            *at = span.end;
            engine.report(not_utf8(span), live);
            engine.feed_replacement(span, live);
        }
    }
}

/// The finding that the bytes at `span` are not UTF-8.
pub(crate) fn not_utf8(span: Span) -> crate::Diagnostic {
    let text = format!("the byte at offset {} is not UTF-8", span.start);
    Code::ParseUtf8.at(span, text).help("U+FFFD stands for it")
}
