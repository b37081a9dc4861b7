//! Reads an output while it arrives.

use openchatml::{Code, Events, ReadOptions, Severity, Span};

use super::assemble::Assembler;
use super::regions::Regions;
use super::scan::last_end;
use super::spec::{Field, Meaning};
use super::template::ResponseTemplate;

/// Reads the output of a model while it arrives, with a response template.
///
/// Chunks can be cut anywhere, even inside UTF-8 sequences. The messages are those of
/// [`ResponseTemplate::read`]. Text is held back only while an anchor could still begin in it.
/// Structured fields, such as calls in JSON, are emitted when their region ends.
///
/// ```
/// use openchatml::{Event, ReadOptions};
/// use openchatml_templates::{ResponseStream, ResponseTemplate};
///
/// let template = ResponseTemplate::from_json(r#"{"start_anchor": "<bot>", "fields": {
///     "thinking": {"open": "<think>", "close": "</think>"},
///     "content": {}
/// }}"#)?;
/// let mut stream = ResponseStream::new(&template, Some("<bot><think>"), &ReadOptions::default());
/// let mut said = String::new();
/// for chunk in ["Easy", "</th", "ink>4", "."] {
///     for event in stream.feed(chunk) {
///         if let Event::Delta { text, .. } = event {
///             said.push_str(&text);
///         }
///     }
/// }
/// assert_eq!(stream.finish().last().map(|event| event.name()), Some("response.done"));
/// assert_eq!(said, "4.");
/// # Ok::<(), openchatml_templates::ResponseTemplateError>(())
/// ```
#[derive(Debug)]
pub struct ResponseStream {
    regions: Regions,
    assembler: Assembler,
    /// The beginning of a UTF-8 sequence.
    partial: Vec<u8>,
    /// How many bytes of text were read, with U+FFFD instead of invalid bytes.
    at: usize,
}

impl ResponseStream {
    /// Creates a stream. The prompt is as for [`ResponseTemplate::read`].
    ///
    /// With [`ReadOptions::in_reasoning`], the text begins in the field of the reasoning.
    pub fn new(template: &ResponseTemplate, prompt: Option<&str>, options: &ReadOptions) -> Self {
        let spec = &template.spec;
        let start = |prompt| spec.start.as_ref().and_then(|start| last_end(start, prompt));
        let begins = prompt.and_then(start);
        let known = match (prompt, begins) {
            (Some(prompt), Some(begins)) => &prompt[begins..],
            _ => "",
        };
        let mut stream = Self {
            regions: Regions::new(spec, options.limits.header_bytes),
            assembler: Assembler::new(spec, options, known.len()),
            partial: Vec::new(),
            at: known.len(),
        };
        if prompt.is_some() && begins.is_none() {
            let text =
                "no `start_anchor` of the response template in the prompt: the prompt is not read";
            let mut found = Code::ParseFrame.at(Span::default(), text);
            found.severity = Severity::Warning;
            stream.assembler.out.report(found);
        }
        let is_reasoning =
            |field: &_| matches!(field, Field { meaning: Meaning::Reasoning, open: Some(_), .. });
        if options.in_reasoning
            && known.is_empty()
            && let Some(field) = spec.fields.iter().position(is_reasoning)
        {
            stream.regions.enter(field);
            stream.assembler.enter(field);
        }
        stream.regions.feed(known, &mut stream.assembler);
        stream
    }

    /// Reads bytes and returns the events that are certain.
    pub fn feed(&mut self, bytes: impl AsRef<[u8]>) -> Events {
        let mut bytes = bytes.as_ref();
        let joined;
        if !self.partial.is_empty() {
            let mut all = std::mem::take(&mut self.partial);
            all.extend_from_slice(bytes);
            joined = all;
            bytes = &joined;
        }
        let mut end = bytes.len();
        for chunk in bytes.utf8_chunks() {
            let invalid = chunk.invalid();
            self.text(chunk.valid());
            if invalid.is_empty() {
                continue;
            }
            let rest = bytes.len() - (invalid.as_ptr().addr() - bytes.as_ptr().addr());
            if rest == invalid.len() && is_incomplete(invalid) {
                end -= invalid.len();
                break;
            }
            self.invalid();
        }
        self.partial = bytes[end..].to_vec();
        self.take()
    }

    /// Ends the input and returns the last events.
    pub fn finish(mut self) -> Events {
        self.end();
        self.assembler.out.finish();
        self.take()
    }

    /// Cancels the stream: returns the current message as it is, and then
    /// [`Event::Cancel`](openchatml::Event::Cancel).
    pub fn cancel(mut self) -> Events {
        self.end();
        self.assembler.out.cancel();
        self.take()
    }

    fn end(&mut self) {
        if !self.partial.is_empty() {
            self.invalid();
        }
        self.regions.finish(&mut self.assembler);
        self.assembler.finish(self.at);
    }

    fn text(&mut self, text: &str) {
        self.at += text.len();
        self.regions.feed(text, &mut self.assembler);
    }

    /// Reads U+FFFD instead of bytes that are not UTF-8.
    fn invalid(&mut self) {
        let span = self.assembler.span(self.at, self.at);
        let text = format!("the byte at offset {} is not UTF-8", span.start);
        self.assembler.out.report(Code::ParseUtf8.at(span, text).help("U+FFFD replaces it"));
        self.text("\u{fffd}");
    }

    fn take(&mut self) -> Events {
        std::mem::take(&mut self.assembler.out.events).into()
    }
}

/// Whether bytes at the end of a chunk are the beginning of a character.
fn is_incomplete(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}
