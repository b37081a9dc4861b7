//! The output of diagnostics.

use std::path::Path;

use super::findings::Counts;
use crate::console::Console;
use crate::failure::Failure;
use crate::output::Target;
use crate::output::escape;
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
        statistics: bool,
        console: &'a Console,
    ) -> Result<Self, Failure> {
        let mut target = match (path, style) {
            (None, Style::Text) if !statistics => None,
            (path, _) => Some(Target::open(path)?),
        };
        if let Some(target) = target.as_mut().filter(|_| !statistics) {
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

    /// Ends the report. With `counts`, it consists of the number of findings of each code, the most
    /// frequent first.
    pub(super) fn finish(self, counts: Option<&Counts>) -> Result<(), Failure> {
        let Some(mut target) = self.target else { return Ok(()) };
        let Some(counts) = counts else {
            target.write(self.style.tail().as_bytes())?;
            return target.finish();
        };
        let mut counts: Vec<_> = counts.iter().collect();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let width = counts.first().map_or(0, |(_, count)| count.to_string().len());
        for ((code, severity), count) in counts {
            let title = code.title();
            let line = match self.style {
                Style::Text => format!("{count:>width$} {severity}[{code}]: {title}\n"),
                _ => {
                    let mut line = format!("{{\"code\":\"{code}\",\"severity\":\"{severity}\",");
                    line.push_str(&format!("\"count\":{count},\"title\":\""));
                    escape(title, &mut line);
                    line + "\"}\n"
                }
            };
            target.write(line.as_bytes())?;
        }
        target.finish()
    }
}
