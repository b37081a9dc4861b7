//! Reads YAML into [`Value`]s, with the place and the spelling of each value.

use std::borrow::Cow;
use std::collections::BTreeMap;

use granit_parser::{Event, Parser, ScalarStyle, ScanError, Span as YamlSpan, StrInput};

use crate::diagnostic::quote;
use crate::json::{Data, Value};
use crate::lex::spells_token;
use crate::limits::{DEEPEST, Limits};
use crate::{Code, Diagnostic, Header, Span};

/// Reads the text of a header, which begins at byte `base` of the input.
///
/// Returns the header (empty for invalid YAML) and the diagnostics.
pub(crate) fn read<'a>(
    text: Cow<'a, str>,
    base: usize,
    limits: &Limits,
) -> (Header<'a>, Vec<Diagnostic>) {
    let mut found = Vec::new();
    if let Some(header) = minimal(&text, base) {
        return (header.with_source(text), found);
    }
    let fields = match &text {
        Cow::Borrowed(text) => fields(text, base, limits, &mut found),
        Cow::Owned(text) => fields(text, base, limits, &mut found)
            .into_iter()
            .map(|(key, value)| (Cow::Owned(key.into_owned()), value.into_owned()))
            .collect(),
    };
    (Header::from_fields(fields).with_source(text), found)
}

/// Reads the header of nearly all generated transcripts, which contains only `version: 2.2`,
/// without a YAML parser. Creating the parser would cost more than reading the messages.
fn minimal<'a>(text: &Cow<'a, str>, base: usize) -> Option<Header<'a>> {
    let version = text.strip_prefix("version: ")?.trim_end_matches('\n');
    let (major, minor) = version.split_once('.')?;
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(major) || !digits(minor) {
        return None;
    }
    let start = "version: ".len();
    let span = Span::new(start, start + version.len());
    let spelling = match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[span.range()]),
        Cow::Owned(text) => Cow::Owned(text[span.range()].to_owned()),
    };
    let value = Value { data: Data::Number(spelling), span: span.shift(base) };
    Some(Header::from_fields(vec![("version".into(), value)]))
}

type Fields<'a> = Vec<(Cow<'a, str>, Value<'a>)>;

fn fields<'a>(
    text: &'a str,
    base: usize,
    limits: &Limits,
    found: &mut Vec<Diagnostic>,
) -> Fields<'a> {
    let mut reader = Reader::new(text, base, limits);
    let root = reader.document();
    found.append(&mut reader.keys);
    match root {
        Ok(Value { data: Data::Map(fields), .. }) => fields,
        Ok(Value { data: Data::Null, .. }) => {
            found.push(
                Code::ParseHeader.at(Span::new(base, base + text.len()), "the header is empty"),
            );
            Vec::new()
        }
        Ok(other) => {
            let message = format!("the header must be a mapping, but it is {}", other.kind());
            found.push(Code::ParseYaml.at(other.span, message));
            Vec::new()
        }
        Err(error) => {
            found.push(*error);
            Vec::new()
        }
    }
}

struct Reader<'a, 'l> {
    parser: Parser<'a, StrInput<'a>>,
    text: &'a str,
    base: usize,
    limits: &'l Limits,
    nodes: usize,
    aliases: usize,
    /// The values of anchors.
    anchors: BTreeMap<usize, Value<'a>>,
    /// Diagnostics about keys.
    keys: Vec<Diagnostic>,
}

type Result<T> = std::result::Result<T, Box<Diagnostic>>;

impl<'a, 'l> Reader<'a, 'l> {
    fn new(text: &'a str, base: usize, limits: &'l Limits) -> Self {
        let depth = limits.yaml_depth.min(DEEPEST);
        let options = granit_parser::options! {
            flow_nesting_limit: depth,
            block_nesting_limit: depth,
        };
        let parser = Parser::new_from_str_with_options(text, options);
        let (anchors, keys) = (BTreeMap::new(), Vec::new());
        Self { parser, text, base, limits, nodes: 0, aliases: 0, anchors, keys }
    }

