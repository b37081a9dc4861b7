//! Tools files: `tools.toml`.
//!
//! Each section defines one kind of tools. The parser checks every key and reports all errors
//! together, each with its place. Paths are relative to the file.
//!
//! ```
//! use openchatml_tools::config::Config;
//!
//! let text = r#"
//! [router]                            # what is not said is the router's default
//! at_once = 8                         # queue, timeout_ms, longest_ms, output_bytes,
//! envelope = "raw"                    # retries, backoff_ms; or "json"
//!
//! [tools.weather]                     # functions.weather: a program
//! command = "./weather.py"
//! args = ["--metric"]
//! env = { TOKEN = "${WEATHER_TOKEN}" }
//! inherit = ["PATH"]
//! cwd = "."
//! result = "json"                     # or "json-or-text", "text"
//! description = "The weather of a city."
//! parameters = { type = "object", properties = { city = { type = "string" } } }
//! idempotent = true
//! timeout_ms = 5000
//! memory_bytes = 1073741824           # output_bytes, stderr_bytes, cpu_seconds, grace_ms
//!
//! [openapi.pets]                      # functions.OPERATION for each
//! document = "pets.yaml"
//! base_url = "https://pets.example/v1"
//! headers = { Authorization = "Bearer ${PETS_TOKEN}" }
//! operations = ["list_pets"]          # all, unless said
//! prefix = "pets_"                    # timeout_ms, output_bytes
//!
//! [mcp.files]                         # functions.TOOL for each
//! command = "files-server"            # args, env, inherit, cwd; or url, headers, oauth
//! tools = ["read*", "list"]           # all, unless said; prefix, timeout_ms
//! exclude_tools = ["read_secret"]     # reconnects
//!
//! [python]                            # python, in a sandbox
//! timeout_ms = 60000                  # python, output_bytes, memory_bytes, cpu_seconds,
//! processes = 16                      # disk_bytes; stateless
//!
//! [browser]                           # browser.search, browser.open, browser.find
//! hosts = ["docs.example", "*.docs.example"]
//! index = "pages"                     # or search_url, search_headers; private, page_bytes,
//! timeout_ms = 10000                  # timeout_ms
//! "#;
//! assert_eq!(Config::parse(text).map(|config| config.router.at_once), Ok(Some(8)));
//! ```

mod error;
#[cfg(all(unix, feature = "oauth"))]
mod login;
#[cfg_attr(
    not(all(unix, feature = "browser", feature = "oauth", feature = "python")),
    allow(dead_code)
)]
mod open;
#[cfg_attr(not(all(unix, feature = "mcp")), allow(dead_code))]
mod pattern;
mod section;
// Sections of tools whose feature is disabled are parsed as well, but their values are not used.
#[cfg_attr(
    not(all(unix, feature = "browser", feature = "oauth", feature = "python")),
    allow(dead_code)
)]
mod sections;
#[cfg_attr(
    not(all(unix, feature = "browser", feature = "oauth", feature = "python")),
    allow(dead_code)
)]
mod template;

use std::path::PathBuf;

use openchatml::Lines;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub use self::error::ConfigError;
use self::section::{ConfigErrors, Section};
pub use self::sections::RouterSettings;
use self::sections::{BrowserSection, Mcp, OpenApi, Program, PythonSection};
use crate::Entry;
use crate::server_features::{ServerPrompt, ServerResource, ServerResourceTemplate};

/// The tools and other offers of one section.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SectionListing {
    /// The section: `mcp.files`.
    pub section: String,
    /// The tools, with the names that models use.
    pub tools: Vec<(String, Entry)>,
    /// The resources that the server lists, if the section is a server.
    pub resources: Vec<ServerResource>,
    /// The resource templates that the server lists, if the section is a server.
    pub resource_templates: Vec<ServerResourceTemplate>,
    /// The prompts that the server lists, if the section is a server.
    pub prompts: Vec<ServerPrompt>,
    /// The lists that the server failed to return, with the reasons.
    pub unlisted: Vec<ConfigError>,
}

impl SectionListing {
    fn new(section: &str, tools: Vec<(String, Entry)>) -> Self {
        Self {
            section: section.to_owned(),
            tools,
            resources: Vec::new(),
            resource_templates: Vec::new(),
            prompts: Vec::new(),
            unlisted: Vec::new(),
        }
    }
}

