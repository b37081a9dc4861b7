//! Tools that are declared in a file of their own.

use std::path::Path;

use openchatml::{ReadOptions, Severity, Tool, parse};

use crate::args::Bounds;
use crate::console::Console;
use crate::failure::Failure;
use crate::input::{Decoded, JSON, Origin, Page};
use crate::report::Style;

/// Reads the tools in a file: a JSON array of them, or an object with the field `tools`.
///
/// # Errors
///
/// The file cannot be read, or something in it is no tool.
pub(super) fn read(path: &Path, console: &Console) -> Result<Vec<Tool<'static>>, Failure> {
    let origin = Origin::of(path);
    let name = origin.name();
    let bytes = origin.read(Bounds::default().input_bytes, console)?;
    let decoded = Decoded::new(&bytes, 0);
    let page = Page::new(&name, &decoded, 1);
    // A document that declares the tools and says nothing.
    let is_list = decoded.text.trim_start().starts_with('[');
    let before = if is_list { r#"{"tools":"# } else { "" };
    let document = if is_list {
        [before, &decoded.text, "}"].concat()
    } else {
        decoded.text.clone().into_owned()
    };
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
        return Err(Failure::Refused(format!("the tools in `{name}` cannot be used")));
    }
    let conversation = parsed.document.into_conversation();
    Ok(conversation.tools.into_iter().map(Tool::into_owned).collect())
}
