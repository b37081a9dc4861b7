//! Sidecars: files with the data that the target format cannot express.

use std::path::{Path, PathBuf};

use clap::Args;
use openchatml::convert::Sidecar;

use crate::args::Bounds;
use crate::console::Console;
use crate::failure::Failure;
use crate::input::Origin;

/// The sidecars of a conversation.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Writing")]
pub(super) struct BesideArgs {
    /// Write what the target format cannot express to this file: fields such as call_id and intent
    #[arg(long, value_name = "FILE")]
    pub(super) sidecar: Option<PathBuf>,

    /// Restore what such a file contains after reading
    #[arg(long, value_name = "FILE")]
    pub(super) with_sidecar: Option<PathBuf>,
}

/// Reads a sidecar.
///
/// # Errors
///
/// The file cannot be read, or is not a sidecar.
pub(super) fn read(path: &Path, console: &Console) -> Result<Sidecar, Failure> {
    let bytes = Origin::of(path).read(Bounds::default().input_bytes, console)?;
    let refused = |why: String| Failure::Refused(format!("{}: {why}", path.display()));
    let text = std::str::from_utf8(&bytes).map_err(|error| refused(error.to_string()))?;
    Sidecar::from_json(text.trim()).map_err(|found| refused(found.message))
}
