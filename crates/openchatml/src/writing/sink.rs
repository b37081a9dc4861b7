//! Where writers write to.

use std::fmt;

use crate::model::{Channel, Role};
use crate::{Control, Span};

/// What a writer writes to: text, token ids, a JSON wire list.
///
/// What is given as text stays text: it can never be read back as a control token.
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
    /// The dialect has no such token, or what stands before it cannot be kept apart from it.
    ///
    /// ```
    /// use openchatml::render::{Sink, TextSink};
    /// use openchatml::{Control, dialects};
    ///
    /// let mut out = String::new();
    /// let mut sink = TextSink::new(dialects::IM.controls, &mut out);
    /// assert!(sink.control(Control::Start).is_ok());
    /// assert!(sink.control(Control::Channel).is_err()); // This dialect has no channels.
    /// ```
    fn control(&mut self, control: Control) -> Result<(), SinkError>;

    /// Writes text.
    ///
    /// # Errors
    ///
    /// The text spells a control token, and there is no way to say that it is text.
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

    /// Writes text where chain-of-thought markers count (OpenChatML 2.2 §7): the spelling of a
    /// marker stays text, too.
    ///
    /// # Errors
    ///
    /// As for [`text`](Self::text).
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

    /// Writes a word of the format's own, such as a role: it has no `<`, and is not searched for
    /// control tokens where all of them begin with that.
    ///
    /// # Errors
    ///
    /// As for [`text`](Self::text).
    ///
    /// ```
    /// use openchatml::render::{Sink, TextSink};
    /// use openchatml::{Control, Role, dialects};
    ///
    /// let mut out = String::new();
    /// let mut sink = TextSink::new(dialects::IM.controls, &mut out);
    /// sink.control(Control::Start)?;
    /// sink.word(Role::User.as_str())?;
    /// assert_eq!(out, "<|im_start|>user");
    /// # Ok::<(), openchatml::render::SinkError>(())
    /// ```
    fn word(&mut self, word: &'static str) -> Result<(), SinkError> {
        self.text(word)
    }

    /// Writes all that stands before the body of a message.
    ///
    /// # Errors
    ///
    /// As for [`control`](Self::control).
    ///
    /// ```
    /// use openchatml::render::{PlainOpening, Sink, TextSink};
    /// use openchatml::{Role, dialects};
    ///
    /// let mut out = String::new();
    /// let mut sink = TextSink::new(dialects::CHATML.controls, &mut out);
    /// let text = "<|start|>user<|message|>";
    /// sink.opening(&PlainOpening { text, role: Role::User, channel: None })?;
    /// assert_eq!(out, text);
    /// # Ok::<(), openchatml::render::SinkError>(())
    /// ```
    fn opening(&mut self, opening: &PlainOpening) -> Result<(), SinkError> {
        opening_in_parts(self, opening)
    }

    /// Says what of a message comes next. Carriers that encode text do so part by part.
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

    /// Says what of a message comes next, in the middle of a text: what stands before and what
    /// follows are one text to who encodes it, as in formats that are encoded as a whole.
    ///
    /// ```
    /// use openchatml::render::{Part, Sink, SinkError, render_to};
    /// use openchatml::{Control, Conversation, End, Message, Role};
    ///
    /// /// What stands between control tokens.
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

    /// Writes the YAML header of the document, which stands before all else.
    ///
    /// # Errors
    ///
    /// A line of it would end the header too early.
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
    /// The token that opens a message, and who speaks. The number is the place of the message in
    /// its conversation; a generation prompt stands after the last.
    Opening(usize),
    /// The rest of the header, up to and including the token that ends it.
    Header,
    /// The body.
    Body,
    /// The token that ends the message.
    End,
    /// What stands between it and the next one.
    Gap,
}

/// All that stands before the body of a message that has a role and at most a channel: written and
/// read at once, since most messages have no more.
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
    /// How it is spelled, control tokens included.
    pub text: &'static str,
    /// Who speaks.
    pub role: Role,
    /// On which channel.
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

/// Why a sink refuses: text that would be read as structure.
///
/// ```
/// use openchatml::dialects;
/// use openchatml::render::{Sink, TextSink};
///
/// let mut out = String::new();
/// let mut sink = TextSink::new(dialects::IM.controls, &mut out);
/// let text = "say <|im_end|>";
/// let error = sink.text(text).unwrap_err();
/// assert_eq!(&text[error.span.range()], error.spelling);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SinkError {
    /// Where in the text that was given.
    pub span: Span,
    /// The token in the way, as it is spelled.
    pub spelling: &'static str,
    pub(crate) reason: &'static str,
    /// How many bytes of the token were part of the texts given before.
    pub(crate) before: usize,
}

impl SinkError {
    /// A refusal of what stands at `span` in the text that was given, for this `reason`; `spelling`
    /// is the token in the way, or empty.
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

    /// The same refusal with its place in a longer text, of which the text that was given begins at
    /// byte `at`.
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
