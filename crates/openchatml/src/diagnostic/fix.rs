//! Changes to the input that mend a finding.

use crate::Span;

/// A change that mends a finding for certain.
///
/// ```
/// use openchatml::{apply_fixes, parse};
///
/// let text = "<|im_start|>user\nHi.";
/// let parsed = parse(text, "im".parse()?, &Default::default());
/// let fixes = parsed.diagnostics.iter().filter_map(|found| found.fix.as_ref());
/// let (mended, _) = apply_fixes(text, fixes);
/// assert_eq!(mended, "<|im_start|>user\nHi.<|im_end|>");
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// The replacements, in the order of the input and without overlap.
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
    /// What to replace.
    pub span: Span,
    /// What to put there.
    pub replacement: String,
}

impl Fix {
    pub(crate) fn replace(span: Span, replacement: impl Into<String>) -> Self {
        Self { edits: vec![Edit { span, replacement: replacement.into() }] }
    }
}

/// Applies fixes to the text that they were found in, and says how many it applied.
///
/// A fix that overlaps one before it is left out whole; a second run will find it again.
///
/// ```
/// use openchatml::{Edit, Fix, Span, apply_fixes};
///
/// let fix = |start, end, with: &str| Fix {
///     edits: vec![Edit { span: Span::new(start, end), replacement: with.to_owned() }],
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
