//! Reads tables key by key and collects their errors.

use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use openchatml::{Data, Lines, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{ConfigError, Location};
use super::template::Template;

/// The errors so far.
pub(super) struct ConfigErrors<'t> {
    pub(super) lines: Lines<'t>,
    pub(super) errors: Vec<ConfigError>,
}

impl ConfigErrors<'_> {
    pub(super) fn location(&self, span: Range<usize>, key: impl Into<String>) -> Location {
        Location::new(&self.lines, span, key)
    }
}

/// A table. The keys that are read are the allowed keys.
pub(super) struct Section<'f, 't> {
    findings: &'f mut ConfigErrors<'t>,
    table: &'f DeTable<'t>,
    pub(super) path: String,
    span: Range<usize>,
    asked: Vec<&'static str>,
}

impl<'f, 't> Section<'f, 't> {
    /// Creates a section from a value that must be a table.
    pub(super) fn new(
        findings: &'f mut ConfigErrors<'t>,
        path: String,
        value: &'f Spanned<DeValue<'t>>,
    ) -> Option<Self> {
        let span = value.span();
        match value.get_ref() {
            DeValue::Table(table) => Some(Self { findings, table, path, span, asked: Vec::new() }),
            other => {
                let message = format!("expected a table, found {}", kind(other));
                findings.errors.push(findings.location(span, path).error(message));
                None
            }
        }
    }

    /// Returns the location of this table.
    pub(super) fn location(&self) -> Location {
        self.findings.location(self.span.clone(), self.path.clone())
    }

    pub(super) fn complain(&mut self, error: ConfigError) {
        self.findings.errors.push(error);
    }

    /// Reports the keys that were not read.
    pub(super) fn finish(self) {
        for (key, _) in self.table {
            let name = key.get_ref();
            if self.asked.iter().any(|asked| asked == name) {
                continue;
            }
            let near = self.asked.iter().map(|it| (strsim::osa_distance(it, name), it)).min();
            let message = match near.filter(|near| near.0 <= 2.max(name.len() / 3)) {
                Some((_, near)) => format!("unknown key; did you mean `{near}`?"),
                None => format!("unknown key; the known keys are `{}`", self.asked.join("`, `")),
            };
            let location = self.findings.location(key.span(), join(&self.path, name));
            self.findings.errors.push(location.error(message));
        }
    }

