//! Reads the captured events of a streamed response: the response is put together from its events
//! and read.

use std::collections::HashMap;
use std::mem::take;

use super::read::read_document;
use crate::Span;
use crate::diagnostic::quote;
use crate::json::{self, Data, Value, write_string, write_value};
use crate::model::{End, Message};
use crate::options::ReadOptions;
use crate::reading::Parsed;
use crate::services::Fields;
use crate::services::captured;
use crate::services::cut::is_stopped;
use crate::services::events::{
    EventReader, Merged, NO_EVENT, Rebuilt, containing, take_field, take_list, take_map, word_of,
};

/// Returns the type of the first event and its place, if a text is such a stream.
pub(super) fn find(text: &str) -> Option<(String, Span)> {
    let (kind, span) = captured::first_type(text)?;
    let is_start = kind == "message_start";
    // A capture can begin late. Other APIs have no such blocks.
    (is_start || kind.starts_with("content_block_")).then(|| (kind.into_owned(), span))
}

/// Reads the events.
pub(super) fn read<'a>(text: &'a str, options: &ReadOptions) -> Parsed<'a> {
    let mut reader = EventReader::new(options);
    let mut events = Events::default();
    reader.each(text, |reader, fields, span| events.read(reader, fields, span));
    events.finish(reader, text.len())
}

/// The events so far.
#[derive(Default)]
struct Events<'a> {
    messages: Vec<Streamed<'a>>,
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
    is_call: bool,
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

impl<'a> Events<'a> {
    /// The current message. A capture can begin inside of one.
    fn message(&mut self, span: Span) -> &mut Streamed<'a> {
        if self.messages.is_empty() {
            self.messages.push(Streamed { span, ..Streamed::default() });
        }
        self.messages.last_mut().expect("there is one")
    }

    /// Reads one event.
    fn read(&mut self, reader: &mut EventReader<'_>, mut fields: Fields<'a>, span: Span) {
        let kind = fields.iter().find(|field| field.0 == "type");
        let kind = kind.and_then(|it| it.1.as_str()).unwrap_or_default().to_owned();
        match kind.as_str() {
            "message_start" => {
                let mut fields = take_map(&mut fields, "message");
                // Usually, it is empty.
                let is_complete = true;
                let blocks = take_list(&mut fields, "content").into_iter().filter_map(|block| {
                    match block.data {
                        Data::Map(fields) => Some(StreamedBlock {
                            fields,
                            span,
                            is_complete,
                            ..StreamedBlock::default()
                        }),
                        _ => None,
                    }
                });
                let blocks = blocks.collect();
                self.messages.push(Streamed { fields, blocks, span, ..Streamed::default() });
            }
            "content_block_start" => {
                let index = word_of(&fields, "index");
                let fields = take_map(&mut fields, "content_block");
                let message = self.message(span);
                message.open.insert(index, message.blocks.len());
                // Also `server_tool_use`.
                let is_call = word_of(&fields, "type").ends_with("tool_use\"");
                let block = StreamedBlock { fields, is_call, span, ..StreamedBlock::default() };
                message.blocks.push(block);
            }
            "content_block_delta" => self.read_delta(reader, fields, span),
            "content_block_stop" => match self.block(&word_of(&fields, "index")) {
                Some(block) => {
                    (block.is_complete, block.span.end) = (true, span.end);
                    self.message(span).open.remove(&word_of(&fields, "index"));
                }
                None => reader.drop(span, "the event ends a block that is not open"),
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
                let error = take_field(&mut fields, "error").unwrap_or_default();
                reader.failed(&error, span);
            }
            "" => reader.drop(span, NO_EVENT),
            // The service may add events.
            kind => reader.tolerate(span, format!("unknown event {}: it is ignored", quote(kind))),
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

    fn read_delta(&mut self, reader: &mut EventReader<'_>, mut fields: Fields<'a>, span: Span) {
        let index = word_of(&fields, "index");
        let mut delta = take_map(&mut fields, "delta");
        let kind = delta.iter().find(|field| field.0 == "type").and_then(|it| it.1.as_str());
        let key = match kind.unwrap_or_default() {
            "text_delta" => "text",
            "thinking_delta" => "thinking",
            "signature_delta" => "signature",
            "input_json_delta" => "partial_json",
            "citations_delta" => "citation",
            kind => {
                return reader.drop(span, format!("unknown delta {}", quote(kind)));
            }
        };
        let Some(value) = take_field(&mut delta, key) else {
            return reader.drop(span, format!("the delta has no `{key}`"));
        };
        let Some(block) = self.block(&index) else {
            return reader.drop(span, "the event belongs to no open block");
        };
        block.span.end = span.end;
        match (key, value.as_str()) {
            ("citation", _) => block.citations.push(value),
            ("text", Some(text)) => block.text.push_str(text),
            ("thinking", Some(text)) => block.thinking.push_str(text),
            ("signature", Some(text)) => block.signature.push_str(text),
            (_, Some(text)) => block.input.push_str(text),
            (_, None) => reader.drop(span, format!("`{key}` must be a string")),
        }
    }

    /// Reads the messages.
    fn finish<'t>(mut self, mut reader: EventReader<'_>, len: usize) -> Parsed<'t> {
        let limits = &reader.options.limits;
        let (mut replaced, mut wrong) = (Vec::new(), Vec::new());
        let blocks = self.messages.iter_mut().flat_map(|message| {
            let reason = message.changes.iter().find(|field| field.0 == "stop_reason");
            let is_stopped = reason.is_some_and(|field| is_stopped(&field.1));
            message.blocks.iter_mut().map(move |block| (block, is_stopped))
        });
        for (block, is_stopped) in blocks {
            let input = &block.input;
            let is_given = |field: &(_, Value<'_>)| {
                field.0 == "input" && field.1.as_map().is_none_or(|fields| !fields.is_empty())
            };
            if !input.is_empty() && block.fields.iter().any(is_given) {
                replaced.push(block.span);
            }
            block.has_cut_input = !input.is_empty() && json::check(input, limits).error.is_some();
            if block.has_cut_input && block.is_complete && !is_stopped {
                wrong.push(block.span);
            }
        }
        for span in replaced {
            reader.drop(span, "the call has an `input` and deltas of another: the deltas are used");
        }
        for span in wrong {
            reader.wrong_input(span);
        }
        for Streamed { span, .. } in self.messages.iter().filter(|it| !it.is_complete) {
            reader.incomplete(span.end, "message_stop");
        }
        let mut response = Rebuilt::new(len);
        write(&mut response, &mut self.messages);
        reader.finish(&response, read_document, |messages| cut(&self.messages, messages))
    }
}

