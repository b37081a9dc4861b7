//! Token ids of a format in an encoding.

use std::sync::Arc;

use openchatml::convert::Prepared;
use openchatml::render::{render_prepared, render_to};
use openchatml::{Control, Document, Message, RenderError, RenderOptions, TextFormat};

use crate::encoding::{Encoding, Token};
use crate::ids::{Ids, Lexeme};
use crate::sink::{Counted, Rendered, Target, TokenSink, WrittenIds};

/// Writes and reads conversations of a format as token ids of an encoding.
///
/// A control token without an id is written as its spelling, and the reader recognizes the spelling
/// in text (OpenChatML 2.2 §3, portability). All other control tokens are ids, and no text can
/// become such a token.
///
/// Clones and [streams](Self::stream) share the encoding, so both are cheap to create.
///
/// ```
/// use openchatml::{Control, TextFormat};
/// use openchatml_tokens::{ByteEncoding, Tokenizer};
///
/// let encoding = ByteEncoding::new(["<|start|>", "<|message|>", "<|end|>"]);
/// let tokenizer = Tokenizer::new(TextFormat::CHATML_WIRE, encoding);
/// assert_eq!(tokenizer.id(Control::Start), Some(256));
/// // ChatML ends its messages by `<|end_message|>`, which this encoding lacks.
/// assert_eq!(tokenizer.spelled(), [Control::End]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Tokenizer<E> {
    format: TextFormat,
    shared: Arc<Shared<E>>,
}

/// The data that clones of a tokenizer and its streams share.
#[derive(Debug)]
struct Shared<E> {
    encoding: E,
    ids: Ids,
}

impl<E> Clone for Tokenizer<E> {
    fn clone(&self) -> Self {
        Self { format: self.format, shared: Arc::clone(&self.shared) }
    }
}

impl<E: Encoding> Tokenizer<E> {
    /// Creates a tokenizer for a text format.
    pub fn new(format: TextFormat, encoding: E) -> Self {
        let ids = Ids::new(format.controls(), &encoding);
        Self { format, shared: Arc::new(Shared { encoding, ids }) }
    }

    /// Returns the format.
    pub fn format(&self) -> TextFormat {
        self.format
    }

    /// Returns the encoding.
    pub fn encoding(&self) -> &E {
        &self.shared.encoding
    }

    /// Returns the id of a control token of the dialect, if the token has one.
    pub fn id(&self, control: Control) -> Option<u32> {
        self.shared.ids.id(control)
    }

    /// Returns the control tokens of the dialect that have no id.
    pub fn spelled(&self) -> &[Control] {
        self.shared.ids.spelled()
    }