    /// Returns the first document. A fence (`---`) at the end can only open an empty document.
    fn document(&mut self) -> Result<Value<'a>> {
        let mut root = None;
        loop {
            let (event, span) = self.event()?;
            match event {
                Event::StreamStart | Event::DocumentStart(..) | Event::DocumentEnd => {}
                Event::StreamEnd => return Ok(root.unwrap_or_default()),
                event => {
                    let at = self.span(span);
                    let value = self.node(event, at, 0)?;
                    match &root {
                        None => root = Some(value),
                        Some(_) if value.data == Data::Null => {}
                        Some(_) => {
                            let message = "the header must be a single YAML document";
                            return Err(Code::ParseYaml.at(value.span, message).into());
                        }
                    }
                }
            }
        }
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Value<'a>> {
        self.count(1, span)?;
        if depth > self.limits.yaml_depth {
            return Err(limit("yaml_depth", self.limits.yaml_depth, span));
        }
        let anchor = self.anchor(&event, span)?;
        let value = match event {
            Event::Scalar(text, style, ..) => Value { data: scalar(text, style), span },
            Event::SequenceStart(..) => self.list(span, depth)?,
            Event::MappingStart(..) => self.map(span, depth)?,
            Event::Alias(anchor) => self.alias(anchor, span, depth)?,
            _ => {
                return Err(Code::ParseYaml
                    .at(span, "this YAML syntax is not allowed in the header")
                    .into());
            }
        };
        if let Some(anchor) = anchor {
            self.anchors.insert(anchor, value.clone());
        }
        Ok(value)
    }

    fn count(&mut self, nodes: usize, span: Span) -> Result<()> {
        self.nodes += nodes;
        if self.nodes > self.limits.yaml_nodes {
            return Err(limit("yaml_nodes", self.limits.yaml_nodes, span));
        }
        Ok(())
    }

    /// Returns the anchor of a node. Anchors require that aliases are allowed. Tags are not
    /// allowed.
    fn anchor(&self, event: &Event<'_>, span: Span) -> Result<Option<usize>> {
        let (tag, anchor) = match event {
            Event::Scalar(_, _, anchor, tag)
            | Event::SequenceStart(_, anchor, tag)
            | Event::MappingStart(_, anchor, tag) => (tag.is_some(), *anchor),
            _ => (false, 0),
        };
        if tag {
            return Err(Code::ParseYaml.at(span, "YAML tags are not allowed in the header").into());
        }
        if anchor != 0 && self.limits.yaml_aliases == 0 {
            return Err(limit("yaml_aliases", 0, span));
        }
        Ok((anchor != 0).then_some(anchor))
    }

    /// Returns the value of an alias. Its nodes count each time, so that aliases of aliases reach
    /// the limit.
    fn alias(&mut self, anchor: usize, span: Span, depth: usize) -> Result<Value<'a>> {
        self.aliases += 1;
        if self.aliases > self.limits.yaml_aliases {
            return Err(limit("yaml_aliases", self.limits.yaml_aliases, span));
        }
        let Some(value) = self.anchors.get(&anchor) else {
            return Err(Code::ParseYaml
                .at(span, "an alias cannot refer to a value that contains it")
                .into());
        };
        let Value { data, .. } = value.clone();
        let (nodes, deep) = extent(&data);
        self.count(nodes - 1, span)?;
        if depth + deep > self.limits.yaml_depth {
            return Err(limit("yaml_depth", self.limits.yaml_depth, span));
        }
        Ok(Value { data, span })
    }

    fn list(&mut self, start: Span, depth: usize) -> Result<Value<'a>> {
        let mut items = Vec::new();
        loop {
            let (event, span) = self.event()?;
            let span = self.span(span);
            if let Event::SequenceEnd = event {
                return Ok(Value { data: Data::List(items), span: start.to(span) });
            }
            items.push(self.node(event, span, depth + 1)?);
        }
    }

    fn map(&mut self, start: Span, depth: usize) -> Result<Value<'a>> {
        let mut entries: Fields<'a> = Vec::new();
        loop {
            let (event, span) = self.event()?;
            let key_span = self.span(span);
            let anchor = self.anchor(&event, key_span)?;
            let key = match event {
                Event::MappingEnd => {
                    return Ok(Value { data: Data::Map(entries), span: start.to(key_span) });
                }
                Event::Scalar(key, style, ..) => {
                    if depth == 0 && style == ScalarStyle::Plain && spells_token(&key) {
                        let message = format!("the key {} contains a control token", quote(&key));
                        let help = "if this line is a message, add its missing start token; if it is a key, quote it";
                        self.keys.push(Code::ParseFrame.at(key_span, message).help(help));
                    }
                    key
                }
                _ => return Err(Code::ParseYaml.at(key_span, "a key must be a string").into()),
            };
            if let Some(anchor) = anchor {
                let data = Data::String(key.clone());
                self.anchors.insert(anchor, Value { data, span: key_span });
            }
            let (event, span) = self.event()?;
            let span = self.span(span);
            let value = self.node(event, span, depth + 1)?;
            match entries.iter_mut().find(|entry| entry.0 == key) {
                Some(entry) => {
                    let message = format!("duplicate key {}", quote(&key));
                    let found = Code::DuplicateKey.at(key_span, message);
                    self.keys.push(found.help("the last value is used"));
                    entry.1 = value;
                }
                None => entries.push((key, value)),
            }
        }
    }

    fn event(&mut self) -> Result<(Event<'a>, YamlSpan)> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => Err(self.error(&error)),
            None => Err(Code::ParseYaml
                .at(Span::at(self.base + self.text.len()), "the YAML of the header is incomplete")
                .into()),
        }
    }

    fn error(&self, error: &ScanError) -> Box<Diagnostic> {
        let at = self.text.floor_char_boundary(error.marker().byte_offset().unwrap_or(0));
        let end = self.text.ceil_char_boundary(at + 1);
        let span = Span::new(at, end).shift(self.base);
        let info = error.info().to_string();
        if info.contains("nesting limit") || info.contains("nested") || info.contains("recursion") {
            return limit("yaml_depth", self.limits.yaml_depth, span);
        }
        Code::ParseYaml.at(span, info).into()
    }

    fn span(&self, span: YamlSpan) -> Span {
        let range = span.byte_range().unwrap_or(0..0);
        Span::new(range.start, range.end).shift(self.base)
    }
}

