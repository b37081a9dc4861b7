//! The operations of a document.

use openchatml::{Data, Value};

use super::schema::{Lost, Resolver};

/// An operation: its request, and the places of its arguments in the request.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub(super) method: &'static str,
    /// The path template of the document, such as `/pets/{id}`.
    pub(super) path: String,
    pub(super) server: Option<String>,
    pub(super) description: Option<String>,
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Option<Parameter>,
    /// The definitions that its schemas refer to.
    pub(super) definitions: Vec<(std::borrow::Cow<'static, str>, Value<'static>)>,
}

/// A parameter, or the body.
#[derive(Clone, Debug)]
pub(super) struct Parameter {
    /// The name of the argument.
    pub(super) property: String,
    /// The name in the request.
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) style: ParameterStyle,
    pub(super) is_exploded: bool,
    pub(super) is_required: bool,
    pub(super) schema: Value<'static>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Path,
    Query,
    Header,
    Cookie,
    Body,
}

/// How a list or an object is serialized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParameterStyle {
    /// The items are joined with this separator.
    Joined(&'static str),
    /// `name[key]=value`.
    Deep,
    /// JSON.
    Json,
}

/// The HTTP methods of a path: the key in the document, the method, and whether it is idempotent.
pub(super) const METHODS: [(&str, &str, bool); 8] = [
    ("get", "GET", true),
    ("put", "PUT", true),
    ("post", "POST", false),
    ("delete", "DELETE", true),
    ("options", "OPTIONS", true),
    ("head", "HEAD", true),
    ("patch", "PATCH", false),
    ("trace", "TRACE", true),
];

impl Operation {
    /// Parses one operation of a path.
    pub(super) fn read<'d>(
        document: &'d Value<'static>,
        (path, item): (&str, &'d Value<'static>),
        (key, method): (&str, &'static str),
    ) -> Result<Self, Lost> {
        let mut resolver = Resolver::new(document);
        let operation = item.get(key).ok_or("it does not exist")?;
        let text = |name| operation.get(name).and_then(Value::as_str).filter(|it| !it.is_empty());
        let mut parameters: Vec<Parameter> = Vec::new();
        // The parameters of the operation come first, because they override those of the path.
        for owner in [operation, item] {
            for parameter in owner.get("parameters").and_then(Value::as_list).unwrap_or_default() {
                let parameter = resolver.follow(parameter)?;
                let Some(parameter) = Parameter::read(&mut resolver, parameter)? else { continue };
                let is_same =
                    |it: &Parameter| it.place == parameter.place && it.name == parameter.name;
                if !parameters.iter().any(is_same) {
                    parameters.push(parameter);
                }
            }
        }
        let mut body = match operation.get("requestBody") {
            Some(body) => Some(Parameter::body(&mut resolver, body)?),
            None => None,
        };
        name(parameters.iter_mut().chain(&mut body))?;
        let holes = holes(path);
        let has =
            |name: &&str| parameters.iter().any(|it| it.place == Place::Path && it.name == **name);
        if let Some(hole) = holes.iter().find(|hole| !has(hole)) {
            return Err(format!("missing parameter `{}` of the path", hole.escape_debug()));
        }
        let owners = [operation, item, document];
        let server = owners.iter().find_map(|owner| server(owner));
        let description = match (text("summary"), text("description")) {
            (Some(summary), Some(more)) if summary != more => Some(format!("{summary}\n\n{more}")),
            (summary, more) => more.or(summary).map(str::to_owned),
        };
        let definitions = resolver.definitions()?;
        let path = path.to_owned();
        Ok(Self { method, path, server, description, parameters, body, definitions })
    }

    /// Returns the schema of the arguments, without the headers of these names.
    pub(super) fn schema(&self, without: &[String]) -> Value<'static> {
        let mut properties = Vec::new();
        let mut required = Vec::new();
        for parameter in self.parameters.iter().chain(&self.body) {
            if parameter.is_header_of(without) {
                continue;
            }
            if parameter.is_required {
                required.push(Value::from(parameter.property.clone()));
            }
            properties.push((parameter.property.clone().into(), parameter.schema.clone()));
        }
        let mut schema = vec![
            ("type".into(), Value::from("object")),
            ("properties".into(), Data::Map(properties).into()),
        ];
        if !required.is_empty() {
            schema.push(("required".into(), Data::List(required).into()));
        }
        schema.push(("additionalProperties".into(), false.into()));
        if !self.definitions.is_empty() {
            schema.push(("$defs".into(), Data::Map(self.definitions.clone()).into()));
        }
        Data::Map(schema).into()
    }
}

/// Returns the names between braces.
pub(super) fn holes(path: &str) -> Vec<&str> {
    path.split('{').skip(1).filter_map(|part| Some(part.split_once('}')?.0)).collect()
}

/// Returns the URL of the first server, with the default values of its variables.
fn server(owner: &Value<'static>) -> Option<String> {
    let server = owner.get("servers")?.as_list()?.first()?;
    let mut url = server.get("url")?.as_str()?.to_owned();
    for (name, variable) in server.get("variables").and_then(Value::as_map).unwrap_or_default() {
        let value = variable.get("default").and_then(Value::as_spelling).unwrap_or_default();
        url = url.replace(&format!("{{{name}}}"), value);
    }
    Some(url)
}

