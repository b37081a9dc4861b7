//! Parses a document in JSON or YAML.

use std::fmt;

use openchatml::{Data, Limits, Value};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};

use super::OpenApiError;

/// Parses JSON if the text starts like an object, and YAML otherwise.
pub(super) fn read(text: &str) -> Result<Value<'static>, OpenApiError> {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().starts_with('{') {
        let found = match Value::from_json(text, &Limits::default()) {
            Ok(value) => return Ok(value.into_owned()),
            Err(found) => found,
        };
        let before = &text[..found.span.range().start.min(text.len())];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        return Err(OpenApiError {
            at: format!("line {line}, column {column}"),
            why: found.message,
        });
    }
    match serde_saphyr::from_str::<Node>(text) {
        Ok(node) => Ok(node.0),
        Err(error) => {
            let at = error.location().map_or_else(String::new, |place| {
                format!("line {}, column {}", place.line(), place.column())
            });
            Err(OpenApiError { at, why: error.without_snippet().to_string() })
        }
    }
}

/// A value whose keys keep their order.
struct Node(Value<'static>);

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Nodes)
    }
}

struct Nodes;

/// Converts a number to its JSON spelling. JSON has no spelling for numbers that are not finite.
fn number(number: impl fmt::Display) -> Node {
    Node(Data::Number(number.to_string().into()).into())
}

impl<'de> Visitor<'de> for Nodes {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(number(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(number(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node(value.to_owned().into()))
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node(Value::default()))
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<Node, E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        Node::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(Node(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Node(Data::List(list).into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Node, A::Error> {
        let mut map = Vec::new();
        while let Some((key, Node(value))) = entries.next_entry::<String, Node>()? {
            map.push((key.into(), value));
        }
        Ok(Node(Data::Map(map).into()))
    }
}