/// Returns the number of nodes in a value, and their nesting depth.
fn extent(data: &Data<'_>) -> (usize, usize) {
    let inside = |(nodes, deep), value: &Value<'_>| {
        let inner = extent(&value.data);
        (nodes + inner.0, inner.1.max(deep))
    };
    match data {
        Data::List(items) => {
            let (nodes, deep) = items.iter().fold((1, 0), inside);
            (nodes, deep + 1)
        }
        Data::Map(entries) => {
            let (nodes, deep) = entries.iter().map(|entry| &entry.1).fold((1, 0), inside);
            (nodes, deep + 1)
        }
        _ => (1, 0),
    }
}

fn limit(name: &str, most: usize, span: Span) -> Box<Diagnostic> {
    let message = format!("the header exceeds the limit `{name}` of {most}");
    Code::Limit.at(span, message).into()
}

/// Reads a scalar by the core schema. Numbers that JSON cannot spell (`0x1F`, `.5`, `.inf`) are
/// strings.
fn scalar(text: Cow<'_, str>, style: ScalarStyle) -> Data<'_> {
    if style != ScalarStyle::Plain {
        return Data::String(text);
    }
    match text.as_ref() {
        "" | "~" | "null" | "Null" | "NULL" => Data::Null,
        "true" | "True" | "TRUE" => Data::Bool(true),
        "false" | "False" | "FALSE" => Data::Bool(false),
        _ if crate::json::is_number(&text) => Data::Number(text),
        _ => Data::String(text),
    }
}

/// Whether plain `text` would be read as the same string: not as another type, and without special
/// characters of YAML.
pub(super) fn is_plain(text: &str) -> bool {
    let Some(first) = text.chars().next() else { return false };
    let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    let words = text.split(' ').all(|word| !word.is_empty() && word.chars().all(safe));
    let other_type = |text: &str| {
        !matches!(scalar(text.into(), ScalarStyle::Plain), Data::String(_))
            || text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'))
            || matches!(
                text.to_ascii_lowercase().as_str(),
                "y" | "yes" | "n" | "no" | "on" | "off" | "true" | "false" | "null"
            )
    };
    words && first.is_ascii_alphabetic() && !other_type(text)
}
