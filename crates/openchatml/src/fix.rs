//! Fixing a text: the fixes of its findings are applied, and what they promise is checked.

use crate::diagnostic::{Applicability, Diagnostic, Fix, apply_fixes};
use crate::dialect::Format;
use crate::model::{Conversation, Document, Header};
use crate::options::ReadOptions;
use crate::parse::parse;
use crate::reading::Parsed;

/// A fixed place may show the next problem, but not forever.
const ROUNDS: usize = 16;

/// How many sets of fixes are tried in a round, if some of them do not keep their promise.
const TRIES: usize = 64;

/// A text after its fixes.
///
/// ```
/// use openchatml::{Applicability, fix};
///
/// let text = "<|im_start|>user\nHi";
/// let fixed = fix(text, "im".parse()?, &Default::default(), Applicability::Safe);
/// // Nobody knows whether the message is complete.
/// assert_eq!((fixed.text, fixed.applied), (None, 0));
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fixed {
    /// The text, if any fix was applied.
    pub text: Option<String>,
    /// How many fixes were applied.
    pub applied: usize,
    /// The findings whose fix was not applied, because it does not keep the promise of
    /// [`Applicability::Safe`] in this text. Their places are those in the text before the last
    /// round of fixes.
    pub refused: Vec<Diagnostic>,
}

/// Applies the fixes of all findings in a text: the safe ones and, if asked for, the suggestions.
///
/// Every safe fix is checked before it is applied: the text is read again, and the conversation,
/// what is uncertain in it, and the findings are compared. A fix that would change them is
/// [refused](Fixed::refused).
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

/// The same, and no fix is applied that makes a text of which `admits` says that it must not be.
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

/// A text, and what reading it found.
struct Round<'r> {
    text: &'r str,
    parsed: &'r Parsed<'r>,
    format: Format,
    options: &'r ReadOptions,
    admits: &'r dyn Fn(&str) -> bool,
}

type Found<'r> = (&'r Diagnostic, &'r Fix);

impl<'r> Round<'r> {
    /// The findings with a fix of this kind.
    fn fixes(&self, kind: Applicability) -> Vec<Found<'r>> {
        let found = self.parsed.diagnostics.iter();
        let fixes = found.filter_map(|found| Some((found, found.fix.as_ref()?)));
        fixes.filter(|(_, fix)| fix.applicability == kind).collect()
    }

    /// The text with all safe fixes that keep their promise, how many these are, and the findings
    /// of the others.
    fn safe(&self) -> (String, usize, Vec<Diagnostic>) {
        let mut kept: Vec<Found<'r>> = Vec::new();
        let mut refused = Vec::new();
        let mut tries = 0;
        // Sets of fixes to be tried. One that does not keep its promise is tried half by half.
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

    /// Whether a text with these fixes says the same, and has no new finding.
    fn keeps_promise(&self, fixes: &[Found<'_>]) -> bool {
        let (text, _) = apply_fixes(self.text, fixes.iter().map(|(_, fix)| *fix));
        let after = parse(&text, self.format, self.options);
        (self.admits)(&text)
            && says_the_same(&self.parsed.document, &after.document)
            && has_nothing_new(&self.parsed.diagnostics, &after.diagnostics, self.options)
    }
}

/// Whether two documents say the same, but for a header that was missing. Messages say how they
/// end and what the reader had to guess, and so who may see them.
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

/// Whether a header names the version of the format, and nothing else.
fn is_bare(header: &Header<'_>) -> bool {
    matches!(header.fields(), [(key, _)] if key == "version")
}

/// Whether every finding in the second list is in the first one, too, wherever that stands.
fn has_nothing_new(before: &[Diagnostic], after: &[Diagnostic], options: &ReadOptions) -> bool {
    if before.len() > options.limits.diagnostics {
        // Those beyond the limit are not known.
        return true;
    }
    fn said(found: &[Diagnostic]) -> Vec<(crate::Code, crate::Severity, &str)> {
        let mut said: Vec<_> =
            found.iter().map(|it| (it.code, it.severity, it.message.as_str())).collect();
        said.sort_unstable();
        said
    }
    let mut left = said(before).into_iter().peekable();
    said(after).into_iter().all(|found| {
        while left.next_if(|known| *known < found).is_some() {}
        left.next_if_eq(&found).is_some()
    })
}
