//! Properties of every document and every text.

use openchatml::convert::Channels;
use openchatml::dialects::{CallPiece, Completion};
use openchatml::lex::{Escape, TokenTable};
use openchatml::render::Place;
use openchatml::{
    Channel, Code, Content, Conversation, Diagnostic, Document, End, Event, Format, Infill, Keep,
    Message, Parsed, Policy, ReadOptions, RenderError, RenderOptions, Severity, Stream, TextFormat,
    parse, render,
};

use crate::secrets;

/// The complete output of a stream. Deltas are joined, so that it does not depend on chunks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamOutput {
    /// The events as JSON.
    pub events: Vec<String>,
    /// The complete messages.
    pub messages: Vec<Message<'static>>,
    /// The diagnostics.
    pub diagnostics: Vec<Diagnostic>,
    last_delta: Option<(String, String)>,
    /// The open message.
    open: Option<Message<'static>>,
}

impl StreamOutput {
    /// Adds an event.
    pub fn event(&mut self, event: Event<'_>) {
        let delta = match &event {
            Event::Delta { text, .. }
            | Event::ReasoningDelta { text, .. }
            | Event::ToolCallDelta { text, .. } => Some(text),
            Event::MessageStart { message, .. } => {
                self.open = Some(Message::clone(message).into_owned());
                None
            }
            Event::MessageDone { message, .. } => {
                self.open = None;
                self.messages.push(Message::clone(message).into_owned());
                None
            }
            Event::MessageHidden { index } => {
                if let Some(message) = self.messages.get_mut(*index) {
                    message.recovered = true;
                    match message.is_call() {
                        true => message.end = End::End,
                        false => message.channel = Some(Channel::Analysis),
                    }
                }
                None
            }
            Event::Diagnostic { diagnostic, .. } => {
                self.diagnostics.push(Diagnostic::clone(diagnostic));
                None
            }
            _ => None,
        };
        let Some(text) = delta else {
            self.flush();
            return self.events.push(event.to_json());
        };
        let name = event.name();
        match &mut self.last_delta {
            Some((last, joined)) if *last == name => joined.push_str(text),
            _ => {
                self.flush();
                self.last_delta = Some((name.to_owned(), text.to_string()));
            }
        }
    }

    /// Returns the output after the last event.
    #[must_use]
    pub fn finish(mut self) -> Self {
        self.flush();
        self
    }

    fn flush(&mut self) {
        if let Some((name, text)) = self.last_delta.take() {
            self.events.push(format!("{name}: {text:?}"));
        }
    }
}

/// Streams `text` in these chunks.
pub fn stream<'c>(
    chunks: impl IntoIterator<Item = &'c [u8]>,
    format: Format,
    options: &ReadOptions,
    keep: Keep,
) -> StreamOutput {
    let mut told = StreamOutput::default();
    let text_format = TextFormat::try_from(format).expect("a text format");
    let mut stream = Stream::new(text_format, options).keep(keep);
    for chunk in chunks {
        stream.feed_with(chunk, |event| told.event(event));
        let (open, begun) = (stream.open_message(), told.open.as_ref());
        // A message in which reading stopped can turn out to be reasoning.
        let is_thought = open.is_some_and(|it| it.recovered && it.is_reasoning())
            && begun.is_some_and(Message::is_answer);
        if !is_thought {
            assert_eq!(open, begun, "{format}: up to {chunk:?}");
        }
    }
    stream.finish_with(|event| told.event(event));
    told.finish()
}

/// Rendering and parsing gives the same document, and rendering it again gives the same bytes. Only
/// documents that the format cannot represent are refused.
///
/// # Panics
///
/// The property does not hold.
pub fn round_trip(document: &Document<'_>, format: Format) {
    let options = RenderOptions::default();
    let text = match render(document, format, &options) {
        Ok(text) => text,
        Err(error) => {
            assert_eq!(error.code, Code::RenderControl, "{format} refused {document:#?}: {error}");
            assert!(
                may_refuse(document, format, &error),
                "{format} refused {}: {error}",
                canonical(document)
            );
            return;
        }
    };
    let mut read = ReadOptions::default();
    read.open_prompt = true;
    let parsed = parse(&text, format, &read);
    assert_structure(&parsed, format, &text);
    assert_eq!(parsed.document, *document, "{format}: {text:?}\n{:#?}", parsed.diagnostics);
    let again = render(&parsed.document, format, &options).expect("what was read can be written");
    assert_eq!(again, text, "{format}");
}