    fn get(&mut self, key: &'static str) -> Option<&'f Spanned<DeValue<'t>>> {
        self.asked.push(key);
        self.table.get(key)
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Reads the value of a key with `read`, which returns `None` for an invalid value.
    fn read<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&'f DeValue<'t>) -> Result<T, String>,
    ) -> Option<T> {
        let value = self.get(key)?;
        match read(value.get_ref()) {
            Ok(read) => Some(read),
            Err(expected) => {
                let found = kind(value.get_ref());
                let location = self.findings.location(value.span(), join(&self.path, key));
                self.complain(location.error(format!("expected {expected}, found {found}")));
                None
            }
        }
    }

    pub(super) fn text(&mut self, key: &'static str) -> Option<String> {
        self.read(key, |value| text(value).ok_or_else(|| "a string".into()))
    }

    /// Reads a required string.
    pub(super) fn required(&mut self, key: &'static str) -> Option<String> {
        if !self.has(key) {
            let message = format!("missing key `{key}`");
            self.complain(self.location().error(message));
        }
        self.text(key)
    }

    pub(super) fn path(&mut self, key: &'static str) -> Option<PathBuf> {
        self.text(key).map(PathBuf::from)
    }

    pub(super) fn flag(&mut self, key: &'static str) -> Option<bool> {
        self.read(key, |value| value.as_bool().ok_or_else(|| "`true` or `false`".into()))
    }

    /// Reads an integer that is at least `least`.
    pub(super) fn number(&mut self, key: &'static str, least: u64) -> Option<u64> {
        self.read(key, |value| {
            let number = value.as_integer();
            let number = number.and_then(|it| u64::from_str_radix(it.as_str(), it.radix()).ok());
            // The maximum of a TOML integer.
            let number = number.filter(|it| (least..=i64::MAX as u64).contains(it));
            number.ok_or_else(|| format!("a whole number of at least {least}"))
        })
    }

    pub(super) fn bytes(&mut self, key: &'static str) -> Option<usize> {
        self.number(key, 1).map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX))
    }

    pub(super) fn milliseconds(&mut self, key: &'static str) -> Option<Duration> {
        self.number(key, 1).map(Duration::from_millis)
    }

    /// Reads one of these words.
    pub(super) fn choice<T: Copy>(&mut self, key: &'static str, words: &[(&str, T)]) -> Option<T> {
        self.read(key, |value| {
            let word = value.as_str();
            let chosen = words.iter().find(|it| Some(it.0) == word).map(|it| it.1);
            let known = || words.iter().map(|it| it.0).collect::<Vec<_>>().join("` or `");
            chosen.ok_or_else(|| format!("`{}`", known()))
        })
    }

    pub(super) fn texts(&mut self, key: &'static str) -> Option<Vec<String>> {
        self.read(key, |value| {
            let items = value.as_array().map(|items| items.iter());
            let items: Option<Vec<_>> =
                items.and_then(|items| items.map(|item| text(item.get_ref())).collect());
            items.ok_or_else(|| "a list of strings".into())
        })
    }

    /// Reads a list of strings, each with its location.
    pub(super) fn placed_texts(&mut self, key: &'static str) -> Option<Vec<(String, Location)>> {
        let texts = self.texts(key)?;
        let items = self.table.get(key)?.get_ref().as_array()?;
        let path = join(&self.path, key);
        let places = items.iter().map(|item| self.findings.location(item.span(), path.clone()));
        Some(texts.into_iter().zip(places).collect())
    }

    /// Reads a table of strings that may contain environment variables.
    pub(super) fn templates(&mut self, key: &'static str) -> Vec<(String, Template)> {
        let Some(value) = self.get(key) else { return Vec::new() };
        let path = join(&self.path, key);
        let Some(table) = value.get_ref().as_table() else {
            // The error contains only the type, because the value may be a secret.
            let found = value.get_ref().type_str();
            let message = format!("expected a table of strings, found {found}");
            self.complain(self.findings.location(value.span(), path).error(message));
            return Vec::new();
        };
        let mut templates = Vec::new();
        for (name, value) in in_order(table) {
            let location = self.findings.location(value.span(), join(&path, name.get_ref()));
            let template =
                match value.get_ref().as_str() {
                    Some(text) => Template::parse(text, location),
                    None => Err(location
                        .error(format!("expected a string, found {}", kind(value.get_ref())))),
                };
            match template {
                Ok(template) => templates.push((name.get_ref().to_string(), template)),
                Err(error) => self.complain(error),
            }
        }
        templates
    }

    /// Reads a string that may contain environment variables.
    pub(super) fn template(&mut self, key: &'static str) -> Option<Template> {
        let text = self.text(key)?;
        let location = self.key_place(key)?;
        Template::parse(&text, location).map_err(|error| self.complain(error)).ok()
    }

    /// Reads a required string that may contain environment variables.
    pub(super) fn required_template(&mut self, key: &'static str) -> Option<Template> {
        if !self.has(key) {
            let message = format!("missing key `{key}`");
            self.complain(self.location().error(message));
        }
        self.template(key)
    }

    /// Returns the location of the value of a key.
    pub(super) fn key_place(&self, key: &'static str) -> Option<Location> {
        let value = self.table.get(key)?;
        Some(self.findings.location(value.span(), join(&self.path, key)))
    }

    /// Reads a schema, or the path of its file.
    pub(super) fn schema(&mut self, key: &'static str) -> Option<Schema> {
        let location = self.key_place(key)?;
        self.read(key, |value| match value {
            DeValue::Table(_) => {
                let schema = json(value).ok_or_else(|| "a value that JSON supports".to_owned());
                schema.map(|schema| Schema::Inline(schema, location))
            }
            DeValue::String(path) => Ok(Schema::File(PathBuf::from(path.as_ref()), location)),
            _ => Err("a JSON Schema or the path of its file".into()),
        })
    }

    /// Reads the table of a key.
    pub(super) fn section<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(Section<'_, 't>) -> Option<T>,
    ) -> Option<T> {
        let value = self.get(key)?;
        let path = join(&self.path, key);
        read(Section::new(self.findings, path, value)?)
    }

    /// Reads the tables inside the table of a key, with their names, in their order.
    pub(super) fn sections<T>(
        &mut self,
        key: &'static str,
        mut read: impl FnMut(&str, Section<'_, 't>) -> Option<T>,
    ) -> Vec<T> {
        let Some(value) = self.get(key) else { return Vec::new() };
        let path = join(&self.path, key);
        let Some(outer) = Section::new(self.findings, path, value) else { return Vec::new() };
        let mut tables = Vec::new();
        for (name, value) in in_order(outer.table) {
            let path = join(&outer.path, name.get_ref());
            let section = Section::new(outer.findings, path, value);
            tables.extend(section.and_then(|section| read(name.get_ref(), section)));
        }
        tables
    }
}

