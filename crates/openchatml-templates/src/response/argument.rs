//! Types of arguments, by the schemas of their tools.

use openchatml::{Data, Limits, Tool, Value, function_name};

use super::python::{float, int};

/// Casts the arguments of a call that are strings. An argument that fits no type stays a string.
pub(super) fn cast(
    name: &str,
    arguments: &mut Value<'static>,
    tools: &[Tool<'_>],
    limits: &Limits,
) {
    let is_it = |tool: &&Tool<'_>| {
        let known = function_name(&tool.name).unwrap_or(&tool.name);
        known == function_name(name).unwrap_or(name)
    };
    let schema = tools.iter().find(is_it).and_then(|tool| tool.parameters.as_ref());
    let (Some(properties), Data::Map(entries)) =
        (schema.and_then(|it| it.get("properties")), &mut arguments.data)
    else {
        return;
    };
    for (key, argument) in entries {
        let Some(schema) = properties.get(key) else { continue };
        let mut types = Vec::new();
        add_types(schema, &mut types, 0);
        match &mut argument.data {
            Data::String(text) => {
                if let Some(value) = as_type(text, &types, limits) {
                    *argument = value;
                }
            }
            // The values of a key that occurs several times.
            Data::List(items) if !types.is_empty() && !types.contains(&"array") => {
                for item in items {
                    if let Some(value) = item.as_str().and_then(|it| as_type(it, &types, limits)) {
                        *item = value;
                    }
                }
            }
            _ => {}
        }
    }
}

/// Adds the types that a schema allows, the preferred one first.
fn add_types<'s>(schema: &'s Value<'_>, types: &mut Vec<&'s str>, depth: usize) {
    match schema.get("type") {
        Some(one) if one.as_str().is_some() => types.extend(one.as_str()),
        Some(list) => {
            types.extend(list.as_list().unwrap_or_default().iter().filter_map(Value::as_str))
        }
        None => {}
    }
    for key in ["anyOf", "oneOf"] {
        let choices = schema.get(key).and_then(Value::as_list).unwrap_or_default();
        for choice in choices.iter().filter(|_| depth < 16) {
            add_types(choice, types, depth + 1);
        }
    }
    if schema.get("nullable").and_then(Value::as_bool) == Some(true) && !types.contains(&"null") {
        types.push("null");
    }
}

fn as_type(text: &str, types: &[&str], limits: &Limits) -> Option<Value<'static>> {
    types.iter().find_map(|name| {
        let word = text.trim().to_lowercase();
        Some(match *name {
            "integer" => number(int(text).or_else(|| whole(&float(text)?))?),
            "number" => {
                let spelled = float(text)?;
                match whole(&spelled).filter(|_| !text.contains('.')) {
                    Some(whole) => number(int(text).unwrap_or(whole)),
                    None => number(spelled),
                }
            }
            "boolean" if matches!(word.as_str(), "true" | "1") => Data::Bool(true).into(),
            "boolean" if matches!(word.as_str(), "false" | "0") => Data::Bool(false).into(),
            "null" if matches!(text.trim(), "null" | "None") => Data::Null.into(),
            "object" => from_json(text, limits).filter(|it| it.as_map().is_some())?,
            "array" => from_json(text, limits).filter(|it| it.as_list().is_some())?,
            _ => return None,
        })
    })
}

fn number(spelled: String) -> Value<'static> {
    Data::Number(spelled.into()).into()
}

/// Returns a float without a fraction as an integer.
fn whole(spelled: &str) -> Option<String> {
    let number: f64 = spelled.parse().ok()?;
    (number.fract() == 0.0).then(|| match format!("{number:.0}").as_str() {
        "-0" => "0".to_owned(),
        whole => whole.to_owned(),
    })
}

fn from_json(text: &str, limits: &Limits) -> Option<Value<'static>> {
    Value::from_json(text, limits).ok().map(Value::into_owned)
}

#[cfg(test)]
mod tests {
    use openchatml::{Limits, Tool, Value};

    use super::cast;

    #[test]
    fn schemas_type_arguments() {
        let schema = r#"{"properties":{"i":{"type":"integer"},"n":{"type":["number","null"]},
            "b":{"type":"boolean"},"o":{"anyOf":[{"type":"object"},{"type":"array"}]},
            "s":{"type":"string"},"z":{"type":"integer","nullable":true}}}"#;
        let mut tool = Tool::new("f");
        tool.parameters = Value::from_json(schema, &Limits::default()).ok();
        let cases = [
            (
                r#"{"i":"007","n":"1.50","b":" TRUE","o":"[1]"}"#,
                r#"{"i":7,"n":1.5,"b":true,"o":[1]}"#,
            ),
            (r#"{"i":"3.0","n":"1e3","b":"2","o":"1"}"#, r#"{"i":3,"n":1000,"b":"2","o":"1"}"#),
            (
                r#"{"i":"x","n":"None","s":"1","z":"null","u":"1"}"#,
                r#"{"i":"x","n":null,"s":"1","z":null,"u":"1"}"#,
            ),
            (r#"{"i":["1","a"],"n":"inf"}"#, r#"{"i":[1,"a"],"n":"inf"}"#),
        ];
        for (given, expected) in cases {
            let mut value = Value::from_json(given, &Limits::default()).unwrap().into_owned();
            cast("f", &mut value, &[tool.clone()], &Limits::default());
            assert_eq!(value.to_json(), expected);
        }
    }
}