/// A parsed tools file. Nothing has been opened or started yet.
///
/// ```
/// use openchatml_tools::config::Config;
///
/// let errors = Config::parse("[tools.weather]\ncomand = 'weather'\n").unwrap_err();
/// let said: Vec<_> = errors.iter().map(|error| error.to_string()).collect();
/// assert_eq!(said, [
///     "line 1, column 1: `tools.weather`: missing key `command`",
///     "line 2, column 1: `tools.weather.comand`: unknown key; did you mean `command`?",
/// ]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The settings of the router.
    pub router: RouterSettings,
    programs: Vec<Program>,
    apis: Vec<OpenApi>,
    servers: Vec<Mcp>,
    python: Option<PythonSection>,
    browser: Option<BrowserSection>,
    is_continued: bool,
    /// The folder with the tokens of logged-in users.
    #[cfg_attr(not(all(unix, feature = "oauth")), allow(dead_code))]
    tokens: Option<PathBuf>,
    #[cfg(all(unix, feature = "mcp"))]
    stderr: Option<crate::kinds::mcp::ServerStderr>,
}

impl Config {
    /// Parses the text of a tools file. It does not read other files.
    ///
    /// # Errors
    ///
    /// All errors of the file, in their order.
    pub fn parse(text: &str) -> Result<Self, Vec<ConfigError>> {
        let (table, malformed) = DeTable::parse_recoverable(text);
        let mut findings = ConfigErrors { lines: Lines::new(text), errors: Vec::new() };
        for error in malformed {
            let span = error.span().unwrap_or(0..0);
            let error = findings.location(span, "").error(error.message());
            findings.errors.push(error);
        }
        let span = table.span();
        let table = Spanned::new(span, DeValue::Table(table.into_inner()));
        let config = Section::new(&mut findings, String::new(), &table).map(Self::read);
        findings.errors.sort_by_key(|error| error.span.start);
        match config {
            Some(config) if findings.errors.is_empty() => Ok(config),
            _ => Err(findings.errors),
        }
    }

    /// Marks the conversation as one that already used an interpreter (the tool `python`): the
    /// first reply of the new interpreter says that the variables are lost.
    ///
    /// ```
    /// use openchatml_tools::config::Config;
    ///
    /// let config = Config::parse("[python]\nstateless = false\n").unwrap();
    /// let resumed = config.clone().continued();
    /// assert_ne!(resumed, config);
    /// ```
    pub fn continued(mut self) -> Self {
        self.is_continued = true;
        self
    }

    /// Sets the folder with the tokens of logged-in users (`kinds::mcp::TokenFolder`). Tools of
    /// servers with a login are called in the name of that user. Without the folder, nobody is
    /// logged in.
    ///
    /// ```
    /// use openchatml_tools::config::Config;
    ///
    /// let text = "[mcp.a]\nurl = 'https://a.example/mcp'\noauth = {}\n";
    /// let config = Config::parse(text).unwrap().with_tokens("/home/me/.local/state/openchatml/tokens");
    /// ```
    pub fn with_tokens(mut self, folder: impl Into<PathBuf>) -> Self {
        self.tokens = Some(folder.into());
        self
    }

    /// Passes the standard error of servers that are programs to `tell`: the name of the server,
    /// and a line. Without it, they inherit the standard error of this process.
    ///
    /// A line comes from the server and may contain control characters: escape it before you print
    /// it.
    #[cfg(all(unix, feature = "mcp"))]
    pub fn with_stderr(mut self, tell: impl Fn(&str, &str) + Send + Sync + 'static) -> Self {
        self.stderr = Some(crate::kinds::mcp::ServerStderr::new("", tell));
        self
    }

    fn read(mut file: Section<'_, '_>) -> Self {
        let config = Self {
            router: file.section("router", RouterSettings::read).unwrap_or_default(),
            programs: file.sections("tools", Program::read),
            apis: file.sections("openapi", OpenApi::read),
            servers: file.sections("mcp", Mcp::read),
            python: file.section("python", PythonSection::read),
            browser: file.section("browser", BrowserSection::read),
            is_continued: false,
            tokens: None,
            #[cfg(all(unix, feature = "mcp"))]
            stderr: None,
        };
        file.finish();
        config
    }
}
