//! Converts conversations and data to and from `serde_json` values.

use serde_json::{Number, Value as SerdeValue};

use crate::convert::Conversion;
use crate::dialect::{Carrier, Format};
use crate::error::Error;
use crate::json::{Data, Value};
use crate::limits::Limits;
use crate::model::{Body, Conversation, Document};
use crate::options::{ReadOptions, RenderOptions};
use crate::parse::parse;
use crate::reading::Parsed;
use crate::render::render;
use crate::{Code, Diagnostic, FormatError, Span};

impl Parsed<'static> {
    /// Reads a document from a `serde_json` value, in a JSON format. Requires the feature
    /// `serde_json`.
    ///
    /// Spans are places in the output of the value's `to_string`.
    ///
    /// # Errors
    ///
    /// The format is not JSON.
    ///
    /// ```
    /// use openchatml::{Format, Parsed};
    /// use serde_json::json;
    ///
    /// let value = json!({"messages": [{"role": "user", "content": "Hi!", "contnet": "?"}]});
    /// let parsed = Parsed::from_value(&value, Format::OPENAI, &Default::default())?;
    /// assert_eq!(parsed.diagnostics.len(), 1); // There is no `contnet`.
    /// assert_eq!(parsed.into_conversation().messages[0].body.text(), "Hi!");
    /// # Ok::<(), openchatml::FormatError>(())
    /// ```
    pub fn from_value(
        value: &SerdeValue,
        format: Format,
        options: &ReadOptions,
    ) -> Result<Self, FormatError> {
        json_form(format)?;
        let text = value.to_string();
        let Parsed { document, diagnostics } = parse(&text, format, options);
        Ok(Parsed { document: document.into_owned(), diagnostics })
    }
}

impl Conversation<'static> {
    /// Reads a conversation from a `serde_json` value, in a JSON format. Requires the feature
    /// `serde_json`.
    ///
    /// This drops warnings. [`Parsed::from_value`] returns them, with all errors.
    ///
    /// # Errors
    ///
    /// The format is not JSON, or the value is invalid in the format or not a conversation.
    ///
    /// ```
    /// use openchatml::{Conversation, Format};
    /// use serde_json::json;
    ///
    /// let value = json!({"messages": [{"role": "user", "content": "Hi!"}]});
    /// let conversation = Conversation::from_value(&value, Format::OPENAI)?;
    /// assert_eq!(conversation.messages[0].body.text(), "Hi!");
    /// assert_eq!(conversation.to_value(Format::OPENAI)?, value);
    ///
    /// let error = Conversation::from_value(&json!({"messages": 1}), Format::OPENAI).unwrap_err();
    /// assert!(matches!(error, openchatml::Error::Invalid(_)));
    /// # Ok::<(), openchatml::Error>(())
    /// ```
    pub fn from_value(value: &SerdeValue, format: Format) -> Result<Self, Error> {
        let parsed = Parsed::from_value(value, format, &ReadOptions::default())?;
        match parsed.strict()? {
            Document::Conversation(conversation) => Ok(conversation),
            _ => {
                let text = "the document is not a conversation";
                Err(Code::ParseJson.at(Span::default(), text).into())
            }
        }
    }
}

impl Conversation<'_> {
    /// Writes the conversation as a `serde_json` value, in a JSON format. Requires the feature
    /// `serde_json`.
    ///
    /// To use options, or to write to a format that cannot express everything, use
    /// [`convert`](crate::convert::convert) and [`Conversion::to_value`].
    ///
    /// # Errors
    ///
    /// The format is not JSON, it cannot express the whole conversation, or `serde_json` cannot
    /// represent a number in it (see [`Value`]).
    ///
    /// ```
    /// use openchatml::{Conversation, Format, Message, Tool};
    /// use serde_json::json;
    ///
    /// let mut chat = Conversation::from_messages([Message::user("How is the weather?")]);
    /// chat.tools.push(Tool::new("weather").with_parameters(json!({"type": "object"})));
    /// let value = chat.to_value(Format::OPENAI)?;
    /// assert_eq!(value["messages"][0], json!({"role": "user", "content": "How is the weather?"}));
    /// assert_eq!(value["tools"][0]["function"]["parameters"], json!({"type": "object"}));
    /// assert!(matches!(chat.to_value(Format::HARMONY), Err(openchatml::Error::Format(_))));
    /// # Ok::<(), openchatml::Error>(())
    /// ```
    pub fn to_value(&self, format: Format) -> Result<SerdeValue, Error> {
        json_form(format)?;
        let document = Document::Conversation(self.clone());
        Ok(value_of(&render(&document, format, &RenderOptions::default())?)?)
    }
}