/// Checks that there are no diagnostics about structure, because writers produce well-formed
/// output.
pub(crate) fn assert_structure(parsed: &Parsed<'_>, format: Format, text: &str) {
    // Replies that are not JSON: the format cannot represent them exactly.
    let in_sections = format.carries().channels == Channels::Sections;
    let is_known = |found: &Diagnostic| in_sections && found.severity == Severity::Warning;
    let structural = |found: &&Diagnostic| {
        matches!(
            found.code,
            Code::ParseFrame
                | Code::StreamTruncated
                | Code::ParseYaml
                | Code::ParseJson
                | Code::PermVisibility
                | Code::ParseSlip
                | Code::ParseVersion
        ) && !found.message.contains("so it is not run")
            && !found.message.contains("ends with `<|call|>`")
            && !is_known(found)
    };
    if let Some(found) = parsed.diagnostics.iter().find(structural) {
        panic!("{format} wrote {text:?}, in which reading finds {found}");
    }
}

/// Whether a format may refuse a document for this reason: it has no escape, and the place that the
/// error names contains the spelling of a control token, or a part that becomes one with the token
/// behind it.
fn may_refuse(document: &Document<'_>, format: Format, error: &RenderError) -> bool {
    let controls = format.dialect().controls;
    let spelled = |text: &str| {
        let rest = text.get(error.span.start..).and_then(|rest| controls.find(rest));
        let refused = error.span.end - error.span.start;
        // A token that is a word of the framing is read, and what follows it differs.
        let before = text.get(..error.span.start).unwrap_or_default();
        let is_behind = controls.entries().iter().any(|(_, spelling)| before.ends_with(spelling));
        is_behind || matches!(rest, Some((0, _, len)) if len == refused || refused == 0)
    };
    let bodies: Vec<_> = match (document, error.message) {
        (Document::Conversation(conversation), Some(at)) => vec![&conversation.messages[at].body],
        (Document::Files(files), Some(at)) => {
            let said = files.iter().filter_map(|part| match &part.content {
                Content::Conversation(conversation) => conversation.messages.get(at),
                _ => None,
            });
            said.map(|message| &message.body).collect()
        }
        (Document::Pair(_), Some(_)) => {
            let sides = document.conversations().into_iter();
            sides.flat_map(|side| &side.messages).map(|message| &message.body).collect()
        }
        _ => Vec::new(),
    };
    let is_spelled = match error.place {
        Place::Body if error.message.is_some() => {
            bodies.into_iter().any(|body| spelled(&body.text())) || merges(document, controls)
        }
        _ => controls.find(&canonical(document)).is_some() || merges(document, controls),
    };
    controls.escape() == Escape::None && (is_spelled || has_parameter(document, format))
}

/// Whether a text contains the text that opens or closes a parameter: the value would have no end, or
/// two.
fn has_parameter(document: &Document<'_>, format: Format) -> bool {
    let Some(Completion::Sections(sections)) = format.dialect().completion() else { return false };
    let parameters = sections.calls.pieces.iter().find_map(|piece| match piece {
        CallPiece::Parameters(parameters) => Some(parameters),
        _ => None,
    });
    let tags = parameters.into_iter().flat_map(|it| [it.open.text(), it.close.text()]);
    let text = canonical(document);
    tags.flatten().any(|tag| text.contains(tag))
}

/// Whether a text of a document becomes another token with a token behind it.
fn merges(document: &Document<'_>, controls: &TokenTable) -> bool {
    let mut messages = document.conversations().into_iter().flat_map(|it| &it.messages);
    messages.any(|message| {
        let text = message.body.text();
        let begins = |spelling: &str| {
            let found = controls.find(&[&*text, spelling].concat());
            found.is_some_and(|(at, ..)| at < text.len())
        };
        controls.entries().iter().any(|(_, spelling)| begins(spelling))
    })
}

/// Returns the text of a document without JSON escapes.
fn canonical(document: &Document<'_>) -> String {
    let json = "json".parse().expect("a format");
    let text = render(document, json, &RenderOptions::default()).expect("canonical JSON says all");
    text.replace("\\\"", "\"")
}

/// Reading never panics, all diagnostics are inside the text, and the written document is read as
/// the same document.
///
/// # Panics
///
/// The property does not hold.
pub fn reads_anything<'t>(text: &'t str, format: Format, options: &ReadOptions) -> Parsed<'t> {
    let parsed = parse(text, format, options);
    for found in &parsed.diagnostics {
        assert!(found.span.end <= text.len(), "{found} is outside of {text:?}");
        assert!(text.get(found.span.range()).is_some(), "{found} cuts a character of {text:?}");
        assert!(found.message.len() <= 4096, "a long message");
    }
    parsed
}

