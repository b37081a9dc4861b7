//! Opens the tools of a tools file.

use std::path::{Path, PathBuf};

#[cfg(all(unix, feature = "process"))]
use openchatml::{Limits, Value};

use super::error::{ConfigError, Location};
#[cfg(all(unix, feature = "process"))]
use super::section::Schema;
use super::sections::{BrowserSection, Mcp, OpenApi, Program, PythonSection};
#[cfg(all(unix, feature = "process"))]
use super::sections::{Form, ProgramConfig};
use super::template::Template;
use super::{Config, SectionListing};
use crate::router::check_schema;
use crate::{Entry, Toolbox};

/// The result of opening a section.
type ConfigResult<T> = Result<T, ConfigError>;

impl Config {
    /// Opens files, starts servers and tests the sandbox. After this, the tools can be called.
    ///
    /// Paths are relative to `base`, the folder of the file. A server runs as long as the toolbox
    /// or a clone of it exists.
    ///
    /// ```
    /// use openchatml_tools::config::Config;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let config = Config::parse("[tools.echo]\ncommand = 'cat'\n").unwrap();
    /// # #[cfg(all(unix, feature = "process"))] {
    /// let tools = config.open(".").await.unwrap();
    /// assert!(tools.get("functions.echo").is_some());
    /// # }
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Each section that could not be opened, with the reason.
    pub async fn open(self, base: impl AsRef<Path>) -> Result<Toolbox, Vec<ConfigError>> {
        let opened = self.open_all(base.as_ref()).await;
        if opened.errors.is_empty() { Ok(opened.tools) } else { Err(opened.errors) }
    }

    /// Opens the file like [`open`](Self::open), and lists the tools, resources and prompts of each
    /// section.
    ///
    /// ```
    /// use openchatml_tools::config::Config;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let config = Config::parse("[tools.echo]\ncommand = 'cat'\n").unwrap();
    /// # #[cfg(all(unix, feature = "process"))] {
    /// let listings = config.listings(".").await.unwrap();
    /// assert_eq!(listings[0].section, "tools.echo");
    /// assert_eq!(listings[0].tools[0].0, "functions.echo");
    /// # }
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Each section that could not be opened, with the reason. Lists that a server failed to return
    /// are in [`SectionListing::unlisted`].
    pub async fn listings(
        self,
        base: impl AsRef<Path>,
    ) -> Result<Vec<SectionListing>, Vec<ConfigError>> {
        let mut opened = self.open_all(base.as_ref()).await;
        opened.ask_servers().await;
        if opened.errors.is_empty() { Ok(opened.listings) } else { Err(opened.errors) }
    }

    async fn open_all(&self, base: &Path) -> CompletionFuture {
        let mut opening = CompletionFuture::new(base, self.is_continued);
        opening.tokens.clone_from(&self.tokens);
        #[cfg(all(unix, feature = "mcp"))]
        opening.stderr.clone_from(&self.stderr);
        for section in &self.programs {
            opening.add(opening.program(section).map(|entry| vec![entry]), &section.location);
        }
        for section in &self.apis {
            opening.add(opening.api(section), &section.location);
        }
        for section in &self.servers {
            opening.server(section).await;
        }
        if let Some(section) = &self.python {
            opening.add(opening.python(section).await.map(|entry| vec![entry]), &section.location);
        }
        if let Some(section) = &self.browser {
            opening.add(opening.browser(section), &section.location);
        }
        opening
    }
}

