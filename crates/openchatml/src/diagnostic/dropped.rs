//! Kinds of dropped input.

use crate::words::words;

/// The kind of input that a reader dropped: no message, header or field of the document contains
/// it.
///
/// A diagnostic that drops input is always an error and has this in
/// [`Diagnostic::dropped`](super::Diagnostic::dropped). The caller decides whether to continue with
/// the document.
///
/// ```
/// use openchatml::{Dropped, parse};
///
/// let text = r#"{"messages":[{"role":"user","content":"Hi.","mood":"sad"}]}"#;
/// let parsed = parse(text, "json".parse()?, &Default::default());
/// assert_eq!(parsed.diagnostics[0].dropped, Some(Dropped::Key));
/// assert_eq!(Dropped::Key.as_str(), "unknown-key");
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Dropped {
    /// An unknown key and its value.
    Key,
    /// All values of a duplicate key except the last one.
    Duplicate,
    /// A value of the wrong type, or an unknown word.
    Value,
    /// A header that cannot be read.
    Header,
    /// An object that is not a message, tool or part of the format.
    Item,
    /// Misplaced text, or a misplaced control token.
    Text,
    /// Input that exceeds a limit.
    Limit,
    /// A whole line or document that cannot be read.
    Record,
}

words!(pub Dropped {
    Key = "unknown-key",
    Duplicate = "duplicate-key",
    Value = "invalid-value",
    Header = "invalid-header",
    Item = "unknown-item",
    Text = "stray-text",
    Limit = "limit",
    Record = "record",
});
