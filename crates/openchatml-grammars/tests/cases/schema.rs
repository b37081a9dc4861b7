//! JSON Schemas with valid and invalid values.

use openchatml_grammars::Language;
use openchatml_testkit::{Source, one_in, pick};
use serde_json::{Map, Value, json};

/// A schema, a valid value, and an invalid one.
pub(crate) struct Sample {
    pub(crate) schema: Value,
    pub(crate) good: Value,
    /// `None` if all values are valid.
    pub(crate) bad: Option<Value>,
}

impl Sample {
    fn new(schema: Value, good: impl Into<Value>, bad: impl Into<Value>) -> Self {
        Self { schema, good: good.into(), bad: Some(bad.into()) }
    }
}

/// The schemas of `schemas.json`, each with a pair of its values. Schemas that engines of this
/// language are known to enforce wrongly are left out.
pub(crate) fn listed(language: Language) -> Vec<Sample> {
    let listed: Vec<Value> =
        serde_json::from_str(include_str!("../schemas.json")).expect("it is JSON");
    let mut samples = Vec::new();
    let is_beyond = |case: &Value| {
        let beyond = case["beyond"].as_array().map(Vec::as_slice).unwrap_or_default();
        beyond.iter().any(|it| it == language.as_str())
    };
    for case in listed.into_iter().filter(|case| !is_beyond(case)) {
        let [good, bad] = ["good", "bad"].map(|key| case[key].as_array().expect("a list").clone());
        for at in 0..good.len().max(bad.len()) {
            let good = good[at % good.len()].clone();
            let bad = (!bad.is_empty()).then(|| bad[at % bad.len()].clone());
            samples.push(Sample { schema: case["schema"].clone(), good, bad });
        }
    }
    samples
}

/// Texts that a grammar might treat as syntax.
pub(crate) const TEXTS: &[&str] = &[
    "",
    "Tokyo",
    "東京",
    "a \"b\" \\ c",
    "line\nline\t",
    "x < y",
    "<",
    "a<|b",
    "[^\\]-]",
    "/*",
    "}]",
    "root ::= \"x\"",
    "<<",
    "e\u{301}",
    "🙂",
    "$(x)",
    "%json {}",
    "|",
    "-",
    "'",
    "#",
    "//",
    "\u{1}",
];

/// Names that are used only for properties.
const NAMES: &[&str] = &[
    "a",
    "b",
    "ab",
    "city",
    "a b",
    "q\"uote",
    "back\\slash",
    "é",
    "type",
    "$ref",
    "x-y",
    "]",
    "l\nb",
    "/",
    "~",
    "%",
    "a<b",
    "",
    "\t",
];

/// A schema of an object, like that of a tool's arguments.
pub(crate) fn arguments(source: &mut Source<'_>) -> Sample {
    let mut sample = object(source, 3);
    if one_in(source, 4) {
        let key = pick(source, &["$defs", "definitions"]);
        sample.schema = json!({"$ref": format!("#/{key}/x~1y"), key: {"x/y": sample.schema}});
    } else if one_in(source, 4) {
        sample.schema = json!({"allOf": [{"type": "object"}, sample.schema], "title": "\"x\""});
    }
    sample
}

fn any(source: &mut Source<'_>, depth: usize) -> Sample {
    let kinds = if depth == 0 { 6 } else { 10 };
    match source.int_in_range(0..=kinds).unwrap_or(0) {
        0 => Sample::new(json!({"type": "string"}), pick(source, TEXTS), 1),
        1 => Sample::new(json!({"type": "integer"}), pick(source, &[0, -1, 1_234_567]), "1"),
        2 => Sample::new(json!({"type": "number"}), pick(source, &[0.5, -7.0, 6e23]), json!(["0"])),
        3 => Sample::new(json!({"type": "boolean"}), one_in(source, 2), "true"),
        4 => Sample::new(json!({"type": "null"}), Value::Null, json!({})),
        5 => {
            let good = pick(source, TEXTS);
            let value =
                if one_in(source, 2) { json!({"const": good}) } else { json!({"enum": [1, good]}) };
            Sample::new(value, good, format!("{good}x"))
        }
        6 => Sample { schema: json!({"description": "\""}), good: free(source, 2), bad: None },
        7 => array(source, depth - 1),
        8 => either(source, depth - 1),
        _ => object(source, depth - 1),
    }
}

