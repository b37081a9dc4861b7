//! Converts JSON Schema to nodes.

use std::borrow::Cow;
use std::collections::HashMap;

use openchatml::{Data, Value};

use super::keywords::{are_apart, count, escaped, has_type, listed, resolve, weight};
use super::merge::{Map, get, is_note, merge, nothing, words};
use super::{Array, Entry, Id, Node, Number, Object, Property, Range, Schema, Text};
use super::{endless, unions};
use crate::unenforced::{Requirement, Unenforced};

/// Converts a schema, up to this depth and this number of nodes.
pub(crate) fn read(root: &Value<'_>, depth: usize, nodes: usize) -> Schema {
    let mut reader = Reader {
        root,
        schema: Schema::default(),
        refs: HashMap::from([(String::new(), Schema::ROOT)]),
        pending: Vec::new(),
        depth,
        nodes,
        work: nodes.saturating_mul(WORK),
    };
    let id = reader.add(None, String::new());
    reader.fill(id, root, 0);
    while let Some((id, target)) = reader.pending.pop() {
        reader.fill(id, target, 0);
    }
    unions::unroll(&mut reader.schema);
    endless::prune(&mut reader.schema);
    reader.schema
}

/// The maximum number of copied entries for each allowed node.
const WORK: usize = 64;

/// The maximum number of notes for one schema.
const NOTES: usize = 1_000;

/// The types of JSON Schema.
const TYPES: &[&str] = &["object", "array", "string", "number", "integer", "boolean", "null"];

/// The supported keywords.
const KNOWN: &[&str] = &[
    "$ref",
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "nullable",
    "oneOf",
    "pattern",
    "patternProperties",
    "prefixItems",
    "properties",
    "required",
    "type",
];

const BOUNDS: [&str; 5] =
    ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];

struct Reader<'s, 'a> {
    root: &'s Value<'a>,
    schema: Schema,
    /// The nodes that references point at, by their pointers.
    refs: HashMap<String, Id>,
    /// The referenced schemas that were not converted yet.
    pending: Vec<(Id, &'s Value<'a>)>,
    depth: usize,
    nodes: usize,
    /// The number of entries that may still be copied.
    work: usize,
}

