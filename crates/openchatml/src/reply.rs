//! The recommended envelope of a tool reply (OpenChatML 2.2 §8.2).

use std::borrow::Cow;

use crate::Code;
use crate::json::{self, Data, Json, Value};
use crate::limits::Limits;

/// A tool reply in the recommended envelope.
///
/// ```
/// use openchatml::{Code, Limits, Reply};
///
/// let body = r#"{"ok":false,"content":null,"error":{"code":"E-TOOL-TIMEOUT"}}"#;
/// let reply = Reply::parse(body, &Limits::default()).unwrap();
/// assert!(!reply.ok);
/// assert_eq!(reply.code(), Some(Code::ToolTimeout));
/// assert_eq!(reply.to_json(), body);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reply<'a> {
    /// Whether the tool succeeded.
    pub ok: bool,
    /// What the tool returned.
    pub content: Option<Value<'a>>,
    /// The error.
    pub error: Option<Value<'a>>,
    /// Where the content comes from: `source`, `timestamp`, `checksum`.
    pub provenance: Option<Value<'a>>,
    /// Other fields, in order.
    pub extra: Vec<(Cow<'a, str>, Value<'a>)>,
}

/// The keys of the envelope.
const FIELDS: [&str; 4] = ["ok", "content", "error", "provenance"];

impl<'a> Reply<'a> {
    /// Creates the reply of a tool that succeeded.
    ///
    /// ```
    /// use openchatml::Reply;
    ///
    /// assert_eq!(Reply::success("20 °C").to_json(), r#"{"ok":true,"content":"20 °C"}"#);
    /// ```
    pub fn success(content: impl Into<Value<'a>>) -> Self {
        Self { ok: true, content: Some(content.into()), ..Self::default() }
    }

    /// Creates the reply of a tool that failed.
    ///
    /// ```
    /// use openchatml::{Code, Reply};
    ///
    /// let reply = Reply::failure("E-TOOL-TIMEOUT: 30 s");
    /// assert!(!reply.ok && reply.code() == Some(Code::ToolTimeout));
    /// ```
    pub fn failure(error: impl Into<Value<'a>>) -> Self {
        Self { error: Some(error.into()), ..Self::default() }
    }

    /// Parses an envelope. Returns `None` if the body is not an envelope: not a JSON object with a
    /// boolean `ok`, or nested deeper than [`Limits::json_depth`].
    ///
    /// ```
    /// use openchatml::{Limits, Reply, Value};
    ///
    /// let limits = Limits::default();
    /// let reply = Reply::parse(r#"{"ok":true,"content":"20 °C"}"#, &limits).unwrap();
    /// assert_eq!(reply.content, Some(Value::from("20 °C")));
    /// // The envelope is a recommendation: any text is a reply.
    /// assert_eq!(Reply::parse("20 °C", &limits), None);
    /// ```
    pub fn parse(body: &'a str, limits: &Limits) -> Option<Self> {
        let mut json = Json::new(body, limits);
        let value = json.value().ok()?;
        json.end().ok()?;
        let Data::Map(entries) = value.data else { return None };
        let mut reply = Self::default();
        let mut is_envelope = false;
        for (key, value) in entries {
            match key.as_ref() {
                "ok" => {
                    reply.ok = value.as_bool()?;
                    is_envelope = true;
                }
                "content" => reply.content = Some(value),
                "error" => reply.error = Some(value),
                "provenance" => reply.provenance = Some(value),
                _ => reply.extra.push((key, value)),
            }
        }
        is_envelope.then_some(reply)
    }

    /// Returns the code of the error: the error itself, its `code`, or the word at its beginning.
    ///
    /// ```
    /// use openchatml::{Code, Limits, Reply};
    ///
    /// let code = |body| Reply::parse(body, &Limits::default())?.code();
    /// assert_eq!(code(r#"{"ok":false,"error":"E-TOOL-TIMEOUT: 30 s"}"#), Some(Code::ToolTimeout));
    /// let object = r#"{"ok":false,"error":{"code":"E-CALL-SCHEMA"}}"#;
    /// assert_eq!(code(object), Some(Code::CallSchema));
    /// assert_eq!(code(r#"{"ok":false,"error":"out of order"}"#), None);
    /// ```
    pub fn code(&self) -> Option<Code> {
        let error = self.error.as_ref()?;
        let text = error.as_str().or_else(|| error.get("code")?.as_str())?;
        let word = text.split(|c: char| c == ':' || c.is_whitespace()).next()?;
        word.parse().ok()
    }

    /// Writes the envelope as JSON, on one line.
    ///
    /// ```
    /// use openchatml::Reply;
    ///
    /// let reply = Reply::success("20 °C");
    /// assert_eq!(reply.to_json(), r#"{"ok":true,"content":"20 °C"}"#);
    /// ```
    pub fn to_json(&self) -> String {
        let mut out = String::from(if self.ok { r#"{"ok":true"# } else { r#"{"ok":false"# });
        let named =
            [("content", &self.content), ("error", &self.error), ("provenance", &self.provenance)];
        let named = named.iter().filter_map(|(key, value)| Some((*key, value.as_ref()?)));
        // Keys with their own field are written from that field.
        let extra = self.extra.iter().map(|(key, value)| (key.as_ref(), value));
        let extra = extra.filter(|(key, _)| !FIELDS.contains(key));
        for (key, value) in named.chain(extra) {
            out.push(',');
            json::write_string(&mut out, key);
            out.push(':');
            json::write_value(&mut out, value);
        }
        out.push('}');
        out
    }
}
