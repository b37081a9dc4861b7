//! The document header (OpenChatML 2.2 §2).

use std::borrow::Cow;

use crate::json::{Data, Value};

/// The YAML header of a transcript: its keys in order, including unknown ones.
///
/// A header that was read keeps its layout, including comments, until it is changed.
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
    /// Creates a header that contains only a version.
    ///
    /// ```
    /// use openchatml::{Conversation, Header, Message, RenderOptions, render};
    ///
    /// let mut conversation = Conversation::from_messages([Message::answer("4.")]);
    /// conversation.header = Some(Header::new("2.2"));
    /// let options = RenderOptions::default();
    /// let text = render(&conversation.into(), "openchatml-2.2".parse()?, &options)?;
    /// assert!(text.starts_with("version: 2.2\n\n<|start|>assistant"), "{text}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(version: impl Into<Cow<'a, str>>) -> Self {
        let version = Value::from(Data::Number(version.into()));
        Self { fields: vec![("version".into(), version)], source: None }
    }

    /// Creates a header with these fields.
    ///
    /// ```
    /// use openchatml::{Data, Header, Value};
    ///
    /// let version = Value::from(Data::Number("2.2".into()));
    /// let model = Value::from("gpt-oss-120b");
    /// let fields = vec![("version".into(), version), ("model".into(), model)];
    /// let mut header = Header::new("2.2");
    /// header.insert("model", Value::from("gpt-oss-120b"));
    /// assert_eq!(Header::from_fields(fields), header);
    /// ```
    pub fn from_fields(fields: Vec<(Cow<'a, str>, Value<'a>)>) -> Self {
        Self { fields, source: None }
    }

    pub(crate) fn with_source(mut self, source: Cow<'a, str>) -> Self {
        self.source = Some(source);
        self
    }

    /// Returns the text that the header was read from, if it still has the same meaning.
    pub(crate) fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }

    /// Whether the YAML contains comments.
    pub(crate) fn has_comments(&self) -> bool {
        self.source().is_some_and(|source| source.lines().any(has_comment))
    }

    /// Returns the `version` in its original spelling: `2.0` is not `2`.
    ///
    /// ```
    /// use openchatml::{Header, Value};
    ///
    /// let mut header = Header::new("2.0");
    /// assert_eq!(header.version(), Some("2.0"));
    /// header.insert("version", Value::from("2.2")); // `version: "2.2"`
    /// assert_eq!(header.version(), Some("2.2"));
    /// ```
    pub fn version(&self) -> Option<&str> {
        self.get("version")?.as_spelling()
    }

    /// Returns the value of a top-level key.
    ///
    /// ```
    /// use openchatml::{Value, parse};
    ///
    /// let text = "version: 2.2\ngeneration_settings:\n  reasoning_effort: high\n";
    /// let parsed = parse(text, "openchatml-2.2".parse()?, &Default::default());
    /// let header = parsed.into_conversation().header.unwrap();
    /// let effort = header.get("generation_settings").and_then(|it| it.get("reasoning_effort"));
    /// assert_eq!(effort.and_then(Value::as_str), Some("high"));
    /// # Ok::<(), openchatml::UnknownName>(())
    /// ```
    pub fn get(&self, key: &str) -> Option<&Value<'a>> {
        self.fields.iter().find(|field| field.0 == key).map(|field| &field.1)
    }

    /// Returns the top-level keys and values, in order.
    ///
    /// ```
    /// use openchatml::parse;
    ///
    /// let text = "version: 2.2\nx-team: search\n";
    /// let parsed = parse(text, "openchatml-2.2".parse()?, &Default::default());
    /// let header = parsed.into_conversation().header.unwrap();
    /// let keys: Vec<_> = header.fields().iter().map(|(key, _)| key.as_ref()).collect();
    /// assert_eq!(keys, ["version", "x-team"]);
    /// # Ok::<(), openchatml::UnknownName>(())
    /// ```
    pub fn fields(&self) -> &[(Cow<'a, str>, Value<'a>)] {
        &self.fields
    }

    /// Sets a top-level key. An existing key keeps its position; a new key goes to the end.
    ///
    /// ```
    /// use openchatml::{Header, Value};
    ///
    /// let mut header = Header::new("2.2");
    /// header.insert("model", Value::from("gpt-oss-20b"));
    /// header.insert("model", Value::from("gpt-oss-120b"));
    /// assert_eq!(header.fields().len(), 2);
    /// assert_eq!(header.get("model"), Some(&Value::from("gpt-oss-120b")));
    /// ```
    pub fn insert(&mut self, key: impl Into<Cow<'a, str>>, value: Value<'a>) {
        self.source = None;
        let key = key.into();
        match self.fields.iter_mut().find(|field| field.0 == key) {
            Some(field) => field.1 = value,
            None => self.fields.push((key, value)),
        }
    }

    /// Removes a top-level key and returns its value.
    ///
    /// ```
    /// use openchatml::{Header, Value};
    ///
    /// let mut header = Header::new("2.2");
    /// header.insert("model", Value::from("gpt-oss-120b"));
    /// assert_eq!(header.remove("model"), Some(Value::from("gpt-oss-120b")));
    /// assert_eq!(header, Header::new("2.2"));
    /// ```
    pub fn remove(&mut self, key: &str) -> Option<Value<'a>> {
        let at = self.fields.iter().position(|field| field.0 == key)?;
        self.source = None;
        Some(self.fields.remove(at).1)
    }

    /// Returns the header with owned text.
    ///
    /// ```
    /// use openchatml::Header;
    ///
    /// let version = String::from("2.2");
    /// let header = Header::new(&version).into_owned();
    /// drop(version);
    /// assert_eq!(header.version(), Some("2.2"));
    /// ```
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

/// Whether a line of YAML contains a comment: a `#` outside of quotes, at the start of a word.
fn has_comment(line: &str) -> bool {
    let (mut quote, mut before, mut is_escaped) = (None, ' ', false);
    for c in line.chars() {
        match quote {
            // Only in double quotes, a backslash escapes the next character.
            Some(_) if is_escaped => is_escaped = false,
            Some('"') if c == '\\' => is_escaped = true,
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '#' && before.is_whitespace() => return true,
            None if matches!(c, '"' | '\'') && !before.is_alphanumeric() => quote = Some(c),
            None => {}
        }
        before = c;
    }
    false
}

/// Two headers are equal if they have the same meaning. Layout and comments do not count, and a
/// version can be a number or a string.
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
