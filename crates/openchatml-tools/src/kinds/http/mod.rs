//! The operations of an OpenAPI document as tools.

mod document;
mod operation;
mod request;
mod response;
mod schema;

use std::fmt;
use std::sync::Arc;

use openchatml::Value;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, Method, Url};

use self::operation::{METHODS, Operation};
use self::request::Request;
#[cfg(feature = "browser")]
pub(crate) use self::response::{body, without_url};
use crate::secrets::{Secrets, of_url};
use crate::{Call, Entry, Failure, Outcome, Tool, ToolFuture};

/// The operations of an OpenAPI document (3.0 or 3.1).
///
/// ```
/// use openchatml_tools::kinds::http::{ServiceOptions, Api};
///
/// let api = Api::parse("
/// openapi: 3.1.0
/// info: {title: Weather, version: '1'}
/// servers: [{url: 'https://weather.example/v1'}]
/// paths:
///   /cities/{city}:
///     get:
///       operationId: weather
///       summary: The weather of a city.
///       parameters: [{name: city, in: path, schema: {type: string}}]
/// ")?;
/// let tools = api.entries(&ServiceOptions::default())?;
/// let (name, entry) = &tools[0];
/// assert_eq!(name, "weather");
/// assert_eq!(entry.description.as_deref(), Some("The weather of a city."));
/// assert!(entry.is_idempotent);
/// let schema = entry.parameters.as_ref().unwrap().to_json();
/// assert!(schema.contains(r#""required":["city"]"#));
/// # Ok::<(), openchatml_tools::kinds::http::OpenApiError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Api {
    operations: Vec<(String, Operation)>,
    skipped: Vec<SkippedOperation>,
}

/// An operation that cannot be a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkippedOperation {
    /// The name of the operation.
    pub operation: String,
    /// The unsupported feature.
    pub why: String,
}

/// The options for requests to a service. The model cannot see or change them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServiceOptions {
    /// The URL of the service. The default is the first server of the document.
    pub base_url: Option<String>,
    /// The headers of every request, such as `Authorization`. A parameter with the same name is not
    /// an argument.
    pub headers: Vec<(String, String)>,
    /// The maximum size of a response, in bytes. The rest of a longer response is dropped.
    pub output_bytes: usize,
}

impl Default for ServiceOptions {
    fn default() -> Self {
        Self { base_url: None, headers: Vec::new(), output_bytes: 1 << 20 }
    }
}

/// The error for an invalid OpenAPI document or an invalid address of its service.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenApiError {
    /// The place: a line and a column, or a part of the document.
    pub at: String,
    /// The reason.
    pub why: String,
}

impl OpenApiError {
    fn new(at: impl Into<String>, why: impl Into<String>) -> Self {
        Self { at: at.into(), why: why.into() }
    }
}

impl fmt::Display for OpenApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.at {
            "" => f.write_str(&self.why),
            at => write!(f, "{at}: {}", self.why),
        }
    }
}

impl std::error::Error for OpenApiError {}

impl Api {
    /// Parses a document in JSON or YAML.
    ///
    /// # Errors
    ///
    /// The text is neither JSON nor YAML, or it is not an OpenAPI document of version 3.0 or 3.1. A
    /// malformed or unsupported operation is [skipped](Self::skipped).
    pub fn parse(text: &str) -> Result<Self, OpenApiError> {
        let document = document::read(text)?;
        let version = document.get("openapi").and_then(Value::as_spelling).unwrap_or_default();
        if !["3.0", "3.1"]
            .iter()
            .any(|known| version == *known || version.starts_with(&format!("{known}.")))
        {
            let why =
                format!("`{}` is not a version of OpenAPI 3.0 or 3.1", version.escape_debug());
            return Err(OpenApiError::new("openapi", why));
        }
        let paths = document.get("paths").and_then(Value::as_map);
        let paths = paths.ok_or_else(|| OpenApiError::new("paths", "not a mapping"))?;
        let mut api = Self { operations: Vec::new(), skipped: Vec::new() };
        for (path, item) in paths {
            let item = schema::Resolver::new(&document)
                .follow(item)
                .map_err(|why| OpenApiError::new(format!("paths.{path}"), why))?;
            for (key, method, _) in METHODS {
                let Some(operation) = item.get(key) else { continue };
                let name = name(operation, key, path);
                let is_taken = api.operations.iter().any(|it| it.0 == name);
                let read = if is_taken {
                    Err("another tool has this name".into())
                } else {
                    Operation::read(&document, (path, item), (key, method))
                };
                match read {
                    Ok(operation) => api.operations.push((name, operation)),
                    Err(why) => api.skipped.push(SkippedOperation { operation: name, why }),
                }
            }
        }
        Ok(api)
    }

