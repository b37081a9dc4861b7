//! Sinks: the output of writers.

use std::fmt;

use crate::model::{Channel, Role};
use crate::{Control, Span};

/// The output of a writer: text, token ids, or a JSON wire list.
///
/// Text stays text: it can never be read back as a control token.
///
/// ```
/// use openchatml::Control;
/// use openchatml::render::{Sink, SinkError};
///
/// /// Counts instead of writing.
/// #[derive(Default)]
/// struct Count {
///     controls: usize,
///     text_bytes: usize,
/// }
///
/// impl Sink for Count {
///     fn control(&mut self, _: Control) -> Result<(), SinkError> {
///         self.controls += 1;
///         Ok(())
///     }
///     fn text(&mut self, text: &str) -> Result<(), SinkError> {
///         self.text_bytes += text.len();
///         Ok(())
///     }
///     fn preamble(&mut self, yaml: &str) -> Result<(), SinkError> {
///         self.text(yaml)
///     }
/// }
///
/// let mut count = Count::default();
/// count.control(Control::Start)?;
/// count.word("user")?;
/// count.control(Control::Message)?;
/// count.text("Hello")?;
/// count.control(Control::End)?;
/// assert_eq!((count.controls, count.text_bytes), (3, 9));
/// # Ok::<(), SinkError>(())
/// ```
pub trait Sink {
    /// Writes a control token.
    ///
    /// # Errors
    ///
    /// The dialect does not have the token, or the preceding text would change how it is read.
    ///
    /// ```
    /// use openchatml::render::{Sink, TextSink};
    /// use openchatml::{Control, dialects};
    ///
    /// let mut out = String::new();
    /// let mut sink = TextSink::new(dialects::CHATML.controls, &mut out);
    /// assert!(sink.control(Control::Start).is_ok());
    /// assert!(sink.control(Control::Channel).is_err()); // This dialect has no channels.
    /// ```
    fn control(&mut self, control: Control) -> Result<(), SinkError>;

    /// Writes text.
    ///
    /// # Errors
    ///
    /// The text contains a control token that cannot be escaped.
    ///
    /// ```
    /// use openchatml::render::{Sink, TextSink};
    /// use openchatml::{Control, dialects};
    ///
    /// // A `<` before a token would be an escape.
    /// let mut out = String::new();
    /// let mut sink = TextSink::new(dialects::OPENCHATML_2_2.controls, &mut out);
    /// sink.text("a<")?;
    /// sink.control(Control::End)?;
    /// assert_eq!(out, "a<|literal|><<|endliteral|><|end|>");
    /// # Ok::<(), openchatml::render::SinkError>(())
    /// ```
    fn text(&mut self, text: &str) -> Result<(), SinkError>;

    /// Writes text in which chain-of-thought markers are recognized (OpenChatML 2.2 §7). The
    /// spelling of a marker also stays text.
    ///
    /// # Errors
    ///
    /// The same as [`text`](Self::text).
    ///
    /// ```
    /// use openchatml::render::{Sink, TextSink};
    /// use openchatml::{Control, dialects};
    ///
    /// let mut out = String::new();
    /// let mut sink = TextSink::new(dialects::OPENCHATML_2_2.controls, &mut out);
    /// sink.text_among_markers("say <|start_reason|>")?;
    /// sink.control(Control::End)?;
    /// assert_eq!(out, "say <|literal|><|start_reason|><|endliteral|><|end|>");
    /// # Ok::<(), openchatml::render::SinkError>(())
    /// ```
    fn text_among_markers(&mut self, text: &str) -> Result<(), SinkError> {
        self.text(text)
    }

    /// Writes the spelling of a control token where the format reads it as text, as in quoted code.
    /// Text contains it unchanged. Token ids encode it as text, so that content never becomes a
    /// control token.
    ///
    /// # Errors
    ///
    /// The same as [`control`](Self::control).
    ///
    /// ```
    /// use openchatml::render::{Sink, TextSink};
    /// use openchatml::{Control, Section, dialects};
    ///
    /// let mut out = String::new();
    /// let mut sink = TextSink::new(dialects::QWEN3.controls, &mut out);
    /// sink.text("Write `")?;
    /// sink.spelled(Control::OpenSection(Section::Reasoning))?;
    /// sink.text("`.")?;
    /// assert_eq!(out, "Write `<think>`.");
    /// # Ok::<(), openchatml::render::SinkError>(())
    /// ```
    fn spelled(&mut self, control: Control) -> Result<(), SinkError> {
        self.control(control)
    }

