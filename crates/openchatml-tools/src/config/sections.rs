//! The sections of a tools file.

use std::path::PathBuf;
use std::time::Duration;

use super::error::Location;
use super::pattern::{Pattern, Selection};
use super::section::{Schema, Section};
use super::template::Template;
use crate::{ApprovalPolicy, Envelope, RouterOptions, Routes};

/// `[router]`: the router uses its default for each missing key.
///
/// ```
/// use openchatml_tools::config::Config;
///
/// let config = Config::parse("[router]\nat_once = 4\n").unwrap();
/// assert_eq!((config.router.at_once, config.router.queue), (Some(4), None));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RouterSettings {
    /// `at_once`: the number of concurrent calls.
    pub at_once: Option<usize>,
    /// `queue`: the number of waiting calls.
    pub queue: Option<usize>,
    /// `timeout_ms`: the timeout of a call that specifies none.
    pub timeout: Option<Duration>,
    /// `longest_ms`: the maximum timeout of any call.
    pub longest: Option<Duration>,
    /// `output_bytes`: the maximum size of the content of a reply.
    pub output_bytes: Option<usize>,
    /// `retries`: the number of retries of a call.
    pub retries: Option<u32>,
    /// `backoff_ms`: the pause before a retry.
    pub backoff: Option<Duration>,
    /// `envelope`: the form of replies.
    pub envelope: Option<Envelope>,
    /// `routes`: the channels on which functions are called.
    pub routes: Option<Routes>,
    /// `approve`: the calls that require approval, for tools without a setting of their own.
    pub approve: Option<ApprovalPolicy>,
}

impl RouterSettings {
    /// Returns the options of a router with these settings.
    ///
    /// ```
    /// use openchatml_tools::config::Config;
    ///
    /// let config = Config::parse("[router]\nat_once = 4\n").unwrap();
    /// assert_eq!(config.router.options().at_once, 4);
    /// ```
    pub fn options(&self) -> RouterOptions {
        let mut options = RouterOptions::default();
        options.at_once = self.at_once.unwrap_or(options.at_once);
        options.queue = self.queue.unwrap_or(options.queue);
        options.timeout = self.timeout.unwrap_or(options.timeout);
        options.longest = self.longest.unwrap_or(options.longest);
        options.output_bytes = self.output_bytes.unwrap_or(options.output_bytes);
        options.retries = self.retries.unwrap_or(options.retries);
        options.backoff = self.backoff.unwrap_or(options.backoff);
        options.envelope = self.envelope.unwrap_or(options.envelope);
        options.routes = self.routes.unwrap_or(options.routes);
        options.approve = self.approve.unwrap_or(options.approve);
        options
    }

    pub(super) fn read(mut section: Section<'_, '_>) -> Option<Self> {
        let count = |number: Option<u64>| number.and_then(|it| usize::try_from(it).ok());
        let settings = Self {
            at_once: count(section.number("at_once", 1)),
            queue: count(section.number("queue", 1)),
            timeout: section.milliseconds("timeout_ms"),
            longest: section.milliseconds("longest_ms"),
            output_bytes: section.bytes("output_bytes"),
            retries: section.number("retries", 0).map(|it| u32::try_from(it).unwrap_or(u32::MAX)),
            backoff: section.milliseconds("backoff_ms"),
            envelope: section
                .choice("envelope", &[("json", Envelope::Json), ("raw", Envelope::Raw)]),
            routes: section
                .choice("routes", &[("strict", Routes::Strict), ("lenient", Routes::Lenient)]),
            approve: approve(&mut section),
        };
        section.finish();
        Some(settings)
    }
}

/// Reads the calls that require approval.
fn approve(section: &mut Section<'_, '_>) -> Option<ApprovalPolicy> {
    let words = [
        ("never", ApprovalPolicy::Never),
        ("once", ApprovalPolicy::Once),
        ("always", ApprovalPolicy::Always),
    ];
    section.choice("approve", &words)
}

