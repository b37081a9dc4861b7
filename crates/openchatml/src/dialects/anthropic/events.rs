//! Reads the captured events of a streamed response: the response is put together from its events
//! and read.

use std::borrow::Cow;
use std::collections::HashMap;
use std::mem::take;

use super::read::read_document;
use crate::diagnostic::quote;
use crate::json::{self, Data, Json, Repair, Value, write_string, write_value};
use crate::limits::Limits;
use crate::model::{Document, End, Message};
use crate::options::{Mode, ReadOptions};
use crate::reading::{Findings, Parsed};
use crate::services::captured::{self, Line};
use crate::services::write_field;
use crate::{Code, Diagnostic, Dropped, Severity, Span};

/// Returns the type of the first event and its place, if a text is such a stream.
pub(super) fn find(text: &str) -> Option<(String, Span)> {
    let (kind, span) = captured::first_type(text)?;
    let is_start = kind == "message_start";
    // A capture can begin late. Other APIs have no such blocks.
    (is_start || kind.starts_with("content_block_")).then(|| (kind.into_owned(), span))
}

/// Reads the events.
pub(super) fn read<'a>(text: &'a str, options: &ReadOptions) -> Parsed<'a> {
    let mut reader = EventReader {
        limits: &options.limits,
        mode: options.mode,
        messages: Vec::new(),
        found: Vec::new(),
        findings: Findings::default(),
    };
    match captured::events(text, &options.limits) {
        Ok(lines) => {
            for line in lines {
                match line {
                    Line::Event(event, span) => reader.read(event, span),
                    Line::Other(span) => reader.drop(span, "the line is not an event"),
                }
            }
        }
        Err(error) => reader.drop(error.span, error.message),
    }
    reader.finish(text.len(), options)
}

type Fields<'a> = Vec<(Cow<'a, str>, Value<'a>)>;

/// The events so far.
struct EventReader<'a, 'o> {
    limits: &'o Limits,
    mode: Mode,
    messages: Vec<Streamed<'a>>,
    found: Vec<Diagnostic>,
    findings: Findings,
}

/// A message of a stream.
#[derive(Default)]
struct Streamed<'a> {
    fields: Fields<'a>,
    /// The fields that later events set, in order.
    changes: Fields<'a>,
    usage: Fields<'a>,
    blocks: Vec<StreamedBlock<'a>>,
    /// The blocks that are not complete, by their indices in the events.
    open: HashMap<String, usize>,
    /// The place of its events.
    span: Span,
    is_complete: bool,
}

/// A block of content.
#[derive(Default)]
struct StreamedBlock<'a> {
    fields: Fields<'a>,
    text: String,
    thinking: String,
    signature: String,
    /// The JSON of the input of a call.
    input: String,
    /// Whether that is not valid JSON, because the model stopped.
    has_cut_input: bool,
    citations: Vec<Value<'a>>,
    span: Span,
    is_complete: bool,
}