/// Any value.
fn free(source: &mut Source<'_>, depth: usize) -> Value {
    match source.int_in_range(0..=if depth == 0 { 3 } else { 5 }).unwrap_or(0) {
        0 => Value::Null,
        1 => pick(source, TEXTS).into(),
        2 => pick(source, &[0.0, -1.5e10, 12_345_678_901_234.0]).into(),
        3 => true.into(),
        4 => {
            (0..source.int_in_range(0..=3).unwrap_or(0)).map(|_| free(source, depth - 1)).collect()
        }
        _ => json!({pick(source, NAMES): free(source, depth - 1)}),
    }
}

fn object(source: &mut Source<'_>, depth: usize) -> Sample {
    let mut properties = Map::new();
    let mut required = Vec::new();
    let mut good = Map::new();
    let mut bads = Vec::new();
    for _ in 0..source.int_in_range(0..=4).unwrap_or(0) {
        let name = pick(source, NAMES);
        if properties.contains_key(name) {
            continue;
        }
        let sample = any(source, depth);
        let is_required = one_in(source, 2);
        if is_required {
            required.push(name);
        }
        if is_required || one_in(source, 2) {
            good.insert(name.into(), sample.good);
            bads.extend(sample.bad.map(|bad| (name, bad)));
        }
        properties.insert(name.into(), sample.schema);
    }
    let mut schema = json!({"type": "object", "properties": properties, "required": required});
    let mut bad = good.clone();
    match source.int_in_range(0..=5).unwrap_or(0) {
        0 if !bads.is_empty() => {
            let (name, value) = bads.swap_remove(0);
            bad.insert(name.into(), value);
        }
        1 if !required.is_empty() => {
            bad.shift_remove(required[0]);
            // An additional property must not replace a listed one.
            schema["additionalProperties"] = json!({"type": "string"});
        }
        2 => {
            schema["additionalProperties"] = false.into();
            bad.insert("not listed".into(), 1.into());
        }
        3 => {
            schema["additionalProperties"] = json!({"type": "string"});
            good.insert("other <".into(), pick(source, TEXTS).into());
            bad.insert("another".into(), 1.into());
        }
        4 => {
            good.insert("zzz".into(), free(source, 1));
            return Sample::new(schema, good, true);
        }
        _ => return Sample::new(schema, good, json!([])),
    }
    Sample::new(schema, good, bad)
}

fn array(source: &mut Source<'_>, depth: usize) -> Sample {
    let [one, two] = [any(source, depth), any(source, depth)];
    let many = |count: usize| vec![one.good.clone(); count];
    match source.int_in_range(0..=2).unwrap_or(0) {
        0 => {
            let schema =
                json!({"type": "array", "items": one.schema, "minItems": 1, "maxItems": 3});
            let good = many(source.int_in_range(1..=3).unwrap_or(1));
            Sample::new(schema, good, many(pick(source, &[0, 4])))
        }
        1 => {
            let first = [one.schema, two.schema];
            let schema =
                json!({"type": "array", "prefixItems": first, "minItems": 2, "items": false});
            let values = [one.good, two.good.clone(), two.good];
            Sample::new(schema, values[..2].to_vec(), values.to_vec())
        }
        _ => {
            let good = many(source.int_in_range(0..=3).unwrap_or(0));
            let bad = one.bad.map_or(json!({}), |bad| json!([bad]));
            Sample::new(json!({"type": "array", "items": one.schema}), good, bad)
        }
    }
}

fn either(source: &mut Source<'_>, depth: usize) -> Sample {
    let mut one = any(source, depth);
    match source.int_in_range(0..=2).unwrap_or(0) {
        0 => {
            one.schema = json!({"anyOf": [{"type": "boolean"}, one.schema]});
            one.bad = None;
        }
        1 => {
            one = object(source, depth);
            one.schema["nullable"] = true.into();
            one.good = Value::Null;
        }
        _ => {
            one = Sample::new(json!({"type": ["string", "null"]}), Value::Null, false);
        }
    }
    one
}
