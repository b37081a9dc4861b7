//! Fixes a text: applies the fixes of its diagnostics and checks the result.

use crate::diagnostic::{Applicability, Diagnostic, Fix, apply_fixes};
use crate::dialect::Format;
use crate::model::{Conversation, Document, Header};
use crate::options::ReadOptions;
use crate::parse::parse;
use crate::reading::Parsed;

/// A fixed place can show the next problem. This bounds the rounds.
const ROUNDS: usize = 16;

/// How many sets of fixes are tried in a round if some of them are not safe.
const TRIES: usize = 64;

/// A fixed text.
///
/// ```
/// use openchatml::{Applicability, fix};
///
/// let text = "<|im_start|>user\nHi";
/// let fixed = fix(text, "chatml".parse()?, &Default::default(), Applicability::Safe);
/// // Whether the message is complete is unknown.
/// assert_eq!((fixed.text, fixed.applied), (None, 0));
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fixed {
    /// The text, if a fix was applied.
    pub text: Option<String>,
    /// How many fixes were applied.
    pub applied: usize,
    /// The diagnostics whose fix was not applied, because it is not [safe](Applicability::Safe) in
    /// this text. Their spans are places in the text before the last round.
    pub refused: Vec<Diagnostic>,
}

/// Applies the fixes of all diagnostics of a text: the safe ones and, if requested, the
/// suggestions.
///
/// Each safe fix is checked before it is applied: the fixed text is read again, and its
/// conversation, its uncertain messages and its diagnostics are compared with those before. A fix
/// that would change them is [refused](Fixed::refused).
///
/// ```
/// use openchatml::{Applicability, Format, fix};
///
/// let format: Format = "openchatml-2.2".parse()?;
/// let text = "<|start|>user<|message|>Hi.<|end|>\n<|start|>assistant<|message|>Hel";
/// let safe = fix(text, format, &Default::default(), Applicability::Safe);
/// assert_eq!(safe.text.unwrap(), format!("version: 2.2\n\n{text}"));
/// // A suggestion: it makes the answer look complete.
/// let all = fix(text, format, &Default::default(), Applicability::Unsafe);
/// assert_eq!(all.text.unwrap(), format!("version: 2.2\n\n{text}<|end|>"));
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
pub fn fix(text: &str, format: Format, options: &ReadOptions, most: Applicability) -> Fixed {
    fix_if(text, format, options, most, |_| true)
}

/// Like [`fix`], but applies only fixes whose text `admits` accepts.
///
/// ```
/// use openchatml::{Applicability, fix_if};
///
/// let text = "<|start|>user<|message|>Hi.<|end|>\n";
/// let bare = |text: &str| text.starts_with("<|start|>");
/// let fixed = fix_if(text, "openchatml-2.2".parse()?, &Default::default(), Applicability::Safe, bare);
/// assert_eq!((fixed.applied, fixed.refused.len()), (0, 1));
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
pub fn fix_if(
    text: &str,
    format: Format,
    options: &ReadOptions,
    most: Applicability,
    admits: impl Fn(&str) -> bool,
) -> Fixed {
    let admits: &dyn Fn(&str) -> bool = &admits;
    let mut fixed = Fixed::default();
    for _ in 0..ROUNDS {
        let now = fixed.text.as_deref().unwrap_or(text);
        let parsed = parse(now, format, options);
        let round = Round { text: now, parsed: &parsed, format, options, admits };
        let (mut next, mut applied, refused) = round.safe();
        fixed.refused = refused;
        if applied == 0 && most == Applicability::Unsafe {
            let fixes = round.fixes(Applicability::Unsafe);
            (next, applied) = apply_fixes(now, fixes.iter().map(|(_, fix)| *fix));
            if !admits(&next) {
                break;
            }
        }
        if applied == 0 || next == now {
            break;
        }
        fixed.applied += applied;
        fixed.text = Some(next);
    }
    fixed
}

