//! Messages on standard error.

use std::io::{self, IsTerminal as _, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use annotate_snippets::renderer::{DEFAULT_ERROR_STYLE, DEFAULT_NOTE_STYLE, DEFAULT_WARNING_STYLE};
use anstream::{AutoStream, ColorChoice};
use anstyle::Style;
use indicatif::ProgressBar;
use openchatml::{Code, Diagnostic};

use crate::args::{ConsoleArgs, Verbosity};
use crate::failure::{Failure, UNKNOWN};
use crate::visible::visible_line;

/// Formats an error as one line.
pub(crate) fn error_line(text: &str) -> String {
    labelled(DEFAULT_ERROR_STYLE, "error", text)
}

/// Formats a diagnostic without a place as one line.
pub(crate) fn finding_line(found: &Diagnostic) -> String {
    labelled(DEFAULT_ERROR_STYLE, &format!("{}[{}]", found.severity, found.code), &found.message)
}

/// Formats a warning as one line.
pub(crate) fn warning_line(text: &str) -> String {
    labelled(DEFAULT_WARNING_STYLE, "warning", text)
}

/// Prints a line of another program on standard error.
#[cfg(all(unix, feature = "run"))]
pub(crate) fn stranger(name: &str, line: &str) {
    let text = format!("{}: {}\n", visible_line(name), visible_line(line));
    // If the message cannot be printed, there is no way to report that.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

fn labelled(style: Style, word: &str, text: &str) -> String {
    format!("{style}{word}{style:#}: {}\n", visible_line(text))
}

/// Prints messages for people on standard error, with colours if the user wants them.
#[derive(Debug)]
pub(crate) struct Console {
    verbosity: Verbosity,
    /// The requested mode, before the output is known.
    color: ColorChoice,
    progress: Mutex<Option<ProgressBar>>,
    /// Whether data is written to the terminal.
    has_data: AtomicBool,
}

impl Console {
    pub(crate) fn new(args: &ConsoleArgs) -> Self {
        Self {
            verbosity: args.verbosity(),
            color: args.color.into(),
            progress: Mutex::new(None),
            has_data: AtomicBool::new(false),
        }
    }

    /// The verbosity.
    pub(crate) fn verbosity(&self) -> Verbosity {
        self.verbosity
    }

    /// Whether standard output supports colours.
    pub(crate) fn colors_output(&self) -> bool {
        let choice = match self.color {
            ColorChoice::Auto => AutoStream::choice(&io::stdout()),
            choice => choice,
        };
        choice != ColorChoice::Never
    }

    /// Prints an error.
    pub(crate) fn error(&self, text: &str) {
        self.say(DEFAULT_ERROR_STYLE, "error", text);
    }

    /// Prints why a command failed.
    pub(crate) fn failure(&self, failure: &Failure) {
        let Failure::Unknown(lines) = failure else { return self.error(&failure.to_string()) };
        for (index, line) in lines.iter().enumerate() {
            match index {
                0 => self.say(DEFAULT_ERROR_STYLE, &format!("error[{UNKNOWN}]"), line),
                _ => self.print(&format!("  = {}\n", visible_line(line))),
            }
        }
    }

    /// Prints the losses of a conversion, unless `--quiet` is given.
    pub(crate) fn loss(&self, text: &str) {
        if self.verbosity > Verbosity::Quiet {
            self.say(DEFAULT_WARNING_STYLE, &format!("warning[{}]", Code::Loss), text);
        }
    }

    /// Prints a warning, unless `--quiet` is given.
    pub(crate) fn warning(&self, text: &str) {
        if self.verbosity > Verbosity::Quiet {
            self.print(&warning_line(text));
        }
    }

    /// Prints a message only with `--verbose`.
    pub(crate) fn detail(&self, text: &str) {
        if self.verbosity > Verbosity::Normal {
            self.say(DEFAULT_NOTE_STYLE, "note", text);
        }
    }

    /// Prints a summary, unless `--quiet` is given.
    pub(crate) fn summary(&self, text: &str) {
        if self.verbosity > Verbosity::Quiet {
            self.print(&format!("{text}\n"));
        }
    }

    /// Prints a prompt for the person at the terminal, unless `--quiet` is given.
    pub(crate) fn hint(&self, text: &str) {
        if self.verbosity > Verbosity::Quiet && io::stderr().is_terminal() {
            self.say(DEFAULT_NOTE_STYLE, "note", text);
        }
    }

    fn say(&self, style: Style, word: &str, text: &str) {
        self.print(&labelled(style, word, text));
    }

    /// Writes `text`, which is already formatted and escaped, to standard error.
    ///
    /// If this fails, there is no way to report it.
    pub(crate) fn print(&self, text: &str) {
        if text.is_empty() {
            return;
        }
        let write = || {
            let mut stream = AutoStream::new(io::stderr(), self.color).lock();
            let _ = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
        };
        match self.progress.lock().ok().as_deref() {
            Some(Some(bar)) => bar.suspend(write),
            _ => write(),
        }
    }

    /// Shows `bar` until [`stop_progress`](Self::stop_progress), and prints other messages above
    /// it.
    pub(crate) fn start_progress(&self, bar: ProgressBar) {
        if let Ok(mut progress) = self.progress.lock() {
            *progress = Some(bar);
        }
    }

    /// Removes the progress bar.
    pub(crate) fn stop_progress(&self) {
        if let Ok(mut progress) = self.progress.lock()
            && let Some(bar) = progress.take()
        {
            bar.finish_and_clear();
        }
    }

    /// Whether a progress bar can be shown: on a terminal to which no data is written.
    pub(crate) fn wants_progress(&self) -> bool {
        self.verbosity > Verbosity::Quiet
            && !self.has_data.load(Ordering::Relaxed)
            && io::stderr().is_terminal()
    }

    /// Disables progress bars, because data is written to the terminal.
    pub(crate) fn hide_progress(&self) {
        self.has_data.store(true, Ordering::Relaxed);
    }
}
