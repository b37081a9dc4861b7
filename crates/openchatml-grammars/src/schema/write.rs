//! Converts nodes to JSON Schema with the keywords that a library supports.

use std::borrow::Cow;

use openchatml::{Data, Value};

use super::{Array, Id, Node, Number, Object, Schema, Text};
use crate::unenforced::Unenforced;

/// The library that reads the schema, which determines the supported keywords.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Llguidance,
    Xgrammar,
}

/// The string formats that a library supports.
const LLGUIDANCE: &[&str] =
    &["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri"];
const XGRAMMAR: &[&str] = &[
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uuid",
    "uri",
    "uri-reference",
    "uri-template",
    "json-pointer",
    "relative-json-pointer",
];

/// Returns the schema as JSON, and the requirements that the library does not support.
pub(crate) fn write(schema: &Schema, dialect: Dialect) -> (Value<'static>, Vec<Unenforced>) {
    let mut writer = Writer { schema, dialect, unenforced: Vec::new() };
    let mut root = match schema.is_named(Schema::ROOT) {
        true => vec![reference(Schema::ROOT)],
        false => writer.node(Schema::ROOT),
    };
    let named = (0..schema.entries.len()).filter(|id| schema.is_named(*id));
    let named: Vec<_> =
        named.map(|id| (Cow::Owned(name(id)), Data::Map(writer.node(id)).into())).collect();
    if !named.is_empty() {
        root.push(("$defs".into(), Data::Map(named).into()));
    }
    (Data::Map(root).into(), writer.unenforced)
}

type Entries = Vec<(Cow<'static, str>, Value<'static>)>;

fn name(id: Id) -> String {
    format!("s{id}")
}

fn reference(id: Id) -> (Cow<'static, str>, Value<'static>) {
    ("$ref".into(), format!("#/$defs/{}", name(id)).into())
}

fn kind(word: &'static str) -> (Cow<'static, str>, Value<'static>) {
    ("type".into(), word.into())
}

fn number(value: usize) -> Value<'static> {
    Data::Number(value.to_string().into()).into()
}

struct Writer<'s> {
    schema: &'s Schema,
    dialect: Dialect,
    unenforced: Vec<Unenforced>,
}

impl Writer<'_> {
    fn part(&mut self, id: Id) -> Value<'static> {
        if matches!(self.schema.node(id), Node::Never) {
            return false.into();
        }
        let is_named = self.schema.is_named(id);
        Data::Map(if is_named { vec![reference(id)] } else { self.node(id) }).into()
    }

    fn parts(&mut self, ids: &[Id]) -> Value<'static> {
        Data::List(ids.iter().map(|id| self.part(*id)).collect()).into()
    }

    fn node(&mut self, id: Id) -> Entries {
        match self.schema.node(id) {
            Node::Any => Vec::new(),
            // A part that allows nothing is `false`. A whole schema that allows nothing has no
            // grammar.
            Node::Never => vec![("enum".into(), Data::List(Vec::new()).into())],
            Node::Const(values) => vec![("enum".into(), Data::List(values.clone()).into())],
            Node::Union(parts) => vec![("anyOf".into(), self.parts(parts))],
            Node::Object(object) => self.object(id, object),
            Node::Array(array) => self.array(array),
            Node::String(text) => self.text(id, text),
            Node::Number(number) => self.number(id, number),
            Node::Bool => vec![kind("boolean")],
            Node::Null => vec![kind("null")],
        }
    }

    fn object(&mut self, id: Id, object: &Object) -> Entries {
        let mut out = vec![kind("object")];
        let mut properties = Vec::new();
        for property in &object.properties {
            let is_never = matches!(self.schema.node(property.value), Node::Never);
            if is_never && self.dialect == Dialect::Xgrammar {
                // The library rejects a schema that allows nothing.
                if object.additional.is_some() {
                    self.unenforced.push(self.schema.keyword(property.value, "false"));
                }
                continue;
            }
            properties.push((Cow::Owned(property.name.clone()), self.part(property.value)));
        }
        let required = object.properties.iter().filter(|it| it.is_required);
        let required: Vec<Value<'static>> = required.map(|it| it.name.clone().into()).collect();
        let all_required = required.len() == properties.len();
        if !properties.is_empty() {
            out.push(("properties".into(), Data::Map(properties).into()));
        }
        if !required.is_empty() {
            out.push(("required".into(), Data::List(required).into()));
        }
        // The library treats a listed name with an escape as an unlisted name.
        let is_escaped = |name: &str| Value::from(name).to_json().contains('\\');
        if self.dialect == Dialect::Xgrammar
            && object.additional.is_some()
            && object.properties.iter().any(|it| is_escaped(&it.name))
        {
            self.unenforced.push(self.schema.keyword(id, "properties"));
        }
        let additional = match object.additional {
            None => false.into(),
            Some(additional) => match self.schema.node(additional) {
                Node::Any => true.into(),
                _ => self.part(additional),
            },
        };
        out.push(("additionalProperties".into(), additional));
        for (keyword, count) in object.count.limits() {
            // The library counts only the unlisted properties.
            if all_required {
                out.push((keyword.into(), number(count)));
            } else {
                self.unenforced.push(self.schema.keyword(id, keyword));
            }
        }
        out
    }

    fn array(&mut self, array: &Array) -> Entries {
        let mut out = vec![kind("array")];
        if !array.prefix.is_empty() {
            out.push(("prefixItems".into(), self.parts(&array.prefix)));
        }
        let items = array.items.map_or(false.into(), |items| self.part(items));
        out.push(("items".into(), items));
        out.extend(array.count.limits().map(|(key, count)| (key.into(), number(count))));
        out
    }

    fn text(&mut self, id: Id, text: &Text) -> Entries {
        let mut out = vec![kind("string")];
        let formats = match self.dialect {
            Dialect::Llguidance => LLGUIDANCE,
            Dialect::Xgrammar => XGRAMMAR,
        };
        let mut restrictions: Vec<(&'static str, Value<'static>)> = Vec::new();
        restrictions.extend(text.pattern.as_ref().map(|it| ("pattern", it.clone().into())));
        if let Some(format) = &text.format {
            if formats.contains(&format.as_str()) {
                restrictions.push(("format", format.clone().into()));
            } else {
                self.unenforced.push(self.schema.keyword(id, "format"));
            }
        }
        restrictions.extend(text.count.limits().map(|(key, count)| (key, number(count))));
        // The library supports one of these keywords, or both length limits.
        let is_alone = |key: &str| key == "pattern" || key == "format";
        let single = self.dialect == Dialect::Xgrammar
            && restrictions.first().is_some_and(|first| is_alone(first.0));
        for (index, (keyword, value)) in restrictions.into_iter().enumerate() {
            if single && index > 0 {
                self.unenforced.push(self.schema.keyword(id, keyword));
            } else {
                out.push((keyword.into(), value));
            }
        }
        out
    }

    fn number(&mut self, id: Id, number: &Number) -> Entries {
        let mut out = vec![kind(if number.is_integer { "integer" } else { "number" })];
        for (keyword, value) in &number.bounds {
            if *keyword == "multipleOf" && self.dialect == Dialect::Xgrammar {
                self.unenforced.push(self.schema.keyword(id, keyword));
            } else {
                out.push(((*keyword).into(), value.clone()));
            }
        }
        out
    }
}