impl<'a> EventReader<'a, '_> {
    fn report(&mut self, found: Diagnostic) {
        self.found.extend(self.findings.report(found, self.limits));
    }

    fn drop(&mut self, span: Span, text: impl Into<String>) {
        self.report(Code::ParseJson.at(span, text).drops(Dropped::Item));
    }

    fn tolerate(&mut self, span: Span, text: String) {
        let severity = match self.mode {
            Mode::Strict => Severity::Error,
            Mode::Lenient => Severity::Warning,
        };
        self.report(Code::ParseJson.at(span, text).severity(severity));
    }

    /// The current message. A capture can begin inside of one.
    fn message(&mut self, span: Span) -> &mut Streamed<'a> {
        if self.messages.is_empty() {
            self.messages.push(Streamed { span, ..Streamed::default() });
        }
        self.messages.last_mut().expect("there is one")
    }

    /// Parses the JSON of an event.
    fn parse(&mut self, event: &'a str, span: Span) -> Option<Fields<'a>> {
        let mut json = Json::new(event, self.limits).repairing();
        let value = json.value().and_then(|value| json.end().map(|()| value));
        let place = |inner: Span| Span::new(span.start + inner.start, span.start + inner.end);
        for (at, repair) in json.take_repaired() {
            let found = Code::ParseJson.at(place(at), repair.as_str());
            self.report(match repair {
                Repair::HalfPair => found.drops(Dropped::Value).help("U+FFFD replaces it"),
                Repair::Control | Repair::Comma => found,
            });
        }
        for (key, at) in json.take_duplicates() {
            let found = Code::DuplicateKey.at(place(at), format!("duplicate key {}", quote(&key)));
            self.report(found.drops(Dropped::Duplicate).help("the last value is used"));
        }
        match value {
            Ok(Value { data: Data::Map(fields), .. }) => return Some(fields),
            Ok(_) => self.drop(span, "an event must be an object"),
            Err(error) => self.drop(place(error.span), error.message),
        }
        None
    }

    /// Reads one event.
    fn read(&mut self, event: &'a str, span: Span) {
        let Some(mut fields) = self.parse(event, span) else { return };
        let kind = fields.iter().find(|field| field.0 == "type");
        let kind = kind.and_then(|it| it.1.as_str()).unwrap_or_default().to_owned();
        match kind.as_str() {
            "message_start" => {
                let mut fields = take_map(&mut fields, "message");
                // Usually, it is empty.
                let content = take_field(&mut fields, "content").map(|value| value.data);
                let content = if let Some(Data::List(list)) = content { list } else { Vec::new() };
                let is_complete = true;
                let blocks = content.into_iter().filter_map(|block| match block.data {
                    Data::Map(fields) => Some(StreamedBlock {
                        fields,
                        span,
                        is_complete,
                        ..StreamedBlock::default()
                    }),
                    _ => None,
                });
                let blocks = blocks.collect();
                self.messages.push(Streamed { fields, blocks, span, ..Streamed::default() });
            }
            "content_block_start" => {
                let index = index_of(&fields);
                let fields = take_map(&mut fields, "content_block");
                let message = self.message(span);
                message.open.insert(index, message.blocks.len());
                message.blocks.push(StreamedBlock { fields, span, ..StreamedBlock::default() });
            }
            "content_block_delta" => self.read_delta(fields, span),
            "content_block_stop" => match self.block(&index_of(&fields)) {
                Some(block) => {
                    (block.is_complete, block.span.end) = (true, span.end);
                    self.message(span).open.remove(&index_of(&fields));
                }
                None => self.drop(span, "the event ends a block that is not open"),
            },
            "message_delta" => {
                let changes = take_map(&mut fields, "delta");
                let usage = take_map(&mut fields, "usage");
                let message = self.message(span);
                message.changes.extend(changes);
                message.usage.extend(usage);
            }
            "message_stop" => self.message(span).is_complete = true,
            "ping" => {}
            "error" => {
                let error = Value::from(Data::Map(take_map(&mut fields, "error")));
                let text = error.get("message").and_then(Value::as_str).unwrap_or_default();
                let text = format!("the service reports an error: {}", quote(text));
                self.report(Code::StreamTruncated.at(span, text));
            }
            // The service may add events.
            kind => self.tolerate(span, format!("unknown event {}: it is ignored", quote(kind))),
        }
        if let Some(message) = self.messages.last_mut() {
            message.span.end = span.end;
        }
    }

    /// Returns the open block with this index.
    fn block(&mut self, index: &str) -> Option<&mut StreamedBlock<'a>> {
        let message = self.messages.last_mut()?;
        message.blocks.get_mut(*message.open.get(index)?)
    }

    fn read_delta(&mut self, mut fields: Fields<'a>, span: Span) {
        let index = index_of(&fields);
        let mut delta = take_map(&mut fields, "delta");
        let kind = delta.iter().find(|field| field.0 == "type").and_then(|it| it.1.as_str());
        let key = match kind.unwrap_or_default() {
            "text_delta" => "text",
            "thinking_delta" => "thinking",
            "signature_delta" => "signature",
            "input_json_delta" => "partial_json",
            "citations_delta" => "citation",
            kind => {
                let text = format!("unknown delta {}: it is ignored", quote(kind));
                return self.tolerate(span, text);
            }
        };
        let Some(value) = take_field(&mut delta, key) else {
            return self.drop(span, format!("the delta has no `{key}`"));
        };
        let Some(block) = self.block(&index) else {
            return self.drop(span, "the event belongs to no open block");
        };
        block.span.end = span.end;
        match (key, value.as_str()) {
            ("citation", _) => block.citations.push(value),
            ("text", Some(text)) => block.text.push_str(text),
            ("thinking", Some(text)) => block.thinking.push_str(text),
            ("signature", Some(text)) => block.signature.push_str(text),
            (_, Some(text)) => block.input.push_str(text),
            (_, None) => self.drop(span, format!("`{key}` must be a string")),
        }
    }

    /// Reads the messages, and moves their places to those of the events.
    fn finish<'t>(mut self, len: usize, options: &ReadOptions) -> Parsed<'t> {
        for block in self.messages.iter_mut().flat_map(|message| &mut message.blocks) {
            let input = &block.input;
            block.has_cut_input =
                !input.is_empty() && json::check(input, self.limits).error.is_some();
        }
        for at in 0..self.messages.len() {
            let Streamed { span, is_complete, .. } = self.messages[at];
            if !is_complete {
                let text = "the stream ends before `message_stop`";
                let found = Code::StreamTruncated.at(Span::at(span.end), text);
                self.report(found.help("the response is incomplete"));
            }
        }
        let mut written = Written { all: Span::new(0, len), ..Written::default() };
        written.list(&mut self.messages);
        let Parsed { document, mut diagnostics } = read_document(&written.text, options);
        let mut document = document.into_owned();
        for found in &mut diagnostics {
            found.span = written.place(found.span);
            found.fix = None;
        }
        if let Document::Conversation(conversation) = &mut document {
            for message in &mut conversation.messages {
                relocate(message, |span| written.place(span));
            }
            cut(&self.messages, &mut conversation.messages);
        }
        for found in diagnostics {
            self.report(found);
        }
        // Sorted by place. The diagnostic about the limit comes last.
        let shown = self.found.len().min(self.limits.diagnostics);
        self.found[..shown].sort_by_key(|found| found.span.start);
        Parsed { document, diagnostics: self.found }
    }
}

