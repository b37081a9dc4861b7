//! JSON as a tree (RFC 8259), with any spelling and with oddities.
//!
//! This does not use the JSON code of the library. Numbers keep their spelling, and keys may be
//! duplicated.

mod odd;
mod read;

pub(crate) use self::odd::{add_oddities, any, no_conversation};
pub use self::read::{Node, read};

use super::generator::Generator;

/// A JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    /// `null`, `true` or `false`.
    Word(&'static str),
    /// A number in its spelling.
    Number(String),
    /// A string, decoded.
    String(String),
    /// Text that is written unchanged.
    Raw(String),
    /// A list.
    List(Vec<Self>),
    /// An object: its members in their order.
    Object(Vec<(String, Self)>),
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<Vec<Self>> for Json {
    fn from(items: Vec<Self>) -> Self {
        Self::List(items)
    }
}

/// An object with these members.
pub(crate) fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
    Json::Object(members.map(|(key, value)| (key.to_owned(), value)).into())
}

impl Json {
    /// Adds a member, if this is an object.
    pub(crate) fn set(&mut self, key: &str, value: impl Into<Self>) {
        if let Self::Object(members) = self {
            members.push((key.to_owned(), value.into()));
        }
    }

    /// Returns the strings, numbers and words except `null` and the words that name the type of an
    /// object. Declarations of data types are included.
    pub fn scalars(&self) -> Vec<String> {
        match self {
            Self::Word("null") => Vec::new(),
            Self::Word(text) => vec![(*text).to_owned()],
            Self::Number(text) | Self::String(text) | Self::Raw(text) => vec![text.clone()],
            Self::List(items) => items.iter().flat_map(Self::scalars).collect(),
            Self::Object(members) => {
                let is_data = |value: &Self| match value {
                    Self::String(word) => word.ends_with("_content"),
                    _ => false,
                };
                let members = members.iter().filter(|(key, value)| key != "type" || is_data(value));
                members.flat_map(|(_, value)| value.scalars()).collect()
            }
        }
    }

    /// Visits the value and all nested values, outer ones first.
    fn walk<'j>(&'j mut self, visit: &mut dyn FnMut(&mut Self)) {
        visit(self);
        match self {
            Self::List(items) => items.iter_mut().for_each(|item| item.walk(visit)),
            Self::Object(members) => members.iter_mut().for_each(|(_, value)| value.walk(visit)),
            _ => {}
        }
    }

    fn count(&mut self) -> usize {
        let mut count = 0;
        self.walk(&mut |_| count += 1);
        count
    }

    /// Changes the nth value.
    fn change(&mut self, n: usize, change: &mut dyn FnMut(&mut Self)) {
        let mut at = 0;
        let mut done = false;
        self.walk(&mut |value| {
            if !done && at == n {
                done = true;
                change(value);
            }
            at += 1;
        });
    }
}

/// The spelling of a document.
#[derive(Clone, Copy)]
struct Style {
    /// Line breaks and indentation.
    wide: bool,
    /// The white space after colons and commas.
    space: &'static str,
    escapes: Escapes,
}

#[derive(Clone, Copy)]
enum Escapes {
    /// Only required escapes.
    Needed,
    /// Escapes for everything except ASCII.
    Ascii,
    /// Also escapes for `<`, `>` and `/`.
    Html,
}

/// Serializes a document.
pub(crate) fn spell(generator: &mut Generator<'_>, value: &Json) -> String {
    let style = Style {
        wide: generator.one_in(4),
        space: generator.pick(&["", "", " "]),
        escapes: generator.pick(&[Escapes::Needed, Escapes::Needed, Escapes::Ascii, Escapes::Html]),
    };
    let mut out = String::new();
    write(value, style, 0, &mut out);
    out.push_str(generator.pick(&["", "", "\n"]));
    out
}

/// The shortest spelling.
pub fn compact(value: &Json) -> String {
    let mut out = String::new();
    write(value, Style { wide: false, space: "", escapes: Escapes::Needed }, 0, &mut out);
    out
}

fn write(value: &Json, style: Style, depth: usize, out: &mut String) {
    let line = |out: &mut String, depth: usize| {
        if style.wide {
            out.push('\n');
            out.push_str(&"  ".repeat(depth));
        }
    };
    match value {
        Json::Word(text) => out.push_str(text),
        Json::Number(text) | Json::Raw(text) => out.push_str(text),
        Json::String(text) => string(text, style.escapes, out),
        Json::List(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                    out.push_str(style.space);
                }
                line(out, depth + 1);
                write(item, style, depth + 1, out);
            }
            if !items.is_empty() {
                line(out, depth);
            }
            out.push(']');
        }
        Json::Object(members) => {
            out.push('{');
            for (at, (key, item)) in members.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                    out.push_str(style.space);
                }
                line(out, depth + 1);
                string(key, style.escapes, out);
                out.push(':');
                out.push_str(style.space);
                write(item, style, depth + 1, out);
            }
            if !members.is_empty() {
                line(out, depth);
            }
            out.push('}');
        }
    }
}

fn string(text: &str, escapes: Escapes, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '/' if matches!(escapes, Escapes::Html) => out.push_str("\\/"),
            '<' | '>' if matches!(escapes, Escapes::Html) => {
                out.push_str(&format!("\\u{:04X}", u32::from(c)));
            }
            c if c < ' ' || !c.is_ascii() && !matches!(escapes, Escapes::Needed) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
