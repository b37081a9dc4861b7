//! Attributes of elements, such as ` role="user" name="Eric"`: in the headers of turns, in calls and
//! in parameters. In a value, `&` is written as `&amp;` and `"` as `&quot;`.

use std::borrow::Cow;

use super::between::{Emit, Kind, Written};
use super::reader::Reader;
use super::{Opening, Rules, Turn};
use crate::declare::Types;
use crate::diagnostic::quote;
use crate::grammar::owner::Owner;
use crate::model::Role;
use crate::reading::Out;
use crate::rules::ParameterAttributes;
use crate::{Code, Control, Dropped, Span};

/// The beginning of a turn with attributes: `<|open|>message role="user" name="Eric"<|sep|>`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AttributeHeader {
    pub(crate) open: Control,
    /// The attribute with the name of the speaker, or of the tool that replies.
    pub(crate) name: &'static str,
    /// The attribute that replaces the name for the names in this list, if there is one.
    pub(crate) kind: Option<(&'static str, &'static [&'static str])>,
    /// In turns of replies, the attribute with the number of the reply, counted from 1.
    pub(crate) index: Option<&'static str>,
    pub(crate) end: Control,
    /// The token after the one that closes the turn. The model stops there.
    pub(crate) stop: Control,
}

impl AttributeHeader {
    /// Returns the attribute that contains this name.
    fn key_of(&self, name: &str) -> &'static str {
        let kind = self.kind.filter(|(_, names)| names.contains(&name));
        kind.map_or(self.name, |(key, _)| key)
    }
}

impl Turn {
    /// Returns the form of its opening, if that has attributes.
    pub(super) fn attributes(&self) -> Option<&'static AttributeHeader> {
        match self.opening {
            Opening::Attributes(header) => Some(header),
            _ => None,
        }
    }

    /// Returns the token after the one that closes it, if there is one.
    pub(super) fn stop(&self) -> Option<Control> {
        self.attributes().map(|header| header.stop)
    }
}

impl Rules {
    /// Whether replies have the names of their tools, in the openings of their turns.
    pub(super) fn names_replies(&self) -> bool {
        self.turn_of(Kind::Reply).is_some_and(|turn| turn.attributes().is_some())
    }

    /// Writes the opening of a turn with attributes. `count` is the number of the reply.
    pub(super) fn open_attributes<'m, E>(
        &self,
        header: &AttributeHeader,
        next: Kind,
        name: &'m str,
        count: usize,
        emit: &mut impl Emit<'m, E>,
    ) -> Result<(), E> {
        emit(Owner::Opening, Written::Control(header.open))?;
        if !name.is_empty() && matches!(next, Kind::Said(_) | Kind::Reply) {
            attribute(Owner::Opening, header.key_of(name), Written::Attribute(name), emit)?;
        }
        if let Some(index) = header.index.filter(|_| next == Kind::Reply) {
            attribute(Owner::Opening, index, Written::Count(count), emit)?;
        }
        emit(Owner::Opening, Written::Control(header.end))
    }
}

/// Writes an attribute.
pub(super) fn attribute<'m, E>(
    owner: Owner,
    key: &'static str,
    value: Written<'m>,
    emit: &mut impl Emit<'m, E>,
) -> Result<(), E> {
    for piece in [Written::Word(" "), Written::Word(key), Written::Word("=\""), value] {
        emit(owner, piece)?;
    }
    emit(owner, Written::Word("\""))
}

impl Reader<'_> {
    /// Reads the attributes of an opening: the name of the speaker, or of the tool that replies.
    pub(super) fn take_attributes(
        &mut self,
        header: &AttributeHeader,
        role: Role,
        text: &str,
        place: Span,
        out: &mut Out<'_, '_>,
    ) {
        let found = Attributes::read(text);
        let mut name = None;
        let mut others = Vec::new();
        for (key, value) in found.list {
            let is_kind = |(kind, names): (&str, &[&str])| kind == key && names.contains(&&*value);
            let is_name = key == header.name || header.kind.is_some_and(is_kind);
            if is_name && role != Role::Assistant && name.is_none() {
                name = Some(value.into_owned());
            } else if header.index != Some(key) {
                others.push(quote(key).to_string());
            }
        }
        if !others.is_empty() || !found.is_whole {
            let text = match others.is_empty() {
                true => "the attributes of this header are malformed".to_owned(),
                false => format!("attributes that will be dropped: {}", others.join(", ")),
            };
            self.layout.keeps = false;
            out.malformed(Code::ParseHeader.at(place, text).drops(Dropped::Header));
        }
        let name = name.filter(|name| !name.is_empty());
        match role {
            Role::Tool => self.reply_tool = name,
            _ => self.speaker = name,
        }
    }
}

/// What is read between the name of an element and its end.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Attributes<'t> {
    /// The attributes, each with its value.
    pub(super) list: Vec<(&'t str, Cow<'t, str>)>,
    /// Whether there is nothing else, and no attribute twice.
    pub(super) is_whole: bool,
}

