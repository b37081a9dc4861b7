//! Reads conversations that arrive in chunks.

mod cow_box;
mod event;
mod events;
mod live;
mod user;
pub mod wire;

pub use self::cow_box::CowBox;
pub use self::event::{Done, Event};
pub use self::events::Events;
pub use self::user::UserEvents;

use self::live::{Live, LiveState};
use crate::engine::Engine;
use crate::lex::{Mask, Utf8Decoder, Utf8Piece};
use crate::options::ReadOptions;
use crate::text_format::TextFormat;
use crate::view::Policy;
use crate::{Code, Control, Diagnostic, Message, Span, reading};

/// Whether to keep the text of messages until they are complete.
///
/// ```
/// use openchatml::{Event, Keep, Stream, TextFormat};
///
/// // The bytes of text in what `MessageDone` has.
/// let done = |keep| {
///     let mut stream = Stream::new(TextFormat::CHATML, &Default::default()).keep(keep);
///     let events = stream.feed("<|im_start|>assistant\nHello!<|im_end|>\n");
///     let bytes = events.map(|event| match event {
///         Event::MessageDone { message, .. } => message.body.len(),
///         _ => 0,
///     });
///     bytes.sum::<usize>()
/// };
/// assert_eq!((done(Keep::Bodies), done(Keep::Nothing)), (6, 0));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Keep {
    /// [`Event::MessageDone`] contains the whole message.
    #[default]
    Bodies,
    /// [`Event::MessageDone`] contains no text; the deltas had it. Memory does not grow with the
    /// length of a message, unless its content must be checked: a call, or a body with a
    /// constraint.
    Nothing,
}

/// Reads text while it arrives and emits events.
///
/// Chunks can be cut anywhere, even inside control tokens and UTF-8 sequences. The events are the
/// same, except for the boundaries between deltas. Only text that can still become a control token
/// is held back.
///
/// [`feed`](Self::feed) and [`finish`](Self::finish) return events as iterators. Each method has a
/// variant with a callback, such as [`feed_with`](Self::feed_with). Its events borrow from the
/// stream, so deltas are not copied.
///
/// ```
/// use openchatml::{Event, ReadOptions, Role, Stream, TextFormat};
///
/// let mut options = ReadOptions::default();
/// options.continues = Some(Role::Assistant);
/// let mut stream = Stream::new(TextFormat::OPENCHATML_2_2, &options);
/// let mut answer = String::new();
/// for chunk in ["<|channel|>analysis<|message|>Hm.<|e", "nd|><|start|>assistant<|channel",
///     "|>final<|message|>Hel", "lo!<|return|>"]
/// {
///     for event in stream.feed(chunk) {
///         if let Event::Delta { text, .. } = event {
///             answer.push_str(&text);
///         }
///     }
/// }
/// assert!(stream.finish().next().is_none());
/// assert_eq!(answer, "Hello!");
/// ```
pub struct Stream {
    engine: Engine<'static>,
    utf8: Utf8Decoder,
    state: LiveState,
    /// The filter for user events, if the stream is for a user.
    user: Option<UserEvents>,
    /// Whether the stream reads pieces instead of bytes.
    has_pieces: bool,
    /// Whether the stream reads pieces and emits all events, so that there is a fast path for text.
    is_quick: bool,
    /// How many bytes of text have arrived.
    at: usize,
}

impl Stream {
    /// Creates a stream of text.
    ///
    /// ```
    /// use openchatml::{Format, FormatError, Stream, TextFormat};
    ///
    /// let stream = Stream::new(TextFormat::CHATML_WIRE, &Default::default());
    /// assert_eq!(stream.offset(), 0);
    ///
    /// // JSON is read as a whole, by `parse`.
    /// let json: Format = "chatml-wire".parse()?;
    /// assert!(TextFormat::try_from(json).is_err());
    /// # Ok::<(), FormatError>(())
    /// ```
    pub fn new(format: TextFormat, options: &ReadOptions) -> Self {
        Self {
            engine: Engine::new(format.form(), options, reading::Keep::Copy),
            utf8: Utf8Decoder::default(),
            state: LiveState::default(),
            user: None,
            has_pieces: false,
            is_quick: false,
            at: 0,
        }
    }

