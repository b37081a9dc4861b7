//! The beginning of a stream, which shows whether it is a completion.
//!
//! Without `--role`, input that begins inside of a message is a raw completion of the assistant, as
//! in files. The first bytes or ids are held back until this is known.

use openchatml::{Event, ReadOptions, Role, Stream, TextFormat};
use openchatml_templates::ResponseStream;
use openchatml_tokens::{TokenStream, Tokenizer};

use crate::encodings::OneEncoding;

/// The maximum number of bytes, or of ids, that are held back.
const MOST: usize = 256;

/// A stream of text.
pub(super) struct Texts {
    format: TextFormat,
    options: ReadOptions,
    held: Vec<u8>,
    stream: Option<Stream>,
}

impl Texts {
    pub(super) fn new(format: TextFormat, options: ReadOptions) -> Self {
        Self { format, options, held: Vec::new(), stream: None }
    }

    pub(super) fn feed(&mut self, bytes: &[u8], each: impl FnMut(Event<'_>)) {
        if let Some(stream) = &mut self.stream {
            return stream.feed_with(bytes, each);
        }
        self.held.extend_from_slice(bytes);
        let is_held = self.held.len() < MOST && self.options.continues.is_none();
        let answer = self.format.is_completion(&String::from_utf8_lossy(&self.held));
        if answer.is_some() || !is_held {
            let held = std::mem::take(&mut self.held);
            self.open(answer).feed_with(held, each);
        }
    }

    pub(super) fn finish(mut self, mut each: impl FnMut(Event<'_>)) {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => Stream::new(self.format, &self.options),
        };
        stream.feed_with(&self.held, &mut each);
        stream.finish_with(each);
    }

    fn open(&mut self, is_completion: Option<bool>) -> &mut Stream {
        complete(&mut self.options, is_completion);
        self.stream.insert(Stream::new(self.format, &self.options))
    }
}

/// A stream of text of a format, or of what a response template describes.
pub(super) enum TextStream {
    Format(Texts),
    Response(ResponseStream),
}

impl TextStream {
    pub(super) fn feed(&mut self, bytes: &[u8], each: impl FnMut(Event<'_>)) {
        match self {
            Self::Format(texts) => texts.feed(bytes, each),
            Self::Response(stream) => stream.feed(bytes).for_each(each),
        }
    }

    pub(super) fn finish(self, each: impl FnMut(Event<'_>)) {
        match self {
            Self::Format(texts) => texts.finish(each),
            Self::Response(stream) => stream.finish().for_each(each),
        }
    }
}

/// A stream of token ids.
pub(super) struct Ids<'t> {
    tokenizer: &'t Tokenizer<OneEncoding>,
    options: ReadOptions,
    held: Vec<u32>,
    stream: Option<TokenStream<OneEncoding>>,
}

impl<'t> Ids<'t> {
    pub(super) fn new(tokenizer: &'t Tokenizer<OneEncoding>, options: ReadOptions) -> Self {
        Self { tokenizer, options, held: Vec::new(), stream: None }
    }

    pub(super) fn feed(&mut self, ids: &[u32], each: impl FnMut(Event<'_>)) {
        if let Some(stream) = &mut self.stream {
            return stream.feed_with(ids, each);
        }
        self.held.extend_from_slice(ids);
        let is_held = self.held.len() < MOST && self.options.continues.is_none();
        let answer = self.tokenizer.is_completion(&self.held);
        if answer.is_some() || !is_held {
            complete(&mut self.options, answer);
            let stream = self.stream.insert(self.tokenizer.stream(&self.options));
            stream.feed_with(&std::mem::take(&mut self.held), each);
        }
    }

    /// Returns the stream at the end of the ids.
    pub(super) fn opened(self, each: impl FnMut(Event<'_>)) -> TokenStream<OneEncoding> {
        let mut stream = self.stream.unwrap_or_else(|| self.tokenizer.stream(&self.options));
        stream.feed_with(&self.held, each);
        stream
    }
}

fn complete(options: &mut ReadOptions, is_completion: Option<bool>) {
    if is_completion == Some(true) {
        options.continues.get_or_insert(Role::Assistant);
    }
}