impl<'a> Reader<'_, 'a> {
    fn add(&mut self, parent: Option<Id>, step: String) -> Id {
        self.schema.entries.push(Entry { node: Node::Any, parent, step, is_named: false });
        self.schema.entries.len() - 1
    }

    fn note(&mut self, id: Id, requirement: Requirement) {
        let unenforced = Unenforced::at(self.schema.pointer(id), requirement);
        let unenforced_so_far = &mut self.schema.unenforced;
        if unenforced_so_far.len() < NOTES && !unenforced_so_far.contains(&unenforced) {
            unenforced_so_far.push(unenforced);
        }
    }

    fn keyword(&mut self, id: Id, keyword: &str) {
        self.note(id, Requirement::Keyword(keyword.to_owned()));
    }

    /// Converts a part of a node.
    fn part(&mut self, parent: Id, step: String, value: &Value<'a>, depth: usize) -> Id {
        let entries = value.as_map().unwrap_or_default();
        let mut restrictions = entries.iter().filter(|entry| !is_note(&entry.0));
        if let (Some((key, reference)), None) = (restrictions.next(), restrictions.next())
            && key == "$ref"
            && let Some(id) = reference.as_str().and_then(|pointer| self.named(pointer))
        {
            return id;
        }
        let id = self.add(Some(parent), step);
        self.fill(id, value, depth + 1);
        id
    }

    /// Returns the node of a reference. It is converted later, so that references may be cyclic.
    fn named(&mut self, reference: &str) -> Option<Id> {
        let pointer = reference.strip_prefix('#')?;
        if let Some(id) = self.refs.get(pointer) {
            self.schema.entries[*id].is_named = true;
            return Some(*id);
        }
        let target = resolve(self.root, pointer)?;
        let id = self.add(None, pointer.to_owned());
        self.schema.entries[id].is_named = true;
        self.refs.insert(pointer.to_owned(), id);
        self.pending.push((id, target));
        Some(id)
    }

    fn fill(&mut self, id: Id, value: &Value<'a>, depth: usize) {
        let node = if let Data::Bool(allows) = value.data {
            if allows { Node::Any } else { Node::Never }
        } else if depth > self.depth {
            self.note(id, Requirement::Depth);
            Node::Any
        } else if self.schema.entries.len() > self.nodes {
            self.note(id, Requirement::Size);
            Node::Any
        } else {
            match &value.data {
                Data::Map(map) => self.node(id, map, depth),
                _ => {
                    self.note(id, Requirement::Keyword(value.kind().to_owned()));
                    Node::Any
                }
            }
        };
        self.schema.entries[id].node = node;
    }

    fn node(&mut self, id: Id, map: &Map<'a>, depth: usize) -> Node {
        if get(map, "$ref").is_some() || get(map, "allOf").is_some() {
            let map = self.flat(id, map, 0);
            return self.node(id, &map, depth);
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(variants) = get(map, key).and_then(Value::as_list) {
                return self.variants(id, map, key, variants, depth);
            }
        }
        for (key, _) in map {
            if !KNOWN.contains(&key.as_ref()) && !is_note(key) {
                self.keyword(id, key);
            }
        }
        let mut types = match get(map, "type") {
            Some(value) => words(value),
            None => TYPES.iter().map(|it| (*it).to_owned()).collect(),
        };
        let is_nullable = get(map, "nullable").and_then(Value::as_bool) == Some(true);
        if is_nullable && !types.iter().any(|it| it == "null") {
            types.push("null".to_owned());
        }
        if let Some(values) = listed(map) {
            let mut values: Vec<_> =
                values.into_iter().filter(|value| has_type(value, &types)).collect();
            if is_nullable && !values.contains(&Data::Null.into()) {
                values.push(Data::Null.into());
            }
            return if values.is_empty() { Node::Never } else { Node::Const(values) };
        }
        let says = |entry: &(Cow<'_, str>, Value<'_>)| KNOWN.contains(&entry.0.as_ref());
        if get(map, "type").is_none() && !map.iter().any(says) {
            return Node::Any;
        }
        self.types(id, map, &types, depth)
    }

    /// Creates a union of several types.
    fn types(&mut self, id: Id, map: &Map<'a>, types: &[String], depth: usize) -> Node {
        let has = |kind: &str| types.iter().any(|it| it == kind);
        let wanted = TYPES.iter().filter(|kind| has(kind));
        // An integer is a number.
        let kinds: Vec<_> = wanted.filter(|it| **it != "integer" || !has("number")).collect();
        match kinds.as_slice() {
            [] => Node::Never,
            [kind] => self.of_type(id, map, kind, depth),
            kinds => {
                let mut parts = Vec::new();
                for kind in kinds {
                    let part = self.add(Some(id), String::new());
                    let node = self.of_type(part, map, kind, depth);
                    self.schema.entries[part].node = node;
                    parts.push(part);
                }
                self.union(parts)
            }
        }
    }

    fn of_type(&mut self, id: Id, map: &Map<'a>, kind: &str, depth: usize) -> Node {
        let text = |key: &str| get(map, key).and_then(Value::as_str).map(str::to_owned);
        match kind {
            "object" => self.object(id, map, depth),
            "array" => self.array(id, map, depth),
            "string" => {
                let count = count(map, ["minLength", "maxLength"]);
                let text = Text { count, pattern: text("pattern"), format: text("format") };
                if count.is_empty() { Node::Never } else { Node::String(text) }
            }
            "boolean" => Node::Bool,
            "null" => Node::Null,
            kind => {
                let bound = |key: &&'static str| Some((*key, get(map, key)?.clone().into_owned()));
                let bounds = BOUNDS.iter().filter_map(bound).collect();
                let number = Number { is_integer: kind == "integer", bounds };
                let is_never = number.range().is_some_and(Range::is_empty);
                if is_never { Node::Never } else { Node::Number(number) }
            }
        }
    }

    fn object(&mut self, id: Id, map: &Map<'a>, depth: usize) -> Node {
        let required = get(map, "required").and_then(Value::as_list).unwrap_or_default();
        let required: Vec<&str> = required.iter().filter_map(Value::as_str).collect();
        let anything = Value::from(true);
        let additional = get(map, "additionalProperties").unwrap_or(&anything);
        let has_patterns = get(map, "patternProperties").is_some();
        if has_patterns {
            self.keyword(id, "patternProperties");
        }
        // Properties from `patternProperties` may have any name.
        let additional = if has_patterns { &anything } else { additional };
        let mut properties: Vec<Property> = Vec::new();
        let listed = get(map, "properties").and_then(Value::as_map).unwrap_or_default();
        let unlisted = required.iter().filter(|name| listed.iter().all(|it| it.0 != **name));
        let unlisted = unlisted.map(|name| (*name, additional));
        for (name, value) in
            listed.iter().map(|(name, value)| (name.as_ref(), value)).chain(unlisted)
        {
            if properties.iter().any(|known| known.name == name) {
                continue;
            }
            let is_required = required.contains(&name);
            let value = self.part(id, format!("/properties/{}", escaped(name)), value, depth);
            properties.push(Property { name: name.to_owned(), value, is_required });
        }
        let additional = (additional.as_bool() != Some(false))
            .then(|| self.part(id, "/additionalProperties".to_owned(), additional, depth));
        let count = count(map, ["minProperties", "maxProperties"]);
        if count.is_empty() {
            return Node::Never;
        }
        Node::Object(Object { properties, additional, count })
    }

    fn array(&mut self, id: Id, map: &Map<'a>, depth: usize) -> Node {
        // Before the 2020-12 draft, `items` could list the first items, and `additionalItems`
        // described the others.
        let (first, others) = match get(map, "items") {
            Some(items) if items.as_list().is_some() => ("items", "additionalItems"),
            _ => ("prefixItems", "items"),
        };
        let mut count = count(map, ["minItems", "maxItems"]);
        let mut prefix = Vec::new();
        let listed = get(map, first).and_then(Value::as_list).unwrap_or_default();
        for (index, item) in listed.iter().enumerate() {
            let part = self.part(id, format!("/{first}/{index}"), item, depth);
            if matches!(self.schema.node(part), Node::Never) {
                count.most = Some(count.most.map_or(index, |most| most.min(index)));
                break;
            }
            prefix.push(part);
        }
        let anything = Value::from(true);
        let items = get(map, others).unwrap_or(&anything);
        let items = (items.as_bool() != Some(false))
            .then(|| self.part(id, format!("/{others}"), items, depth))
            .filter(|items| !matches!(self.schema.node(*items), Node::Never));
        let most = if items.is_none() { prefix.len() } else { usize::MAX };
        if count.least > most.min(count.most.unwrap_or(usize::MAX)) {
            return Node::Never;
        }
        Node::Array(Array { prefix, items, count })
    }

    fn variants(
        &mut self,
        id: Id,
        map: &Map<'a>,
        key: &str,
        variants: &[Value<'a>],
        depth: usize,
    ) -> Node {
        if key == "oneOf" && !are_apart(variants) {
            self.keyword(id, key);
        }
        let rest = |entry: &&(Cow<'a, str>, Value<'a>)| entry.0 != key && !is_note(&entry.0);
        let mut rest: Map<'a> = map.iter().filter(rest).cloned().collect();
        let weight = rest.iter().map(|entry| weight(&entry.1)).sum::<usize>();
        if !self.afford(id, weight.saturating_mul(variants.len())) {
            rest.clear();
        }
        let mut parts = Vec::new();
        for (index, variant) in variants.iter().enumerate() {
            let step = format!("/{key}/{index}");
            if rest.is_empty() {
                parts.push(self.part(id, step, variant, depth));
                continue;
            }
            let part = self.add(Some(id), step);
            let both = Data::List(vec![Data::Map(rest.clone()).into(), variant.clone()]);
            let both = Data::Map(vec![("allOf".into(), both.into())]);
            self.fill(part, &both.into(), depth + 1);
            parts.push(part);
        }
        self.union(parts)
    }

    fn union(&mut self, mut parts: Vec<Id>) -> Node {
        parts.retain(|part| !matches!(self.schema.node(*part), Node::Never));
        if parts.is_empty() { Node::Never } else { Node::Union(parts) }
    }

    /// Whether this many more entries may be copied.
    fn afford(&mut self, id: Id, entries: usize) -> bool {
        let left = self.work.checked_sub(entries);
        self.work = left.unwrap_or(0);
        if left.is_none() {
            self.note(id, Requirement::Size);
        }
        left.is_some()
    }

    /// Merges the references and the `allOf` of a schema into it.
    fn flat(&mut self, id: Id, map: &Map<'a>, hops: usize) -> Map<'a> {
        let own = |entry: &&(Cow<'a, str>, Value<'a>)| entry.0 != "$ref" && entry.0 != "allOf";
        if self.work == 0 {
            self.note(id, Requirement::Size);
            return Map::new();
        }
        let weight = map.iter().map(|entry| weight(&entry.1)).sum::<usize>() + 1;
        if hops > self.depth {
            self.note(id, Requirement::Depth);
            return Map::new();
        }
        if !self.afford(id, weight) {
            return Map::new();
        }
        let mut out: Map<'a> = map.iter().filter(own).cloned().collect();
        let mut others = Vec::new();
        if let Some(reference) = get(map, "$ref") {
            let pointer = reference.as_str().and_then(|it| it.strip_prefix('#'));
            match pointer.and_then(|pointer| resolve(self.root, pointer)) {
                Some(target) => others.push(target.clone()),
                None => self.keyword(id, "$ref"),
            }
        }
        others.extend(get(map, "allOf").and_then(Value::as_list).unwrap_or_default().to_vec());
        for other in others {
            let other = match other.data {
                Data::Map(other) => self.flat(id, &other, hops + 1),
                Data::Bool(false) => nothing(),
                _ => continue,
            };
            for keyword in merge(&mut out, other) {
                self.keyword(id, &keyword);
            }
        }
        out
    }
}