impl<'t> Attributes<'t> {
    /// Reads attributes with white space before each. The text from the first error on is ignored.
    pub(super) fn read(text: &'t str) -> Self {
        let mut found = Self { list: Vec::new(), is_whole: true };
        let mut rest = text;
        loop {
            let trimmed = rest.trim_ascii_start();
            if trimmed.is_empty() {
                return found;
            }
            let Some((key, value, after)) = next(trimmed).filter(|_| trimmed.len() < rest.len())
            else {
                found.is_whole = false;
                return found;
            };
            // A header has few attributes.
            match found.list.len() < MOST && !found.list.iter().any(|(other, _)| *other == key) {
                true => found.list.push((key, unescaped(value))),
                false => found.is_whole = false,
            }
            rest = after;
        }
    }

    /// Returns the value of an attribute.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.list.iter().find(|(other, _)| *other == key).map(|(_, value)| &**value)
    }
}

/// The maximum number of attributes that are compared with each other.
const MOST: usize = 16;

/// Returns the key and the value of the first attribute, and the text after it.
fn next(text: &str) -> Option<(&str, &str, &str)> {
    let (key, rest) = text.split_once("=\"")?;
    let is_key = !key.is_empty() && !key.contains(|c: char| c.is_ascii_whitespace() || c == '"');
    let (value, rest) = rest.split_once('"')?;
    is_key.then_some((key, value, rest))
}

/// Returns a value as it is written.
pub(super) fn escaped(value: &str) -> Cow<'_, str> {
    match memchr::memchr2(b'&', b'"', value.as_bytes()) {
        None => value.into(),
        Some(_) => value.replace('&', "&amp;").replace('"', "&quot;").into(),
    }
}

fn unescaped(value: &str) -> Cow<'_, str> {
    match memchr::memchr(b'&', value.as_bytes()) {
        None => value.into(),
        Some(_) => value.replace("&quot;", "\"").replace("&amp;", "&").into(),
    }
}

/// What the attributes of a parameter say.
pub(super) struct Named {
    /// The name. `None` if it is missing.
    pub(super) name: Option<String>,
    /// The type of the value, if it is one of JSON.
    pub(super) kind: Option<&'static str>,
    /// The types that the value can have, if there is a type.
    pub(super) types: Option<Types>,
    /// Whether they are written as the writer writes them, apart from the type.
    pub(super) is_canonical: bool,
    /// Whether a part of them is not understood.
    pub(super) is_odd: bool,
}

/// The type of strings.
pub(super) const STRING: &str = "string";

/// The types of JSON.
const KINDS: [&str; 6] = [STRING, "number", "boolean", "null", "array", "object"];

impl Named {
    pub(super) fn read(form: ParameterAttributes, text: &str) -> Self {
        let found = Attributes::read(text);
        let name = found.get(form.name).map(str::to_owned);
        let said = found.get(form.kind);
        let kind = KINDS.into_iter().find(|kind| Some(*kind) == said);
        let types = said.map(|said| if said == STRING { Types::STRING } else { Types::JSON });
        let others = found.list.iter().any(|(key, _)| *key != form.name && *key != form.kind);
        let written = |name: &str, kind: &str| {
            format!(" {}=\"{}\" {}=\"{kind}\"", form.name, escaped(name), form.kind)
        };
        let is_canonical =
            name.as_deref().zip(kind).is_some_and(|(name, kind)| written(name, kind) == text);
        Self { name, kind, types, is_canonical, is_odd: others || !found.is_whole }
    }
}

/// Returns the type of a value in JSON.
pub(super) fn kind_of(json: &str) -> &'static str {
    match json.as_bytes().first() {
        Some(b'"') => STRING,
        Some(b't' | b'f') => KINDS[2],
        Some(b'n') => KINDS[3],
        Some(b'[') => KINDS[4],
        Some(b'{') => KINDS[5],
        _ => KINDS[1],
    }
}

#[cfg(test)]
mod tests {
    use super::{Attributes, escaped, kind_of, unescaped};

    #[test]
    fn attributes_are_read_up_to_the_first_error() {
        let read = |text| {
            let found = Attributes::read(text);
            let list: Vec<_> =
                found.list.iter().map(|(key, value)| format!("{key}:{value}")).collect();
            (list.join(" "), found.is_whole)
        };
        for (text, list, is_whole) in [
            ("", "", true),
            (" a=\"1\" b=\"\"", "a:1 b:", true),
            ("  a=\"x y\"\n", "a:x y", true),
            (" a=\"&quot;&amp;quot;&lt;\"", "a:\"&quot;&lt;", true),
            ("a=\"1\"", "", false),
            (" a=\"1\"b=\"2\"", "a:1", false),
            (" a=\"1\" a=\"2\"", "a:1", false),
            (" a=\"1", "", false),
            (" a=1", "", false),
            (" a b=\"1\"", "", false),
        ] {
            assert_eq!(read(text), (list.to_owned(), is_whole), "{text}");
        }
    }

    #[test]
    fn values_are_escaped() {
        for value in ["", "a", "a&b", "\"", "&quot;", "&amp;quot;", "&amp;&\""] {
            assert_eq!(unescaped(&escaped(value)), value);
        }
    }

    #[test]
    fn values_have_types() {
        let kinds = ["\"a\"", "-1", "true", "null", "[]", "{}"].map(kind_of);
        assert_eq!(kinds, ["string", "number", "boolean", "null", "array", "object"]);
    }
}