/// Marks the messages inside of which the stream or the model stopped.
fn cut(streamed: &[Streamed<'_>], messages: &mut [Message<'_>]) {
    let mut last = vec![None; streamed.len()];
    for (at, message) in messages.iter_mut().enumerate() {
        let Some(of) = containing(streamed, |it| it.span, message.span.start) else { continue };
        last[of] = Some(at);
        let Streamed { blocks, span, .. } = &streamed[of];
        // Text has the place of the whole message.
        let block = containing(blocks, |it| it.span, message.span.start);
        if let Some(block) = block.filter(|_| message.span != *span)
            && blocks[block].is_cut()
        {
            message.end = End::Open;
        }
    }
    for (streamed, last) in streamed.iter().zip(last) {
        let is_cut = streamed.blocks.last().is_some_and(StreamedBlock::is_cut);
        if let Some(last) = last.filter(|_| is_cut) {
            messages[last].end = End::Open;
        }
    }
}

/// Returns the index of the item that contains a place, of items in order.
fn containing<T>(items: &[T], span: impl Fn(&T) -> Span, at: usize) -> Option<usize> {
    let after = items.partition_point(|item| span(item).start <= at);
    after.checked_sub(1).filter(|found| at <= span(&items[*found]).end)
}

/// The messages as the service writes them without streaming.
#[derive(Default)]
struct Written {
    text: String,
    /// The places of the messages in this text, and of their events.
    messages: Vec<(Span, Span)>,
    /// The places of the blocks.
    blocks: Vec<(Span, Span)>,
    /// The whole stream.
    all: Span,
}

