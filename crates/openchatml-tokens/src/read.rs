//! Parses token ids.

use std::ops::Range;

use openchatml::lex::{Tape, Utf8Decoder, Utf8Piece, begins_completion};
use openchatml::{Conversation, Diagnostic, Document, Parsed, ReadOptions, Span, parse_tape};

use crate::encoding::Encoding;
use crate::ids::{Lexeme, REPLACEMENT, foreign, not_text, unknown};
use crate::tokenizer::Tokenizer;

/// A document that was parsed from ids, and its diagnostics.
///
/// Spans refer to the text of the ids, in which control tokens are spelled out.
///
/// ```
/// use openchatml::{Conversation, Message, Role, TextFormat};
/// use openchatml_tokens::{ByteEncoding, Tokenizer};
///
/// let tokenizer = Tokenizer::new(TextFormat::CHATML, ByteEncoding::default());
/// let document = Conversation::from_messages([Message::new(Role::User, "Hi")]).into();
/// let ids = tokenizer.render(&document, &Default::default())?.ids;
/// let read = tokenizer.parse(&ids, &Default::default());
/// assert_eq!(read.text(), "<|im_start|>user\nHi<|im_end|>\n");
/// // `<|im_start|>` is one id, and each of `user\n` another one.
/// let span = read.document().as_conversation().unwrap().messages[0].span;
/// assert_eq!(read.ids_at(span), 0..9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ParsedIds {
    text: String,
    /// The position in the text at which each id begins, and the end of the last id.
    starts: Vec<usize>,
    document: Document<'static>,
    diagnostics: Vec<Diagnostic>,
}

impl ParsedIds {
    /// Returns the text of the ids.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the document.
    pub fn document(&self) -> &Document<'static> {
        &self.document
    }

    /// Returns the diagnostics.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Returns the range of ids at this span of the text.
    pub fn ids_at(&self, span: Span) -> Range<usize> {
        let last = self.starts.len().saturating_sub(1);
        let start = self.starts.partition_point(|start| *start <= span.start);
        let start = start.saturating_sub(1).min(last);
        let end = self.starts[start..].partition_point(|start| *start < span.end) + start;
        start..end.min(last).max(start)
    }

    /// Stores the ids in the messages. `ids` are the ids that were read. A writer then writes the
    /// messages with exactly these ids.
    ///
    /// ```
    /// use openchatml::{Role, TextFormat};
    /// use openchatml_tokens::{O200kHarmony, Tokenizer};
    ///
    /// let tokenizer = Tokenizer::new(TextFormat::HARMONY, O200kHarmony::default());
    /// // A model may write a word as it likes: here, `Hello` as `He` and `llo`.
    /// let completion = [200005, 17196, 200008, 2066, 72807, 200002];
    /// let mut options = openchatml::ReadOptions::default();
    /// options.continues = Some(Role::Assistant);
    /// let read = tokenizer.parse(&completion, &options).with_ids(&completion);
    /// assert_eq!(read.document().as_conversation().unwrap().messages[0].body.text(), "Hello");
    /// let rendered = tokenizer.render(read.document(), &Default::default())?;
    /// assert!(rendered.ids.ends_with(&completion));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_ids(mut self, ids: &[u32]) -> Self {
        let mut document = std::mem::take(&mut self.document);
        let messages = match &mut document {
            Document::Conversation(conversation) => &mut conversation.messages[..],
            _ => &mut [],
        };
        for message in messages {
            message.set_ids(ids.get(self.ids_at(message.span)).unwrap_or_default());
        }
        self.document = document;
        self
    }

    /// Returns the document and its diagnostics.
    pub fn into_parsed(self) -> Parsed<'static> {
        Parsed::new(self.document, self.diagnostics)
    }

    /// Returns the conversation, or an empty one if the document is not a conversation.
    pub fn into_conversation(self) -> Conversation<'static> {
        self.document.into_conversation()
    }
}

impl<E: Encoding> Tokenizer<E> {
    /// Parses ids. Parsing never fails: malformed input is reported as a diagnostic, and the rest
    /// is read.
    ///
    /// ```
    /// use openchatml::{Control, TextFormat};
    /// use openchatml_tokens::{ByteEncoding, Tokenizer};
    ///
    /// let tokenizer = Tokenizer::new(TextFormat::HARMONY, ByteEncoding::default());
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
    pub fn parse(&self, ids: &[u32], options: &ReadOptions) -> ParsedIds {
        read(self, ids, options)
    }

    /// Whether ids are a raw completion of the assistant, because they begin inside of a message or
    /// of a turn. Read them with [`ReadOptions::completion`]. `None` if this depends on ids that
    /// have not arrived yet.
    ///
    /// ```
    /// use openchatml::{Control, TextFormat};
    /// use openchatml_tokens::{ByteEncoding, Tokenizer};
    ///
    /// let tokenizer = Tokenizer::new(TextFormat::HARMONY, ByteEncoding::default());
    /// let id = |control| tokenizer.id(control).expect("it has one");
    /// assert_eq!(tokenizer.is_completion(&[id(Control::Channel), 102]), Some(true));
    /// assert_eq!(tokenizer.is_completion(&[id(Control::Start), 102]), Some(false));
    /// assert_eq!(tokenizer.is_completion(&[]), None);
    /// ```
    pub fn is_completion(&self, ids: &[u32]) -> Option<bool> {
        let mut before = Vec::new();
        for id in ids {
            match self.lexeme(*id) {
                Lexeme::Control(control) => return begins_completion(&before, Some(control)),
                Lexeme::Text(text) => before.extend_from_slice(text.as_bytes()),
                Lexeme::Bytes(bytes) => before.extend_from_slice(bytes),
                Lexeme::Foreign(_) | Lexeme::Unknown => return Some(false),
            }
        }
        begins_completion(&before, None)
    }
}

