//! Checks of token ids.

use openchatml::{Document, Parsed, ReadOptions};
use openchatml_testkit::bytes;

use crate::case::{Case, Ids, Trains, Truncates};
use crate::check::{canonical, pretty};
use crate::diff::Failures;

/// Checks the token ids of a case.
pub(crate) fn case(case: &Case, parsed: &Parsed<'_>, failures: &mut Failures) {
    for ids in &case.ids {
        writes(case, ids, &parsed.document, failures);
    }
    for truncates in &case.truncates {
        fits(case, truncates, &parsed.document, failures);
    }
    for sample in &case.trains {
        trains(sample, &parsed.document, failures);
    }
}

/// Checks that the document has these ids and is read from them.
fn writes(case: &Case, expected: &Ids, document: &Document<'_>, failures: &mut Failures) {
    let (format, controls) = (case.format(), &expected.controls);
    match bytes::ids(document, format, controls) {
        Ok(ids) => {
            failures.equal("ids", &format!("{:?}", expected.ids), &format!("{ids:?}"));
        }
        Err(error) => failures.equal("ids", &format!("{:?}", expected.ids), &error.to_string()),
    }
    let read = bytes::read(&expected.ids, format, controls, &ReadOptions::default());
    let [one, two] = [document, &read.document].map(canonical);
    failures.equal("document of the ids", &pretty(case, &one), &pretty(case, &two));
}

/// Checks the truncated conversation.
fn fits(case: &Case, truncates: &Truncates, document: &Document<'_>, failures: &mut Failures) {
    let conversation = document.as_conversation().expect("only conversations are made to fit");
    let most = (truncates.budget, truncates.message);
    let left = bytes::truncated(conversation, case.format(), &truncates.controls, most);
    let left = left.map(|left| pretty(case, &canonical(&left.into())));
    let expected = truncates.left.as_deref().map(|left| pretty(case, left));
    let none = || "(it does not fit)".to_owned();
    let [expected, left] = [expected, left].map(|it| it.unwrap_or_else(none));
    failures.equal("what fits", &expected, &left);
}

/// Checks that exactly these ids of the training sample are trained.
fn trains(expected: &Trains, document: &Document<'_>, failures: &mut Failures) {
    let to = expected.to.parse().expect("a format");
    let sample = bytes::sample(document, to, &expected.controls, &expected.policy());
    let Ok((runs, losses)) = sample else {
        return failures.equal("training sample", "one", &format!("{:?}", sample.err()));
    };
    let trained: Vec<_> = runs.iter().map(|run| run.0.clone()).collect();
    failures.equal("trained", &format!("{:#?}", expected.trained), &format!("{trained:#?}"));
    let weights: Vec<_> = runs.iter().map(|run| run.1).collect();
    let all = || vec![1.0; weights.len()];
    let wanted = expected.weights.clone().unwrap_or_else(all);
    failures.equal("weights", &format!("{wanted:?}"), &format!("{weights:?}"));
    failures.equal(
        "losses of the sample",
        &format!("{:#?}", expected.losses),
        &format!("{losses:#?}"),
    );
}