/// The JSON Schema of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Schema {
    Inline(Value<'static>, Location),
    File(PathBuf, Location),
}

/// Returns the entries of a table in the order of the file.
fn in_order<'f, 't>(
    table: &'f DeTable<'t>,
) -> Vec<(&'f Spanned<std::borrow::Cow<'t, str>>, &'f Spanned<DeValue<'t>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|entry| entry.0.span().start);
    entries
}

/// Joins a path and a key: `tools.weather`, `tools."a.b"`.
pub(super) fn join(path: &str, key: &str) -> String {
    let is_bare = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == '-';
    let key = if !key.is_empty() && key.chars().all(is_bare) {
        key.to_owned()
    } else {
        format!("{key:?}")
    };
    if path.is_empty() { key } else { format!("{path}.{key}") }
}

fn text(value: &DeValue<'_>) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn kind(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) if text.len() <= 64 => {
            format!("the string `{}`", text.escape_debug())
        }
        DeValue::String(_) => "another string".into(),
        DeValue::Integer(number) => format!("`{number}`"),
        DeValue::Float(_) => "a float".into(),
        DeValue::Boolean(value) => format!("`{value}`"),
        DeValue::Datetime(_) => "a date".into(),
        DeValue::Array(_) => "a list".into(),
        DeValue::Table(_) => "a table".into(),
    }
}

/// Converts a value to JSON.
fn json(value: &DeValue<'_>) -> Option<Value<'static>> {
    let data = match value {
        DeValue::String(text) => Data::String(text.to_string().into()),
        DeValue::Integer(number) => {
            let number = i128::from_str_radix(number.as_str(), number.radix()).ok()?;
            Data::Number(number.to_string().into())
        }
        DeValue::Float(number) => {
            let number = number.as_str().parse::<f64>().ok().filter(|it| it.is_finite())?;
            Data::Number(number.to_string().into())
        }
        DeValue::Boolean(value) => Data::Bool(*value),
        DeValue::Datetime(_) => return None,
        DeValue::Array(items) => {
            let items = items.iter().map(|item| json(item.get_ref()));
            Data::List(items.collect::<Option<_>>()?)
        }
        DeValue::Table(table) => {
            let entries = in_order(table).into_iter();
            let entries = entries.map(|(key, value)| {
                Some((key.get_ref().to_string().into(), json(value.get_ref())?))
            });
            Data::Map(entries.collect::<Option<_>>()?)
        }
    };
    Some(data.into())
}
