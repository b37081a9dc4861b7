//! Creates requests from arguments.

use openchatml::{Code, Data, Value};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Url;
use reqwest::header::{CONTENT_TYPE, COOKIE, HeaderMap, HeaderName, HeaderValue};

use super::operation::{Operation, Parameter, ParameterStyle, Place};
use crate::Failure;

/// The characters that need no escape in any part of a URL (RFC 3986, unreserved).
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// An HTTP request.
pub(super) struct Request {
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<String>,
}

impl Request {
    /// Creates the request of an operation. No argument can change another part of the URL: a path
    /// segment stays one segment.
    pub(super) fn new(
        operation: &Operation,
        base: &Url,
        without: &[String],
        arguments: &Value<'_>,
    ) -> Result<Self, Failure> {
        let mut path = operation.path.clone();
        let mut query = Vec::new();
        let mut headers = HeaderMap::new();
        let mut cookies = Vec::new();
        for parameter in &operation.parameters {
            let value = arguments.get(&parameter.property);
            let Some(value) = value.filter(|_| !parameter.is_header_of(without)) else {
                if parameter.place == Place::Path {
                    return Err(wrong(parameter, "is missing"));
                }
                continue;
            };
            match parameter.place {
                Place::Path => {
                    let filled = joined(parameter, value, encode)?;
                    path = path.replace(&format!("{{{}}}", parameter.name), &filled);
                }
                Place::Query => pairs(parameter, value, &mut query)?,
                Place::Cookie => pairs(parameter, value, &mut cookies)?,
                Place::Header => {
                    let text = joined(parameter, value, str::to_owned)?;
                    let name = HeaderName::from_bytes(parameter.name.as_bytes());
                    let value = HeaderValue::from_str(&text);
                    let (Ok(name), Ok(value)) = (name, value) else {
                        return Err(wrong(parameter, "is not allowed in a header"));
                    };
                    headers.insert(name, value);
                }
                Place::Body => {}
            }
        }
        if !cookies.is_empty() {
            let cookies = HeaderValue::from_str(&cookies.join("; "));
            headers.insert(COOKIE, cookies.map_err(|_| refused("invalid cookie"))?);
        }
        let body = operation.body.as_ref().and_then(|body| {
            let text = arguments.get(&body.property)?.to_json();
            headers.insert(CONTENT_TYPE, HeaderValue::from_str(&body.name).ok()?);
            Some(text)
        });
        Ok(Self { url: url(base, &path, operation.path.ends_with('/'), &query)?, headers, body })
    }
}

/// Joins the base with this path and query. The path may end with a slash only if that of the
/// operation does.
fn url(base: &Url, path: &str, may_end: bool, query: &[String]) -> Result<Url, Failure> {
    // An empty segment, `.` or `..` would address another resource: `/users/` lists all users.
    let is_segment = |segment: &str| !matches!(segment, "" | "." | "..");
    let segments = path.strip_prefix('/').unwrap_or(path);
    let segments = segments.strip_suffix('/').filter(|_| may_end).unwrap_or(segments);
    if !segments.is_empty() && !segments.split('/').all(is_segment) {
        return Err(refused("the arguments change the path"));
    }
    let whole = format!("{}/{}", base.path().trim_end_matches('/'), path.trim_start_matches('/'));
    let mut url = base.clone();
    url.set_path(&whole);
    url.set_query((!query.is_empty()).then(|| query.join("&")).as_deref());
    Ok(url)
}

fn encode(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

/// Appends `name=value` pairs, as the style requires.
fn pairs(parameter: &Parameter, value: &Value<'_>, into: &mut Vec<String>) -> Result<(), Failure> {
    let name = encode(&parameter.name);
    match (&value.data, parameter.style) {
        (Data::Map(entries), ParameterStyle::Deep) => {
            for (key, value) in entries {
                let name = format!("{name}[{}]", encode(key));
                into.push(format!("{name}={}", encode(&plain(parameter, value)?)));
            }
        }
        (Data::Map(entries), ParameterStyle::Joined(_)) if parameter.is_exploded => {
            for (key, value) in entries {
                into.push(format!("{}={}", encode(key), encode(&plain(parameter, value)?)));
            }
        }
        (Data::List(items), ParameterStyle::Joined(_)) if parameter.is_exploded => {
            for item in items {
                into.push(format!("{name}={}", encode(&plain(parameter, item)?)));
            }
        }
        _ => into.push(format!("{name}={}", joined(parameter, value, encode)?)),
    }
    Ok(())
}

/// Serializes a value as one string. `spell` escapes its texts.
fn joined(
    parameter: &Parameter,
    value: &Value<'_>,
    spell: impl Fn(&str) -> String,
) -> Result<String, Failure> {
    let between = match parameter.style {
        ParameterStyle::Json => return Ok(spell(&value.to_json())),
        // A comma between items is not escaped, other separators are.
        ParameterStyle::Joined(between) if between == "," => between.to_owned(),
        ParameterStyle::Joined(between) => spell(between),
        ParameterStyle::Deep => return Err(wrong(parameter, "is not an object")),
    };
    let parts: Vec<String> = match &value.data {
        Data::List(items) => {
            let items = items.iter().map(|item| Ok(spell(&plain(parameter, item)?)));
            items.collect::<Result<_, Failure>>()?
        }
        Data::Map(entries) => {
            let sign = if parameter.is_exploded { "=" } else { &between };
            let entries = entries.iter().map(|(key, value)| {
                Ok(format!("{}{sign}{}", spell(key), spell(&plain(parameter, value)?)))
            });
            entries.collect::<Result<_, Failure>>()?
        }
        _ => vec![spell(&plain(parameter, value)?)],
    };
    Ok(parts.join(&between))
}

/// Returns the text of a scalar.
fn plain(parameter: &Parameter, value: &Value<'_>) -> Result<String, Failure> {
    match &value.data {
        Data::List(_) | Data::Map(_) => Err(wrong(parameter, "is nested too deeply")),
        Data::String(text) | Data::Number(text) => Ok(text.to_string()),
        Data::Bool(_) | Data::Null => Ok(value.to_json()),
    }
}

fn wrong(parameter: &Parameter, why: &str) -> Failure {
    refused(&format!("`{}` {why}", parameter.property.escape_debug()))
}

fn refused(why: &str) -> Failure {
    Failure::with_code(Code::CallSchema, why)
}
