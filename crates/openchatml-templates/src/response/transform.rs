//! Reshapes the content of a region.

use openchatml::{Data, Value};

/// A template of a value, with placeholders.
#[derive(Clone, Debug)]
pub(super) enum Transform {
    Constant(Value<'static>),
    /// `{name.key}`: the name of a value, and keys in it.
    Placeholder(Vec<String>),
    List(Vec<Transform>),
    Map(Vec<(String, Transform)>),
}

impl Transform {
    /// Loads a transform. A string is a placeholder as a whole, or not at all.
    pub(super) fn load(value: &Value<'_>) -> Result<Self, String> {
        Ok(match &value.data {
            Data::List(items) => {
                Self::List(items.iter().map(Self::load).collect::<Result<_, _>>()?)
            }
            Data::Map(entries) => {
                let entries = entries.iter();
                let entries = entries.map(|(key, it)| Ok((key.to_string(), Self::load(it)?)));
                Self::Map(entries.collect::<Result<_, String>>()?)
            }
            Data::String(text) => match placeholder(text) {
                Some(path) => Self::Placeholder(path),
                None if has_placeholder(text) => {
                    return Err(format!("`{text}` mixes a placeholder with other text"));
                }
                None => Self::Constant(value.clone().into_owned()),
            },
            Data::Null | Data::Bool(_) | Data::Number(_) => {
                Self::Constant(value.clone().into_owned())
            }
        })
    }

    /// Fills in the placeholders.
    pub(super) fn apply(&self, scope: &[(&str, Value<'static>)]) -> Result<Value<'static>, String> {
        Ok(match self {
            Self::Constant(value) => value.clone(),
            Self::List(items) => {
                let items = items.iter().map(|it| it.apply(scope)).collect::<Result<_, _>>()?;
                Data::List(items).into()
            }
            Self::Map(entries) => {
                let entries = entries.iter();
                let apply = |(key, it): &(String, Self)| Ok((key.clone().into(), it.apply(scope)?));
                Data::Map(entries.map(apply).collect::<Result<_, String>>()?).into()
            }
            Self::Placeholder(path) => {
                let (name, keys) = path.split_first().ok_or("an empty placeholder")?;
                // The last value of a name counts.
                let found = scope.iter().rev().find(|(it, _)| it == name);
                let mut value = found.map(|(_, value)| value);
                for key in keys {
                    value = value.and_then(|it| it.get(key));
                }
                value.ok_or_else(|| format!("there is no `{}`", path.join(".")))?.clone()
            }
        })
    }
}

/// Returns the path of a string that is a placeholder.
fn placeholder(text: &str) -> Option<Vec<String>> {
    let inside = text.strip_prefix('{')?.strip_suffix('}')?;
    let is_word = |it: &str| !it.is_empty() && it.chars().all(|c| c.is_alphanumeric() || c == '_');
    let parts: Vec<String> = inside.split('.').map(str::to_owned).collect();
    parts.iter().all(|it| is_word(it)).then_some(parts)
}

fn has_placeholder(text: &str) -> bool {
    let mut opens = text.match_indices('{');
    opens.any(|(start, _)| {
        let end = text[start..].find('}').map(|len| start + len + 1);
        end.is_some_and(|end| placeholder(&text[start..end]).is_some())
    })
}

#[cfg(test)]
mod tests {
    use openchatml::{Limits, Value};

    use super::Transform;

    fn value(json: &str) -> Value<'static> {
        Value::from_json(json, &Limits::default()).unwrap().into_owned()
    }

    #[test]
    fn placeholders_keep_types() {
        let scope = [("content", value(r#"{"a":{"b":[1.0]}}"#)), ("name", value(r#""f""#))];
        let apply = |json| Transform::load(&value(json))?.apply(&scope).map(|it| it.to_json());
        assert_eq!(
            apply(r#"{"n":"{name}","x":["{content.a.b}",1,"{"]}"#).unwrap(),
            r#"{"n":"f","x":[[1.0],1,"{"]}"#
        );
        assert!(apply(r#""{content.c}""#).unwrap_err().contains("content.c"));
        assert!(apply(r#""{other}""#).unwrap_err().contains("other"));
        assert!(apply(r#"["a {name}"]"#).unwrap_err().contains("mixes"));
    }
}
