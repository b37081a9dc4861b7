//! The tools of a `tools.toml`.

use std::env;
use std::path::{Path, PathBuf};

use openchatml::Span;
use openchatml_tools::config::{Config, ConfigError, SectionListing};
use openchatml_tools::{RouterOptions, Toolbox};

use crate::args::Bounds;
#[cfg(unix)]
use crate::console::stranger;
use crate::console::{Console, warning_line};
use crate::failure::Failure;
use crate::input::{Decoded, Origin, Page};
use crate::report;

/// Reads the file.
///
/// # Errors
///
/// The file cannot be read, or has errors, which were reported.
pub(in crate::commands) fn read(path: &Path, console: &Console) -> Result<Config, Failure> {
    let config = with_text(path, console, Config::parse)?;
    #[cfg(unix)]
    let config = config.with_stderr(stranger);
    Ok(match tokens() {
        Some(folder) => config.with_tokens(folder),
        None => config,
    })
}

/// The environment variable that names another folder for tokens.
pub(in crate::commands) const TOKENS: &str = "OCML_TOKENS";

/// The folder with the tokens of logged-in users.
fn tokens() -> Option<PathBuf> {
    let folder = |name| env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    if let Some(tokens) = folder(TOKENS) {
        return Some(tokens);
    }
    // The XDG Base Directory Specification requires to ignore relative paths.
    let state = folder("XDG_STATE_HOME").filter(|it| it.is_absolute());
    let home = || folder("HOME").filter(|it| it.is_absolute());
    let state = state.or_else(|| Some(home()?.join(".local/state")));
    state.map(|it| it.join("openchatml/tokens"))
}

/// Opens the tools. Their paths are relative to the file.
///
/// # Errors
///
/// A tool cannot be opened; the error was reported.
pub(super) async fn open(
    config: Config,
    path: &Path,
    console: &Console,
) -> Result<(Toolbox, RouterOptions), Failure> {
    let options = config.router.options();
    match config.open(folder(path)).await {
        Ok(tools) => Ok((tools, options)),
        Err(errors) => with_text(path, console, |_| Err(errors)),
    }
}

/// Opens the tools, and asks their servers for resources and prompts.
///
/// # Errors
///
/// A section cannot be opened; the error was reported.
pub(in crate::commands) async fn listings(
    config: Config,
    path: &Path,
    console: &Console,
) -> Result<Vec<SectionListing>, Failure> {
    match config.listings(folder(path)).await {
        Ok(listings) => Ok(listings),
        Err(errors) => with_text(path, console, |_| Err(errors)),
    }
}

/// Waits until unused servers or their sessions have ended.
pub(in crate::commands) async fn closed() {
    #[cfg(unix)]
    openchatml_tools::kinds::mcp::closed().await;
}

/// Reports the lists that servers failed to return. Returns whether there are any.
pub(in crate::commands) fn tell_unlisted(
    listings: &[SectionListing],
    path: &Path,
    console: &Console,
) -> bool {
    let name = Origin::of(path).name();
    let mut errors = listings.iter().flat_map(|it| &it.unlisted).peekable();
    let is_there = errors.peek().is_some();
    errors.for_each(|error| console.print(&warning_line(&format!("in `{name}`, {error}"))));
    is_there
}

/// The folder of a file.
fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Returns an error with its help.
fn message(error: &ConfigError, path: &Path) -> String {
    let message = match error.key.as_str() {
        "" => error.message.clone(),
        key => format!("`{}`: {}", key.escape_debug(), error.message),
    };
    match &error.needs_login {
        Some(server) => {
            let (server, file) = (word(server), word(&path.to_string_lossy()));
            format!("{message}: log in with `ocml tools --login {server} {file}`")
        }
        None => message,
    }
}

/// Quotes a word for a shell.
fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "._-/+@%:,".contains(c);
    match text {
        text if !text.is_empty() && text.chars().all(is_plain) => text.to_owned(),
        text => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// Passes the text of the file to a function, and reports its errors.
pub(in crate::commands) fn with_text<T>(
    path: &Path,
    console: &Console,
    read: impl FnOnce(&str) -> Result<T, Vec<ConfigError>>,
) -> Result<T, Failure> {
    let origin = Origin::of(path);
    let name = origin.name();
    let bytes = origin.read(Bounds::default().input_bytes, console)?;
    let decoded = Decoded::new(&bytes, 0);
    let page = Page::new(&name, &decoded, 1);
    let errors = match read(&decoded.text) {
        Ok(done) => return Ok(done),
        Err(errors) => errors,
    };
    let mut text = String::new();
    for error in &errors {
        let message = message(error, path);
        report::located(&page, Span::new(error.span.start, error.span.end), &message, &mut text);
    }
    console.print(&text);
    Err(Failure::Refused(format!("invalid tools in `{name}`")))
}