/// Checks a schema. The error is at the key of the schema, or names its file.
#[cfg(all(unix, feature = "process"))]
fn valid(schema: Value<'static>, location: &Location) -> ConfigResult<Value<'static>> {
    match check_schema("", &schema) {
        Ok(()) => Ok(schema),
        Err(bad) => Err(location.error(format!("not a valid JSON Schema: {}", bad.why))),
    }
}

struct CompletionFuture {
    base: PathBuf,
    #[cfg_attr(not(all(unix, feature = "python")), allow(dead_code))]
    is_continued: bool,
    #[cfg_attr(not(all(unix, feature = "oauth")), allow(dead_code))]
    tokens: Option<PathBuf>,
    #[cfg(all(unix, feature = "mcp"))]
    stderr: Option<crate::kinds::mcp::ServerStderr>,
    tools: Toolbox,
    listings: Vec<SectionListing>,
    /// The servers, and the indexes of their listings.
    #[cfg(all(unix, feature = "mcp"))]
    servers: Vec<(usize, crate::kinds::mcp::Server, Location)>,
    errors: Vec<ConfigError>,
}

/// An entry with its full name.
type Named = (String, Entry);

impl CompletionFuture {
    fn new(base: &Path, is_continued: bool) -> Self {
        Self {
            base: base.to_owned(),
            is_continued,
            tokens: None,
            #[cfg(all(unix, feature = "mcp"))]
            stderr: None,
            tools: Toolbox::default(),
            listings: Vec::new(),
            #[cfg(all(unix, feature = "mcp"))]
            servers: Vec::new(),
            errors: Vec::new(),
        }
    }

    fn add(&mut self, found: ConfigResult<Vec<Named>>, location: &Location) {
        match found {
            Ok(entries) => {
                self.listings.push(SectionListing::new(location.key(), entries.clone()));
                for (name, entry) in entries {
                    let checked = entry.parameters.as_ref().map(|it| check_schema(&name, it));
                    if let Some(Err(bad)) = checked {
                        self.errors.push(location.error(bad.to_string()));
                        continue;
                    }
                    let added = self.tools.insert(name, entry);
                    self.errors.extend(added.err().map(|error| location.error(error.to_string())));
                }
            }
            Err(error) => self.errors.push(error),
        }
    }

    /// Resolves a path of the file.
    fn path(&self, path: &Path) -> PathBuf {
        self.base.join(path)
    }

    #[cfg(all(unix, feature = "process"))]
    fn program(&self, section: &Program) -> ConfigResult<Named> {
        use crate::kinds::process::{Process, ResultFormat};

        let mut process = self.start(&section.start)?;
        process.result = match section.form {
            Form::Json => ResultFormat::Json,
            Form::JsonOrText => ResultFormat::JsonOrText,
            Form::Text => ResultFormat::Text,
        };
        let limits = &mut process.limits;
        limits.output_bytes = section.output_bytes.unwrap_or(limits.output_bytes);
        limits.stderr_bytes = section.stderr_bytes.unwrap_or(limits.stderr_bytes);
        limits.memory_bytes = section.memory_bytes;
        limits.cpu_seconds = section.cpu_seconds;
        limits.grace = section.grace.unwrap_or_default();
        let mut entry = Entry::new(process as Process);
        entry.description = section.description.clone();
        entry.parameters = section.parameters.as_ref().map(|it| self.schema(it)).transpose()?;
        entry.is_idempotent = section.is_idempotent;
        entry.timeout = section.timeout;
        entry.approve = section.approve;
        let variables = section.start.env.iter().flat_map(|(_, value)| value.values());
        entry.secrets = variables.collect();
        Ok((section.name.clone(), entry))
    }

    /// Creates a program from its section.
    #[cfg(all(unix, feature = "process"))]
    fn start(&self, start: &ProgramConfig) -> ConfigResult<crate::kinds::process::Process> {
        let program = self.program_path(&start.command);
        let mut process = crate::kinds::process::Process::new(program);
        process.args = start.args.iter().map(Into::into).collect();
        for (name, value) in filled(&start.env)? {
            process.env.push((name.into(), value.into()));
        }
        if let Some(names) = &start.inherit {
            process.inherit = names.iter().map(Into::into).collect();
        }
        process.directory = Some(match &start.cwd {
            Some(path) => self.path(path),
            None => self.path(Path::new(".")),
        });
        Ok(process)
    }

    /// Resolves the path of a program. A name without a slash is searched in `PATH`.
    #[cfg(all(unix, feature = "process"))]
    fn program_path(&self, program: &Path) -> PathBuf {
        if !program.as_os_str().as_encoded_bytes().contains(&b'/') {
            return program.to_owned();
        }
        let path = self.path(program);
        // Absolute, because the program may have another working directory.
        std::path::absolute(&path).unwrap_or(path)
    }

    #[cfg(all(unix, feature = "process"))]
    fn schema(&self, schema: &Schema) -> ConfigResult<Value<'static>> {
        match schema {
            Schema::Inline(value, location) => valid(value.clone(), location),
            Schema::File(path, location) => {
                let text = self.read(path, location)?;
                let value = Value::from_json(&text, &Limits::default());
                let value = value.map_err(|found| {
                    let at = found.span.start;
                    location.error(format!("the file is not JSON: {} at byte {at}", found.message))
                })?;
                valid(value.into_owned(), location)
            }
        }
    }

    #[cfg(any(feature = "http", all(unix, feature = "process")))]
    fn read(&self, path: &Path, location: &Location) -> ConfigResult<String> {
        std::fs::read_to_string(self.path(path))
            .map_err(|error| location.error(format!("cannot read `{}`: {error}", path.display())))
    }

    #[cfg(not(all(unix, feature = "process")))]
    fn program(&self, section: &Program) -> ConfigResult<Named> {
        Err(missing(&section.location, "process"))
    }

    #[cfg(feature = "http")]
    fn api(&self, section: &OpenApi) -> ConfigResult<Vec<Named>> {
        use crate::kinds::http::{Api, ServiceOptions};

        let text = self.read(&section.document, &section.location)?;
        let wrong =
            |error: crate::kinds::http::OpenApiError| section.location.error(error.to_string());
        let api = Api::parse(&text).map_err(wrong)?;
        let access = ServiceOptions {
            base_url: section.base_url.as_ref().map(Template::fill).transpose()?,
            headers: filled(&section.headers)?,
            output_bytes: section.output_bytes.unwrap_or(ServiceOptions::default().output_bytes),
        };
        let mut entries = api.entries(&access).map_err(wrong)?;
        if let Some((names, location)) = &section.operations {
            for name in names {
                if entries.iter().any(|it| it.0 == *name) {
                    continue;
                }
                let skipped = api.skipped().iter().find(|it| it.operation == *name);
                let why =
                    skipped.map_or("it does not exist in the document", |skipped| &skipped.why);
                return Err(location.error(format!("operation `{}`: {why}", name.escape_debug())));
            }
            entries.retain(|it| names.contains(&it.0));
        }
        let templates = section.headers.iter().map(|it| &it.1).chain(&section.base_url);
        let variables: Vec<String> = templates.flat_map(Template::values).collect();
        let named = entries.into_iter().map(|(name, mut entry)| {
            entry.timeout = section.timeout;
            entry.approve = section.approve;
            entry.secrets.extend(variables.iter().cloned());
            (format!("functions.{}{name}", section.prefix), entry)
        });
        Ok(named.collect())
    }

    #[cfg(not(feature = "http"))]
    fn api(&self, section: &OpenApi) -> ConfigResult<Vec<Named>> {
        Err(missing(&section.location, "http"))
    }

    #[cfg(all(unix, feature = "mcp"))]
    async fn server(&mut self, section: &Mcp) {
        match self.connect(section).await {
            Ok((server, entries)) => {
                self.servers.push((self.listings.len(), server, section.location.clone()));
                self.add(Ok(entries), &section.location);
            }
            Err(errors) => self.errors.extend(errors),
        }
    }

    #[cfg(all(unix, feature = "mcp"))]
    async fn connect(
        &self,
        section: &Mcp,
    ) -> Result<(crate::kinds::mcp::Server, Vec<Named>), Vec<ConfigError>> {
        use super::sections::Transport;
        use crate::kinds::mcp::{ServerOptions, connect_stdio};
        use crate::secrets::Secrets;

        let mut options = ServerOptions::default();
        options.trusts_hints = section.trusts_hints;
        options.timeout = section.timeout.unwrap_or(options.timeout);
        options.reconnects = section.reconnects.unwrap_or(options.reconnects);
        options.secrets = Secrets::new(section.transport.templates().flat_map(Template::values));
        options.keeps_clashes = true;
        options.stderr = self.stderr.as_ref().map(|it| it.named(&section.name));
        let one = |error| vec![error];
        let server = match &section.transport {
            Transport::Stdio(start) => {
                let program = self.start(start).map_err(one)?;
                connect_stdio(program.command(), &options).await
            }
            Transport::Http { url, headers, oauth } => {
                let url = url.fill().map_err(one)?;
                let headers = filled(headers).map_err(one)?;
                self.connect_url(&url, &headers, oauth.as_deref(), &options).await.map_err(one)?
            }
        };
        let server = server.map_err(|error| {
            let needs_login = error.needs_login && section.takes_logins();
            let mut error = section.location.error(error.to_string());
            error.needs_login = needs_login.then(|| section.name.clone());
            one(error)
        })?;
        let own = |name: &str| name.split_once('.').map_or("", |it| it.1).to_owned();
        let mut entries: Vec<Named> =
            server.entries().iter().map(|(name, entry)| (own(name), entry.clone())).collect();
        section.tools.check(entries.iter().map(|it| it.0.as_str()))?;
        entries.retain(|it| section.tools.listings(&it.0));
        let mut names = std::collections::HashSet::new();
        if let Some((name, _)) = entries.iter().find(|it| !names.insert(it.0.as_str())) {
            let why = format!(
                "the server has two tools with the name `{name}` for models: exclude one with `exclude_tools`"
            );
            return Err(one(section.location.error(why)));
        }
        for (name, entry) in &mut entries {
            *name = format!("functions.{}{name}", section.prefix);
            entry.timeout = section.timeout;
            entry.approve = section.approve;
        }
        Ok((server, entries))
    }

    /// Connects to a server over HTTP, with an authorization if one is configured.
    #[cfg(all(unix, feature = "mcp"))]
    async fn connect_url(
        &self,
        url: &str,
        headers: &[(String, String)],
        oauth: Option<&super::sections::OAuthSection>,
        options: &crate::kinds::mcp::ServerOptions,
    ) -> ConfigResult<Result<crate::kinds::mcp::Server, crate::kinds::mcp::ConnectError>> {
        let named = headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        #[cfg(feature = "oauth")]
        {
            use super::login::{Authorization, authorization};
            use crate::kinds::mcp::{connect_authorized, connect_logged_in};

            match authorization(url, headers, oauth, self.tokens.as_deref())? {
                Authorization::None => {}
                Authorization::Client(oauth) => {
                    return Ok(connect_authorized(url, named, oauth, options).await);
                }
                Authorization::Login(login) => {
                    return Ok(connect_logged_in(url, named, login, options).await);
                }
            }
        }
        #[cfg(not(feature = "oauth"))]
        if let Some(oauth) = oauth {
            return Err(missing(&oauth.location, "oauth"));
        }
        Ok(crate::kinds::mcp::connect_http(url, named, options).await)
    }

    /// Lists the resources, resource templates and prompts of the servers.
    #[cfg(all(unix, feature = "mcp"))]
    async fn ask_servers(&mut self) {
        for (index, server, location) in &self.servers {
            let listing = &mut self.listings[*index];
            match server.resources().await {
                Ok(resources) => listing.resources = resources,
                Err(error) => {
                    listing.unlisted.push(location.error(format!("its resources: {error}")))
                }
            }
            match server.resource_templates().await {
                Ok(templates) => listing.resource_templates = templates,
                Err(error) => {
                    listing
                        .unlisted
                        .push(location.error(format!("its resource templates: {error}")));
                }
            }
            match server.prompts().await {
                Ok(prompts) => listing.prompts = prompts,
                Err(error) => {
                    listing.unlisted.push(location.error(format!("its prompts: {error}")))
                }
            }
        }
    }

    #[cfg(not(all(unix, feature = "mcp")))]
    async fn server(&mut self, section: &Mcp) {
        self.errors.push(missing(&section.location, "mcp"));
    }

    #[cfg(not(all(unix, feature = "mcp")))]
    async fn ask_servers(&mut self) {}

    #[cfg(all(unix, feature = "python"))]
    async fn python(&self, section: &PythonSection) -> ConfigResult<Named> {
        use crate::kinds::python::{Python, Sandbox};

        let sandbox = match &section.python {
            Some(python) => Sandbox::with_python(self.program_path(python)).await,
            None => Sandbox::detect().await,
        };
        let mut python =
            Python::new(sandbox.map_err(|error| section.location.error(error.to_string()))?);
        let limits = &mut python.limits;
        limits.time = section.time.unwrap_or(limits.time);
        limits.output_bytes = section.output_bytes.unwrap_or(limits.output_bytes);
        limits.memory_bytes = section.memory_bytes.unwrap_or(limits.memory_bytes);
        limits.cpu_seconds = section.cpu_seconds.unwrap_or(limits.cpu_seconds);
        limits.processes = section.processes.unwrap_or(limits.processes);
        limits.disk_bytes = section.disk_bytes.unwrap_or(limits.disk_bytes);
        python.is_stateless = section.is_stateless;
        // The sandbox was tested with the default limits, so limits of the file are tested as well.
        let bounds = [section.memory_bytes, section.cpu_seconds, section.processes];
        if bounds.iter().any(Option::is_some) {
            python.check().await.map_err(|error| section.location.error(error.to_string()))?;
        }
        if self.is_continued {
            python = python.continued();
        }
        let mut entry = python.entry();
        entry.approve = section.approve;
        Ok(("python".into(), entry))
    }

    #[cfg(not(all(unix, feature = "python")))]
    async fn python(&self, section: &PythonSection) -> ConfigResult<Named> {
        Err(missing(&section.location, "python"))
    }

    #[cfg(feature = "browser")]
    fn browser(&self, section: &BrowserSection) -> ConfigResult<Vec<Named>> {
        use crate::kinds::browser::{Browser, BrowserOptions, Search};

        let search = match (&section.index, &section.search_url) {
            (Some((folder, _)), _) => Search::Folder(self.path(folder)),
            (None, Some(url)) => {
                Search::Endpoint { url: url.fill()?, headers: filled(&section.search_headers)? }
            }
            (None, None) => Search::Nothing,
        };
        let mut options = BrowserOptions {
            hosts: section.hosts.clone(),
            private: section.private.clone(),
            search,
            ..BrowserOptions::default()
        };
        options.page_bytes = section.page_bytes.unwrap_or(options.page_bytes);
        let browser = Browser::new(&options).map_err(|error| section.location.error(error.why))?;
        let entries = browser.entries().into_iter().map(|(name, mut entry)| {
            entry.timeout = section.timeout;
            entry.approve = section.approve;
            (name, entry)
        });
        Ok(entries.collect())
    }

    #[cfg(not(feature = "browser"))]
    fn browser(&self, section: &BrowserSection) -> ConfigResult<Vec<Named>> {
        Err(missing(&section.location, "browser"))
    }
}

/// Fills templates with environment variables.
fn filled(templates: &[(String, Template)]) -> ConfigResult<Vec<(String, String)>> {
    templates.iter().map(|(name, value)| Ok((name.clone(), value.fill()?))).collect()
}

#[cfg(not(all(unix, feature = "browser", feature = "oauth", feature = "python")))]
fn missing(location: &Location, feature: &str) -> ConfigError {
    location
        .error(format!("this build does not support such tools: it lacks the feature `{feature}`"))
}
