//! Calls in the value of a field.

use openchatml::{Data, Limits, Tool, Value};

use super::argument::cast;

/// A call, or what is left of one.
#[derive(Debug)]
pub(super) struct Call {
    /// The name of the function, if it is usable.
    pub(super) name: Option<String>,
    pub(super) id: Option<String>,
    /// The arguments as JSON, or the text that is none.
    pub(super) arguments: String,
    /// What is wrong. The call must not run.
    pub(super) wrong: Option<String>,
}

/// Returns the calls in a value: one, or a list.
pub(super) fn calls(value: Value<'static>, tools: &[Tool<'_>], limits: &Limits) -> Vec<Call> {
    match value.data {
        Data::List(items) => items.into_iter().map(|item| call(item, tools, limits)).collect(),
        _ => vec![call(value, tools, limits)],
    }
}

/// Returns the name in the value of a field whose content could not be parsed.
pub(super) fn name_of(value: &Value<'_>) -> Option<String> {
    let name = function(value).get("name")?.as_str()?;
    is_name(name).then(|| name.to_owned())
}

fn function<'v, 'a>(value: &'v Value<'a>) -> &'v Value<'a> {
    value.get("function").filter(|it| it.as_map().is_some()).unwrap_or(value)
}

fn call(value: Value<'static>, tools: &[Tool<'_>], limits: &Limits) -> Call {
    let Some(name) = name_of(&value) else {
        let wrong = Some("the call has no valid name".to_owned());
        return Call { name: None, id: None, arguments: value.to_json(), wrong };
    };
    let id = value.get("id").and_then(Value::as_str).map(str::to_owned);
    let given = function(&value).get("arguments").cloned().unwrap_or_default();
    let (arguments, wrong) = match &given.data {
        Data::Map(_) => {
            let mut given = given;
            cast(&name, &mut given, tools, limits);
            (given.to_json(), None)
        }
        Data::Null => ("{}".to_owned(), None),
        // JSON in a string, as in the requests of OpenAI.
        Data::String(text) => match Value::from_json(text, limits) {
            Ok(inner) if inner.as_map().is_some() => (text.to_string(), None),
            _ => (text.to_string(), Some("the arguments are not a JSON object".to_owned())),
        },
        _ => (given.to_json(), Some(format!("the arguments are {}, not an object", given.kind()))),
    };
    Call { name: Some(name), id, arguments, wrong }
}

/// Whether a text can be the name of a function.
fn is_name(text: &str) -> bool {
    let is_good = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/');
    !text.is_empty() && text.len() <= 256 && text.chars().all(is_good)
}
