//! Markdown whose code blocks are read as what their info strings say.
//!
//! The info string names a format and may say more: `strict`, `continues=ROLE` for a completion,
//! `open` for a prompt, `recover=POLICY`, `limit:NAME=N` for a limit, `tokens` for token ids with `\id{N}` for the id `N`, `bytes` for input with `\xNN`
//! escapes that arrives byte by byte, `trim` for input without its last line break.

use std::path::Path;

use openchatml::{
    Conversation, Diagnostic, Event, Format, Limits, Mode, Parsed, ReadOptions, Recover, Role,
    Stream, parse,
};
use openchatml_tokens::{ByteEncoding, Encoding as _, Tokenizer};

/// A line of Markdown.
pub(crate) struct Line<'t> {
    pub(crate) text: &'t str,
    /// The level of a heading; 0 for everything else.
    pub(crate) level: usize,
    pub(crate) place: Place,
}

/// Where a line stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// It is text, or a heading.
    Text,
    /// It opens a code block.
    Opening,
    /// It is in a code block.
    Code,
    /// It closes a code block.
    Closing,
}

/// The lines of `text`. What looks like a heading inside of a code block is none.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut is_open = false;
    text.lines().map(move |text| {
        let is_fence = text.starts_with("```");
        let place = match (is_fence, is_open) {
            (true, false) => Place::Opening,
            (true, true) => Place::Closing,
            (false, true) => Place::Code,
            (false, false) => Place::Text,
        };
        is_open ^= is_fence;
        let marks = text.bytes().take_while(|byte| *byte == b'#').count();
        let is_heading = place == Place::Text && text[marks..].starts_with(' ');
        Line { text, level: if is_heading { marks } else { 0 }, place }
    })
}

/// A code block.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// The info string.
    pub(crate) info: String,
    pub(crate) text: String,
}

impl Block {
    /// An empty one, opened by this line.
    pub(crate) fn open(line: &str) -> Self {
        Self { info: line.trim_start_matches('`').to_owned(), text: String::new() }
    }

    pub(crate) fn push(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

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

    /// Reads it as its info string says.
    pub(crate) fn read(&self) -> Parsed<'_> {
        let format = self.format().expect("the info string begins with a format");
        let options = self.options();
        if self.has("bytes") {
            let (messages, diagnostics) = stream(&self.bytes(), 1, format, &options);
            return Parsed { document: messages.into(), diagnostics };
        }
        if self.has("tokens") {
            let tokenizer = Tokenizer::new(format, ByteEncoding::default()).unwrap();
            return tokenizer.parse(&self.ids(&tokenizer), &options).into_parsed();
        }
        let text = if self.has("trim") { self.text.trim_end_matches('\n') } else { &self.text };
        parse(text, format, &options)
    }

    /// The ids of the text, and those that it writes as `\id{N}`.
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

    /// How its info string says that it is read.
    pub(crate) fn options(&self) -> ReadOptions {
        let mut options = ReadOptions::default();
        options.mode = if self.has("strict") { Mode::Strict } else { Mode::Lenient };
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

    /// The input as it is read: with its `\xNN` escapes resolved, if it has any.
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

/// What a stream of chunks of `size` bytes gives.
fn stream(
    bytes: &[u8],
    size: usize,
    format: Format,
    options: &ReadOptions,
) -> (Conversation<'static>, Vec<Diagnostic>) {
    let mut messages = Vec::new();
    let mut found = Vec::new();
    let mut take = |event: Event<'_>| match event {
        Event::Diagnostic { diagnostic, .. } => found.push(diagnostic.clone()),
        Event::MessageDone { message, .. } => messages.push(message.clone().into_owned()),
        _ => {}
    };
    let mut stream = Stream::new(format, options).unwrap();
    for chunk in bytes.chunks(size) {
        stream.feed(chunk, &mut take);
    }
    stream.finish(&mut take);
    (Conversation::from_messages(messages), found)
}

fn limit<'l>(limits: &'l mut Limits, name: &str) -> &'l mut usize {
    limits.get_mut(name).unwrap_or_else(|| panic!("no limit is called `{name}`"))
}

/// Whether files in `docs` are to be written rather than compared.
pub(crate) fn is_update() -> bool {
    std::env::var_os("UPDATE_DOCS").is_some_and(|value| value == "1")
}

/// Writes a file at once: another test may be reading it.
pub(crate) fn write(path: &Path, text: &str) {
    let beside = path.with_extension("md.new");
    std::fs::write(&beside, text).unwrap();
    std::fs::rename(&beside, path).unwrap();
}

/// The anchor that Markdown viewers make of a heading.
pub(crate) fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}
