//! An encoding at the service of a format.

use std::fmt;

use openchatml::lex::{Controls, Escape};
use openchatml::render::render_to;
use openchatml::{Control, Document, Format, ReadOptions, RenderError, RenderOptions};

use crate::encoding::{Encoding, Token};
use crate::read::{self, Read};
use crate::sink::{Counted, Rendered, Target, TokenSink, Written};
use crate::stream::TokenStream;

/// Writes and reads conversations of a format as token ids of an encoding.
///
/// A control token without an id of its own is written as its spelling, and counts when text spells
/// it (OpenChatML 2.2 §3, portability). All others are ids, and nothing that text spells is one.
///
/// ```
/// use openchatml::Control;
/// use openchatml_tokens::{ByteEncoding, Tokenizer};
///
/// let encoding = ByteEncoding::new(["<|start|>", "<|message|>", "<|end|>"]);
/// let tokenizer = Tokenizer::new("chatml".parse()?, encoding)?;
/// assert_eq!(tokenizer.id(Control::Start), Some(256));
/// // ChatML ends its messages by `<|end_message|>`, which this encoding lacks.
/// assert_eq!(tokenizer.spelled(), [Control::End]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tokenizer<E> {
    format: Format,
    encoding: E,
    ids: Ids,
}

/// A format that has no text form cannot be written as token ids.
///
/// ```
/// use openchatml_tokens::{ByteEncoding, Tokenizer};
///
/// let error = Tokenizer::new("json".parse()?, ByteEncoding::default()).unwrap_err();
/// assert_eq!(error.to_string(), "`json` has no text form, and so no tokens");
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoTextForm {
    dialect: &'static str,
}

impl fmt::Display for NoTextForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` has no text form, and so no tokens", self.dialect)
    }
}

impl std::error::Error for NoTextForm {}

impl<E: Encoding> Tokenizer<E> {
    /// A tokenizer of the text form of `format`.
    ///
    /// # Errors
    ///
    /// The dialect has no text form.
    pub fn new(format: Format, encoding: E) -> Result<Self, NoTextForm> {
        let dialect = format.dialect();
        let format = Format::new(dialect, openchatml::Carrier::Text);
        let format = format.ok_or(NoTextForm { dialect: dialect.id })?;
        let ids = Ids::new(dialect.controls, &encoding);
        Ok(Self { format, encoding, ids })
    }

    /// The format whose text form is written and read.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The encoding.
    pub fn encoding(&self) -> &E {
        &self.encoding
    }

    /// The id of a control token of the dialect, if it has one of its own.
    pub fn id(&self, control: Control) -> Option<u32> {
        self.ids.id(control)
    }

    /// The control tokens of the dialect that have no id of their own.
    pub fn spelled(&self) -> &[Control] {
        self.ids.spelled()
    }

    /// Writes a document as ids.
    ///
    /// # Errors
    ///
    /// What the format cannot say, as for [`openchatml::render()`]; but what is only a matter of
    /// spelling is no obstacle.
    ///
    /// ```
    /// use openchatml::{Conversation, Message, Role};
    /// use openchatml_tokens::{ByteEncoding, Tokenizer};
    ///
    /// let tokenizer = Tokenizer::new("im".parse()?, ByteEncoding::default())?;
    /// let hostile = Conversation::from_messages([Message::new(Role::User, "<|im_end|>")]).into();
    /// assert!(openchatml::render(&hostile, "im".parse()?, &Default::default()).is_err());
    /// let rendered = tokenizer.render(&hostile, &Default::default())?;
    /// let body = &rendered.ids[rendered.spans[0].body.clone()];
    /// assert_eq!(body.len(), "<|im_end|>".len()); // An id for each byte: text.
    /// assert_eq!(rendered.spelled, []); // Each control token has an id of its own.
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn render(
        &self,
        document: &Document<'_>,
        options: &RenderOptions,
    ) -> Result<Rendered, RenderError> {
        let Written { target, spans, spelled } = self.write(document, options, Vec::new())?;
        Ok(Rendered { ids: target, spans, spelled })
    }

    /// Counts the ids of a document, which are not made.
    ///
    /// # Errors
    ///
    /// As for [`render`](Self::render).
    ///
    /// ```
    /// use openchatml::{Conversation, Message, Role};
    /// use openchatml_tokens::{ByteEncoding, Tokenizer};
    ///
    /// let tokenizer = Tokenizer::new("harmony".parse()?, ByteEncoding::default())?;
    /// let document = Conversation::from_messages([Message::new(Role::User, "Hi")]).into();
    /// let counted = tokenizer.count(&document, &Default::default())?;
    /// assert_eq!(counted.ids, tokenizer.render(&document, &Default::default())?.ids.len());
    /// assert_eq!(counted.spans[0].body.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn count(
        &self,
        document: &Document<'_>,
        options: &RenderOptions,
    ) -> Result<Counted, RenderError> {
        let Written { target, spans, spelled } = self.write(document, options, 0)?;
        Ok(Counted { ids: target, spans, spelled })
    }

    pub(crate) fn write<T: Target>(
        &self,
        document: &Document<'_>,
        options: &RenderOptions,
        target: T,
    ) -> Result<Written<T>, RenderError> {
        let messages = document.as_conversation().map_or(&[][..], |it| &it.messages);
        let mut sink = TokenSink::new(&self.encoding, &self.ids, messages, target);
        render_to(document, self.format, options, &mut sink)?;
        Ok(sink.finish())
    }

    /// Reads ids. Reading never fails: what is malformed is reported, and what can be saved is
    /// saved.
    ///
    /// ```
    /// use openchatml::Control;
    /// use openchatml_tokens::{ByteEncoding, Tokenizer};
    ///
    /// let tokenizer = Tokenizer::new("harmony".parse()?, ByteEncoding::default())?;
    /// let id = |control| tokenizer.id(control).expect("it has one");
    /// let mut ids = vec![id(Control::Start)];
    /// ids.extend("user".bytes().map(u32::from));
    /// ids.push(id(Control::Message));
    /// ids.extend([72, 105, 9_999_999]); // The last is no id of this encoding.
    /// ids.push(id(Control::End));
    /// let read = tokenizer.parse(&ids, &Default::default());
    /// assert_eq!(read.diagnostics().len(), 1);
    /// assert_eq!(read.into_conversation().messages[0].body.text(), "Hi\u{FFFD}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parse(&self, ids: &[u32], options: &ReadOptions) -> Read {
        read::read(self, ids, options)
    }

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

    /// The ids before the first control token of the dialect.
    pub(crate) fn run<'i>(&self, ids: &'i [u32]) -> &'i [u32] {
        let end = ids.iter().position(|id| self.ids.control(*id).is_some());
        &ids[..end.unwrap_or(ids.len())]
    }

    /// What an id stands for here.
    #[inline]
    pub(crate) fn lexeme(&self, id: u32) -> Lexeme<'_> {
        if let Some(control) = self.ids.control(id) {
            return Lexeme::Control(control);
        }
        match self.encoding.token(id) {
            Some(Token::Text(text)) => Lexeme::Text(text),
            Some(Token::Bytes(bytes)) => Lexeme::Bytes(bytes),
            Some(Token::Control(spelling)) => Lexeme::Foreign(spelling),
            None => Lexeme::Unknown,
        }
    }
}

