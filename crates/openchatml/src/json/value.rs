//! Data of YAML headers and JSON: in order, with the spelling of numbers.

use std::borrow::Cow;

use crate::diagnostic::quote;
use crate::json::{Json, JsonError};
use crate::limits::Limits;
use crate::{Code, Diagnostic, Span};

/// A value and its place in the input.
///
/// Two values are equal if their data is equal. Places do not count.
///
/// ```
/// use openchatml::{Value, parse};
///
/// let text = "version: 2.2\nmodel: gpt-oss-120b\n";
/// let parsed = parse(text, "openchatml-2.2".parse()?, &Default::default());
/// let header = parsed.into_conversation().header.unwrap();
/// let model = header.get("model").unwrap();
/// assert_eq!(*model, Value::from("gpt-oss-120b"));
/// assert_eq!(&text[model.span.range()], "gpt-oss-120b");
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Value<'a> {
    /// The data.
    pub data: Data<'a>,
    /// The place where it was read, or empty.
    pub span: Span,
}

/// The data of a [`Value`].
///
/// ```
/// use openchatml::{Data, Limits, Reply};
///
/// let reply = Reply::parse(r#"{"ok":true,"content":[2.0,null]}"#, &Limits::default()).unwrap();
/// let content = reply.content.unwrap();
/// let items = content.as_list().unwrap();
/// assert_eq!(items[0].data, Data::Number("2.0".into()));
/// assert_eq!(items[1].data, Data::Null);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Data<'a> {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number in its original spelling: `2.0` is not `2`, and `1e400` stays `1e400`.
    Number(Cow<'a, str>),
    /// A string.
    String(Cow<'a, str>),
    /// A list.
    List(Vec<Value<'a>>),
    /// A mapping, in order. Keys are unique.
    Map(Vec<(Cow<'a, str>, Value<'a>)>),
}

impl<'a> Value<'a> {
    /// Returns the text of a string.
    ///
    /// ```
    /// use openchatml::{Data, Value};
    ///
    /// assert_eq!(Value::from("2.2").as_str(), Some("2.2"));
    /// assert_eq!(Value::from(Data::Number("2.2".into())).as_str(), None);
    /// ```
    pub fn as_str(&self) -> Option<&str> {
        match &self.data {
            Data::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the text of a string or the spelling of a number.
    ///
    /// ```
    /// use openchatml::{Data, Value};
    ///
    /// // `version: 2.20` and `version: "2.20"`
    /// assert_eq!(Value::from(Data::Number("2.20".into())).as_spelling(), Some("2.20"));
    /// assert_eq!(Value::from("2.20").as_spelling(), Some("2.20"));
    /// ```
    pub fn as_spelling(&self) -> Option<&str> {
        match &self.data {
            Data::String(text) | Data::Number(text) => Some(text),
            _ => None,
        }
    }

    /// Returns a boolean.
    ///
    /// ```
    /// use openchatml::Value;
    ///
    /// assert_eq!(Value::from(true).as_bool(), Some(true));
    /// assert_eq!(Value::from("true").as_bool(), None);
    /// ```
    pub fn as_bool(&self) -> Option<bool> {
        match self.data {
            Data::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the items of a list.
    ///
    /// ```
    /// use openchatml::{Data, Value};
    ///
    /// let tools = Value::from(Data::List(vec!["browser".into(), "python".into()]));
    /// assert_eq!(tools.as_list().map(<[_]>::len), Some(2));
    /// ```
    pub fn as_list(&self) -> Option<&[Value<'a>]> {
        match &self.data {
            Data::List(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the entries of a mapping.
    ///
    /// ```
    /// use openchatml::{Data, Value};
    ///
    /// let map = Value::from(Data::Map(vec![("enabled".into(), true.into())]));
    /// let keys: Vec<_> = map.as_map().unwrap_or_default().iter().map(|(key, _)| key).collect();
    /// assert_eq!(keys, ["enabled"]);
    /// ```
    pub fn as_map(&self) -> Option<&[(Cow<'a, str>, Value<'a>)]> {
        match &self.data {
            Data::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// Returns the value of `key` in a mapping.
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

    /// Returns the kind of data, for messages.
    ///
    /// ```
    /// use openchatml::Value;
    ///
    /// assert_eq!(format!("{} is no list", Value::from(true).kind()), "a boolean is no list");
    /// ```
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

    /// Writes the value as JSON, on one line. A number with an invalid spelling becomes a string.
    ///
    /// ```
    /// use openchatml::{Data, Value};
    ///
    /// let list = Data::List(vec!["\n".into(), Data::Number("1e400".into()).into()]);
    /// assert_eq!(Value::from(list).to_json(), r#"["\n",1e400]"#);
    /// ```
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        crate::json::write_value(&mut out, self);
        out
    }

    /// Parses a JSON text: one value, nested at most [`Limits::json_depth`] deep.
    ///
    /// # Errors
    ///
    /// The text is not one JSON value, or an object in it has a duplicate key.
    ///
    /// ```
    /// use openchatml::{Code, Data, Limits, Value};
    ///
    /// let value = Value::from_json(r#"{"a": [2.0]}"#, &Limits::default())?;
    /// let items = value.get("a").and_then(Value::as_list).unwrap();
    /// assert_eq!(items[0].data, Data::Number("2.0".into()));
    /// let error = Value::from_json(r#"{"a": 1, "a": 2}"#, &Limits::default()).unwrap_err();
    /// assert_eq!((error.code, error.span.start), (Code::DuplicateKey, 9));
    /// # Ok::<(), openchatml::Diagnostic>(())
    /// ```
    pub fn from_json(text: &'a str, limits: &Limits) -> Result<Self, Diagnostic> {
        let mut json = Json::new(text, limits);
        let wrong = |error: JsonError| {
            let code = if error.limit.is_some() { Code::Limit } else { Code::ParseJson };
            code.at(error.span, error.message)
        };
        let value = json.value().map_err(wrong)?;
        json.end().map_err(wrong)?;
        match json.take_duplicates().into_iter().next() {
            None => Ok(value),
            Some((key, span)) => {
                Err(Code::DuplicateKey.at(span, format!("duplicate key {}", quote(&key))))
            }
        }
    }

    /// Returns the value with owned text.
    ///
    /// ```
    /// use openchatml::Value;
    ///
    /// let line = String::from("gpt-oss-120b\n");
    /// let model = Value::from(line.trim_end()).into_owned();
    /// drop(line);
    /// assert_eq!(model.as_str(), Some("gpt-oss-120b"));
    /// ```
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
