//! Laws of fixes: they change only what is wrong (decision 39).

use std::collections::BTreeSet;

use openchatml::{Applicability, Document, Fix, apply_fixes};

use super::{Broken, Case, Verdict, brief};
use crate::grammar::data;
use crate::property::seen;

/// A fix may reveal another problem. This is the maximum number of rounds.
const ROUNDS: usize = 16;

/// After all fixes, the conversation, its user view and its uncertain messages are the same.
/// Nothing is lost, and there are no new diagnostics.
pub(crate) fn fix(case: &Case<'_>) -> Verdict {
    let Some(fixed) = fixed(case) else { return Ok(()) };
    let [before, after] = [case.text, &fixed].map(|text| case.read(text));
    let broken = |what, detail: String| {
        let is_safe = |fix: &Fix| fix.applicability == Applicability::Safe;
        let fixable = before.diagnostics.iter();
        let fixable = fixable.filter(|found| found.fix.as_ref().is_some_and(is_safe));
        let codes: BTreeSet<_> = fixable.map(|found| found.code.as_str()).collect();
        let cause = codes.into_iter().collect::<Vec<_>>().join(" ");
        let documents = [&before.document, &after.document].map(brief);
        let detail =
            format!("fixed: {fixed:?}\n  {detail}\n  {}\n  {}", documents[0], documents[1]);
        Err(Broken { what, cause, detail })
    };
    let views = [&before.document, &after.document].map(view);
    if views[0] != views[1] {
        return broken("fixes change the view", format!("{views:?}"));
    }
    let marks = [&before.document, &after.document].map(uncertain);
    if marks[0] != marks[1] {
        return broken("fixes change what is uncertain", format!("{marks:?}"));
    }
    if says(&before.document) != says(&after.document) {
        return broken("fixes change the document", String::new());
    }
    let [old, new] = [case.text, &fixed].map(words);
    if let Some(datum) = old.difference(&new).next() {
        return broken("fixes lose text", (*datum).to_owned());
    }
    let known: BTreeSet<_> = before.diagnostics.iter().map(|it| (it.code, &it.message)).collect();
    let is_new = after.diagnostics.iter().find(|it| !known.contains(&(it.code, &it.message)));
    match is_new {
        Some(found) => broken("fixes make a new finding", found.to_string()),
        None => Ok(()),
    }
}

/// Applies all safe fixes. Returns `None` if there are none.
pub(crate) fn fixed(case: &Case<'_>) -> Option<String> {
    let mut fixed: Option<String> = None;
    for _ in 0..ROUNDS {
        let text = fixed.as_deref().unwrap_or(case.text);
        let found = case.read(text).diagnostics;
        let fixes = found.iter().filter_map(|found| found.fix.as_ref());
        let fixes = fixes.filter(|fix| fix.applicability == Applicability::Safe);
        let (next, applied) = apply_fixes(text, fixes);
        if applied == 0 || next == text {
            break;
        }
        fixed = Some(next);
    }
    fixed
}

fn words(text: &str) -> BTreeSet<&str> {
    data(text).into_iter().map(|(_, datum)| datum).collect()
}

fn view(document: &Document<'_>) -> Vec<(String, bool, String)> {
    document.as_conversation().map(seen).unwrap_or_default()
}

/// Returns for each message whether it is recovered, whether it is foreign, and its end.
fn uncertain(document: &Document<'_>) -> Vec<(bool, bool, &'static str)> {
    let messages = document.as_conversation().map_or(&[][..], |it| &it.messages);
    messages.iter().map(|it| (it.recovered, it.foreign, it.end.as_str())).collect()
}

/// Returns the document without a header that contains only the version, because a fix may add one.
fn says<'a>(document: &Document<'a>) -> Document<'a> {
    let mut document = document.clone();
    if let Document::Conversation(conversation) = &mut document
        && conversation.header.as_ref().is_some_and(|header| header.fields().len() <= 1)
    {
        conversation.header = None;
    }
    document
}
