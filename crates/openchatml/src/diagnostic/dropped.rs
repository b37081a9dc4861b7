//! What a reader did not take into the document.

use crate::words::words;

/// The kind of input that a reader dropped: it is in no message, header or field of the document.
///
/// A finding that drops input is always an error, and says so in
/// [`Diagnostic::dropped`](super::Diagnostic::dropped). Whoever goes on with the document decides
/// whether that is acceptable.
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
    /// A key that the format does not know, with its value.
    Key,
    /// All but the last value of a key that an object has twice.
    Duplicate,
    /// A value of the wrong type, or a word that the format does not know.
    Value,
    /// A header that cannot be read.
    Header,
    /// An object that is no message, tool or part of the format.
    Item,
    /// Text or a control token outside of its place.
    Text,
    /// Everything beyond a limit.
    Limit,
    /// A line or a document that cannot be read at all.
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
