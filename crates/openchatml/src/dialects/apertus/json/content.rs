//! Reads the content of messages, in each of its forms.

use std::borrow::Cow;

use crate::diagnostic::{did_you_mean, quote};
use crate::document::{DocumentReader, Written, same};
use crate::json::{Data, Json, JsonError, Value};
use crate::model::Role;
use crate::{Code, Dropped, Span};

type Result<T> = std::result::Result<T, JsonError>;

/// Content and its position.
#[derive(Debug)]
pub(super) struct Said<'a> {
    pub(super) content: Content<'a>,
    /// Its value, if it contains more than its text.
    pub(super) value: Option<Value<'a>>,
    /// Its JSON.
    pub(super) raw: &'a str,
    pub(super) place: Span,
}

/// The content of a message.
#[derive(Debug)]
pub(super) enum Content<'a> {
    /// A string.
    Text(Written<'a>),
    /// An object with `text`.
    System(Written<'a>),
    /// An object with `parts`, and the text of all parts.
    Parts(Written<'a>),
    /// An object with `blocks`.
    Blocks(Vec<Block<'a>>),
    /// Something else.
    Other,
}

/// A block of a message of the assistant.
#[derive(Debug)]
pub(super) struct Block<'a> {
    pub(super) says: Says<'a>,
    pub(super) span: Span,
}

#[derive(Debug)]
pub(super) enum Says<'a> {
    Thoughts(Written<'a>),
    Response(Written<'a>),
    Calls(Vec<Call<'a>>),
    Outputs(Vec<(Written<'a>, Span)>),
}

/// A call of a tool, by its name without namespace.
#[derive(Debug, Default)]
pub(super) struct Call<'a> {
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) name: Option<Cow<'a, str>>,
    pub(super) arguments: Written<'a>,
    pub(super) span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Thoughts,
    Calls,
    Outputs,
    Response,
}

impl Kind {
    const WORDS: &[&str] = &["thoughts", "tool_calls", "tool_outputs", "response"];

    /// Returns the key of the content of a block of this type.
    fn key(self) -> &'static str {
        match self {
            Self::Thoughts | Self::Response => "text",
            Self::Calls => "calls",
            Self::Outputs => "outputs",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "thoughts" => Self::Thoughts,
            "tool_calls" => Self::Calls,
            "tool_outputs" => Self::Outputs,
            "response" => Self::Response,
            _ => return None,
        })
    }
}

/// Reads the content of a message. `role` is `None` if the role was not read yet.
pub(super) fn read<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    role: Option<Role>,
) -> Result<Said<'a>> {
    let start = json.offset();
    let (content, value) = match json.peek() {
        _ if role == Some(Role::Tool) => (Content::Text(said(reader, json)?), None),
        Some(b'"') => (Content::Text(reader.written(json)?.unwrap_or_default()), None),
        Some(b'{') => mapping(reader, json)?,
        _ => {
            // The role decides which form is expected.
            json.skip()?;
            (Content::Other, None)
        }
    };
    let place = Span::new(start, json.position());
    Ok(Said { content, value, raw: json.since(start), place })
}

fn mapping<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
) -> Result<(Content<'a>, Option<Value<'a>>)> {
    let mut content = Content::Other;
    let mut value = None;
    const KEYS: &[&str] = &["text", "parts", "blocks"];
    reader.object_of(json, KEYS, &[same(KEYS, KEYS)], |reader, json, key| {
        value = None;
        content = match key {
            "text" => {
                let text = reader.written(json)?.unwrap_or_default();
                value = Some(text_of(&text));
                Content::System(text)
            }
            "parts" => {
                let texts = parts(reader, json)?;
                let items = texts.iter().map(part_of).collect();
                value = Some(Data::Map(vec![("parts".into(), Data::List(items).into())]).into());
                Content::Parts(Written::joined(texts))
            }
            _ => Content::Blocks(blocks(reader, json)?),
        };
        Ok(())
    })?;
    Ok((content, value))
}

fn text_of<'a>(text: &Written<'a>) -> Value<'a> {
    Data::Map(vec![("text".into(), string_of(text))]).into()
}

