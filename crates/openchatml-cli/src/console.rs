//! The terminal, or whatever stands in its place.

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

/// An error as one line, styled.
pub(crate) fn error_line(text: &str) -> String {
    labelled(DEFAULT_ERROR_STYLE, "error", text)
}

/// A finding without a place as one line, styled.
pub(crate) fn finding_line(found: &Diagnostic) -> String {
    labelled(DEFAULT_ERROR_STYLE, &format!("{}[{}]", found.severity, found.code), &found.message)
}

/// A warning as one line, styled.
pub(crate) fn warning_line(text: &str) -> String {
    labelled(DEFAULT_WARNING_STYLE, "warning", text)
}

/// Says on standard error what somebody else says there, on a line of its own.
#[cfg(all(unix, feature = "run"))]
pub(crate) fn stranger(name: &str, line: &str) {
    let text = format!("{}: {}\n", visible_line(name), visible_line(line));
    // If nobody can be told, nobody is.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

fn labelled(style: Style, word: &str, text: &str) -> String {
    format!("{style}{word}{style:#}: {}\n", visible_line(text))
}

/// Says things to people: on standard error, with colours where they are wanted.
#[derive(Debug)]
pub(crate) struct Console {
    verbosity: Verbosity,
    /// What was asked for, before anybody looked at what the output is.
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

    /// How much is said.
    pub(crate) fn verbosity(&self) -> Verbosity {
        self.verbosity
    }

    /// Whether standard output takes colours.
    pub(crate) fn colors_output(&self) -> bool {
        let choice = match self.color {
            ColorChoice::Auto => AutoStream::choice(&io::stdout()),
            choice => choice,
        };
        choice != ColorChoice::Never
    }

    /// Says an error.
    pub(crate) fn error(&self, text: &str) {
        self.say(DEFAULT_ERROR_STYLE, "error", text);
    }

    /// Says why a command could not do its work.
    pub(crate) fn failure(&self, failure: &Failure) {
        let Failure::Unknown(lines) = failure else { return self.error(&failure.to_string()) };
        for (index, line) in lines.iter().enumerate() {
            match index {
                0 => self.say(DEFAULT_ERROR_STYLE, &format!("error[{UNKNOWN}]"), line),
                _ => self.print(&format!("  = {}\n", visible_line(line))),
            }
        }
    }

    /// Says what a conversion lost, unless there is to be quiet.
    pub(crate) fn loss(&self, text: &str) {
        if self.verbosity > Verbosity::Quiet {
            self.say(DEFAULT_WARNING_STYLE, &format!("warning[{}]", Code::Loss), text);
        }
    }

    /// Says what is not as it was asked for, unless there is to be quiet.
    pub(crate) fn warning(&self, text: &str) {
        if self.verbosity > Verbosity::Quiet {
            self.print(&warning_line(text));
        }
    }

    /// Says something that only those want to know who asked for more.
    pub(crate) fn detail(&self, text: &str) {
        if self.verbosity > Verbosity::Normal {
            self.say(DEFAULT_NOTE_STYLE, "note", text);
        }
    }

    /// Says how it went, unless there is to be quiet.
    pub(crate) fn summary(&self, text: &str) {
        if self.verbosity > Verbosity::Quiet {
            self.print(&format!("{text}\n"));
        }
    }

    /// Tells somebody at the terminal what is expected, unless there is to be quiet.
    pub(crate) fn hint(&self, text: &str) {
        if self.verbosity > Verbosity::Quiet && io::stderr().is_terminal() {
            self.say(DEFAULT_NOTE_STYLE, "note", text);
        }
    }

    fn say(&self, style: Style, word: &str, text: &str) {
        self.print(&labelled(style, word, text));
    }

    /// Writes `text`, styled and made harmless already, to standard error.
    ///
    /// If nobody can be told, nobody is.
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

    /// Shows `bar` until [`stop_progress`](Self::stop_progress), and keeps clear of it meanwhile.
    pub(crate) fn start_progress(&self, bar: ProgressBar) {
        if let Ok(mut progress) = self.progress.lock() {
            *progress = Some(bar);
        }
    }

    /// Takes the progress bar away.
    pub(crate) fn stop_progress(&self) {
        if let Ok(mut progress) = self.progress.lock()
            && let Some(bar) = progress.take()
        {
            bar.finish_and_clear();
        }
    }

    /// Whether a progress bar has a place: on a terminal on which nothing else is written.
    pub(crate) fn wants_progress(&self) -> bool {
        self.verbosity > Verbosity::Quiet
            && !self.has_data.load(Ordering::Relaxed)
            && io::stderr().is_terminal()
    }

    /// Keeps progress bars away, since data is written to the terminal.
    pub(crate) fn hide_progress(&self) {
        self.has_data.store(true, Ordering::Relaxed);
    }
}