impl Conversion {
    /// Returns JSON output as a `serde_json` value. Requires the feature `serde_json`.
    ///
    /// # Errors
    ///
    /// The output is not JSON, or `serde_json` cannot represent a number in it (see [`Value`]).
    ///
    /// ```
    /// use openchatml::{Format, convert, parse};
    ///
    /// let text = "<|start|>assistant<|channel|>final<|message|>4.<|return|>";
    /// let document = parse(text, Format::HARMONY, &Default::default()).document;
    /// let converted = convert::convert(&document, Format::OPENAI, &Default::default())?;
    /// assert_eq!(converted.to_value()?["messages"][0]["content"], "4.");
    /// # Ok::<(), openchatml::Error>(())
    /// ```
    pub fn to_value(&self) -> Result<SerdeValue, Diagnostic> {
        value_of(&self.output)
    }
}

impl Body<'_> {
    /// Parses the text as JSON into a `serde_json` value: the arguments of a call, or the reply of
    /// a tool. Requires the feature `serde_json`.
    ///
    /// # Errors
    ///
    /// The text is not JSON, an object in it has a duplicate key, or `serde_json` cannot represent
    /// a number in it (see [`Value`]).
    ///
    /// ```
    /// use openchatml::Message;
    /// use serde_json::json;
    ///
    /// let call = Message::call("weather", json!({"city": "Paris"}));
    /// assert_eq!(call.body.to_value()?["city"], "Paris");
    /// let reply = Message::reply("weather", json!({"degrees": 20.5}));
    /// assert_eq!(reply.body.text(), r#"{"degrees":20.5}"#);
    /// # Ok::<(), openchatml::Diagnostic>(())
    /// ```
    pub fn to_value(&self) -> Result<SerdeValue, Diagnostic> {
        value_of(&self.text())
    }
}

impl From<SerdeValue> for Body<'_> {
    /// Writes the value as JSON. A string gets quotes.
    fn from(value: SerdeValue) -> Self {
        value.to_string().into()
    }
}

impl From<SerdeValue> for Value<'_> {
    fn from(value: SerdeValue) -> Self {
        Self::from(match value {
            SerdeValue::Null => Data::Null,
            SerdeValue::Bool(value) => Data::Bool(value),
            SerdeValue::Number(number) => Data::Number(number.to_string().into()),
            SerdeValue::String(text) => Data::String(text.into()),
            SerdeValue::Array(items) => Data::List(items.into_iter().map(Self::from).collect()),
            SerdeValue::Object(entries) => {
                let entries = entries.into_iter();
                Data::Map(entries.map(|(key, value)| (key.into(), value.into())).collect())
            }
        })
    }
}

impl TryFrom<&Value<'_>> for SerdeValue {
    type Error = Diagnostic;

    /// Without its feature `arbitrary_precision`, `serde_json` stores whole numbers of 64 bits, and
    /// other numbers as the nearest `f64`. Larger whole numbers, and numbers that are too large for
    /// an `f64`, are an error.
    fn try_from(value: &Value<'_>) -> Result<Self, Diagnostic> {
        Ok(match &value.data {
            Data::Null => Self::Null,
            Data::Bool(value) => (*value).into(),
            Data::Number(spelling) => number(spelling, value.span)?.into(),
            Data::String(text) => text.as_ref().into(),
            Data::List(items) => {
                Self::Array(items.iter().map(Self::try_from).collect::<Result<_, _>>()?)
            }
            Data::Map(entries) => {
                let entries = entries.iter();
                let entries =
                    entries.map(|(key, value)| Ok((key.to_string(), Self::try_from(value)?)));
                Self::Object(entries.collect::<Result<_, Diagnostic>>()?)
            }
        })
    }
}

fn number(spelling: &str, span: Span) -> Result<Number, Diagnostic> {
    let is_whole = !spelling.contains(['.', 'e', 'E']);
    let number = spelling.parse::<Number>().ok().filter(|number| {
        let is_kept = number.is_i64() || number.is_u64() || number.to_string() == spelling;
        !is_whole || is_kept || number.as_f64() == Some(0.0)
    });
    number.ok_or_else(|| {
        let text = format!("serde_json cannot represent the number {spelling}");
        Code::ParseJson
            .at(span, text)
            .help("enable the feature `arbitrary_precision` of serde_json")
    })
}

fn value_of(json: &str) -> Result<SerdeValue, Diagnostic> {
    SerdeValue::try_from(&Value::from_json(json, &Limits::default())?)
}

fn json_form(format: Format) -> Result<(), FormatError> {
    match format.carrier {
        Carrier::Json => Ok(()),
        Carrier::Text => Err(FormatError::NoJson(format.to_string())),
    }
}