/// The form of the result of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Form {
    #[default]
    Json,
    JsonOrText,
    Text,
}

/// The keys that start a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProgramConfig {
    pub(super) command: PathBuf,
    pub(super) args: Vec<String>,
    pub(super) env: Vec<(String, Template)>,
    pub(super) inherit: Option<Vec<String>>,
    pub(super) cwd: Option<PathBuf>,
}

impl ProgramConfig {
    fn read(section: &mut Section<'_, '_>) -> Option<Self> {
        // All keys are read before the first missing one is reported, so that all are checked.
        let command = section.required("command");
        let args = section.texts("args").unwrap_or_default();
        let env = section.templates("env");
        let inherit = section.texts("inherit");
        let cwd = section.path("cwd");
        Some(Self { command: command?.into(), args, env, inherit, cwd })
    }
}

/// `[tools.NAME]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Program {
    pub(super) name: String,
    pub(super) location: Location,
    pub(super) start: ProgramConfig,
    pub(super) form: Form,
    pub(super) description: Option<String>,
    pub(super) parameters: Option<Schema>,
    pub(super) is_idempotent: bool,
    pub(super) timeout: Option<Duration>,
    pub(super) approve: Option<ApprovalPolicy>,
    pub(super) output_bytes: Option<usize>,
    pub(super) stderr_bytes: Option<usize>,
    pub(super) memory_bytes: Option<u64>,
    pub(super) cpu_seconds: Option<u64>,
    pub(super) grace: Option<Duration>,
}

impl Program {
    pub(super) fn read(name: &str, mut section: Section<'_, '_>) -> Option<Self> {
        let location = section.location();
        section.choice("kind", &[("process", ())]);
        let start = ProgramConfig::read(&mut section);
        let forms =
            [("json", Form::Json), ("json-or-text", Form::JsonOrText), ("text", Form::Text)];
        let form = section.choice("result", &forms).unwrap_or_default();
        let description = section.text("description");
        let parameters = section.schema("parameters");
        let is_idempotent = section.flag("idempotent").unwrap_or_default();
        let timeout = section.milliseconds("timeout_ms");
        let approve = approve(&mut section);
        let output_bytes = section.bytes("output_bytes");
        let stderr_bytes = section.bytes("stderr_bytes");
        let memory_bytes = section.number("memory_bytes", 1);
        let cpu_seconds = section.number("cpu_seconds", 1);
        let grace = section.milliseconds("grace_ms");
        section.finish();
        // A name without a dot is in the namespace `functions`.
        let name = if name.contains('.') { name.into() } else { format!("functions.{name}") };
        Some(Self {
            name,
            location,
            start: start?,
            form,
            description,
            parameters,
            is_idempotent,
            timeout,
            approve,
            output_bytes,
            stderr_bytes,
            memory_bytes,
            cpu_seconds,
            grace,
        })
    }
}

/// `[openapi.NAME]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OpenApi {
    pub(super) location: Location,
    pub(super) document: PathBuf,
    pub(super) base_url: Option<Template>,
    pub(super) headers: Vec<(String, Template)>,
    pub(super) operations: Option<(Vec<String>, Location)>,
    pub(super) prefix: String,
    pub(super) timeout: Option<Duration>,
    pub(super) approve: Option<ApprovalPolicy>,
    pub(super) output_bytes: Option<usize>,
}

impl OpenApi {
    pub(super) fn read(_: &str, mut section: Section<'_, '_>) -> Option<Self> {
        let location = section.location();
        let document = section.required("document");
        let base_url = section.template("base_url");
        let headers = section.templates("headers");
        let operations = section.texts("operations").zip(section.key_place("operations"));
        let prefix = section.text("prefix").unwrap_or_default();
        let timeout = section.milliseconds("timeout_ms");
        let approve = approve(&mut section);
        let output_bytes = section.bytes("output_bytes");
        section.finish();
        let document = document?.into();
        Some(Self {
            location,
            document,
            base_url,
            headers,
            operations,
            prefix,
            timeout,
            approve,
            output_bytes,
        })
    }
}

