//! Evaluates single keywords of a schema.

use openchatml::{Data, Value};

use super::Count;
use super::merge::{Map, get};

/// Returns the values that a schema lists.
pub(super) fn listed(map: &Map<'_>) -> Option<Vec<Value<'static>>> {
    let values = get(map, "enum").and_then(Value::as_list);
    let one = get(map, "const");
    let values = match (one, values) {
        (Some(one), None) => vec![one.clone()],
        (Some(one), Some(values)) => values.iter().filter(|it| *it == one).cloned().collect(),
        (None, values) => values?.to_vec(),
    };
    Some(values.into_iter().map(Value::into_owned).collect())
}

pub(super) fn has_type(value: &Value<'_>, types: &[String]) -> bool {
    let has = |kind: &str| types.iter().any(|it| it == kind);
    match &value.data {
        Data::Null => has("null"),
        Data::Bool(_) => has("boolean"),
        Data::Number(spelling) => {
            let whole = spelling.parse().is_ok_and(|number: f64| number.fract() == 0.0);
            has("number") || has("integer") && whole
        }
        Data::String(_) => has("string"),
        Data::List(_) => has("array"),
        Data::Map(_) => has("object"),
    }
}

/// Whether no value can match two of these variants.
pub(super) fn are_apart(variants: &[Value<'_>]) -> bool {
    let types: Option<Vec<_>> = variants.iter().map(|it| it.get("type")?.as_str()).collect();
    let mut types = types.unwrap_or_default();
    types.sort_unstable();
    let has_both = types.contains(&"number") && types.contains(&"integer");
    !types.is_empty() && !has_both && types.windows(2).all(|pair| pair[0] != pair[1])
}

pub(super) fn count(map: &Map<'_>, keywords: [&'static str; 2]) -> Count {
    let number = |key: &str| match &get(map, key)?.data {
        Data::Number(spelling) => {
            let whole = spelling.strip_suffix(".0").unwrap_or(spelling);
            whole.parse::<usize>().ok()
        }
        _ => None,
    };
    Count { least: number(keywords[0]).unwrap_or(0), most: number(keywords[1]), keywords }
}

/// Escapes a name for a JSON pointer (RFC 6901).
pub(super) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

pub(super) fn resolve<'s, 'a>(root: &'s Value<'a>, pointer: &str) -> Option<&'s Value<'a>> {
    pointer.split('/').skip(1).try_fold(root, |at, step| {
        let step = step.replace("~1", "/").replace("~0", "~");
        match &at.data {
            Data::List(items) => items.get(step.parse::<usize>().ok()?),
            _ => at.get(&step),
        }
    })
}

/// Returns the number of values in a value, including nested ones.
pub(super) fn weight(value: &Value<'_>) -> usize {
    1 + match &value.data {
        Data::List(items) => items.iter().map(weight).sum(),
        Data::Map(entries) => entries.iter().map(|entry| weight(&entry.1)).sum(),
        _ => 0,
    }
}