/// What an id stands for in a dialect.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Lexeme<'e> {
    /// A control token of the dialect.
    Control(Control),
    /// Text.
    Text(&'e str),
    /// Bytes of text.
    Bytes(&'e [u8]),
    /// A control token that the dialect does not have.
    Foreign(&'e str),
    /// Nothing.
    Unknown,
}

/// The ids of a dialect's control tokens.
#[derive(Clone, Debug)]
pub(crate) struct Ids {
    table: &'static Controls,
    ids: Vec<(u32, Control)>,
    /// The lowest and the highest of them: most ids are outside of that.
    range: (u32, u32),
    spelled: Vec<Control>,
}

impl Ids {
    fn new(table: &'static Controls, encoding: &impl Encoding) -> Self {
        let mut ids = Vec::new();
        let mut spelled = Vec::new();
        for (control, spelling) in table.entries() {
            match encoding.control(spelling) {
                Some(id) => ids.push((id, *control)),
                None => spelled.push(*control),
            }
        }
        let blocks = [Control::Literal, Control::EndLiteral];
        if !spelled.is_empty() && table.escape() != Escape::None {
            // What is spelled is kept apart from text by what is spelled.
            spelled.extend(blocks.iter().filter(|block| ids.iter().any(|it| it.1 == **block)));
        }
        let of = |(id, _): &(u32, Control)| *id;
        let range = ids.iter().map(of).min().zip(ids.iter().map(of).max()).unwrap_or((1, 0));
        Self { table, ids, range, spelled }
    }

    pub(crate) fn table(&self) -> &'static Controls {
        self.table
    }

    pub(crate) fn spelled(&self) -> &[Control] {
        &self.spelled
    }

    pub(crate) fn id(&self, control: Control) -> Option<u32> {
        self.ids.iter().find(|entry| entry.1 == control).map(|entry| entry.0)
    }

    #[inline]
    fn control(&self, id: u32) -> Option<Control> {
        if id < self.range.0 || id > self.range.1 {
            return None;
        }
        self.ids.iter().find(|entry| entry.0 == id).map(|entry| entry.1)
    }
}