impl Written {
    fn list(&mut self, messages: &mut [Streamed<'_>]) {
        let is_single = messages.len() == 1;
        self.text.push_str(if is_single { "" } else { "[" });
        for (at, message) in messages.iter_mut().enumerate() {
            self.text.push_str(if at > 0 { "," } else { "" });
            let start = self.text.len();
            self.message(message);
            self.messages.push((Span::new(start, self.text.len()), message.span));
        }
        self.text.push_str(if is_single { "" } else { "]" });
    }

    fn message(&mut self, message: &mut Streamed<'_>) {
        self.text.push_str("{\"content\":[");
        for (at, block) in message.blocks.iter_mut().enumerate() {
            self.text.push_str(if at > 0 { "," } else { "" });
            let start = self.text.len();
            self.block(block);
            self.blocks.push((Span::new(start, self.text.len()), block.span));
        }
        self.text.push(']');
        let mut fields = take(&mut message.fields);
        if fields.is_empty() {
            let word = |word: &'static str| Data::String(word.into()).into();
            fields.push(("type".into(), word("message")));
            fields.push(("role".into(), word("assistant")));
        }
        let mut usage = take_map(&mut fields, "usage");
        usage.append(&mut message.usage);
        fields.append(&mut message.changes);
        if !usage.is_empty() {
            fields.push(("usage".into(), Data::Map(last_of_each(usage)).into()));
        }
        for (key, value) in last_of_each(fields) {
            write_field(&mut self.text, &key, &value);
        }
        self.text.push('}');
    }

    fn block(&mut self, block: &mut StreamedBlock<'_>) {
        let mut fields = take(&mut block.fields);
        let texts = [
            ("text", &mut block.text),
            ("thinking", &mut block.thinking),
            ("signature", &mut block.signature),
        ];
        for (key, text) in texts.into_iter().filter(|it| !it.1.is_empty()) {
            let before = take_field(&mut fields, key);
            let mut whole = before.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
            whole.push_str(text);
            fields.push((key.into(), Data::String(whole.into()).into()));
        }
        if !block.citations.is_empty() {
            let before = take_field(&mut fields, "citations").map(|value| value.data);
            let mut citations = if let Some(Data::List(list)) = before { list } else { Vec::new() };
            citations.append(&mut block.citations);
            fields.push(("citations".into(), Data::List(citations).into()));
        }
        if !block.input.is_empty() {
            fields.retain(|field| field.0 != "input");
        }
        let out = &mut self.text;
        let mut before = "{";
        for (key, value) in &fields {
            out.push_str(std::mem::replace(&mut before, ","));
            write_string(out, key);
            out.push(':');
            write_value(out, value);
        }
        if !block.input.is_empty() {
            out.push_str(std::mem::replace(&mut before, ","));
            out.push_str("\"input\":");
            match block.has_cut_input {
                true => write_string(out, &block.input),
                false => out.push_str(&block.input),
            }
        }
        out.push_str(if before == "{" { "{}" } else { "}" });
    }

    /// Returns the place in the stream.
    fn place(&self, span: Span) -> Span {
        let of = |at: usize| {
            let of = |places: &[(Span, Span)]| {
                containing(places, |it| it.0, at).map(|found| places[found].1)
            };
            of(&self.blocks).or_else(|| of(&self.messages)).unwrap_or(self.all)
        };
        let start = of(span.start).start;
        Span::new(start, of(span.end).end.max(start))
    }
}

impl StreamedBlock<'_> {
    fn is_cut(&self) -> bool {
        !self.is_complete || self.has_cut_input
    }
}

/// Moves the places of a message.
fn relocate(message: &mut Message<'_>, place: impl Fn(Span) -> Span) {
    message.span = place(message.span);
    (message.body_at, message.pieces) = (0, None);
    let beyond = message.layout.as_mut().and_then(|layout| layout.beyond.as_mut());
    if let Some(beyond) = beyond {
        for item in beyond.items.iter_mut().chain(&mut beyond.after) {
            item.span = place(item.span);
        }
    }
}

fn index_of(fields: &Fields<'_>) -> String {
    let index = fields.iter().find(|field| field.0 == "index");
    index.map_or_else(String::new, |field| field.1.to_json())
}

fn take_field<'a>(fields: &mut Fields<'a>, key: &str) -> Option<Value<'a>> {
    let at = fields.iter().position(|field| field.0 == key)?;
    Some(fields.remove(at).1)
}

fn take_map<'a>(fields: &mut Fields<'a>, key: &str) -> Fields<'a> {
    match take_field(fields, key).map(|value| value.data) {
        Some(Data::Map(map)) => map,
        _ => Fields::new(),
    }
}

/// Returns each key once, at its first place and with its last value.
fn last_of_each<'a>(fields: Fields<'a>) -> Fields<'a> {
    let mut places = HashMap::new();
    let mut merged = Fields::new();
    for (key, value) in fields {
        match places.get(&key) {
            Some(at) => {
                let field: &mut (Cow<'a, str>, Value<'a>) = &mut merged[*at];
                field.1 = value;
            }
            None => {
                places.insert(key.clone(), merged.len());
                merged.push((key, value));
            }
        }
    }
    merged
}