    /// Creates a stream of pieces: text, and control tokens that the carrier does not spell. Text
    /// can spell only the control tokens in `spelled`.
    ///
    /// It reads [`feed_text`](Self::feed_text) and [`feed_control`](Self::feed_control). Spans are
    /// places in the joined text of the pieces, in which control tokens have their spelling.
    ///
    /// ```
    /// use openchatml::{Control, Event, Events, Stream, TextFormat};
    ///
    /// let mut stream = Stream::of_pieces(TextFormat::HARMONY, &[], &Default::default());
    /// let mut said = String::new();
    /// let mut hear = |events: Events| {
    ///     for event in events {
    ///         if let Event::Delta { text, .. } = event {
    ///             said.push_str(&text);
    ///         }
    ///     }
    /// };
    /// hear(stream.feed_control(Control::Start));
    /// hear(stream.feed_text("assistant"));
    /// hear(stream.feed_control(Control::Channel));
    /// hear(stream.feed_text("final"));
    /// hear(stream.feed_control(Control::Message));
    /// hear(stream.feed_text("4 <|end|>")); // It only looks like one.
    /// hear(stream.feed_control(Control::Return));
    /// hear(stream.finish());
    /// assert_eq!(said, "4 <|end|>");
    /// ```
    pub fn of_pieces(format: TextFormat, spelled: &[Control], options: &ReadOptions) -> Self {
        let mut stream = Self::new(format, options);
        stream.engine = stream.engine.spelled(Mask::of(spelled));
        (stream.has_pieces, stream.is_quick) = (true, true);
        stream
    }

    /// Sets whether the stream keeps the text of messages.
    ///
    /// ```
    /// use openchatml::{Event, Keep, Stream, TextFormat};
    ///
    /// let mut stream = Stream::new(TextFormat::CHATML, &Default::default()).keep(Keep::Nothing);
    /// let mut said = String::new();
    /// for event in stream.feed("<|im_start|>assistant\nHi!<|im_end|>\n") {
    ///     match event {
    ///         Event::Delta { text, .. } => said.push_str(&text),
    ///         Event::MessageDone { message, .. } => assert!(message.body.is_empty()),
    ///         _ => {}
    ///     }
    /// }
    /// assert_eq!(said, "Hi!");
    /// ```
    #[must_use]
    pub fn keep(mut self, keep: Keep) -> Self {
        self.state.keep = keep;
        self
    }

    /// Makes the stream emit only what a user can see, like [`UserEvents`]: no reasoning, no calls,
    /// no diagnostics. At the end, it says if the response is incomplete.
    ///
    /// ```
    /// use openchatml::{Policy, ReadOptions, Role, Stream, TextFormat};
    ///
    /// let mut options = ReadOptions::default();
    /// options.continues = Some(Role::Assistant);
    /// let mut stream = Stream::new(TextFormat::HARMONY, &options).for_user(Policy::default());
    /// let mut events: Vec<_> = stream.feed("<|channel|>analysis<|message|>A secret.<|end|>").collect();
    /// assert!(events.is_empty());
    /// events.extend(stream.feed("<|start|>assistant<|channel|>final<|message|>4"));
    /// events.extend(stream.finish());
    /// let names: Vec<_> = events.iter().map(|event| event.name()).collect();
    /// assert_eq!(names, ["message.start", "response.delta", "message.done", "diagnostic"]);
    /// assert!(events[3].to_json().contains("The answer was cut off."));
    /// ```
    #[must_use]
    pub fn for_user(mut self, policy: Policy) -> Self {
        self.user = Some(UserEvents::new(policy));
        self.is_quick = false;
        self
    }

    /// Returns how many bytes of text have arrived.
    pub fn offset(&self) -> usize {
        self.at
    }

