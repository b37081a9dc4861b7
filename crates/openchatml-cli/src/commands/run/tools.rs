//! The tools of a `tools.toml`.

use std::path::Path;

use openchatml::Span;
use openchatml_tools::config::{Config, ConfigError, Offer};
use openchatml_tools::{RouterOptions, Toolbox};

use crate::args::Bounds;
use crate::console::{Console, warning_line};
use crate::failure::Failure;
use crate::input::{Decoded, Origin, Page};
use crate::report;

/// Reads the file.
///
/// # Errors
///
/// It cannot be read, or something is wrong in it: that was told.
pub(in crate::commands) fn read(path: &Path, console: &Console) -> Result<Config, Failure> {
    with_text(path, console, Config::parse)
}

/// Opens its tools. What they are opened with stands beside the file.
///
/// # Errors
///
/// One of them cannot be opened: that was told.
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

/// Opens its tools, and asks its servers what they have beside them.
///
/// # Errors
///
/// One of them cannot be opened or asked: that was told.
pub(in crate::commands) async fn offers(
    config: Config,
    path: &Path,
    console: &Console,
) -> Result<Vec<Offer>, Failure> {
    match config.offers(folder(path)).await {
        Ok(offers) => Ok(offers),
        Err(errors) => with_text(path, console, |_| Err(errors)),
    }
}

/// Tells what servers do not list beside tools, and whether there is something.
pub(in crate::commands) fn tell_unlisted(offers: &[Offer], path: &Path, console: &Console) -> bool {
    let name = Origin::of(path).name();
    let mut errors = offers.iter().flat_map(|it| &it.unlisted).peekable();
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

/// Does something with the text of the file, and tells what is wrong with it.
fn with_text<T>(
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
        let message = match error.key.as_str() {
            "" => error.message.clone(),
            key => format!("`{}`: {}", key.escape_debug(), error.message),
        };
        report::located(&page, Span::new(error.span.start, error.span.end), &message, &mut text);
    }
    console.print(&text);
    Err(Failure::Refused(format!("the tools in `{name}` cannot be used")))
}
