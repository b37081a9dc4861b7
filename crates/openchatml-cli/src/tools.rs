//! Reads tools from a file.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use openchatml::{ReadOptions, Severity, Tool, Value, parse};
use serde::de::IgnoredAny;

use crate::args::{Bounds, ReaderArgs};
use crate::console::Console;
use crate::failure::Failure;
use crate::input::{Decoded, JSON, Origin, Page};
use crate::report::Style;

/// Reads the tools in a file: a JSON array of them, or an object with the field `tools`.
///
/// # Errors
///
/// The file cannot be read, or contains an invalid tool.
pub(crate) fn read(path: &Path, console: &Console) -> Result<Vec<Tool<'static>>, Failure> {
    let wrap = |text: &str| {
        let is_list = text.trim_start().starts_with('[');
        if is_list { [r#"{"tools":"#, "}"] } else { ["", ""] }
    };
    declared(path, wrap, "the tools", console)
}

/// Returns the tools that the options of the readers name.
///
/// # Errors
///
/// The file cannot be read, or contains an invalid tool.
pub(crate) fn of_input(
    args: &ReaderArgs,
    console: &Console,
) -> Result<Arc<[Tool<'static>]>, Failure> {
    args.tools.as_deref().map_or(Ok(Arc::default()), |path| Ok(read(path, console)?.into()))
}

/// Reads a JSON Schema.
///
/// # Errors
///
/// The file cannot be read, or is not JSON.
pub(crate) fn schema(path: &Path, console: &Console) -> Result<Value<'static>, Failure> {
    let around = [r#"{"tools":[{"type":"function","function":{"name":"f","parameters":"#, "}}]}"];
    let tools = declared(path, |_| around, "the schema", console)?;
    Ok(tools.into_iter().next().and_then(|tool| tool.parameters).unwrap_or_default())
}

/// Reads the tools in a file, after adding these texts before and after its content.
fn declared(
    path: &Path,
    around: impl Fn(&str) -> [&'static str; 2],
    what: &str,
    console: &Console,
) -> Result<Vec<Tool<'static>>, Failure> {
    let origin = Origin::of(path);
    let name = origin.name();
    let bytes = origin.read(Bounds::default().input_bytes, console)?;
    let decoded = Decoded::new(&bytes, 0);
    let page = Page::new(&name, &decoded, 1);
    // A document that only declares tools.
    let [before, after] = around(&decoded.text);
    let document = [before, &decoded.text, after].concat();
    // It is probably the wrong file. An empty list of tools is valid.
    let keys = serde_json::from_str::<HashMap<String, IgnoredAny>>(&document);
    if keys.is_ok_and(|keys| !keys.contains_key("tools")) {
        return Err(Failure::Refused(format!(
            "`{name}` declares no tools: it must be an array, or an object with `tools`"
        )));
    }
    let parsed = parse(&document, JSON, &ReadOptions::default());
    let mut found = decoded.found.clone();
    for mut diagnostic in parsed.diagnostics {
        let shift = |at: usize| at.saturating_sub(before.len()).min(decoded.text.len());
        diagnostic.span.start = shift(diagnostic.span.start);
        diagnostic.span.end = shift(diagnostic.span.end);
        diagnostic.fix = None;
        found.push(diagnostic);
    }
    for diagnostic in &found {
        let mut text = String::new();
        Style::Text.write(&page, diagnostic, &mut text);
        console.print(&text);
    }
    if found.iter().any(|found| found.severity == Severity::Error) {
        return Err(Failure::Refused(format!("{what} in `{name}` cannot be used")));
    }
    let conversation = parsed.document.into_conversation();
    Ok(conversation.tools.into_iter().map(Tool::into_owned).collect())
}