/// A text and its diagnostics.
struct Round<'r> {
    text: &'r str,
    parsed: &'r Parsed<'r>,
    format: Format,
    options: &'r ReadOptions,
    admits: &'r dyn Fn(&str) -> bool,
}

type Found<'r> = (&'r Diagnostic, &'r Fix);

impl<'r> Round<'r> {
    /// Returns the diagnostics with a fix of this kind.
    fn fixes(&self, kind: Applicability) -> Vec<Found<'r>> {
        let found = self.parsed.diagnostics.iter();
        let fixes = found.filter_map(|found| Some((found, found.fix.as_ref()?)));
        fixes.filter(|(_, fix)| fix.applicability == kind).collect()
    }

    /// Returns the text with all fixes that are safe, their number, and the diagnostics of the
    /// others.
    fn safe(&self) -> (String, usize, Vec<Diagnostic>) {
        let mut kept: Vec<Found<'r>> = Vec::new();
        let mut refused = Vec::new();
        let mut tries = 0;
        // Sets of fixes to try. A set that is not safe is split in half.
        let mut sets = vec![self.fixes(Applicability::Safe)];
        while let Some(mut set) = sets.pop() {
            if set.is_empty() {
                continue;
            }
            tries += 1;
            let together: Vec<Found<'r>> = kept.iter().chain(&set).copied().collect();
            if tries <= TRIES && self.keeps_promise(&together) {
                kept = together;
            } else if set.len() == 1 || tries > TRIES {
                refused.extend(set.into_iter().map(|(found, _)| found.clone()));
            } else {
                let second = set.split_off(set.len() / 2);
                sets.extend([second, set]);
            }
        }
        let (text, applied) = apply_fixes(self.text, kept.iter().map(|(_, fix)| *fix));
        (text, applied, refused)
    }

    /// Whether the text with these fixes has the same meaning and no new diagnostic.
    fn keeps_promise(&self, fixes: &[Found<'_>]) -> bool {
        let (text, _) = apply_fixes(self.text, fixes.iter().map(|(_, fix)| *fix));
        let after = parse(&text, self.format, self.options);
        (self.admits)(&text)
            && says_the_same(&self.parsed.document, &after.document)
            && has_nothing_new(&self.parsed.diagnostics, &after.diagnostics, self.options)
    }
}

/// Whether two documents have the same meaning, except for a header that was missing. The
/// comparison includes how messages end and which are recovered, so it also covers who can see
/// them.
fn says_the_same(before: &Document<'_>, after: &Document<'_>) -> bool {
    match (before, after) {
        (Document::Conversation(before), Document::Conversation(after)) => {
            let Conversation { header, tools, messages, .. } = after;
            let is_header_new = before.header.is_none() && header.as_ref().is_some_and(is_bare);
            (is_header_new || before.header == *header)
                && before.tools == *tools
                && before.messages == *messages
        }
        (before, after) => before == after,
    }
}

/// Whether a header contains only the version of the format.
fn is_bare(header: &Header<'_>) -> bool {
    matches!(header.fields(), [(key, _)] if key == "version")
}

/// Whether every diagnostic of the second list is also in the first one, at any place.
fn has_nothing_new(before: &[Diagnostic], after: &[Diagnostic], options: &ReadOptions) -> bool {
    if before.len() > options.limits.diagnostics {
        // Diagnostics beyond the limit are unknown.
        return true;
    }
    fn sorted_keys(found: &[Diagnostic]) -> Vec<(crate::Code, crate::Severity, &str)> {
        let mut sorted_keys: Vec<_> =
            found.iter().map(|it| (it.code, it.severity, it.message.as_str())).collect();
        sorted_keys.sort_unstable();
        sorted_keys
    }
    let mut left = sorted_keys(before).into_iter().peekable();
    sorted_keys(after).into_iter().all(|found| {
        while left.next_if(|known| *known < found).is_some() {}
        left.next_if_eq(&found).is_some()
    })
}