fn part_of<'a>(text: &Written<'a>) -> Value<'a> {
    Data::Map(vec![("type".into(), "text".into()), ("text".into(), string_of(text))]).into()
}

fn string_of<'a>(text: &Written<'a>) -> Value<'a> {
    Data::String(text.body.clone().into_text()).into()
}

fn parts<'a>(reader: &mut DocumentReader<'_>, json: &mut Json<'a>) -> Result<Vec<Written<'a>>> {
    let mut texts: Vec<Written<'a>> = Vec::new();
    reader.array(json, |reader, json| {
        let (mut text, mut kind) = (None, None);
        let start = json.offset();
        let span = reader.object(json, &["type", "text"], |reader, json, key| {
            match key {
                "type" => kind = reader.text(json)?,
                _ => text = reader.written(json)?,
            }
            Ok(())
        })?;
        let is_text = kind.as_deref() == Some("text");
        match text {
            Some(text) if is_text => texts.push(text),
            None if is_text => missing(reader, json, start, "a part must have a `text`"),
            _ if span.is_none() => {}
            _ => missing(reader, json, start, "the type of a part must be `text`"),
        }
        Ok(())
    })?;
    Ok(texts)
}

fn missing(reader: &mut DocumentReader<'_>, json: &Json<'_>, start: usize, text: &'static str) {
    reader.drop_item(Code::ParseJson.at(Span::new(start, json.position()), text));
}

fn blocks<'a>(reader: &mut DocumentReader<'_>, json: &mut Json<'a>) -> Result<Vec<Block<'a>>> {
    let mut blocks = Vec::new();
    reader.array(json, |reader, json| {
        let (mut word, mut text, mut calls, mut outputs) = (None, None, None, None);
        let mut places: Vec<(&str, Span)> = Vec::new();
        let start = json.offset();
        let keys = ["type", "text", "calls", "outputs"];
        let span = reader.object(json, &keys, |reader, json, key| {
            let (start, is_null) = (json.offset(), json.peek() == Some(b'n'));
            match key {
                "type" => word = reader.text(json)?,
                "text" => text = reader.written(json)?,
                "calls" => calls = Some(self::calls(reader, json)?),
                _ => outputs = Some(self::outputs(reader, json)?),
            }
            if key != "type" && !is_null {
                places.push((key, Span::new(start, json.position())));
            }
            Ok(())
        })?;
        let Some(span) = span else { return Ok(()) };
        let kind = word.as_deref().and_then(Kind::from_word);
        let says = match kind {
            Some(Kind::Thoughts) if text.is_some() => text.map(Says::Thoughts),
            Some(Kind::Response) if text.is_some() => text.map(Says::Response),
            Some(Kind::Calls) if calls.is_some() => calls.map(Says::Calls),
            Some(Kind::Outputs) if outputs.is_some() => outputs.map(Says::Outputs),
            None => {
                let word = word.unwrap_or_default();
                let text = match word.is_empty() {
                    true => "a block must have a `type`".to_owned(),
                    false => format!("unknown block type {}", quote(&word)),
                };
                let help = did_you_mean(&word, Kind::WORDS, "the block will be dropped");
                reader.drop_item(Code::ParseJson.at(span, text).help(help));
                None
            }
            Some(kind) => {
                let text = match kind {
                    Kind::Thoughts | Kind::Response => "a block of this type must have a `text`",
                    Kind::Calls => "a block of this type must have `calls`",
                    Kind::Outputs => "a block of this type must have `outputs`",
                };
                missing(reader, json, start, text);
                None
            }
        };
        let own = kind.map_or("", Kind::key);
        for (key, place) in places.into_iter().filter(|(key, _)| says.is_some() && *key != own) {
            let text =
                format!("`{key}` is not allowed in a block of this type: it will be dropped");
            reader.drop_value(Code::ParseJson.at(place, text));
        }
        blocks.extend(says.map(|says| Block { says, span }));
        Ok(())
    })?;
    Ok(blocks)
}