    /// Returns the current message, whose text is arriving. Everything except its text and its end
    /// is known. Returns `None` between messages and inside a header.
    ///
    /// It tells what the next token belongs to: whether reasoning has ended and a grammar applies
    /// from here on, or which tool's arguments are being written.
    ///
    /// ```
    /// use openchatml::{Message, ReadOptions, Role, Stream, TextFormat};
    ///
    /// let mut options = ReadOptions::default();
    /// options.continues = Some(Role::Assistant);
    /// let mut stream = Stream::new(TextFormat::HARMONY, &options);
    /// let mut answers = |chunk: &str| {
    ///     drop(stream.feed(chunk));
    ///     stream.open_message().is_some_and(Message::is_answer)
    /// };
    /// assert!(!answers("<|channel|>analysis<|message|>Easy.<|end|>"));
    /// assert!(!answers("<|start|>assistant<|channel|>final"));
    /// assert!(answers("<|message|>"));
    /// assert!(answers("4"));
    /// assert!(!answers(".<|return|>"));
    /// ```
    pub fn open_message(&self) -> Option<&Message<'_>> {
        self.engine.message()
    }

    /// Reads bytes and returns the events that are certain.
    ///
    /// ```
    /// use openchatml::{Stream, TextFormat};
    ///
    /// let mut stream = Stream::new(TextFormat::CHATML, &Default::default());
    /// assert_eq!(stream.feed("<|im_start|>assis").len(), 0);
    /// let names: Vec<_> = stream.feed("tant\nHi!<|im").map(|event| event.name()).collect();
    /// assert_eq!(names, ["message.start", "response.delta"]);
    /// ```
    pub fn feed(&mut self, bytes: impl AsRef<[u8]>) -> Events {
        let mut events = Vec::new();
        self.feed_with(bytes, |event| events.push(event.into_owned()));
        events.into()
    }

    /// Reads bytes and calls `emit` with the events that are certain. The events borrow from the
    /// stream.
    ///
    /// ```
    /// use openchatml::{Event, Stream, TextFormat};
    ///
    /// let mut stream = Stream::new(TextFormat::CHATML, &Default::default());
    /// let mut said = String::new();
    /// stream.feed_with("<|im_start|>assistant\nHi!<|im", |event| {
    ///     if let Event::Delta { text, .. } = event {
    ///         said.push_str(&text);
    ///     }
    /// });
    /// assert_eq!(said, "Hi!");
    /// ```
    pub fn feed_with(&mut self, bytes: impl AsRef<[u8]>, mut emit: impl FnMut(Event<'_>)) {
        let bytes = bytes.as_ref();
        match self.user {
            None => self.decode(bytes, &mut emit),
            Some(_) => self.tell_user(&mut emit, |stream, emit| stream.decode(bytes, emit)),
        }
    }

    #[inline]
    fn decode(&mut self, bytes: &[u8], emit: &mut dyn FnMut(Event<'_>)) {
        let Self { engine, utf8, state, at, .. } = self;
        let mut live = Live { state, emit };
        if let Some(text) = utf8.text(bytes) {
            return take(engine, Utf8Piece::Text(text), at, &mut live);
        }
        for piece in utf8.decode(bytes) {
            take(engine, piece, at, &mut live);
        }
    }

    /// Runs a function that emits events, and passes on only those that a user can see.
    #[cold]
    fn tell_user(
        &mut self,
        emit: &mut dyn FnMut(Event<'_>),
        act: impl FnOnce(&mut Self, &mut dyn FnMut(Event<'_>)),
    ) {
        let Some(mut user) = self.user.take() else { return };
        act(self, &mut |event| user.push(event).into_iter().for_each(&mut *emit));
        self.user = Some(user);
    }

    /// Reads text in a stream [of pieces](Self::of_pieces).
    pub fn feed_text(&mut self, text: &str) -> Events {
        let mut events = Vec::new();
        self.feed_text_with(text, |event| events.push(event.into_owned()));
        events.into()
    }

    /// Like [`feed_text`](Self::feed_text), with borrowed events.
    #[inline]
    pub fn feed_text_with(&mut self, text: &str, mut emit: impl FnMut(Event<'_>)) {
        if !self.is_quick {
            return self.feed_text_slowly(text, &mut emit);
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

    #[cold]
    fn feed_text_slowly(&mut self, text: &str, emit: &mut dyn FnMut(Event<'_>)) {
        match self.user {
            None => self.text_piece(text, emit),
            Some(_) => self.tell_user(emit, |stream, emit| stream.text_piece(text, emit)),
        }
    }

    fn text_piece(&mut self, text: &str, emit: &mut dyn FnMut(Event<'_>)) {
        if !self.has_pieces {
            return self.decode(text.as_bytes(), emit);
        }
        let span = Span::new(self.at, self.at + text.len());
        self.at = span.end;
        self.engine.piece(text, span, &mut Live { state: &mut self.state, emit });
    }

    /// Reads a control token in a stream [of pieces](Self::of_pieces). A control token that the
    /// dialect does not have is dropped.
    pub fn feed_control(&mut self, control: Control) -> Events {
        let mut events = Vec::new();
        self.feed_control_with(control, |event| events.push(event.into_owned()));
        events.into()
    }

    /// Like [`feed_control`](Self::feed_control), with borrowed events.
    pub fn feed_control_with(&mut self, control: Control, mut emit: impl FnMut(Event<'_>)) {
        match self.user {
            None => self.control_piece(control, &mut emit),
            Some(_) => {
                self.tell_user(&mut emit, |stream, emit| stream.control_piece(control, emit))
            }
        }
    }

    fn control_piece(&mut self, control: Control, emit: &mut dyn FnMut(Event<'_>)) {
        let Some(spelling) = self.engine.spelling(control) else { return };
        if !self.has_pieces {
            return self.decode(spelling.as_bytes(), emit);
        }
        let span = Span::new(self.at, self.at + spelling.len());
        self.at = span.end;
        self.engine.control(control, span, &mut Live { state: &mut self.state, emit });
    }

    /// Emits a diagnostic of the caller as an event.
    pub fn report_with(&mut self, diagnostic: Diagnostic, mut emit: impl FnMut(Event<'_>)) {
        match self.user {
            None => self.found(diagnostic, &mut emit),
            Some(_) => self.tell_user(&mut emit, |stream, emit| stream.found(diagnostic, emit)),
        }
    }

    fn found(&mut self, diagnostic: Diagnostic, emit: &mut dyn FnMut(Event<'_>)) {
        self.engine.report(diagnostic, &mut Live { state: &mut self.state, emit });
    }

    /// Ends the input and returns the last events.
    ///
    /// ```
    /// use openchatml::{Code, Event, Stream, TextFormat};
    ///
    /// let mut stream = Stream::new(TextFormat::CHATML, &Default::default());
    /// drop(stream.feed("<|im_start|>assistant\nOnce upon"));
    /// let found = stream.finish().find_map(|event| match event {
    ///     Event::Diagnostic { diagnostic, .. } => Some(diagnostic.code),
    ///     _ => None,
    /// });
    /// assert_eq!(found, Some(Code::StreamTruncated));
    /// ```
    pub fn finish(self) -> Events {
        let mut events = Vec::new();
        self.finish_with(|event| events.push(event.into_owned()));
        events.into()
    }

    /// Like [`finish`](Self::finish), with borrowed events.
    pub fn finish_with(mut self, mut emit: impl FnMut(Event<'_>)) {
        match self.user {
            None => self.end(&mut emit),
            Some(_) => self.tell_user(&mut emit, Self::end),
        }
        if let Some(event) = self.user.and_then(UserEvents::finish) {
            emit(event);
        }
    }

    fn end(&mut self, emit: &mut dyn FnMut(Event<'_>)) {
        let Self { engine, utf8, state, has_pieces, at, .. } = self;
        let mut live = Live { state, emit };
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

    /// Cancels the stream: returns the current message as it is, and then [`Event::Cancel`].
    ///
    /// ```
    /// use openchatml::{Stream, TextFormat};
    ///
    /// let mut stream = Stream::new(TextFormat::CHATML, &Default::default());
    /// drop(stream.feed("<|im_start|>assistant\nOnce upon"));
    /// let last = stream.cancel().last().unwrap();
    /// assert_eq!(last.to_json(), r#"{"type":"response.cancel","message_id":"m0"}"#);
    /// ```
    pub fn cancel(self) -> Events {
        let mut events = Vec::new();
        self.cancel_with(|event| events.push(event.into_owned()));
        events.into()
    }

    /// Like [`cancel`](Self::cancel), with borrowed events.
    pub fn cancel_with(mut self, mut emit: impl FnMut(Event<'_>)) {
        self.state.cancelled = true;
        let (event, at) = ("response.cancel", Span::at(self.at));
        if !self.engine.has_event(event) {
            let text = format!("the header's capabilities do not declare event `{event}`");
            let found = Code::Capability.at(at, text).help("add it to `capabilities.streaming`");
            self.report_with(found, &mut emit);
        }
        self.finish_with(&mut emit);
    }
}

/// Reads a piece that begins at byte `at` of the input.
#[inline]
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

/// Returns the diagnostic for bytes at `span` that are not UTF-8.
pub(crate) fn not_utf8(span: Span) -> crate::Diagnostic {
    let text = format!("the byte at offset {} is not UTF-8", span.start);
    Code::ParseUtf8.at(span, text).help("U+FFFD replaces it")
}
