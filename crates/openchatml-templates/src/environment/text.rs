//! Converts values to text like Python: `str(value)` and `json.dumps(value)`.
//!
//! The length is limited during the conversion, because a small value may have a long text.

use minijinja::value::ValueKind;
use minijinja::{Error, Value};

use super::bounds::{Bounds, Exceeded};
use crate::number::BigInt;

/// Text with a maximum length.
pub(super) struct Text<'b> {
    pub(super) text: String,
    bounds: &'b Bounds,
    most: usize,
}

impl<'b> Text<'b> {
    /// Creates an empty text.
    pub(super) fn new(bounds: &'b Bounds) -> Self {
        Self { text: String::new(), bounds, most: bounds.limits.value_bytes }
    }

    /// Adds a piece.
    pub(super) fn push(&mut self, piece: &str) -> Result<(), Error> {
        if self.most - self.text.len() < piece.len() {
            return Err(self.bounds.exceeded(Exceeded::Bytes));
        }
        self.text.push_str(piece);
        Ok(())
    }

    /// Adds `str(value)`, or nothing for an undefined value.
    pub(super) fn push_str(&mut self, value: &Value) -> Result<(), Error> {
        match (value.as_str(), value.kind()) {
            (Some(text), _) => self.push(text),
            (None, ValueKind::Undefined) => Ok(()),
            _ => self.push_repr(value, 0),
        }
    }

    /// Adds `repr(value)`.
    fn push_repr(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        self.bounds.depth(depth)?;
        match value.kind() {
            ValueKind::String => {
                let text = value.as_str().unwrap_or_default();
                self.push(&repr(text, |c| self.bounds.marks.contains(&c)))
            }
            ValueKind::Number => self.push(&number(value)),
            ValueKind::Seq | ValueKind::Iterable => {
                let [open, close] = if value.is_tuple() { ["(", ")"] } else { ["[", "]"] };
                self.push(open)?;
                let mut count = 0;
                for item in value.try_iter()?.checked() {
                    self.push(if count > 0 { ", " } else { "" })?;
                    self.push_repr(&item?, depth + 1)?;
                    count += 1;
                }
                self.push(if value.is_tuple() && count == 1 { "," } else { "" })?;
                self.push(close)
            }
            ValueKind::Map => {
                self.push("{")?;
                for (index, key) in value.try_iter()?.checked().enumerate() {
                    let key = key?;
                    self.push(if index > 0 { ", " } else { "" })?;
                    self.push_repr(&key, depth + 1)?;
                    self.push(": ")?;
                    self.push_repr(&value.get_item(&key)?, depth + 1)?;
                }
                self.push("}")
            }
            // Words and objects without data, whose text is short.
            _ => self.push(&value.to_string()),
        }
    }
}

/// Converts a number to text like Python.
pub(super) fn number(value: &Value) -> String {
    if value.is_integer() {
        return value.to_string();
    }
    match f64::try_from(value.clone()) {
        Ok(number) => float(number),
        Err(_) => value.to_string(),
    }
}

/// Converts a float to text like Python: with the fewest digits that identify it, and with an
/// exponent if it is very large or small.
fn float(number: f64) -> String {
    if !number.is_finite() {
        return number.to_string().to_lowercase();
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..16).contains(&exponent) {
        let text = number.to_string();
        return if text.contains('.') { text } else { format!("{text}.0") };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// Returns the `repr` of a string.
fn repr(text: &str, is_mark: impl Fn(char) -> bool) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::with_capacity(text.len() + 2);
    out.push(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => out.extend(['\\', c]),
            ' '..='~' => out.push(c),
            c if is_mark(c) || is_printable(c) => out.push(c),
            c => match u32::from(c) {
                code @ ..0x100 => out.push_str(&format!("\\x{code:02x}")),
                code @ ..0x1_0000 => out.push_str(&format!("\\u{code:04x}")),
                code => out.push_str(&format!("\\U{code:08x}")),
            },
        }
    }
    out.push(quote);
    out
}

fn is_printable(c: char) -> bool {
    // After a letter, because Rust escapes combining characters without one.
    !c.is_whitespace() && !format!("a{c}").escape_debug().any(|c| c == '\\')
}

/// The layout of JSON.
pub(super) struct JsonLayout {
    pub(super) ascii: bool,
    /// The indentation of a level. `None`: no line breaks.
    pub(super) indent: Option<String>,
    /// The separators after items and after keys.
    pub(super) separators: (String, String),
    pub(super) sorts: bool,
}