/// A text without diagnostics is written back byte for byte.
///
/// # Panics
///
/// The property does not hold.
pub fn lossless(text: &str, format: Format, options: &ReadOptions) {
    let is_2 = format.dialect().id.starts_with("openchatml-2");
    if is_2 && (text.contains("<|im_start|>") || text.contains("<s>") || text.contains("</s>")) {
        // Transcripts of 1.x with the framing of 0.1 are written as 2.x.
        return;
    }
    let parsed = parse(text, format, options);
    if parsed.diagnostics.iter().any(|found| found.severity == Severity::Error) {
        return;
    }
    let again = render(&parsed.document, format, &RenderOptions::default());
    match again {
        Ok(again) => assert_eq!(again, text, "{format}\n{:#?}", parsed.diagnostics),
        Err(error) => panic!("{format}: {text:?} was read and cannot be written: {error}"),
    }
}

/// A text without errors in strict mode has the same meaning in the canonical layout, and
/// formatting that again does not change it.
///
/// # Panics
///
/// The property does not hold.
pub fn canonical_layout(text: &str, format: Format) {
    let mut read = ReadOptions::default();
    read.mode = openchatml::Mode::Strict;
    let parsed = parse(text, format, &read);
    if parsed.has_errors() {
        return;
    }
    let mut options = RenderOptions::default();
    options.layout = openchatml::render::LayoutChoice::Canonical;
    let write = |document: &Document<'_>| {
        let written = render(document, format, &options);
        written.unwrap_or_else(|error| panic!("{format}: {text:?} is not written: {error}"))
    };
    let laid_out = write(&parsed.document);
    let again = parse(&laid_out, format, &read);
    assert!(!again.has_errors(), "{format}: {text:?}, {laid_out:?}: {:#?}", again.diagnostics);
    assert_eq!(again.document, parsed.document, "{format}: {text:?}, {laid_out:?}");
    assert_eq!(write(&again.document), laid_out, "{format}: {text:?}");
}

/// A text without diagnostics is written so that it has the same meaning. JSON of services has many
/// layouts and contains more than a document, so the bytes may differ.
///
/// # Panics
///
/// The property does not hold.
pub fn rewrites(text: &str, format: Format) {
    let mut options = ReadOptions::default();
    options.mode = openchatml::Mode::Strict;
    let parsed = parse(text, format, &options);
    if parsed.has_errors() {
        return;
    }
    let write = |document: &Document<'_>| render(document, format, &RenderOptions::default());
    let again = write(&parsed.document);
    let again = again.unwrap_or_else(|error| panic!("{format}: {text:?} is not written: {error}"));
    let reread = parse(&again, format, &options);
    assert_eq!(reread.document, parsed.document, "{format}: {text:?} is written {again:?}");
    assert_eq!(write(&reread.document).as_ref(), Ok(&again), "{format}: {text:?}");
}

/// Splits bytes at these places. Places before the previous one are ignored.
pub(crate) fn chunks<'b>(bytes: &'b [u8], cuts: &[usize]) -> Vec<&'b [u8]> {
    let mut chunks = Vec::with_capacity(cuts.len() + 1);
    let mut from = 0;
    for cut in cuts {
        let cut = (*cut).clamp(from, bytes.len());
        chunks.push(&bytes[from..cut]);
        from = cut;
    }
    chunks.push(&bytes[from..]);
    chunks
}

/// A stream gives the same result for all chunks, and the same as parsing the whole text.
///
/// # Panics
///
/// The property does not hold.
pub fn chunk_invariant(text: &str, cuts: &[usize], format: Format, options: &ReadOptions) {
    let bytes = text.as_bytes();
    let whole = stream([bytes], format, options, Keep::Bodies);
    let cut = stream(chunks(bytes, cuts), format, options, Keep::Bodies);
    let differs = cut.events.iter().zip(&whole.events).find(|(one, two)| one != two);
    assert_eq!(differs, None, "{format}: {text:?} cut at {cuts:?}\n{options:?}");
    assert_eq!(cut, whole, "{format}: {text:?} cut at {cuts:?}");
    let parsed = parse(text, format, options);
    if let Document::Conversation(conversation) = &parsed.document {
        assert_eq!(whole.messages, conversation.messages, "{format}: {text:?}");
        assert_eq!(whole.diagnostics, parsed.diagnostics, "{format}: {text:?}");
    }
}