    /// Writes a word of the format, such as a role. It contains no `<`, so it is not searched if
    /// all control tokens begin with `<`.
    ///
    /// # Errors
    ///
    /// The same as [`text`](Self::text).
    ///
    /// ```
    /// use openchatml::render::{Sink, TextSink};
    /// use openchatml::{Control, Role, dialects};
    ///
    /// let mut out = String::new();
    /// let mut sink = TextSink::new(dialects::CHATML.controls, &mut out);
    /// sink.control(Control::Start)?;
    /// sink.word(Role::User.as_str())?;
    /// assert_eq!(out, "<|im_start|>user");
    /// # Ok::<(), openchatml::render::SinkError>(())
    /// ```
    fn word(&mut self, word: &'static str) -> Result<(), SinkError> {
        self.text(word)
    }

    /// Writes everything before the body of a message.
    ///
    /// # Errors
    ///
    /// The same as [`control`](Self::control).
    ///
    /// ```
    /// use openchatml::render::{PlainOpening, Sink, TextSink};
    /// use openchatml::{Role, dialects};
    ///
    /// let mut out = String::new();
    /// let mut sink = TextSink::new(dialects::CHATML_WIRE.controls, &mut out);
    /// let text = "<|start|>user<|message|>";
    /// sink.opening(&PlainOpening { text, role: Role::User, channel: None })?;
    /// assert_eq!(out, text);
    /// # Ok::<(), openchatml::render::SinkError>(())
    /// ```
    fn opening(&mut self, opening: &PlainOpening) -> Result<(), SinkError> {
        opening_in_parts(self, opening)
    }

    /// Announces the next part of a message. Carriers that encode text encode each part separately.
    ///
    /// ```
    /// use openchatml::render::{Part, Sink, SinkError, render_to};
    /// use openchatml::{Control, Conversation, Message, Role};
    ///
    /// /// How many bytes of text each body takes.
    /// #[derive(Default)]
    /// struct Sizes(Vec<usize>, bool);
    ///
    /// impl Sink for Sizes {
    ///     fn control(&mut self, _: Control) -> Result<(), SinkError> {
    ///         Ok(())
    ///     }
    ///     fn text(&mut self, text: &str) -> Result<(), SinkError> {
    ///         if let (Some(size), true) = (self.0.last_mut(), self.1) {
    ///             *size += text.len();
    ///         }
    ///         Ok(())
    ///     }
    ///     fn part(&mut self, part: Part) {
    ///         self.1 = part == Part::Body;
    ///         if let Part::Opening(_) = part {
    ///             self.0.push(0);
    ///         }
    ///     }
    ///     fn preamble(&mut self, _: &str) -> Result<(), SinkError> {
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let messages = [Message::new(Role::User, "Hi"), Message::answer("Hello")];
    /// let document = Conversation::from_messages(messages).into();
    /// let mut sizes = Sizes::default();
    /// render_to(&document, "harmony".parse()?, &Default::default(), &mut sizes)?;
    /// assert_eq!(sizes.0, [2, 5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn part(&mut self, _: Part) {}

    /// Announces the next part of a message in the middle of a text. The text before and after it
    /// is encoded together, as formats require that are encoded as a whole.
    ///
    /// ```
    /// use openchatml::render::{Part, Sink, SinkError, render_to};
    /// use openchatml::{Control, Conversation, End, Message, Role};
    ///
    /// /// The texts between control tokens.
    /// #[derive(Default)]
    /// struct Texts(Vec<String>);
    ///
    /// impl Sink for Texts {
    ///     fn control(&mut self, _: Control) -> Result<(), SinkError> {
    ///         self.0.push(String::new());
    ///         Ok(())
    ///     }
    ///     fn text(&mut self, text: &str) -> Result<(), SinkError> {
    ///         self.0.last_mut().expect("a control token comes first").push_str(text);
    ///         Ok(())
    ///     }
    ///     fn seam(&mut self, _: Part) {}
    ///     fn part(&mut self, _: Part) {
    ///         panic!("all parts of this format are parts of one text");
    ///     }
    ///     fn preamble(&mut self, _: &str) -> Result<(), SinkError> {
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let mut call = Message::new(Role::Assistant, r#"{"x":1}"#);
    /// call.recipient = Some("functions.f".into());
    /// call.end = End::Call;
    /// let system = Message::new(Role::System, "Be brief.");
    /// let document = Conversation::from_messages([system, call]).into();
    /// let mut texts = Texts::default();
    /// render_to(&document, "apertus".parse()?, &Default::default(), &mut texts)?;
    /// assert!(texts.0.contains(&r#"[{"f": {"x":1}}]"#.to_owned()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn seam(&mut self, part: Part) {
        self.part(part);
    }

