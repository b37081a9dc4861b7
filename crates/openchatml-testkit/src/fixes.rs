//! The properties of fixes.

use openchatml::{
    Applicability, Conversation, Diagnostic, Document, Fix, Format, Message, Parsed, ReadOptions,
    apply_fixes, fix, parse,
};

use crate::conversion::is_made;
use crate::inputs::is_text;
use crate::property::{nothing_is_lost, seen};

/// After all safe fixes, the conversation, the user view and the uncertain messages are the same.
/// Nothing is lost, there are no new diagnostics, and those with a fix are gone.
///
/// # Panics
///
/// The property does not hold.
pub fn keep_the_conversation(text: &str, format: Format, options: &ReadOptions) {
    let before = parse(text, format, options);
    let fixes = safe(&before);
    if fixes.is_empty() {
        return;
    }
    let (fixed, applied) = apply_fixes(text, fixes.iter().copied());
    let after = parse(&fixed, format, options);
    let what = || format!("{format}: {text:?}, fixed: {fixed:?}, {options:?}");
    compare(&before, &after, &what);
    // A word and the space before it can have a fix each, of which one takes the place of the other.
    let edits = fixes.iter().flat_map(|fix| &fix.edits);
    let mut places: Vec<_> = edits.map(|edit| edit.span).collect();
    places.sort_unstable_by_key(|span| (span.start, span.end));
    if places.windows(2).any(|pair| pair[0].end > pair[1].start) {
        assert!(applied > 0, "{}", what());
        return;
    }
    assert_eq!(applied, fixes.len(), "{}", what());
    let is_told = before.diagnostics.len() <= options.limits.diagnostics;
    if is_told {
        let mut left = said(&before);
        for found in said(&after) {
            let known = left.iter().position(|it| *it == found);
            let known = known.unwrap_or_else(|| panic!("{found:?} is new: {}", what()));
            left.swap_remove(known);
        }
        assert_eq!(before.dropped_input(), after.dropped_input(), "{}", what());
        assert_eq!(left.len(), applied, "{left:?} are gone: {}", what());
    }
    if is_text(format) {
        nothing_is_lost(&fixed, format, options);
    }
}

/// [`fix`](openchatml::fix()) has these properties under any limits, and a second run changes
/// nothing. Suggestions also lose nothing and end.
///
/// # Panics
///
/// The property does not hold.
pub fn are_checked(text: &str, format: Format, options: &ReadOptions) {
    let what = || format!("{format}: {text:?}, {options:?}");
    let fixed = fix(text, format, options, Applicability::Safe);
    if let Some(fixed) = &fixed.text {
        compare(&parse(text, format, options), &parse(fixed, format, options), &what);
        let again = fix(fixed, format, options, Applicability::Safe);
        assert_eq!((again.text, again.applied), (None, 0), "{fixed:?} of {}", what());
    }
    let suggested = fix(text, format, options, Applicability::Unsafe);
    if let Some(suggested) = &suggested.text {
        let after = parse(suggested, format, options);
        let left = after.diagnostics.iter().filter(|found| found.fix.is_some()).count();
        // Reading stops at a limit, or with this policy at the first error: there can be more of them
        // than rounds.
        let stops = options.recover == openchatml::Recover::Error;
        let is_limited = stops || options.limits != openchatml::Limits::default();
        assert!(left == 0 || is_limited, "{suggested:?} has {left} fixes left: {}", what());
        if is_text(format) {
            nothing_is_lost(suggested, format, options);
        }
    }
}

fn safe<'p>(parsed: &'p Parsed<'_>) -> Vec<&'p Fix> {
    let fixes = parsed.diagnostics.iter().filter_map(|found| found.fix.as_ref());
    fixes.filter(|fix| fix.applicability == Applicability::Safe).collect()
}

/// Returns the diagnostics without their places.
fn said(parsed: &Parsed<'_>) -> Vec<(openchatml::Code, openchatml::Severity, String)> {
    let said = |it: &Diagnostic| (it.code, it.severity, it.message.clone());
    parsed.diagnostics.iter().map(said).collect()
}

fn compare(before: &Parsed<'_>, after: &Parsed<'_>, what: &dyn Fn() -> String) {
    let (Document::Conversation(one), Document::Conversation(two)) =
        (&before.document, &after.document)
    else {
        assert_eq!(before.document, after.document, "{}", what());
        return;
    };
    assert_eq!(seen(one), seen(two), "{}", what());
    let uncertain = |conversation: &Conversation<'_>| -> Vec<_> {
        let messages = conversation.messages.iter();
        messages
            .map(|it| (it.recovered, it.foreign, it.end, is_made(it), it.visibility()))
            .collect()
    };
    assert_eq!(uncertain(one), uncertain(two), "{}", what());
    let bodies = |conversation: &Conversation<'_>| -> Vec<String> {
        let text = |it: &Message<'_>| it.body.text().into_owned();
        conversation.messages.iter().map(text).collect()
    };
    assert_eq!(bodies(one), bodies(two), "{}", what());
    assert_eq!(one.messages, two.messages, "{}", what());
    assert_eq!(one.tools, two.tools, "{}", what());
    if let Some(header) = &one.header {
        assert_eq!(Some(header), two.header.as_ref(), "{}", what());
    }
}