/// Marks the messages inside of which the stream or the model stopped.
fn cut(streamed: &[Streamed<'_>], messages: &mut [Message<'_>]) {
    let mut last = vec![None; streamed.len()];
    for (at, message) in messages.iter_mut().enumerate() {
        let Some(of) = containing(streamed, |it| it.span, message.span.start) else { continue };
        last[of] = Some(at);
        let Streamed { blocks, span, .. } = &streamed[of];
        // The first message has the place of the whole, and so has text.
        let block = match message.span == *span {
            false => containing(blocks, |it| it.span, message.span.start),
            true => blocks.iter().position(|block| block.is_call).filter(|_| message.is_call()),
        };
        if let Some(block) = block
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

/// Writes the messages as the service writes them without streaming.
fn write(response: &mut Rebuilt, messages: &mut [Streamed<'_>]) {
    let is_single = messages.len() == 1;
    response.text.push_str(if is_single { "" } else { "[" });
    for (at, message) in messages.iter_mut().enumerate() {
        response.text.push_str(if at > 0 { "," } else { "" });
        response.outer(message.span, |response| message.write(response));
    }
    response.text.push_str(if is_single { "" } else { "]" });
}

impl Streamed<'_> {
    fn write(&mut self, response: &mut Rebuilt) {
        response.text.push_str("{\"content\":[");
        for (at, block) in self.blocks.iter_mut().enumerate() {
            response.text.push_str(if at > 0 { "," } else { "" });
            response.inner(block.span, |out| block.write(out));
        }
        response.text.push(']');
        let mut fields = take(&mut self.fields);
        if fields.is_empty() {
            let word = |word: &'static str| Data::String(word.into()).into();
            fields.push(("type".into(), word("message")));
            fields.push(("role".into(), word("assistant")));
        }
        let mut usage = Merged::default();
        usage.set_all(take_map(&mut fields, "usage"));
        usage.set_all(take(&mut self.usage));
        let mut all = Merged::default();
        all.set_all(fields);
        all.set_all(take(&mut self.changes));
        if !usage.is_empty() {
            all.set("usage".into(), usage.into_value());
        }
        all.write(&mut response.text);
        response.text.push('}');
    }
}

impl StreamedBlock<'_> {
    fn write(&mut self, out: &mut String) {
        let mut fields = take(&mut self.fields);
        let texts = [
            ("text", &mut self.text),
            ("thinking", &mut self.thinking),
            ("signature", &mut self.signature),
        ];
        for (key, text) in texts.into_iter().filter(|it| !it.1.is_empty()) {
            let before = take_field(&mut fields, key);
            let mut whole = before.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
            whole.push_str(text);
            fields.push((key.into(), Data::String(whole.into()).into()));
        }
        if !self.citations.is_empty() {
            let before = take_field(&mut fields, "citations").map(|value| value.data);
            let mut citations = if let Some(Data::List(list)) = before { list } else { Vec::new() };
            citations.append(&mut self.citations);
            fields.push(("citations".into(), Data::List(citations).into()));
        }
        if !self.input.is_empty() {
            fields.retain(|field| field.0 != "input");
        }
        let mut before = "{";
        for (key, value) in &fields {
            out.push_str(std::mem::replace(&mut before, ","));
            write_string(out, key);
            out.push(':');
            write_value(out, value);
        }
        if !self.input.is_empty() {
            out.push_str(std::mem::replace(&mut before, ","));
            out.push_str("\"input\":");
            match self.has_cut_input {
                true => write_string(out, &self.input),
                false => out.push_str(&self.input),
            }
        }
        out.push_str(if before == "{" { "{}" } else { "}" });
    }

    fn is_cut(&self) -> bool {
        !self.is_complete || self.has_cut_input
    }
}
