//! Parses the content of a region.

use std::borrow::Cow;

use openchatml::{Data, Limits, Value};

use super::anchor::Anchor;
use super::call_list;
use super::lax_json::LaxJson;
use super::python::{float, int, string, stripped};

/// The maximum nesting depth of parsers of values.
const DEEPEST: usize = 8;

/// The parsers by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parser {
    Text,
    Int,
    Float,
    Bool,
    Json,
    XmlInline,
    KvLines,
    CallList,
}

impl Parser {
    const ALL: [(&str, Self); 8] = [
        ("text", Self::Text),
        ("int", Self::Int),
        ("float", Self::Float),
        ("bool", Self::Bool),
        ("json", Self::Json),
        ("xml-inline", Self::XmlInline),
        ("kv-lines", Self::KvLines),
        ("python-call-list", Self::CallList),
    ];

    pub(super) fn from_name(name: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(it, _)| *it == name);
        found.map(|(_, parser)| *parser).ok_or_else(|| {
            let names = Self::ALL.map(|(name, _)| name).join(", ");
            format!("unknown parser `{name}`; the parsers are {names}")
        })
    }
}

/// A parser with its arguments.
#[derive(Clone, Debug)]
pub(super) enum Content {
    Text { strip: bool },
    Int { strip: bool },
    Float { strip: bool },
    Bool { strip: bool },
    Json(LaxJson),
    XmlInline { tag: Anchor, value: Option<Box<Content>>, merge: bool },
    KvLines { line_sep: String, kv_sep: String, strip: bool, value: Option<Box<Content>> },
    CallList,
}

impl Content {
    pub(super) fn load(parser: Parser, args: Option<&Value<'_>>) -> Result<Self, String> {
        Self::load_at(parser, args, 0)
    }

    fn load_at(parser: Parser, args: Option<&Value<'_>>, depth: usize) -> Result<Self, String> {
        let args = Args::new(args)?;
        let value = |args: &Args<'_>| -> Result<Option<Box<Self>>, String> {
            let Some(inner) = args.get("value_parser") else { return Ok(None) };
            if depth == DEEPEST {
                return Err("`value_parser` is nested too deep".to_owned());
            }
            let inner_args = Args::new(Some(inner))?;
            inner_args.allow(&["name", "args"])?;
            let name = inner_args.text("name")?.unwrap_or_else(|| "text".to_owned());
            let inner = Self::load_at(Parser::from_name(&name)?, inner.get("args"), depth + 1)?;
            Ok(Some(Box::new(inner)))
        };
        let known: &[&str] = match parser {
            Parser::Text | Parser::Int | Parser::Float | Parser::Bool => &["strip"],
            Parser::Json => &["unquoted_keys", "string_delims", "allow_non_json", "strip"],
            Parser::XmlInline => &["tag_pattern", "value_parser", "merge_duplicates"],
            Parser::KvLines => &["line_sep", "kv_sep", "strip", "value_parser"],
            Parser::CallList => &[],
        };
        args.allow(known)?;
        let strip = args.flag("strip", true);
        Ok(match parser {
            Parser::Text => Self::Text { strip: strip? },
            Parser::Int => Self::Int { strip: strip? },
            Parser::Float => Self::Float { strip: strip? },
            Parser::Bool => Self::Bool { strip: strip? },
            Parser::Json => Self::Json(LaxJson {
                unquoted_keys: args.flag("unquoted_keys", false)?,
                string_delims: args.pairs("string_delims")?,
                allow_non_json: args.flag("allow_non_json", false)?,
                strip: strip?,
            }),
            Parser::XmlInline => {
                let source = args.text("tag_pattern")?.ok_or("`tag_pattern` is required")?;
                let tag = Anchor::pattern(&source).map_err(|it| format!("`tag_pattern`: {it}"))?;
                if !tag.names().iter().any(|name| name == "key") {
                    return Err("`tag_pattern` requires a group `key`".to_owned());
                }
                let merge = args.flag("merge_duplicates", false)?;
                Self::XmlInline { tag, value: value(&args)?, merge }
            }
            Parser::KvLines => Self::KvLines {
                line_sep: args.separator("line_sep", "\n")?,
                kv_sep: args.separator("kv_sep", ":")?,
                strip: strip?,
                value: value(&args)?,
            },
            Parser::CallList => Self::CallList,
        })
    }

    /// Whether the content is text as it stands, so that it need not be complete to be passed on.
    /// `Some(true)` removes white space around it.
    pub(super) fn as_text(&self) -> Option<bool> {
        match self {
            Self::Text { strip } => Some(*strip),
            _ => None,
        }
    }

    /// Parses the content of a region.
    pub(super) fn parse(&self, text: &str, limits: &Limits) -> Result<Value<'static>, String> {
        let quoted = || text.chars().take(40).collect::<String>().escape_debug().to_string();
        Ok(match self {
            Self::Text { strip } => string(stripped(text, *strip)),
            Self::Int { strip } => {
                let spelled = int(stripped(text, *strip));
                let spelled = spelled.ok_or_else(|| format!("`{}` is no integer", quoted()))?;
                Data::Number(spelled.into()).into()
            }
            Self::Float { strip } => {
                let spelled = float(stripped(text, *strip));
                let spelled = spelled.ok_or_else(|| format!("`{}` is no number", quoted()))?;
                Data::Number(spelled.into()).into()
            }
            Self::Bool { strip } => {
                let word = stripped(text, *strip).to_lowercase();
                Data::Bool(word == "true" || word == "1").into()
            }
            Self::Json(json) => json.parse(text, limits)?,
            Self::XmlInline { tag, value, merge } => xml_inline(text, tag, value, *merge, limits)?,
            Self::KvLines { line_sep, kv_sep, strip, value } => {
                let mut out = Entries::default();
                for line in text.split(line_sep.as_str()) {
                    let line = stripped(line, *strip);
                    let Some((key, found)) = line.split_once(kv_sep.as_str()) else { continue };
                    let found = sub_parse(stripped(found, *strip), value, limits)?;
                    out.set(stripped(key, *strip), found);
                }
                out.into_value()
            }
            Self::CallList => call_list::parse(text)?,
        })
    }
}

