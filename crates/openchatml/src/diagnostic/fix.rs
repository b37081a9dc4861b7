//! Fixes: changes to the input that fix a diagnostic.

use crate::Span;
use crate::words::words;

/// Whether a fix can be applied without asking.
///
/// ```
/// use openchatml::{Applicability, parse};
///
/// let text = "<|start|>user<|message|>Hi";
/// let found = parse(text, "openchatml-2.2".parse()?, &Default::default()).diagnostics;
/// let kinds: Vec<_> =
///     found.iter().filter_map(|found| Some(found.fix.as_ref()?.applicability)).collect();
/// // The missing header is certain. Whether the message is complete is unknown.
/// assert_eq!(kinds, [Applicability::Safe, Applicability::Unsafe]);
/// assert_eq!(Applicability::Unsafe.as_str(), "unsafe");
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Applicability {
    /// The fix changes neither the conversation, nor what a user can see of it, nor what is
    /// uncertain in it. It loses nothing and causes no new diagnostic. This holds for the options
    /// that the text was read with, unless the longer text exceeds one of their limits.
    Safe,
    /// A suggestion, which can change the meaning of the conversation. It ends an incomplete
    /// message, chooses between two readings, or moves text into or out of a message.
    Unsafe,
}

words!(pub Applicability {
    Safe = "safe",
    Unsafe = "unsafe",
});

/// A change that fixes a diagnostic.
///
/// [`apply_fixes`] applies fixes of any kind. [`fix`](crate::fix) applies those that are requested.
///
/// ```
/// use openchatml::{Applicability, apply_fixes, parse};
///
/// let text = "<s><|user_start|>Hi.<|user_end|><|assistant_start|>Hello.<|user_start|>Bye.<|user_end|>";
/// let parsed = parse(text, "apertus".parse()?, &Default::default());
/// let fixes = parsed.diagnostics.iter().filter_map(|found| found.fix.as_ref());
/// let suggested = fixes.filter(|fix| fix.applicability == Applicability::Unsafe);
/// let (fixed, _) = apply_fixes(text, suggested);
/// assert_eq!(fixed, text.replace("Hello.", "Hello.<|assistant_end|>"));
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fix {
    /// Whether the fix can be applied without asking.
    pub applicability: Applicability,
    /// The replacements, in the order of the input, without overlaps.
    pub edits: Vec<Edit>,
}

/// One replacement.
///
/// ```
/// use openchatml::{Edit, Span, parse};
///
/// // A transcript without a header.
/// let text = "<|start|>user<|message|>Hi.<|end|>\n";
/// let parsed = parse(text, "openchatml-2.2".parse()?, &Default::default());
/// let fix = parsed.diagnostics[0].fix.as_ref().unwrap();
/// let header = Edit { span: Span::at(0), replacement: "version: 2.2\n\n".to_owned() };
/// assert_eq!(fix.edits, [header]);
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The text to replace.
    pub span: Span,
    /// The new text.
    pub replacement: String,
}

impl Fix {
    /// Creates a fix from replacements. They must be in the order of the input and must not
    /// overlap.
    ///
    /// ```
    /// use openchatml::{Applicability, Edit, Fix, Span};
    ///
    /// let edit = Edit { span: Span::new(0, 5), replacement: "Goodbye".to_owned() };
    /// assert_eq!(Fix::new(Applicability::Unsafe, vec![edit]).edits.len(), 1);
    /// ```
    pub fn new(applicability: Applicability, edits: Vec<Edit>) -> Self {
        Self { applicability, edits }
    }

    /// Creates a fix that replaces the text at `span` and does not change the conversation.
    pub(crate) fn safe(span: Span, replacement: impl Into<String>) -> Self {
        Self::new(Applicability::Safe, vec![Edit { span, replacement: replacement.into() }])
    }

    /// Creates a suggestion that replaces the text at `span`.
    pub(crate) fn suggestion(span: Span, replacement: impl Into<String>) -> Self {
        Self::new(Applicability::Unsafe, vec![Edit { span, replacement: replacement.into() }])
    }
}

/// Applies fixes, including suggestions, to the text that they were found in. Returns the new text
/// and the number of applied fixes.
///
/// A fix that overlaps an earlier one is skipped; run again to apply it. To apply only safe fixes,
/// select them by [`Fix::applicability`], or call [`fix`](crate::fix).
///
/// ```
/// use openchatml::{Applicability, Edit, Fix, Span, apply_fixes};
///
/// let fix = |start, end, with: &str| {
///     let edit = Edit { span: Span::new(start, end), replacement: with.to_owned() };
///     Fix::new(Applicability::Unsafe, vec![edit])
/// };
/// let fixes = [fix(6, 11, "there"), fix(0, 5, "Hi"), fix(4, 6, "overlaps")];
/// assert_eq!(apply_fixes("Hello world", &fixes), ("Hi there".to_owned(), 2));
/// ```
pub fn apply_fixes<'f>(text: &str, fixes: impl IntoIterator<Item = &'f Fix>) -> (String, usize) {
    let mut taken: Vec<&Edit> = Vec::new();
    let mut applied = 0;
    let mut fixes: Vec<&Fix> = fixes.into_iter().collect();
    fixes.sort_by_key(|fix| fix.edits.first().map(|edit| edit.span));
    for fix in fixes {
        let free = taken.last().map_or(0, |edit| edit.span.end);
        let fits = fix
            .edits
            .iter()
            .all(|edit| edit.span.start >= free && text.get(edit.span.range()).is_some());
        let is_new = taken.last().is_none_or(|last| fix.edits.first() != Some(*last));
        if fits && is_new {
            taken.extend(&fix.edits);
            applied += 1;
        }
    }
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for edit in taken {
        out.push_str(text.get(at..edit.span.start).unwrap_or_default());
        out.push_str(&edit.replacement);
        at = edit.span.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    (out, applied)
}
