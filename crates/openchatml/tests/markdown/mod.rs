//! Markdown with code blocks that are read as their info strings specify.
//!
//! The info string names a format and may say more: `strict`, `continues=ROLE` for a completion,
//! `open` for a prompt, `repair` for repaired calls, `recover=POLICY`, `limit:NAME=N` for a limit, `tokens` for token ids with `\id{N}` for the id `N`, `bytes` for input with `\xNN`
//! escapes that arrives byte by byte, `trim` for input without its last line break.

use openchatml::{
    Conversation, Diagnostic, Event, Format, Limits, Mode, Parsed, ReadOptions, Recover, Repair,
    Role, Stream, parse,
};
use openchatml_tokens::{ByteEncoding, Encoding as _, Tokenizer};

/// A code block.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// The info string.
    pub(crate) info: String,
    pub(crate) text: String,
}

impl Block {
    /// The first word of the info string, as a format.
    pub(crate) fn format(&self) -> Option<Format> {
        self.words().next()?.parse().ok()
    }

    pub(crate) fn words(&self) -> impl Iterator<Item = &str> {
        self.info.split_whitespace()
    }

    pub(crate) fn has(&self, word: &str) -> bool {
        self.words().any(|one| one == word)
    }

    /// The value of a word `name=value`.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.words().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    }

    /// Parses the block as its info string specifies.
    pub(crate) fn read(&self) -> Parsed<'_> {
        let format = self.format().expect("the info string begins with a format");
        let options = self.options();
        if self.has("bytes") {
            let (messages, diagnostics) = stream(&self.bytes(), 1, format, &options);
            return Parsed::new(messages.into(), diagnostics);
        }
        if self.has("tokens") {
            let tokenizer =
                Tokenizer::new(format.text().expect("a text format"), ByteEncoding::default());
            return tokenizer.parse(&self.ids(&tokenizer), &options).into_parsed();
        }
        let text = if self.has("trim") { self.text.trim_end_matches('\n') } else { &self.text };
        parse(text, format, &options)
    }

    /// Returns the ids of the text, with those written as `\id{N}`.
    fn ids(&self, tokenizer: &Tokenizer<ByteEncoding>) -> Vec<u32> {
        let controls = tokenizer.format().dialect().controls;
        let mut ids = Vec::new();
        let mut rest = self.text.as_str();
        while let Some(first) = rest.chars().next() {
            let len = if let Some(number) = rest.strip_prefix("\\id{") {
                let (number, _) = number.split_once('}').unwrap();
                ids.push(number.parse().unwrap());
                "\\id{}".len() + number.len()
            } else if let Some((0, control, len)) = controls.find(rest) {
                ids.push(tokenizer.id(control).unwrap());
                len
            } else {
                tokenizer.encoding().encode(&rest[..first.len_utf8()], &mut ids);
                first.len_utf8()
            };
            rest = &rest[len..];
        }
        ids
    }

    /// Returns the options of the info string.
    pub(crate) fn options(&self) -> ReadOptions {
        let mut options = ReadOptions::default();
        options.mode = if self.has("strict") { Mode::Strict } else { Mode::Lenient };
        options.repair = self.has("repair").then_some(Repair::Mark);
        options.open_prompt = self.has("open");
        options.continues = self.value("continues").map(|role| Role::from_word(role).unwrap());
        options.recover = match self.value("recover") {
            Some("drop") => Recover::Drop,
            Some("error") => Recover::Error,
            _ => Recover::Keep,
        };
        for word in self.words() {
            if let Some((name, value)) =
                word.strip_prefix("limit:").and_then(|it| it.split_once('='))
            {
                *limit(&mut options.limits, name) = value.parse().unwrap();
            }
        }
        options
    }

    /// Returns the input with resolved `\xNN` escapes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        if !self.has("bytes") {
            return self.text.clone().into_bytes();
        }
        let mut parts = self.text.split("\\x");
        let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
        for part in parts {
            let (byte, rest) = part.split_at(2);
            bytes.push(u8::from_str_radix(byte, 16).unwrap());
            bytes.extend_from_slice(rest.as_bytes());
        }
        bytes
    }
}

/// Streams the input in chunks of `size` bytes.
fn stream(
    bytes: &[u8],
    size: usize,
    format: Format,
    options: &ReadOptions,
) -> (Conversation<'static>, Vec<Diagnostic>) {
    let mut messages = Vec::new();
    let mut found = Vec::new();
    let mut take = |event: Event<'_>| match event {
        Event::Diagnostic { diagnostic, .. } => found.push(diagnostic.into_value()),
        Event::MessageDone { message, .. } => messages.push(message.into_value().into_owned()),
        _ => {}
    };
    let mut stream = Stream::new(format.text().expect("a text format"), options);
    for chunk in bytes.chunks(size) {
        stream.feed_with(chunk, &mut take);
    }
    stream.finish_with(&mut take);
    (Conversation::from_messages(messages), found)
}

fn limit<'l>(limits: &'l mut Limits, name: &str) -> &'l mut usize {
    limits.get_mut(name).unwrap_or_else(|| panic!("no limit is called `{name}`"))
}