    /// Returns the names of the operations, in the order of the document.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.operations.iter().map(|it| it.0.as_str())
    }

    /// Returns the operations that cannot be tools.
    pub fn skipped(&self) -> &[SkippedOperation] {
        &self.skipped
    }

    /// Creates a tool for every operation, with its name.
    ///
    /// # Errors
    ///
    /// The base URL is missing or invalid, or a header is invalid.
    pub fn entries(&self, access: &ServiceOptions) -> Result<Vec<(String, Entry)>, OpenApiError> {
        let mut headers = HeaderMap::new();
        for (name, value) in &access.headers {
            let wrong =
                || OpenApiError::new(format!("header `{}`", name.escape_debug()), "is invalid");
            let mut value = HeaderValue::from_str(value).map_err(|_| wrong())?;
            value.set_sensitive(true);
            headers.append(HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?, value);
        }
        let client = crate::client::builder().redirect(Policy::custom(stay)).build();
        let client = client.map_err(|_| OpenApiError::new("", "cannot create an HTTP client"))?;
        let ours: Vec<String> = access.headers.iter().map(|it| it.0.clone()).collect();
        let headers_of = access.headers.iter().flat_map(|(_, value)| Secrets::of_header(value));
        let secrets: Vec<String> =
            headers_of.chain(access.base_url.iter().flat_map(|url| of_url(url))).collect();
        let limit = access.output_bytes;
        let service = Arc::new(Service { client, headers, ours, limit });
        let mut entries = Vec::new();
        for (name, operation) in &self.operations {
            let base = base(access, operation).map_err(|why| OpenApiError::new(name, why))?;
            let is_idempotent = METHODS.iter().any(|it| it.1 == operation.method && it.2);
            let description = operation.description.clone();
            let parameters = Some(operation.schema(&service.ours));
            let operation = operation.clone();
            let mut entry = Entry::new(OperationTool { service: service.clone(), base, operation });
            (entry.description, entry.parameters) = (description, parameters);
            entry.is_idempotent = is_idempotent;
            entry.secrets.clone_from(&secrets);
            entries.push((name.clone(), entry));
        }
        Ok(entries)
    }
}

/// Returns the name of an operation: its own, or its method and path. Characters that are not
/// allowed in names are replaced.
fn name(operation: &Value<'_>, method: &str, path: &str) -> String {
    let own = operation.get("operationId").and_then(Value::as_str).filter(|it| !it.is_empty());
    let name = own.map_or_else(|| format!("{method}_{path}"), str::to_owned);
    let is_letter = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == '-';
    let parts: Vec<_> = name.split(|it| !is_letter(it)).filter(|part| !part.is_empty()).collect();
    parts.join("_").replace("__", "_")
}

/// Returns the base URL of an operation.
fn base(access: &ServiceOptions, operation: &Operation) -> Result<Url, String> {
    let base = access.base_url.as_ref().or(operation.server.as_ref());
    let base =
        base.ok_or("missing base URL: neither the document nor the configuration has one")?;
    // The message does not quote the URL, because it may contain a secret.
    let url = Url::parse(base).map_err(|error| format!("invalid base URL: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("the base URL must use `http` or `https`".into());
    }
    Ok(url)
}

/// Follows redirects only to the same host, because the headers are meant only for this host.
fn stay(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    const REDIRECTS: usize = 5;
    let origin = |url: &Url| url.origin();
    let is_home =
        attempt.previous().first().is_some_and(|first| origin(first) == origin(attempt.url()));
    if !is_home {
        return attempt.stop();
    }
    if attempt.previous().len() > REDIRECTS {
        return attempt.error("too many redirects");
    }
    attempt.follow()
}

/// The state that the tools of one document share.
struct Service {
    client: Client,
    headers: HeaderMap,
    /// The names of the headers that the model does not set.
    ours: Vec<String>,
    limit: usize,
}

/// A tool that calls an operation.
struct OperationTool {
    service: Arc<Service>,
    base: Url,
    operation: Operation,
}

impl OperationTool {
    async fn run(&self, call: &Call) -> Outcome {
        let arguments = call
            .parse()
            .map_err(|found| Failure::with_code(openchatml::Code::CallSchema, found.message))?;
        let asked = Request::new(&self.operation, &self.base, &self.service.ours, &arguments)?;
        let method = Method::from_bytes(self.operation.method.as_bytes())
            .map_err(|_| Failure::new("unknown method"))?;
        let source = source(&asked.url);
        let mut request = self.service.client.request(method, asked.url).headers(asked.headers);
        // These headers replace headers from the arguments, so they are set last.
        request = request.headers(self.service.headers.clone());
        if let Some(body) = asked.body {
            request = request.body(body);
        }
        let response = request.send().await.map_err(|error| response::without_url(&error))?;
        Ok(response::read(response, self.service.limit).await?.source(source))
    }
}

impl Tool for OperationTool {
    fn call<'t>(&'t self, call: &'t Call) -> ToolFuture<'t> {
        Box::pin(self.run(call))
    }
}

/// Returns the URL without user name and password.
fn source(url: &Url) -> String {
    let mut url = url.clone();
    // Setting them fails only for URLs that cannot have them.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.into()
}
