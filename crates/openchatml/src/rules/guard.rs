//! Calls that no token opens, as data.

/// How calls are read that are withheld until they are complete: the whole rest of a turn, with or
/// without the token that opens calls, or the text between two tokens.
///
/// Without that token, text is a call only if it begins the turn, nothing follows it up to the end of
/// the turn, and it is a complete call in one of these forms. Text that can still be a call is
/// withheld. All other text is content.
///
/// ```
/// use openchatml::dialects::{self, CallForm, Completion};
///
/// let Some(Completion::Sections(sections)) = dialects::LLAMA_3.completion() else {
///     unreachable!("its turns have sections")
/// };
/// let guard = sections.calls.guard.expect("no token opens its calls");
/// assert!(matches!(guard.bare[0], CallForm::Json { .. }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Guard {
    /// The forms of calls without a token. If there are none, calls always stand between the tokens
    /// that open and close them.
    pub bare: &'static [CallForm],
    /// The forms of calls after the token that opens calls.
    pub marked: &'static [CallForm],
}

/// A form of guarded calls.
///
/// ```
/// use openchatml::dialects::{self, CallForm, Completion};
///
/// let Some(Completion::Sections(sections)) = dialects::LLAMA_4.completion() else {
///     unreachable!("its turns have sections")
/// };
/// let guard = sections.calls.guard.expect("no token opens its calls");
/// assert_eq!(guard.bare[0], CallForm::Python);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallForm {
    /// JSON objects with a key for the name and a key for the arguments, which are an object. A
    /// semicolon can be between two objects.
    Json {
        /// The keys of the name. The first is written.
        names: &'static [&'static str],
        /// The keys of the arguments. The first is written.
        arguments: &'static [&'static str],
        /// Further keys that an object can have, and their value.
        ignored: &'static [(&'static str, &'static str)],
    },
    /// A JSON list of such objects.
    JsonList {
        /// The keys of the name.
        names: &'static [&'static str],
        /// The keys of the arguments.
        arguments: &'static [&'static str],
    },
    /// A list of calls in the syntax of Python: `[weather(city='Bern'), now()]`.
    Python,
    /// Calls in the syntax of Python, each on a line of its own.
    PythonLines,
    /// One call of a method in the syntax of Python: `search.call(query="Bern")`. The name of the tool
    /// is before the name of the method.
    Method(&'static str),
}

/// How the values of keyword arguments are written. All of them are read.
///
/// ```
/// use openchatml::dialects::{self, CallPiece, Completion, Literals};
///
/// let Some(Completion::Sections(sections)) = dialects::LLAMA_4.completion() else {
///     unreachable!("its turns have sections")
/// };
/// assert!(sections.calls.pieces.contains(&CallPiece::Python(Literals::Repr)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Literals {
    /// Like `repr` in Python: `'Bern'`, `True`, `['a', None]`.
    Repr,
    /// Like templates in Jinja: strings between apostrophes, in which only apostrophes, backslashes and
    /// ends of lines are escaped, words of Python, and lists and dictionaries as JSON: `'Bern'`,
    /// `True`, `["a", null]`.
    Jinja,
    /// As JSON: `"Bern"`, `true`, `["a", null]`.
    Json,
}
