//! Reads response formats from a file.

use std::path::Path;

use openchatml::Limits;
use openchatml::harmony::ResponseFormat;

use crate::args::Bounds;
use crate::console::Console;
use crate::failure::Failure;
use crate::input::{Decoded, Origin, Page};
use crate::report::Style;

/// Reads the response formats in a file.
///
/// # Errors
///
/// The file cannot be read, or contains an invalid response format.
pub(in crate::commands) fn read(
    path: &Path,
    console: &Console,
) -> Result<Vec<ResponseFormat<'static>>, Failure> {
    let origin = Origin::of(path);
    let name = origin.name();
    let bytes = origin.read(Bounds::default().input_bytes, console)?;
    let decoded = Decoded::new(&bytes, 0);
    let read = ResponseFormat::from_json(&decoded.text, &Limits::default());
    match read {
        Ok(formats) if decoded.found.is_empty() => {
            Ok(formats.into_iter().map(ResponseFormat::into_owned).collect())
        }
        read => {
            let page = Page::new(&name, &decoded, 1);
            let mut text = String::new();
            for diagnostic in decoded.found.iter().chain(read.err().as_deref()) {
                Style::Text.write(&page, diagnostic, &mut text);
            }
            console.print(&text);
            Err(Failure::Refused(format!("invalid response formats in `{name}`")))
        }
    }
}