/// `[mcp.NAME]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mcp {
    pub(super) name: String,
    pub(super) location: Location,
    pub(super) transport: Transport,
    pub(super) prefix: String,
    pub(super) tools: Selection,
    pub(super) trusts_hints: bool,
    pub(super) reconnects: Option<u32>,
    pub(super) timeout: Option<Duration>,
    pub(super) approve: Option<ApprovalPolicy>,
}

/// The transport of a server: stdio or HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    Stdio(ProgramConfig),
    Http { url: Template, headers: Vec<(String, Template)>, oauth: Option<Box<OAuthSection>> },
}

impl Transport {
    /// Returns the values that may contain variables.
    #[cfg(all(unix, feature = "mcp"))]
    pub(super) fn templates(&self) -> impl Iterator<Item = &Template> {
        let (url, named, oauth) = match self {
            Self::Stdio(start) => (None, &start.env, None),
            Self::Http { url, headers, oauth } => (Some(url), headers, oauth.as_deref()),
        };
        let oauth = oauth.into_iter().flat_map(|it| [&it.client_id, &it.client_secret]);
        named.iter().map(|it| &it.1).chain(url).chain(oauth.flatten())
    }
}

/// `oauth` of `[mcp.NAME]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OAuthSection {
    pub(super) location: Location,
    pub(super) grant: GrantType,
    pub(super) client_id: Option<Template>,
    pub(super) client_secret: Option<Template>,
    pub(super) scopes: Vec<String>,
    pub(super) issuer: Option<String>,
}

impl OAuthSection {
    fn read(mut section: Section<'_, '_>) -> Option<Self> {
        let location = section.location();
        let words = [
            ("authorization_code", GrantType::AuthorizationCode),
            ("client_credentials", GrantType::ClientCredentials),
        ];
        let grant = section.choice("grant", &words);
        let grant = grant.unwrap_or(match section.has("client_secret") {
            true => GrantType::ClientCredentials,
            false => GrantType::AuthorizationCode,
        });
        let (client_id, client_secret) = match grant {
            GrantType::AuthorizationCode => {
                if section.has("client_secret") && !section.has("client_id") {
                    section.complain(section.location().error("missing key `client_id`"));
                }
                (section.template("client_id"), section.template("client_secret"))
            }
            GrantType::ClientCredentials => {
                let client_id = section.required_template("client_id");
                (client_id, section.required_template("client_secret"))
            }
        };
        let scopes = section.texts("scopes").unwrap_or_default();
        let issuer = section.text("issuer");
        section.finish();
        Some(Self { location, grant, client_id, client_secret, scopes, issuer })
    }
}

/// The OAuth grant type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GrantType {
    /// A user logs in with a browser.
    AuthorizationCode,
    /// The client has its own secret.
    ClientCredentials,
}

impl Mcp {
    pub(super) fn read(name: &str, mut section: Section<'_, '_>) -> Option<Self> {
        let location = section.location();
        let transport = if section.has("url") {
            let url = section.template("url");
            let headers = section.templates("headers");
            let oauth = section.section("oauth", OAuthSection::read).map(Box::new);
            url.map(|url| Transport::Http { url, headers, oauth })
        } else {
            ProgramConfig::read(&mut section).map(Transport::Stdio)
        };
        let prefix = section.text("prefix").unwrap_or_default();
        let tools = selection(&mut section);
        let trusts_hints = section.flag("trusts_hints").unwrap_or_default();
        let reconnects = section.number("reconnects", 0);
        let reconnects = reconnects.map(|it| u32::try_from(it).unwrap_or(u32::MAX));
        let timeout = section.milliseconds("timeout_ms");
        let approve = approve(&mut section);
        section.finish();
        let (name, transport) = (name.to_owned(), transport?);
        Some(Self {
            name,
            location,
            transport,
            prefix,
            tools,
            trusts_hints,
            reconnects,
            timeout,
            approve,
        })
    }
}