    /// Writes a document as ids.
    ///
    /// # Errors
    ///
    /// The format cannot represent the document, as for [`openchatml::render()`]. Content that
    /// contains the spelling of a control token is not an error here.
    ///
    /// ```
    /// use openchatml::{Conversation, Message, Role, TextFormat};
    /// use openchatml_tokens::{ByteEncoding, Tokenizer};
    ///
    /// let tokenizer = Tokenizer::new(TextFormat::CHATML, ByteEncoding::default());
    /// let hostile = Conversation::from_messages([Message::new(Role::User, "<|im_end|>")]).into();
    /// assert!(openchatml::render(&hostile, "chatml".parse()?, &Default::default()).is_err());
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
        let WrittenIds { target, spans, spelled } = self.write(document, options, Vec::new())?;
        Ok(Rendered { ids: target, spans, spelled })
    }

    /// Writes a document that is [prepared](openchatml::convert::prepare) for this format as ids.
    ///
    /// # Errors
    ///
    /// As for [`render`](Self::render), for the messages of the original document.
    ///
    /// ```
    /// use openchatml::prompt::Prompt;
    /// use openchatml::{Conversation, Message, RenderOptions, TextFormat};
    /// use openchatml_tokens::{ByteEncoding, Tokenizer};
    ///
    /// let tokenizer = Tokenizer::new(TextFormat::HARMONY, ByteEncoding::default());
    /// let conversation = Conversation::from_messages([Message::user("What is 2 + 2?")]);
    /// let options = RenderOptions::prompt();
    /// let prompt = Prompt::new(&conversation, TextFormat::HARMONY.into(), &options);
    /// let prepared = prompt.prepare(&options)?;
    /// let rendered = tokenizer.render_prepared(&prepared, &options)?;
    /// assert_eq!(tokenizer.count_prepared(&prepared, &options)?.ids, rendered.ids.len());
    /// # Ok::<(), openchatml::RenderError>(())
    /// ```
    pub fn render_prepared(
        &self,
        prepared: &Prepared<'_>,
        options: &RenderOptions,
    ) -> Result<Rendered, RenderError> {
        let WrittenIds { target, spans, spelled } =
            self.write_prepared(prepared, options, Vec::new())?;
        Ok(Rendered { ids: target, spans, spelled })
    }

    /// Counts the ids of a document that is prepared for this format, without creating them.
    ///
    /// # Errors
    ///
    /// As for [`render_prepared`](Self::render_prepared), which has an example.
    pub fn count_prepared(
        &self,
        prepared: &Prepared<'_>,
        options: &RenderOptions,
    ) -> Result<Counted, RenderError> {
        let WrittenIds { target, spans, spelled } = self.write_prepared(prepared, options, 0)?;
        Ok(Counted { ids: target, spans, spelled })
    }

    /// Counts the ids of a document without creating them.
    ///
    /// # Errors
    ///
    /// As for [`render`](Self::render).
    ///
    /// ```
    /// use openchatml::{Conversation, Message, Role, TextFormat};
    /// use openchatml_tokens::{ByteEncoding, Tokenizer};
    ///
    /// let tokenizer = Tokenizer::new(TextFormat::HARMONY, ByteEncoding::default());
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
        let WrittenIds { target, spans, spelled } = self.write(document, options, 0)?;
        Ok(Counted { ids: target, spans, spelled })
    }

    pub(crate) fn write<T: Target>(
        &self,
        document: &Document<'_>,
        options: &RenderOptions,
        target: T,
    ) -> Result<WrittenIds<T>, RenderError> {
        let messages = document.as_conversation().map_or(&[][..], |it| &it.messages);
        let mut sink = self.sink(messages, target);
        render_to(document, self.format, options, &mut sink)?;
        Ok(sink.finish()?)
    }

    pub(crate) fn write_prepared<T: Target>(
        &self,
        prepared: &Prepared<'_>,
        options: &RenderOptions,
        target: T,
    ) -> Result<WrittenIds<T>, RenderError> {
        let messages = prepared.document.as_conversation().map_or(&[][..], |it| &it.messages);
        let mut sink = self.sink(messages, target);
        render_prepared(prepared, self.format, options, &mut sink)?;
        sink.finish().map_err(|error| prepared.origins.place(error.into()))
    }

    /// Returns the sink for these messages.
    fn sink<'s, T: Target>(
        &'s self,
        messages: &'s [Message<'s>],
        target: T,
    ) -> TokenSink<'s, E, T> {
        let Shared { encoding, ids } = &*self.shared;
        TokenSink::new(encoding, ids, self.format.stops(), messages, target)
    }

    /// Returns the ids before the first control token of the dialect.
    pub(crate) fn run<'i>(&self, ids: &'i [u32]) -> &'i [u32] {
        let end = ids.iter().position(|id| self.shared.ids.control(*id).is_some());
        &ids[..end.unwrap_or(ids.len())]
    }

    /// Returns the meaning of an id in the dialect.
    #[inline]
    pub(crate) fn lexeme(&self, id: u32) -> Lexeme<'_> {
        if let Some(control) = self.shared.ids.control(id) {
            return Lexeme::Control(control);
        }
        match self.shared.encoding.token(id) {
            Some(Token::Text(text)) => Lexeme::Text(text),
            Some(Token::Bytes(bytes)) => Lexeme::Bytes(bytes),
            Some(Token::Control(spelling)) if self.shared.ids.is_part(id) => Lexeme::Text(spelling),
            Some(Token::Control(spelling)) => Lexeme::Foreign(spelling),
            None => Lexeme::Unknown,
        }
    }
}