    /// Writes the YAML header of the document, before everything else.
    ///
    /// # Errors
    ///
    /// A line of the header would end the header.
    ///
    /// ```
    /// use openchatml::dialects;
    /// use openchatml::render::{Sink, TextSink};
    ///
    /// let mut out = String::new();
    /// let mut sink = TextSink::new(dialects::OPENCHATML_2_2.controls, &mut out);
    /// sink.preamble("version: 2.2\n\n")?;
    /// assert!(sink.preamble("model: |\n<|start|>system\n").is_err());
    /// # Ok::<(), openchatml::render::SinkError>(())
    /// ```
    fn preamble(&mut self, yaml: &str) -> Result<(), SinkError>;
}

/// A part of a message, in the order of writing.
///
/// ```
/// use openchatml::render::Part;
///
/// assert_ne!(Part::Opening(0), Part::Opening(1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// The token that opens a message, and its role. The number is the position of the message in
    /// its conversation. A generation prompt comes after the last message.
    Opening(usize),
    /// The rest of the header, including the token that ends it.
    Header,
    /// The body.
    Body,
    /// The token that ends the message.
    End,
    /// The text between the message and the next one.
    Gap,
}

/// Everything before the body of a message that has a role and at most a channel. Most messages are
/// like this, so it is written and read in one step.
///
/// ```
/// use openchatml::dialects;
/// use openchatml::render::{PlainOpening, Sink, TextSink};
/// use openchatml::{Channel, Control, Role};
///
/// let answer = PlainOpening {
///     text: "<|start|>assistant<|channel|>final<|message|>",
///     role: Role::Assistant,
///     channel: Some(Channel::Final),
/// };
/// let mut out = String::new();
/// let mut sink = TextSink::new(dialects::OPENCHATML_2_2.controls, &mut out);
/// sink.opening(&answer)?;
/// sink.text("4.")?;
/// sink.control(Control::Return)?;
/// assert_eq!(out, "<|start|>assistant<|channel|>final<|message|>4.<|return|>");
/// # Ok::<(), openchatml::render::SinkError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainOpening {
    /// The spelling, including control tokens.
    pub text: &'static str,
    /// The role.
    pub role: Role,
    /// The channel.
    pub channel: Option<Channel>,
}

/// Writes an opening token by token.
pub(crate) fn opening_in_parts<S: Sink + ?Sized>(
    sink: &mut S,
    opening: &PlainOpening,
) -> Result<(), SinkError> {
    sink.control(Control::Start)?;
    sink.word(opening.role.as_str())?;
    sink.part(Part::Header);
    if let Some(channel) = opening.channel {
        sink.control(Control::Channel)?;
        sink.word(channel.as_str())?;
    }
    sink.control(Control::Message)
}

/// The error of a sink: text would be read as structure.
///
/// ```
/// use openchatml::dialects;
/// use openchatml::render::{Sink, TextSink};
///
/// let mut out = String::new();
/// let mut sink = TextSink::new(dialects::CHATML.controls, &mut out);
/// let text = "say <|im_end|>";
/// let error = sink.text(text).unwrap_err();
/// assert_eq!(&text[error.span.range()], error.spelling);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SinkError {
    /// The place in the given text.
    pub span: Span,
    /// The spelling of the token that caused the error.
    pub spelling: &'static str,
    pub(crate) reason: &'static str,
    /// How many bytes of the token are in earlier texts.
    pub(crate) before: usize,
}

impl SinkError {
    /// Creates an error at `span` of the given text. `spelling` is the token that caused it, or
    /// empty.
    ///
    /// ```
    /// use openchatml::Span;
    /// use openchatml::render::SinkError;
    ///
    /// let refusal = SinkError::new(Span::new(0, 9), "<|start|>", "no id stands for");
    /// assert_eq!(refusal.to_string(), "no id stands for `<|start|>`");
    /// ```
    pub const fn new(span: Span, spelling: &'static str, reason: &'static str) -> Self {
        Self { span, spelling, reason, before: 0 }
    }

    /// Returns the error with its place in a longer text, in which the given text begins at byte
    /// `at`.
    pub(crate) fn within(self, at: usize) -> Self {
        let start = (at + self.span.start).saturating_sub(self.before);
        Self { span: Span::new(start, at + self.span.end), before: 0, ..self }
    }
}

impl fmt::Display for SinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.spelling {
            "" => f.write_str(self.reason),
            spelling => write!(f, "{} `{spelling}`", self.reason),
        }
    }
}

impl std::error::Error for SinkError {}
