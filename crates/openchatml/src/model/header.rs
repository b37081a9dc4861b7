//! The document header (OpenChatML 2.2 §2).

use std::borrow::Cow;

use super::{Data, Value};

/// The YAML header of a transcript: its keys in their order, unknown ones included.
///
/// A header that was read remembers how it was laid out, comments included, until it is changed.
///
/// ```
/// use openchatml::{Header, Value};
///
/// let mut header = Header::new("2.2");
/// header.insert("model", Value::from("gpt-oss-120b"));
/// assert_eq!(header.version(), Some("2.2"));
/// assert_eq!(header.get("model").and_then(Value::as_str), Some("gpt-oss-120b"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Header<'a> {
    fields: Vec<(Cow<'a, str>, Value<'a>)>,
    source: Option<Cow<'a, str>>,
}

impl<'a> Header<'a> {
    /// A header with a version and nothing else.
    pub fn new(version: &'a str) -> Self {
        let version = Value::from(Data::Number(version.into()));
        Self { fields: vec![("version".into(), version)], source: None }
    }

    /// A header with these fields.
    pub fn from_fields(fields: Vec<(Cow<'a, str>, Value<'a>)>) -> Self {
        Self { fields, source: None }
    }

    pub(crate) fn with_source(mut self, source: Cow<'a, str>) -> Self {
        self.source = Some(source);
        self
    }

    /// The text that it was read from, as long as that still says the same.
    pub(crate) fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }

    /// The `version` as it was spelled: `2.0` is not `2`.
    pub fn version(&self) -> Option<&str> {
        self.get("version")?.as_spelling()
    }

    /// The value of a top-level key.
    pub fn get(&self, key: &str) -> Option<&Value<'a>> {
        self.fields.iter().find(|field| field.0 == key).map(|field| &field.1)
    }

    /// The top-level keys and values, in their order.
    pub fn fields(&self) -> &[(Cow<'a, str>, Value<'a>)] {
        &self.fields
    }

    /// Sets a top-level key, in its place if it is there and at the end otherwise.
    pub fn insert(&mut self, key: &'a str, value: Value<'a>) {
        self.source = None;
        match self.fields.iter_mut().find(|field| field.0 == key) {
            Some(field) => field.1 = value,
            None => self.fields.push((key.into(), value)),
        }
    }

    /// Takes a top-level key out.
    pub fn remove(&mut self, key: &str) -> Option<Value<'a>> {
        let at = self.fields.iter().position(|field| field.0 == key)?;
        self.source = None;
        Some(self.fields.remove(at).1)
    }

    /// The same header, owning its text.
    pub fn into_owned(self) -> Header<'static> {
        Header {
            fields: self
                .fields
                .into_iter()
                .map(|(key, value)| (Cow::Owned(key.into_owned()), value.into_owned()))
                .collect(),
            source: self.source.map(|source| Cow::Owned(source.into_owned())),
        }
    }
}

/// Two headers are equal when they say the same: layout and comments do not count, and neither
/// does whether the version is spelled as a number or as text.
impl PartialEq for Header<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.fields.len() == other.fields.len()
            && self.fields.iter().zip(&other.fields).all(|(one, two)| {
                one.0 == two.0
                    && if one.0 == "version" {
                        one.1.as_spelling() == two.1.as_spelling()
                    } else {
                        one.1 == two.1
                    }
            })
    }
}

impl Eq for Header<'_> {}