/// Gives every parameter a unique name among the arguments.
fn name<'p>(parameters: impl Iterator<Item = &'p mut Parameter>) -> Result<(), Lost> {
    let mut taken: Vec<String> = Vec::new();
    for parameter in parameters {
        if taken.contains(&parameter.property) {
            let place = format!("{:?}", parameter.place).to_lowercase();
            parameter.property = format!("{place}_{}", parameter.property);
        }
        if taken.contains(&parameter.property) {
            return Err(format!("duplicate parameter `{}`", parameter.property.escape_debug()));
        }
        taken.push(parameter.property.clone());
    }
    Ok(())
}

impl Parameter {
    /// Whether it is one of these headers, which the model does not set.
    pub(super) fn is_header_of(&self, names: &[String]) -> bool {
        self.place == Place::Header && names.iter().any(|it| it.eq_ignore_ascii_case(&self.name))
            || self.place == Place::Cookie
                && names.iter().any(|it| it.eq_ignore_ascii_case("cookie"))
    }

    /// Parses a parameter. Returns `None` for a parameter that the model does not set.
    fn read(resolver: &mut Resolver<'_>, value: &Value<'static>) -> Result<Option<Self>, Lost> {
        let text = |name| value.get(name).and_then(Value::as_str);
        let name = text("name").ok_or("a parameter without a name")?.to_owned();
        let wrong = |why: &str| format!("parameter `{}` {why}", name.escape_debug());
        let place = match text("in") {
            Some("path") => Place::Path,
            Some("query") => Place::Query,
            Some("header") if is_reserved(&name) => return Ok(None),
            Some("header") => Place::Header,
            Some("cookie") => Place::Cookie,
            _ => return Err(wrong("has an unknown place (`in`)")),
        };
        let content = value.get("content").and_then(|content| content.get("application/json"));
        let explode = value.get("explode").and_then(Value::as_bool);
        let (style, is_exploded) = match (text("style"), place) {
            _ if content.is_some() => (ParameterStyle::Json, false),
            _ if value.get("content").is_some() => return Err(wrong("is neither simple nor JSON")),
            (None | Some("simple"), Place::Path | Place::Header) => {
                (ParameterStyle::Joined(","), explode.unwrap_or(false))
            }
            (None | Some("form"), Place::Query | Place::Cookie) => {
                (ParameterStyle::Joined(","), explode.unwrap_or(true))
            }
            (Some("spaceDelimited"), Place::Query) => {
                (ParameterStyle::Joined(" "), explode.unwrap_or(false))
            }
            (Some("pipeDelimited"), Place::Query) => {
                (ParameterStyle::Joined("|"), explode.unwrap_or(false))
            }
            (Some("deepObject"), Place::Query) => (ParameterStyle::Deep, true),
            _ => return Err(wrong("has an unsupported style")),
        };
        let schema = content.unwrap_or(value).get("schema");
        let mut schema = match schema {
            Some(schema) => resolver.schema(schema)?,
            None => Data::Map(Vec::new()).into(),
        };
        describe(&mut schema, text("description"));
        let is_required =
            place == Place::Path || value.get("required").and_then(Value::as_bool) == Some(true);
        let property = name.clone();
        Ok(Some(Self { property, name, place, style, is_exploded, is_required, schema }))
    }

    /// Parses a JSON body.
    fn body<'d>(resolver: &mut Resolver<'d>, body: &'d Value<'static>) -> Result<Self, Lost> {
        let body = resolver.follow(body)?;
        let content = body.get("content").and_then(Value::as_map).unwrap_or_default();
        let is_json = |kind: &str| {
            let kind = kind.split(';').next().unwrap_or_default().trim();
            kind == "application/json" || kind.ends_with("+json") || kind == "*/*"
        };
        let (kind, media) =
            content.iter().find(|(kind, _)| is_json(kind)).ok_or("a body that is not JSON")?;
        let mut schema = match media.get("schema") {
            Some(schema) => resolver.schema(schema)?,
            None => Data::Map(Vec::new()).into(),
        };
        describe(&mut schema, body.get("description").and_then(Value::as_str));
        let is_required = body.get("required").and_then(Value::as_bool) == Some(true);
        let name = if kind == "*/*" { "application/json".into() } else { kind.to_string() };
        Ok(Self {
            property: "body".into(),
            name,
            place: Place::Body,
            style: ParameterStyle::Json,
            is_exploded: false,
            is_required,
            schema,
        })
    }
}

/// The description of the parameter takes precedence over that of its schema.
fn describe(schema: &mut Value<'static>, description: Option<&str>) {
    if let (Data::Map(entries), Some(description)) = (&mut schema.data, description) {
        entries.retain(|entry| entry.0 != "description");
        entries.push(("description".into(), description.to_owned().into()));
    }
}

/// Headers that are never parameters: those that OpenAPI excludes, and those of the connection.
fn is_reserved(name: &str) -> bool {
    const NAMES: [&str; 13] = [
        "accept",
        "authorization",
        "connection",
        "content-length",
        "content-type",
        "cookie",
        "expect",
        "host",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ];
    NAMES.iter().any(|it| it.eq_ignore_ascii_case(name))
}
