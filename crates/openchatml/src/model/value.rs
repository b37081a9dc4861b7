//! Data as YAML headers and JSON carry it: ordered, with the spelling of its numbers.

use std::borrow::Cow;

use crate::Span;

/// A piece of data and where it stands in the input.
///
/// Two values are equal when their data is; where they stand does not count.
#[derive(Clone, Debug, Default)]
pub struct Value<'a> {
    /// The data.
    pub data: Data<'a>,
    /// Where it was read; empty for a value that was not read.
    pub span: Span,
}

/// What a [`Value`] is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Data<'a> {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number as it was spelled: `2.0` is not `2`, and `1e400` stays `1e400`.
    Number(Cow<'a, str>),
    /// Text.
    String(Cow<'a, str>),
    /// A list.
    List(Vec<Value<'a>>),
    /// A mapping, in its order. Keys are unique.
    Map(Vec<(Cow<'a, str>, Value<'a>)>),
}

impl<'a> Value<'a> {
    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match &self.data {
            Data::String(text) => Some(text),
            _ => None,
        }
    }

    /// The text of a string or the spelling of a number.
    pub fn as_spelling(&self) -> Option<&str> {
        match &self.data {
            Data::String(text) | Data::Number(text) => Some(text),
            _ => None,
        }
    }

    /// A boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match self.data {
            Data::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// The items of a list.
    pub fn as_list(&self) -> Option<&[Value<'a>]> {
        match &self.data {
            Data::List(items) => Some(items),
            _ => None,
        }
    }

    /// The entries of a mapping.
    pub fn as_map(&self) -> Option<&[(Cow<'a, str>, Value<'a>)]> {
        match &self.data {
            Data::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The value of `key` in a mapping.
    ///
    /// ```
    /// use openchatml::{Data, Value};
    ///
    /// let map = Value::from(Data::Map(vec![("model".into(), Value::from("gpt-oss-120b"))]));
    /// assert_eq!(map.get("model").and_then(Value::as_str), Some("gpt-oss-120b"));
    /// ```
    pub fn get(&self, key: &str) -> Option<&Value<'a>> {
        self.as_map()?.iter().find(|entry| entry.0 == key).map(|entry| &entry.1)
    }

    /// What kind of data it is, for messages.
    pub fn kind(&self) -> &'static str {
        match self.data {
            Data::Null => "null",
            Data::Bool(_) => "a boolean",
            Data::Number(_) => "a number",
            Data::String(_) => "a string",
            Data::List(_) => "a list",
            Data::Map(_) => "a mapping",
        }
    }

    /// The same value, owning its text.
    pub fn into_owned(self) -> Value<'static> {
        let own = |text: Cow<'a, str>| Cow::Owned(text.into_owned());
        let data = match self.data {
            Data::Null => Data::Null,
            Data::Bool(value) => Data::Bool(value),
            Data::Number(text) => Data::Number(own(text)),
            Data::String(text) => Data::String(own(text)),
            Data::List(items) => Data::List(items.into_iter().map(Value::into_owned).collect()),
            Data::Map(entries) => Data::Map(
                entries.into_iter().map(|(key, value)| (own(key), value.into_owned())).collect(),
            ),
        };
        Value { data, span: self.span }
    }
}

impl PartialEq for Value<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.data == other.data
    }
}

impl Eq for Value<'_> {}

impl<'a> From<Data<'a>> for Value<'a> {
    fn from(data: Data<'a>) -> Self {
        Self { data, span: Span::default() }
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Data::String(text.into()).into()
    }
}

impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Data::String(text.into()).into()
    }
}

impl From<bool> for Value<'_> {
    fn from(value: bool) -> Self {
        Data::Bool(value).into()
    }
}
