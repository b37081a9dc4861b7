//! JSON as models write it.

use openchatml::{Limits, Value};

use super::python::{string, stripped};

/// What a text may contain that is no JSON.
#[derive(Clone, Debug, Default)]
pub(super) struct LaxJson {
    /// Names without quotation marks as keys.
    pub(super) unquoted_keys: bool,
    /// What opens and closes strings beside quotation marks.
    pub(super) string_delims: Vec<(String, String)>,
    /// Whether text that is no JSON is a string.
    pub(super) allow_non_json: bool,
    pub(super) strip: bool,
}

/// A part of a text.
enum Part<'t> {
    Text(&'t str),
    String(&'t str),
}

impl LaxJson {
    pub(super) fn parse(&self, text: &str, limits: &Limits) -> Result<Value<'static>, String> {
        let parsed = if !self.unquoted_keys && self.string_delims.is_empty() {
            Value::from_json(text, limits).map(Value::into_owned)
        } else {
            let strict = self.strict(text);
            Value::from_json(&strict, limits).map(Value::into_owned)
        };
        match parsed {
            Ok(value) => Ok(value),
            Err(_) if self.allow_non_json => Ok(string(stripped(text, self.strip))),
            Err(found) => Err(format!("invalid JSON: {}", found.message)),
        }
    }

    /// Writes the text as JSON.
    fn strict(&self, text: &str) -> String {
        let mut parts = vec![Part::Text(text)];
        for (open, close) in &self.string_delims {
            let mut split = Vec::new();
            for part in parts {
                match part {
                    Part::Text(text) => cut(text, open, close, &mut split),
                    Part::String(_) => split.push(part),
                }
            }
            parts = split;
        }
        let mut out = String::with_capacity(text.len() + 16);
        let mut keys = Keys::default();
        for part in parts {
            match part {
                Part::String(text) => out.push_str(&Value::from(text).to_json()),
                Part::Text(text) if self.unquoted_keys => keys.write(text, &mut out),
                Part::Text(text) => out.push_str(text),
            }
        }
        out
    }
}

/// Cuts the strings between two delimiters out of a text.
fn cut<'t>(mut text: &'t str, open: &str, close: &str, out: &mut Vec<Part<'t>>) {
    while let Some(start) = text.find(open) {
        let inside = &text[start + open.len()..];
        let Some(len) = inside.find(close) else { break };
        out.push(Part::Text(&text[..start]));
        out.push(Part::String(&inside[..len]));
        text = &inside[len + close.len()..];
    }
    out.push(Part::Text(text));
}

/// Writes keys with quotation marks.
#[derive(Default)]
struct Keys {
    in_string: bool,
}

impl Keys {
    fn write(&mut self, text: &str, out: &mut String) {
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let mut len = c.len_utf8();
            match c {
                '\\' if self.in_string => {
                    len += rest[len..].chars().next().map_or(0, char::len_utf8);
                }
                '"' => self.in_string = !self.in_string,
                _ => {}
            }
            out.push_str(&rest[..len]);
            rest = &rest[len..];
            if matches!(c, '{' | ',')
                && !self.in_string
                && let Some((space, name)) = key(rest)
            {
                out.push_str(&rest[..space]);
                out.push_str(&Value::from(name).to_json());
                rest = &rest[space + name.len()..];
            }
        }
    }
}

/// Returns the name that a text begins with, if it is a key, and where it begins.
fn key(text: &str) -> Option<(usize, &str)> {
    let after = text.trim_start();
    let len = after.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(after.len());
    let name = &after[..len];
    let is_key = !name.is_empty() && after[len..].trim_start().starts_with(':');
    is_key.then_some((text.len() - after.len(), name))
}

#[cfg(test)]
mod tests {
    use openchatml::Limits;

    use super::LaxJson;

    #[test]
    fn json_of_models_is_read() {
        let json = LaxJson {
            unquoted_keys: true,
            string_delims: vec![("<|\"|>".to_owned(), "<|\"|>".to_owned())],
            ..LaxJson::default()
        };
        let read = |text| json.parse(text, &Limits::default()).map(|it| it.to_json());
        let cases = [
            ("{a:1}", r#"{"a":1}"#),
            ("{ a : 1 , b_é:{c:[]}}", r#"{"a":1,"b_é":{"c":[]}}"#),
            (r#"{"a":"{b:1}"}"#, r#"{"a":"{b:1}"}"#),
            (r#"{"a":"\",b:1"}"#, r#"{"a":"\",b:1"}"#),
            ("{a:<|\"|>x \"y\" {z:1}<|\"|>}", r#"{"a":"x \"y\" {z:1}"}"#),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text).as_deref(), Ok(expected), "{text}");
        }
        assert!(read("{a:<|\"|>x}").is_err());
    }
}