fn calls<'a>(reader: &mut DocumentReader<'_>, json: &mut Json<'a>) -> Result<Vec<Call<'a>>> {
    let mut calls = Vec::new();
    reader.array(json, |reader, json| {
        let mut call = Call::default();
        let span = reader.object(json, &["name", "arguments", "id"], |reader, json, key| {
            field(reader, json, key, &mut call)
        })?;
        push(reader, &mut calls, call, span);
        Ok(())
    })?;
    Ok(calls)
}

fn push<'a>(
    reader: &mut DocumentReader<'_>,
    calls: &mut Vec<Call<'a>>,
    mut call: Call<'a>,
    span: Option<Span>,
) {
    let Some(span) = span else { return };
    call.span = span;
    if call.name.is_none() {
        reader.drop_item(Code::ParseJson.at(span, "a call must have a `name`"));
    } else {
        calls.push(call);
    }
}

fn field<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    key: &str,
    call: &mut Call<'a>,
) -> Result<()> {
    match key {
        "name" => call.name = reader.text(json)?,
        "id" => call.id = reader.text(json)?,
        _ if json.peek() == Some(b'"') => {
            call.arguments = reader.written(json)?.unwrap_or_default();
        }
        _ => {
            // The template accepts only text, but the meaning is clear.
            let (written, span) = spelled(reader, json)?;
            let found = Code::ParseJson.at(span, "arguments must be a string with JSON");
            reader.tolerate(found.help("the JSON value is used"));
            call.arguments = written;
        }
    }
    Ok(())
}

fn outputs<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
) -> Result<Vec<(Written<'a>, Span)>> {
    let mut outputs = Vec::new();
    reader.array(json, |reader, json| {
        let mut output = None;
        let span = reader.object(json, &["output"], |reader, json, _| {
            output = Some(said(reader, json)?);
            Ok(())
        })?;
        let Some(span) = span else { return Ok(()) };
        match output {
            Some(output) => outputs.push((output, span)),
            None => reader.drop_item(Code::ParseJson.at(span, "an output must have an `output`")),
        }
        Ok(())
    })?;
    Ok(outputs)
}

/// Reads the output of a tool, which is text.
pub(super) fn said<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
) -> Result<Written<'a>> {
    if json.peek() == Some(b'"') {
        return Ok(reader.written(json)?.unwrap_or_default());
    }
    let (written, span) = spelled(reader, json)?;
    reader.report(Code::ParseJson.at(span, TOOLS_SAY).help("the JSON value is used"));
    Ok(written)
}

pub(super) const TOOLS_SAY: &str = "the output of a tool must be a string";

/// Reads the source text of a value.
fn spelled<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
) -> Result<(Written<'a>, Span)> {
    let start = json.offset();
    json.skip()?;
    let span = Span::new(start, json.position());
    Ok((taken(reader, json.since(start), span), span))
}

/// Returns the source text of the value at `span`.
pub(super) fn taken<'a>(reader: &mut DocumentReader<'_>, raw: &'a str, span: Span) -> Written<'a> {
    let most = reader.options.limits.message_bytes;
    if raw.len() <= most {
        return Written::new(raw.into(), span.start);
    }
    let text = format!("the value exceeds the limit `message_bytes` of {most}");
    reader.report(Code::Limit.at(span, text).help("it will be dropped").drops(Dropped::Limit));
    Written::default()
}

/// Reads `tool_calls` in the form of OpenAI.
pub(super) fn tool_calls<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
) -> Result<Vec<Call<'a>>> {
    let mut calls = Vec::new();
    reader.array(json, |reader, json| {
        let mut call = Call::default();
        let span = reader.object(json, &["id", "type", "function"], |reader, json, key| {
            match key {
                "id" => call.id = reader.text(json)?,
                "type" => {
                    let known = |word: &str| (word == "function").then_some(());
                    reader.word(json, "tool call type", &["function"], known)?;
                }
                _ => {
                    reader.object(json, &["name", "arguments"], |reader, json, key| {
                        field(reader, json, key, &mut call)
                    })?;
                }
            }
            Ok(())
        })?;
        push(reader, &mut calls, call, span);
        Ok(())
    })?;
    Ok(calls)
}