/// Parses ids with a tokenizer.
fn read<E: Encoding>(tokenizer: &Tokenizer<E>, ids: &[u32], options: &ReadOptions) -> ParsedIds {
    let mut builder = Builder {
        tape: Tape::new(tokenizer.format().controls()).spelled(tokenizer.spelled()),
        bytes: Vec::new(),
        first: 0,
        starts: Vec::with_capacity(ids.len() + 1),
        found: Vec::new(),
    };
    let mut rest = ids;
    while !rest.is_empty() {
        let run = tokenizer.run(rest);
        builder.push_run(tokenizer, run);
        rest = &rest[run.len()..];
        if let Some((id, after)) = rest.split_first() {
            builder.push(tokenizer.lexeme(*id), *id);
            rest = after;
        }
    }
    builder.flush();
    builder.starts.push(builder.tape.as_str().len());
    let Builder { tape, starts, mut found, .. } = builder;
    let parsed = parse_tape(&tape, tokenizer.format(), options);
    let document = parsed.document.into_owned();
    let mut diagnostics = parsed.diagnostics;
    if !found.is_empty() {
        found.truncate(options.limits.diagnostics);
        diagnostics.append(&mut found);
        diagnostics.sort_by_key(|found| found.span.start);
    }
    ParsedIds { text: tape.into_string(), starts, document, diagnostics }
}

/// Converts ids to a tape.
struct Builder {
    tape: Tape,
    /// Bytes that are not in the tape yet. Whether they are valid UTF-8 is known at the end of the
    /// run.
    bytes: Vec<u8>,
    /// The index of the first start that belongs to these bytes. These starts are still relative.
    first: usize,
    starts: Vec<usize>,
    found: Vec<Diagnostic>,
}

impl Builder {
    /// Adds ids that are not control tokens of the dialect.
    fn push_run<E: Encoding>(&mut self, tokenizer: &Tokenizer<E>, ids: &[u32]) {
        let mut rest = ids;
        while !rest.is_empty() {
            let taken = tokenizer.encoding().decode(rest, &mut self.bytes, &mut self.starts);
            rest = &rest[taken..];
            if let Some((id, after)) = rest.split_first() {
                self.push(tokenizer.lexeme(*id), *id);
                rest = after;
            }
        }
    }

    fn push(&mut self, lexeme: Lexeme<'_>, id: u32) {
        match lexeme {
            Lexeme::Text(text) => self.push(Lexeme::Bytes(text.as_bytes()), id),
            Lexeme::Bytes(bytes) => {
                self.starts.push(self.bytes.len());
                self.bytes.extend_from_slice(bytes);
            }
            Lexeme::Control(control) => {
                self.flush();
                self.starts.push(self.tape.as_str().len());
                self.tape.control(control);
                self.first = self.starts.len();
            }
            Lexeme::Foreign(spelling) => self.replace(spelling, |at| foreign(spelling, at)),
            Lexeme::Unknown => self.replace(REPLACEMENT, |at| unknown(id, at)),
        }
    }

    /// Adds replacement text for an unusable id.
    #[cold]
    fn replace(&mut self, text: &str, found: impl FnOnce(Span) -> Diagnostic) {
        self.flush();
        let start = self.tape.as_str().len();
        self.starts.push(start);
        self.tape.text(text);
        self.found.push(found(Span::new(start, start + text.len())));
        self.first = self.starts.len();
    }

    /// Ends the current run of text.
    fn flush(&mut self) {
        let base = self.tape.as_str().len();
        if let Ok(text) = std::str::from_utf8(&self.bytes) {
            self.tape.text(text);
            for start in &mut self.starts[self.first..] {
                *start += base;
            }
        } else {
            self.flush_lossy(base);
        }
        self.bytes.clear();
        self.first = self.starts.len();
    }

    #[cold]
    fn flush_lossy(&mut self, base: usize) {
        let (mut read, mut written) = (0, base);
        let mut next = self.first;
        let mut utf8 = Utf8Decoder::default();
        let mut add = |piece: Utf8Piece<'_>| {
            let (text, len) = match piece {
                Utf8Piece::Text(text) => (text, text.len()),
                Utf8Piece::Invalid(len) => (REPLACEMENT, len),
            };
            let is_valid = matches!(piece, Utf8Piece::Text(_));
            while let Some(start) = self.starts.get_mut(next).filter(|start| **start <= read + len)
            {
                *start = match is_valid {
                    true => written + (*start - read),
                    false if *start == read => written,
                    false => written + text.len(),
                };
                next += 1;
            }
            if !is_valid {
                self.found.push(not_text(Span::new(written, written + text.len())));
            }
            self.tape.text(text);
            (read, written) = (read + len, written + text.len());
        };
        utf8.decode(&self.bytes).for_each(&mut add);
        utf8.finish().into_iter().for_each(&mut add);
    }
}
