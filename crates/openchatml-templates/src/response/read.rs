//! Reads a whole output.

use openchatml::{Conversation, Document, Event, Parsed, ReadOptions};

use super::stream::ResponseStream;
use super::template::ResponseTemplate;

/// How much text is read at once, to bound the memory that is used beside the messages.
const CHUNK_BYTES: usize = 64 << 10;

impl ResponseTemplate {
    /// Reads the output of a model: the messages of the assistant, in the order of the text.
    ///
    /// `prompt` is the prompt that the model was given. Chat templates can write the beginning of the
    /// message, such as `<think>`, so its text after the last `start_anchor` is read before the
    /// output. Use `None` if the output contains the whole message.
    ///
    /// Fields become messages: `content` is on the channel `final`; `thinking`, `reasoning` and
    /// `reasoning_content` are on `analysis`; `tool_calls` are calls. Text of other fields, text in no
    /// field and text that cannot be parsed is kept in hidden messages and reported. White space
    /// around the text of a field is no part of a message. Spans are places in the output.
    ///
    /// ```
    /// use openchatml::{Code, ReadOptions};
    /// use openchatml_templates::ResponseTemplate;
    ///
    /// let template = ResponseTemplate::from_json(r#"{"fields": {
    ///     "tool_calls": {"open": "<call>", "close": "</call>", "content": "json"},
    ///     "content": {}
    /// }}"#)?;
    /// let read = template.read(None, "Hm. <call>{\"name\": </call>", &ReadOptions::default());
    /// assert_eq!(read.diagnostics[0].code, Code::BodyConstraintViolation);
    /// let messages = read.into_conversation().messages;
    /// assert!(messages[0].is_answer() && messages[0].body.text() == "Hm.");
    /// assert!(messages[1].recovered && messages[1].body.text() == "{\"name\": ");
    /// # Ok::<(), openchatml_templates::ResponseTemplateError>(())
    /// ```
    pub fn read(&self, prompt: Option<&str>, text: &str, options: &ReadOptions) -> Parsed<'static> {
        let mut stream = ResponseStream::new(self, prompt, options);
        let mut messages = Vec::new();
        let mut diagnostics = Vec::new();
        let mut take = |event: Event<'static>| match event {
            Event::MessageDone { message, .. } => messages.push(message.into_value()),
            Event::Diagnostic { diagnostic, .. } => diagnostics.push(diagnostic.into_value()),
            _ => {}
        };
        for chunk in text.as_bytes().chunks(CHUNK_BYTES) {
            stream.feed(chunk).for_each(&mut take);
        }
        stream.finish().for_each(&mut take);
        let document = Document::from(Conversation::from_messages(messages));
        Parsed::new(document, diagnostics)
    }
}