fn xml_inline(
    text: &str,
    tag: &Anchor,
    parser: &Option<Box<Content>>,
    merge: bool,
    limits: &Limits,
) -> Result<Value<'static>, String> {
    let mut out = Entries::default();
    for groups in tag.all_captures(text) {
        let group = |name: &str| {
            groups.iter().find(|(it, _)| it == name).and_then(|(_, text)| text.as_deref())
        };
        let key = group("key").ok_or("a tag has no `key`")?;
        let value = sub_parse(group("value").unwrap_or_default(), parser, limits)?;
        match merge {
            true => out.merge(key, value),
            false => out.set(key, value),
        }
    }
    Ok(out.into_value())
}

fn sub_parse(
    text: &str,
    parser: &Option<Box<Content>>,
    limits: &Limits,
) -> Result<Value<'static>, String> {
    match parser {
        Some(parser) => parser.parse(text, limits),
        None => Ok(string(text)),
    }
}

/// The entries of a mapping. The last value of a key counts, in the place of the first one.
#[derive(Default)]
struct Entries {
    entries: Vec<(Cow<'static, str>, Value<'static>)>,
    places: std::collections::HashMap<String, (usize, bool)>,
}

impl Entries {
    fn set(&mut self, key: &str, value: Value<'static>) {
        match self.places.get(key) {
            Some((at, _)) => self.entries[*at].1 = value,
            None => {
                self.places.insert(key.to_owned(), (self.entries.len(), false));
                self.entries.push((key.to_owned().into(), value));
            }
        }
    }

    /// Collects the values of a key in a list.
    fn merge(&mut self, key: &str, value: Value<'static>) {
        let Some((at, is_merged)) = self.places.get_mut(key) else { return self.set(key, value) };
        let place = &mut self.entries[*at].1;
        match &mut place.data {
            Data::List(items) if *is_merged => items.push(value),
            _ => *place = Data::List(vec![std::mem::take(place), value]).into(),
        }
        *is_merged = true;
    }

    fn into_value(self) -> Value<'static> {
        Data::Map(self.entries).into()
    }
}

/// The arguments of a parser.
struct Args<'v>(Option<&'v Value<'v>>);

impl<'v> Args<'v> {
    fn new(value: Option<&'v Value<'v>>) -> Result<Self, String> {
        match value {
            Some(value) if value.as_map().is_none() => Err("an object is required".to_owned()),
            _ => Ok(Self(value)),
        }
    }

    fn get(&self, key: &str) -> Option<&'v Value<'v>> {
        self.0?.get(key).filter(|it| it.kind() != "null")
    }

    fn allow(&self, known: &[&str]) -> Result<(), String> {
        let keys = self.0.and_then(Value::as_map).unwrap_or_default();
        match keys.iter().find(|(key, _)| !known.contains(&key.as_ref())) {
            Some((key, _)) => {
                Err(format!("unknown key `{key}`; the keys are {}", known.join(", ")))
            }
            None => Ok(()),
        }
    }

    fn flag(&self, key: &str, default: bool) -> Result<bool, String> {
        let wrong = || format!("`{key}`: `true` or `false` is required");
        self.get(key).map_or(Ok(default), |it| it.as_bool().ok_or_else(wrong))
    }

    fn text(&self, key: &str) -> Result<Option<String>, String> {
        let wrong = || format!("`{key}`: a string is required");
        self.get(key).map(|it| it.as_str().map(str::to_owned).ok_or_else(wrong)).transpose()
    }

    fn separator(&self, key: &str, default: &str) -> Result<String, String> {
        let text = self.text(key)?.unwrap_or_else(|| default.to_owned());
        match text.is_empty() {
            true => Err(format!("`{key}`: the string is empty")),
            false => Ok(text),
        }
    }

    fn pairs(&self, key: &str) -> Result<Vec<(String, String)>, String> {
        let Some(value) = self.get(key) else { return Ok(Vec::new()) };
        let pair = |it: &Value<'_>| match it.as_list()? {
            [open, close] => {
                let (open, close) = (open.as_str()?.to_owned(), close.as_str()?.to_owned());
                (!open.is_empty() && !close.is_empty()).then_some((open, close))
            }
            _ => None,
        };
        let pairs = value.as_list().and_then(|items| items.iter().map(pair).collect());
        pairs.ok_or_else(|| format!("`{key}`: a list of pairs of strings is required"))
    }
}