/// Whether one of these headers is an authorization.
#[cfg(all(unix, feature = "mcp"))]
pub(super) fn has_authorization<V>(headers: &[(String, V)]) -> bool {
    headers.iter().any(|it| it.0.eq_ignore_ascii_case("authorization"))
}

#[cfg(all(unix, feature = "mcp"))]
impl Mcp {
    /// Whether the server supports a login.
    pub(super) fn takes_logins(&self) -> bool {
        match &self.transport {
            Transport::Stdio(_) => false,
            Transport::Http { headers, oauth, .. } => match oauth {
                Some(oauth) => oauth.grant == GrantType::AuthorizationCode,
                None => !has_authorization(headers),
            },
        }
    }
}

/// Reads the selection of tools.
fn selection(section: &mut Section<'_, '_>) -> Selection {
    let mut patterns = |key| {
        let texts = section.placed_texts(key)?;
        let patterns = texts.into_iter().map(|(text, location)| Pattern { text, location });
        Some(patterns.collect::<Vec<_>>())
    };
    let included = patterns("tools");
    let excluded = patterns("exclude_tools").unwrap_or_default();
    let location = section.key_place("tools").or_else(|| section.key_place("exclude_tools"));
    Selection { included, excluded, location: location.unwrap_or_default() }
}

/// `[python]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PythonSection {
    pub(super) location: Location,
    pub(super) python: Option<PathBuf>,
    pub(super) time: Option<Duration>,
    pub(super) approve: Option<ApprovalPolicy>,
    pub(super) output_bytes: Option<usize>,
    pub(super) memory_bytes: Option<u64>,
    pub(super) cpu_seconds: Option<u64>,
    pub(super) processes: Option<u64>,
    pub(super) disk_bytes: Option<u64>,
    pub(super) is_stateless: bool,
}

impl PythonSection {
    pub(super) fn read(mut section: Section<'_, '_>) -> Option<Self> {
        let read = Self {
            location: section.location(),
            python: section.path("python"),
            time: section.milliseconds("timeout_ms"),
            approve: approve(&mut section),
            output_bytes: section.bytes("output_bytes"),
            memory_bytes: section.number("memory_bytes", 1),
            cpu_seconds: section.number("cpu_seconds", 1),
            processes: section.number("processes", 1),
            disk_bytes: section.number("disk_bytes", 1),
            is_stateless: section.flag("stateless").unwrap_or_default(),
        };
        section.finish();
        Some(read)
    }
}

/// `[browser]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BrowserSection {
    pub(super) location: Location,
    pub(super) hosts: Vec<String>,
    pub(super) private: Vec<String>,
    pub(super) index: Option<(PathBuf, Location)>,
    pub(super) search_url: Option<Template>,
    pub(super) search_headers: Vec<(String, Template)>,
    pub(super) page_bytes: Option<usize>,
    pub(super) timeout: Option<Duration>,
    pub(super) approve: Option<ApprovalPolicy>,
}

impl BrowserSection {
    pub(super) fn read(mut section: Section<'_, '_>) -> Option<Self> {
        if section.has("index") && section.has("search_url") {
            let message = "`index` and `search_url` cannot be combined";
            let error = section.location().error(message);
            section.complain(error);
        }
        let read = Self {
            location: section.location(),
            hosts: section.texts("hosts").unwrap_or_default(),
            private: section.texts("private").unwrap_or_default(),
            index: section.path("index").zip(section.key_place("index")),
            search_url: section.template("search_url"),
            search_headers: section.templates("search_headers"),
            page_bytes: section.bytes("page_bytes"),
            timeout: section.milliseconds("timeout_ms"),
            approve: approve(&mut section),
        };
        section.finish();
        Some(read)
    }
}