impl Text<'_> {
    /// Adds `json.dumps(value)`.
    pub(super) fn push_json(
        &mut self,
        value: &Value,
        layout: &JsonLayout,
        depth: usize,
    ) -> Result<(), Error> {
        self.bounds.depth(depth)?;
        match value.kind() {
            ValueKind::None => self.push("null"),
            ValueKind::Bool => self.push(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => self.push(&json_number(value)),
            ValueKind::String => {
                self.push_json_string(value.as_str().unwrap_or_default(), layout.ascii)
            }
            ValueKind::Seq | ValueKind::Iterable => {
                let mut items = value.try_iter()?.checked();
                self.push_items(["[", "]"], layout, depth, |out| match items.next() {
                    Some(item) => out.push_json(&item?, layout, depth + 1).map(|()| true),
                    None => Ok(false),
                })
            }
            ValueKind::Map => self.push_json_map(value, layout, depth),
            _ if value.downcast_object_ref::<BigInt>().is_some() => self.push(&value.to_string()),
            kind => Err(Error::new(
                minijinja::ErrorKind::BadSerialization,
                format!("{kind} cannot be written as JSON"),
            )),
        }
    }

    fn push_json_map(
        &mut self,
        value: &Value,
        layout: &JsonLayout,
        depth: usize,
    ) -> Result<(), Error> {
        let mut keys = value.try_iter()?.checked().collect::<Result<Vec<_>, _>>()?;
        if layout.sorts {
            keys.sort();
        }
        let mut keys = keys.into_iter();
        self.push_items(["{", "}"], layout, depth, |out| {
            let Some(key) = keys.next() else { return Ok(false) };
            let name = match key.kind() {
                ValueKind::None => "null".to_owned(),
                ValueKind::Bool => if key.is_true() { "true" } else { "false" }.to_owned(),
                ValueKind::Number => json_number(&key),
                _ => key.to_string(),
            };
            out.push_json_string(&name, layout.ascii)?;
            out.push(&layout.separators.1)?;
            out.push_json(&value.get_item(&key)?, layout, depth + 1)?;
            Ok(true)
        })
    }

    /// Adds items with `item`, which returns whether there was one.
    fn push_items(
        &mut self,
        [open, close]: [&str; 2],
        layout: &JsonLayout,
        depth: usize,
        mut item: impl FnMut(&mut Self) -> Result<bool, Error>,
    ) -> Result<(), Error> {
        let line = |out: &mut Self, depth: usize| match &layout.indent {
            Some(indent) => {
                out.push("\n")?;
                (0..depth).try_for_each(|_| out.push(indent))
            }
            None => Ok(()),
        };
        self.push(open)?;
        let mut is_empty = true;
        loop {
            let before = self.text.len();
            if !is_empty {
                self.push(&layout.separators.0)?;
            }
            line(self, depth + 1)?;
            if !item(self)? {
                self.text.truncate(before);
                break;
            }
            is_empty = false;
        }
        if !is_empty {
            line(self, depth)?;
        }
        self.push(close)
    }

    fn push_json_string(&mut self, text: &str, ascii: bool) -> Result<(), Error> {
        let mut out = String::with_capacity(text.len() + 2);
        out.push('"');
        for c in text.chars() {
            match c {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '\u{8}' => out.push_str("\\b"),
                '\u{c}' => out.push_str("\\f"),
                c if c < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
                // Marks are not escaped, because they are removed from the output.
                c if ascii && c > '~' && !self.bounds.marks.contains(&c) => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        out.push_str(&format!("\\u{unit:04x}"));
                    }
                }
                c => out.push(c),
            }
        }
        out.push('"');
        self.push(&out)
    }
}

fn json_number(value: &Value) -> String {
    match f64::try_from(value.clone()) {
        Ok(number) if !value.is_integer() && !number.is_finite() => match number {
            number if number.is_nan() => "NaN".to_owned(),
            number if number < 0.0 => "-Infinity".to_owned(),
            _ => "Infinity".to_owned(),
        },
        _ => number(value),
    }
}

#[cfg(test)]
mod tests {
    use super::{float, repr};

    #[test]
    fn floats_are_formatted_like_in_python() {
        for (number, text) in [
            (1.0, "1.0"),
            (0.1, "0.1"),
            (-0.0, "-0.0"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.5e300, "1.5e+300"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(float(number), text);
        }
    }

    #[test]
    fn strings_are_represented_like_in_python() {
        for (text, shown) in
            [("it's", "\"it's\""), ("it's \"x\"", r#"'it\'s "x"'"#), ("a\n\u{7f}é", r"'a\n\x7fé'")]
        {
            assert_eq!(repr(text, |_| false), shown);
        }
    }
}
