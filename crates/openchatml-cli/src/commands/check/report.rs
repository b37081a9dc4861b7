//! The output of diagnostics.

use std::path::Path;

use openchatml::{Diagnostic, Severity};

use crate::args::Verbosity;
use crate::console::Console;
use crate::failure::Failure;
use crate::input::Page;
use crate::output::Target;
use crate::report::Style;

/// The report of all files.
pub(super) struct Report<'a> {
    /// `None` if the diagnostics go to standard error as text.
    target: Option<Target>,
    console: &'a Console,
    style: Style,
    is_begun: bool,
}

impl<'a> Report<'a> {
    /// Begins a report.
    pub(super) fn open(
        style: Style,
        path: Option<&Path>,
        console: &'a Console,
    ) -> Result<Self, Failure> {
        let mut target = match (path, style) {
            (None, Style::Text) => None,
            (path, _) => Some(Target::open(path)?),
        };
        if let Some(target) = &mut target {
            target.write(style.head().as_bytes())?;
        }
        Ok(Self { target, console, style, is_begun: false })
    }

    /// Adds diagnostics.
    pub(super) fn write(&mut self, findings: &str) -> Result<(), Failure> {
        if findings.is_empty() {
            return Ok(());
        }
        let Some(target) = &mut self.target else {
            self.console.print(findings);
            return Ok(());
        };
        if self.is_begun {
            target.write(self.style.between().as_bytes())?;
        }
        self.is_begun = true;
        match self.style {
            // A file contains no colours.
            Style::Text => {
                let plain = anstream::adapter::strip_str(findings).to_string();
                target.write(plain.as_bytes())
            }
            _ => target.write(findings.as_bytes()),
        }
    }

    /// Ends the report.
    pub(super) fn finish(self) -> Result<(), Failure> {
        let Some(mut target) = self.target else { return Ok(()) };
        target.write(self.style.tail().as_bytes())?;
        target.finish()
    }
}

/// Appends the diagnostics to `report`.
pub(super) fn write(
    page: &Page<'_>,
    found: &[Diagnostic],
    style: Style,
    verbosity: Verbosity,
    report: &mut String,
) {
    let is_quiet = style == Style::Text && verbosity == Verbosity::Quiet;
    for found in found {
        if is_quiet && found.severity != Severity::Error {
            continue;
        }
        if !report.is_empty() {
            report.push_str(style.between());
        }
        style.write(page, found, report);
    }
}
