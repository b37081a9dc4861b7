//! Diagnostics: what is wrong, where, and how to fix it.

mod code;
mod dropped;
mod fix;
mod format_error;
mod similar;
mod unknown_name;

pub use self::code::Code;
pub use self::dropped::Dropped;
pub use self::fix::{Applicability, Edit, Fix, apply_fixes};
pub use self::format_error::FormatError;
pub(crate) use self::similar::{did_you_mean, is_misspelled};
pub use self::unknown_name::UnknownName;

use std::fmt;

use crate::Span;

/// The maximum length of a message in bytes, so that log lines stay short.
const MESSAGE_BYTES: usize = 4096;

/// The maximum number of bytes of the input that a message quotes.
const QUOTE_BYTES: usize = 64;

/// The severity of a diagnostic.
///
/// ```
/// use openchatml::{Severity, parse};
///
/// let text = "<|start|>user<|message|>Hi";
/// let parsed = parse(text, "openchatml-2.2".parse()?, &Default::default());
/// let severities: Vec<_> = parsed.diagnostics.iter().map(|found| found.severity).collect();
/// assert_eq!(severities, [Severity::Warning, Severity::Error]); // A missing header, and an incomplete message.
/// assert_eq!(severities.iter().max().map(|worst| worst.as_str()), Some("error"));
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Useful information.
    Note,
    /// The reader accepts the input, although the specification does not allow it.
    Warning,
    /// The specification does not allow the input, and the reader guessed, hid or refused
    /// something.
    Error,
}

impl Severity {
    /// Returns the word for the severity.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A diagnostic: a stable code, a place, a message and, if possible, a fix.
///
/// The message can quote the input, including hidden text, so it is only for people who can see all
/// of it. The text for end users is [`Code::user_summary`].
///
/// ```
/// use openchatml::parse;
///
/// let text = "version: 2.2\n\n<|start|>assistant<|channel|>Final<|message|>4.<|end|>\n";
/// let parsed = parse(text, "openchatml-2.2".parse()?, &Default::default());
/// let found = &parsed.diagnostics[0];
/// assert_eq!(found.code.as_str(), "E-PARSE-HEADER");
/// assert_eq!(&text[found.span.range()], "Final");
/// assert_eq!(found.to_string(), "error[E-PARSE-HEADER] at bytes 43..48: unknown channel `Final`");
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// The kind of diagnostic.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// The place in the input, in bytes.
    pub span: Span,
    /// What is wrong, without a full stop.
    pub message: String,
    /// What to do next.
    pub help: Option<String>,
    /// A fix, safe or suggested.
    pub fix: Option<Fix>,
    /// The JSON pointer (RFC 6901) of the place, for JSON input.
    pub pointer: Option<String>,
    /// The kind of input that the reader dropped, if any.
    pub dropped: Option<Dropped>,
}

impl Diagnostic {
    /// Sets what to do next.
    ///
    /// ```
    /// use openchatml::{Code, Span};
    ///
    /// let found = Code::ParseToken.at(Span::new(3, 6), "id 7 is not in the vocabulary");
    /// assert_eq!(found.help("name the encoding").help.as_deref(), Some("name the encoding"));
    /// ```
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(clip(help.into()));
        self
    }

    /// Marks the diagnostic as one that drops input of this kind, which makes it an error.
    pub(crate) fn drops(mut self, dropped: Dropped) -> Self {
        self.dropped = Some(dropped);
        self.severity = Severity::Error;
        self
    }

    pub(crate) fn fix(mut self, fix: Fix) -> Self {
        self.fix = Some(fix);
        self
    }

    /// Sets the severity. A diagnostic that drops input stays an error.
    pub(crate) fn severity(mut self, severity: Severity) -> Self {
        if self.dropped.is_none() {
            self.severity = severity;
        }
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, severity, span, message, .. } = self;
        write!(f, "{severity}[{code}] at bytes {}..{}: {message}", span.start, span.end)
    }
}

impl std::error::Error for Diagnostic {}

impl Code {
    /// Creates a diagnostic of this kind at `span`, with its usual severity.
    ///
    /// ```
    /// use openchatml::{Code, Severity, Span};
    ///
    /// let found = Code::ParseToken.at(Span::new(3, 6), "id 7 is not in the vocabulary");
    /// assert_eq!((found.code, found.severity), (Code::ParseToken, Severity::Error));
    /// ```
    pub fn at(self, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            code: self,
            severity: self.severity(),
            span,
            message: clip(message.into()),
            help: None,
            fix: None,
            pointer: None,
            dropped: None,
        }
    }
}

/// Quotes `text` for a message: on one line, between backticks, and cut if it is long.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::from("`");
    for (at, c) in text.char_indices() {
        if at >= QUOTE_BYTES {
            out.push('…');
            break;
        }
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out.push('`');
    out
}

fn clip(mut text: String) -> String {
    if text.len() > MESSAGE_BYTES {
        let mut end = MESSAGE_BYTES - '…'.len_utf8();
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push('…');
    }
    text
}