/// Every byte of a text is in a message, in the header, or in the span of a diagnostic, except the
/// control tokens and white space of the framing.
///
/// # Panics
///
/// The property does not hold.
pub fn nothing_is_lost(text: &str, format: Format, options: &ReadOptions) {
    let parsed = parse(text, format, options);
    if parsed.diagnostics.len() > options.limits.diagnostics {
        // The spans of diagnostics beyond the limit are unknown.
        return;
    }
    let mut covered = vec![false; text.len()];
    let mut cover = |start: usize, end: usize| covered[start..end].fill(true);
    for (start, end) in places(&parsed.document, text) {
        cover(start, end);
    }
    for found in &parsed.diagnostics {
        cover(found.span.start, found.span.end);
    }
    if let Document::Conversation(conversation) = &parsed.document
        && conversation.header.is_some()
    {
        let first = conversation.messages.iter().map(|message| message.span.start).min();
        cover(0, first.unwrap_or(text.len()));
    }
    // Transcripts of 1.x may have the framing of 0.1.
    let dialects = [format.dialect(), &openchatml::dialects::OPENCHATML_0_1];
    for (_, spelling) in dialects.iter().flat_map(|dialect| dialect.controls.entries()) {
        for (start, _) in text.match_indices(spelling) {
            cover(start, start + spelling.len());
        }
    }
    for (at, c) in text.char_indices() {
        // The `<` of an escape has no content.
        let is_escape = text[at..].starts_with("<<|");
        let is_held = c.is_whitespace() || covered[at] || is_escape;
        let found = &parsed.diagnostics;
        assert!(is_held, "{format}: byte {at} of {text:?} is lost\n{found:#?}\n{options:?}");
    }
}

/// Returns the spans of the messages, tasks and files of a document in its text.
fn places(document: &Document<'_>, text: &str) -> Vec<(usize, usize)> {
    let messages = |conversation: &Conversation<'_>| -> Vec<_> {
        let spans = conversation.messages.iter().map(|message| message.span);
        spans.map(|span| (span.start, span.end)).collect()
    };
    let infill = |infill: &Infill<'_>| vec![(infill.span.start, infill.span.end)];
    match document {
        Document::Conversation(conversation) => messages(conversation),
        Document::Infill(task) => infill(task),
        Document::Files(parts) => parts
            .iter()
            .flat_map(|part| match &part.content {
                Content::Text(file) => pieces(file, text),
                Content::Conversation(conversation) => messages(conversation),
                Content::Infill(task) => infill(task),
                _ => Vec::new(),
            })
            .collect(),
        Document::Pair(pair) => {
            let mut places = messages(&pair.chosen);
            places.extend(messages(&pair.rejected).into_iter().skip(pair.shared()));
            places.sort_unstable();
            places
        }
        _ => Vec::new(),
    }
}

/// Finds the characters of a file in the text. A file has no span, and misplaced control tokens
/// between its characters may have been dropped.
fn pieces(file: &str, text: &str) -> Vec<(usize, usize)> {
    let controls = openchatml::dialects::OPENCHATML_0_1.controls.entries();
    let mut places = Vec::new();
    for (start, _) in text.char_indices() {
        let mut found = Vec::new();
        let (mut at, mut rest) = (start, file);
        while let Some(wanted) = rest.chars().next() {
            let here = &text[at..];
            let token = controls.iter().find(|(_, spelling)| here.starts_with(spelling));
            if let Some((_, spelling)) = token.filter(|(_, spelling)| !rest.starts_with(spelling)) {
                at += spelling.len();
            } else if here.starts_with(wanted) {
                found.push((at, at + wanted.len_utf8()));
                at += wanted.len_utf8();
                rest = &rest[wanted.len_utf8()..];
            } else {
                break;
            }
        }
        if rest.is_empty() {
            places.append(&mut found);
        }
    }
    places
}

/// Two conversations that differ only in hidden text look the same to a user, in text and in JSON,
/// as documents and as streams, or both are refused for the same reason.
///
/// # Panics
///
/// The property does not hold.
pub fn non_interference(one: &Document<'_>, two: &Document<'_>, format: Format) {
    let route = |document: &Document<'_>| {
        let text = render(document, format, &RenderOptions::default())?;
        let mut outcome = secrets::outcome(&text, format);
        outcome.takes =
            outcome.joins && secrets::takes(document, format, &RenderOptions::default());
        Ok(outcome)
    };
    secrets::leaks_nothing(one, &route, &format.to_string());
    secrets::ignores_secrets(one, two, &route, &format.to_string());
}

/// Returns what a user sees of a conversation: role, whether it is a preamble, and text.
pub fn seen(conversation: &Conversation<'_>) -> Vec<(String, bool, String)> {
    let view = Policy::default().view(conversation);
    let messages = view.messages();
    let seen = messages.map(|it| (it.role().to_string(), it.is_preamble(), it.text().to_owned()));
    seen.collect()
}

/// Converts events to JSON and joins adjacent deltas of one text.
pub fn joined(events: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for event in events {
        let delta = event.split_once(r#","delta":""#).map(|(head, text)| (head.len(), text));
        match (delta, out.last_mut()) {
            (Some((head, text)), Some(last)) if last.get(..head) == event.get(..head) => {
                last.truncate(last.len() - 2);
                last.push_str(text);
            }
            _ => out.push(event),
        }
    }
    out
}

/// Returns the event if a user may see it.
pub fn for_user(event: Event<'_>) -> Option<String> {
    event.for_user(Policy::default()).map(|event| event.to_json())
}
