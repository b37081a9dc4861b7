//! What is wrong, where, and what to do about it.

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
pub(crate) use self::similar::did_you_mean;
pub use self::unknown_name::UnknownName;

use std::fmt;

use crate::Span;

/// A message of a diagnostic is cut to this many bytes, so that a log line stays one.
const MESSAGE_BYTES: usize = 4096;

/// How many bytes of the input a message quotes at most.
const QUOTE_BYTES: usize = 64;

/// How bad it is.
///
/// ```
/// use openchatml::{Severity, parse};
///
/// let text = "<|start|>user<|message|>Hi";
/// let parsed = parse(text, "openchatml-2.2".parse()?, &Default::default());
/// let severities: Vec<_> = parsed.diagnostics.iter().map(|found| found.severity).collect();
/// assert_eq!(severities, [Severity::Warning, Severity::Error]); // No header, and cut off.
/// assert_eq!(severities.iter().max().map(|worst| worst.as_str()), Some("error"));
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Accepted, but not as the specification wants it.
    Warning,
    /// Not what the specification allows: something was guessed, hidden or refused.
    Error,
}

impl Severity {
    /// The word for it.
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

/// One finding: a stable code, where, what, and how to fix it.
///
/// The message may quote the input, hidden text included, and is for those who may see all of it.
/// What an end user may read is [`Code::user_summary`].
///
/// ```
/// use openchatml::parse;
///
/// let text = "version: 2.2\n\n<|start|>assistant<|channel|>Final<|message|>4.<|end|>\n";
/// let parsed = parse(text, "openchatml-2.2".parse()?, &Default::default());
/// let found = &parsed.diagnostics[0];
/// assert_eq!(found.code.as_str(), "E-PARSE-HEADER");
/// assert_eq!(&text[found.span.range()], "Final");
/// assert_eq!(found.to_string(), "error[E-PARSE-HEADER] at bytes 43..48: `Final` is no channel");
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// What kind of finding it is.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// Where it is, in bytes of the input.
    pub span: Span,
    /// What is wrong here, in a sentence without a full stop.
    pub message: String,
    /// What can be done about it.
    pub help: Option<String>,
    /// How to fix it, for certain or as a suggestion.
    pub fix: Option<Fix>,
    /// The JSON pointer (RFC 6901) of the place, where the input is JSON.
    pub pointer: Option<String>,
    /// What kind of input the reader dropped here, if it dropped any.
    pub dropped: Option<Dropped>,
}

impl Diagnostic {
    /// The same finding, with what can be done about it.
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

    /// The same finding, which drops input of this kind: an error.
    pub(crate) fn drops(mut self, dropped: Dropped) -> Self {
        self.dropped = Some(dropped);
        self.severity = Severity::Error;
        self
    }

    pub(crate) fn fix(mut self, fix: Fix) -> Self {
        self.fix = Some(fix);
        self
    }

    /// The same finding, as bad as this; one that drops input stays an error.
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
    /// A finding of this kind at `span`, as bad as such findings are.
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

/// `text` as a message quotes it: on one line, between back quotes, and cut where it is long.
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
