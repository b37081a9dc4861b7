//! Converts the schemas of a document to independent JSON Schemas (2020-12) without references to
//! other parts of the document.

use openchatml::{Data, Value};

/// The limits for inlining references: the depth, and the number of nodes. Beyond them, a reference
/// stays a reference.
const DEPTH: usize = 16;
const NODES: usize = 2000;

type Map = Vec<(std::borrow::Cow<'static, str>, Value<'static>)>;

/// The reason why a reference cannot be resolved.
pub(super) type Lost = String;

/// Resolves the references of a document.
pub(super) struct Resolver<'d> {
    document: &'d Value<'static>,
    /// The references that are being inlined.
    open: Vec<String>,
    nodes: usize,
    /// The schemas that stay references: the pointer, the name, and the schema when it is ready.
    kept: Vec<(String, String, Option<Value<'static>>)>,
}

impl<'d> Resolver<'d> {
    pub(super) fn new(document: &'d Value<'static>) -> Self {
        Self { document, open: Vec::new(), nodes: 0, kept: Vec::new() }
    }

    /// Follows a chain of references to its value.
    pub(super) fn follow(&self, mut value: &'d Value<'static>) -> Result<&'d Value<'static>, Lost> {
        for _ in 0..DEPTH {
            match value.get("$ref").and_then(Value::as_str) {
                Some(reference) => value = self.find(reference)?,
                None => return Ok(value),
            }
        }
        Err("circular references".into())
    }

    fn find(&self, reference: &str) -> Result<&'d Value<'static>, Lost> {
        let wrong = |why: &str| format!("`$ref` `{}` {why}", reference.escape_debug());
        let pointer = reference.strip_prefix("#/");
        let pointer = pointer.ok_or_else(|| wrong("refers to another document"))?;
        let mut value = self.document;
        for step in pointer.split('/') {
            let step = percent_encoding::percent_decode_str(step).decode_utf8_lossy();
            let step = step.replace("~1", "/").replace("~0", "~");
            let next = match &value.data {
                Data::List(items) => step.parse().ok().and_then(|at: usize| items.get(at)),
                _ => value.get(&step),
            };
            value = next.ok_or_else(|| wrong("refers to a value that does not exist"))?;
        }
        Ok(value)
    }

    /// Returns a schema with inlined references. A recursive or too large schema stays a reference
    /// to one of [`definitions`](Self::definitions).
    pub(super) fn schema(&mut self, schema: &Value<'static>) -> Result<Value<'static>, Lost> {
        self.nodes += 1;
        let Some(map) = schema.as_map() else { return Ok(schema.clone()) };
        let Some(reference) = schema.get("$ref").and_then(Value::as_str) else {
            return self.keywords(map);
        };
        let target = self.find(reference)?;
        let is_kept = self.open.iter().any(|open| open == reference)
            || self.open.len() >= DEPTH
            || self.nodes >= NODES;
        let mut written = if is_kept {
            let name = self.keep(reference);
            let reference = Value::from(format!("#/$defs/{name}"));
            Value::from(Data::Map(vec![("$ref".into(), reference)]))
        } else {
            self.open.push(reference.to_owned());
            let written = self.schema(target);
            self.open.pop();
            written?
        };
        // In OpenAPI 3.1, keywords next to a reference apply as well.
        if let Data::Map(entries) = &mut written.data {
            for name in ["description", "default"] {
                if let Some(value) = schema.get(name) {
                    entries.retain(|entry| entry.0 != name);
                    entries.push((name.into(), value.clone()));
                }
            }
        }
        Ok(written)
    }

    fn keywords(
        &mut self,
        map: &[(std::borrow::Cow<'static, str>, Value<'static>)],
    ) -> Result<Value<'static>, Lost> {
        let mut written = Map::new();
        for (key, value) in map {
            let value = match (&**key, &value.data) {
                // These keywords describe the document and not the data.
                ("nullable" | "discriminator" | "xml" | "externalDocs" | "example", _) => continue,
                (
                    "properties" | "patternProperties" | "$defs" | "definitions"
                    | "dependentSchemas",
                    Data::Map(entries),
                ) => {
                    let mut schemas = Map::new();
                    for (name, schema) in entries {
                        schemas.push((name.clone(), self.schema(schema)?));
                    }
                    Data::Map(schemas).into()
                }
                ("allOf" | "anyOf" | "oneOf" | "prefixItems", Data::List(items)) => {
                    let schemas: Result<_, _> =
                        items.iter().map(|item| self.schema(item)).collect();
                    Data::List(schemas?).into()
                }
                (
                    "items"
                    | "additionalProperties"
                    | "not"
                    | "if"
                    | "then"
                    | "else"
                    | "contains"
                    | "propertyNames"
                    | "unevaluatedProperties"
                    | "unevaluatedItems",
                    Data::Map(_),
                ) => self.schema(value)?,
                _ => value.clone(),
            };
            written.push((key.clone(), value));
        }
        exclusive(&mut written, "exclusiveMinimum", "minimum");
        exclusive(&mut written, "exclusiveMaximum", "maximum");
        if map.iter().any(|(key, value)| key == "nullable" && value.as_bool() == Some(true)) {
            nullable(&mut written);
        }
        Ok(Data::Map(written).into())
    }

    /// Returns the name of a schema that stays a reference.
    fn keep(&mut self, reference: &str) -> String {
        if let Some(kept) = self.kept.iter().find(|kept| kept.0 == reference) {
            return kept.1.clone();
        }
        let last = reference.rsplit('/').next().unwrap_or_default();
        let mut name: String =
            last.chars().filter(|it| it.is_ascii_alphanumeric() || *it == '_').collect();
        while name.is_empty() || self.kept.iter().any(|kept| kept.1 == name) {
            name.push('_');
        }
        self.kept.push((reference.to_owned(), name.clone(), None));
        name
    }

    /// Returns the schemas that others refer to, by name.
    pub(super) fn definitions(mut self) -> Result<Map, Lost> {
        let mut at = 0;
        while at < self.kept.len() {
            let reference = self.kept[at].0.clone();
            let target = self.find(&reference)?;
            self.open = vec![reference];
            let schema = self.schema(target)?;
            self.kept[at].2 = Some(schema);
            at += 1;
        }
        let named = |kept: (String, String, Option<Value<'static>>)| {
            (kept.1.into(), kept.2.unwrap_or_default())
        };
        Ok(self.kept.into_iter().map(named).collect())
    }
}

/// Converts the flag of OpenAPI 3.0 to the number of JSON Schema.
fn exclusive(map: &mut Map, flag: &str, bound: &str) {
    let Some(at) = map.iter().position(|entry| entry.0 == flag) else { return };
    let Some(is_exclusive) = map[at].1.as_bool() else { return };
    map.remove(at);
    if let Some(entry) = map.iter_mut().find(|entry| is_exclusive && entry.0 == bound) {
        entry.0 = flag.to_owned().into();
    }
}

/// Converts the flag of OpenAPI 3.0 to the type `null` of JSON Schema.
fn nullable(map: &mut Map) {
    for (key, value) in map.iter_mut() {
        match (&**key, &mut value.data) {
            ("type", Data::String(_)) => {
                value.data = Data::List(vec![value.clone(), "null".into()]);
            }
            ("enum", Data::List(items)) if items.iter().all(|item| item.data != Data::Null) => {
                items.push(Value::default());
            }
            _ => {}
        }
    }
}
