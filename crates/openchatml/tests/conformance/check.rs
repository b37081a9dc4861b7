//! Checks the expectations of a case.

use openchatml::render::LayoutChoice;
use openchatml::{
    Applicability, Candidate, Carrier, Code, Conversation, Diagnostic, Document, End, Fix, Format,
    Mode, Parsed, Policy, ReadOptions, RenderOptions, Role, Settings, Severity, Span, apply_fixes,
    convert, detect, history, parse, render,
};
use serde_json::Value;

use crate::case::{Case, Convert, Finding, Negotiate, Renders};
use crate::diff::Failures;
use crate::{live, tokens, wire};

/// Checks all expectations of a case.
pub(crate) fn case(case: &Case, failures: &mut Failures) {
    if let Some(lines) = &case.events {
        events(case, lines, failures);
    }
    if let Some(lines) = &case.user_events {
        user_events(case, lines, failures);
    }
    for writes in &case.writes {
        wire::case(case, writes, failures);
    }
    if case.bytes.is_some() {
        return;
    }
    let (format, options) = (case.format(), case.options());
    let parsed = parse(&case.input, format, &options);
    document(case, &parsed, failures);
    findings(case, &parsed.diagnostics, failures);
    rendering(case, &parsed.document, format, failures);
    views(case, &parsed.document, failures);
    for conversion in &case.converts {
        converts(case, conversion, &parsed.document, failures);
    }
    if let Some(code) = &case.rejected_as {
        rejected(case, code, failures);
    }
    if let Some(expected) = &case.detect {
        let is_there = |best: &Candidate| expected != "none" || best.is_certain();
        let found = detect(&case.input).into_iter().next().filter(is_there);
        let found = found.map(|best| best.format.to_string());
        failures.equal("detected format", expected, found.as_deref().unwrap_or("none"));
    }
    tokens::case(case, &parsed, failures);
    if let Some(roles) = &case.hierarchy {
        hierarchy(roles, parsed.document.as_conversation(), failures);
    }
    if let Some(negotiate) = &case.negotiate {
        negotiates(case, negotiate, parsed.document.as_conversation(), failures);
    }
}

/// Returns a document as canonical JSON, without data that only the format of the input supports.
pub(crate) fn canonical(document: &Document<'_>) -> String {
    let converted = convert::convert(document, Format::JSON, &RenderOptions::default());
    converted.expect("canonical JSON carries everything else").output
}

/// Formats JSON so that it can be compared line by line.
pub(crate) fn pretty(case: &Case, text: &str) -> String {
    let mut value: Value = serde_json::from_str(text)
        .unwrap_or_else(|error| panic!("{}: {error} in {text}", case.name));
    // The order of keys has no meaning, but a feature of a dependency may preserve it.
    value.sort_all_objects();
    serde_json::to_string_pretty(&value).expect("a value")
}

fn is_json(format: Format) -> bool {
    format.carrier() == Carrier::Json
}

fn document(case: &Case, parsed: &Parsed<'_>, failures: &mut Failures) {
    if let Some(expected) = &case.expect {
        let got = canonical(&parsed.document);
        failures.equal("document", &pretty(case, expected), &pretty(case, &got));
    }
}

/// Formats a diagnostic on one line.
fn line(code: &str, severity: &str, start: usize, text: &str) -> String {
    format!("{start:>5} {severity:<7} {code} {text:?}\n")
}

/// Returns the start of an expected diagnostic. Without `start`, it is the position of its text,
/// which must be unique, or the end of the input if it has no text.
fn start(finding: &Finding, text: &str, case: &Case) -> usize {
    if let Some(start) = finding.start {
        let rest = case.input.get(start..).unwrap_or_default();
        assert!(rest.starts_with(text), "{}: {text:?} does not stand at {start}", case.name);
        return start;
    }
    if text.is_empty() {
        return case.input.len();
    }
    let places: Vec<usize> = case.input.match_indices(text).map(|(at, _)| at).collect();
    match places.as_slice() {
        [at] => *at,
        _ => panic!("{}: {text:?} stands in {} places", case.name, places.len()),
    }
}

fn findings(case: &Case, got: &[Diagnostic], failures: &mut Failures) {
    if let Some(expected) = &case.diagnostics {
        let mut left: Vec<&Diagnostic> = got.iter().collect();
        let mut one = Vec::new();
        let mut two = Vec::new();
        for finding in expected {
            match &finding.text {
                Some(text) => {
                    let at = start(finding, text, case);
                    one.push(line(&finding.code, &finding.severity, at, text));
                }
                // It may be anywhere.
                None => match left.iter().position(|found| is_like(found, finding)) {
                    Some(at) => drop(left.remove(at)),
                    None => one.push(line(&finding.code, &finding.severity, 0, "(anywhere)")),
                },
            }
        }
        for found in left {
            let text = case.input.get(found.span.range()).unwrap_or("(outside the input)");
            two.push(line(found.code.as_str(), found.severity.as_str(), found.span.start, text));
        }
        for finding in expected {
            let Some(dropped) = finding.dropped.as_deref() else { continue };
            let place = finding.text.as_deref().map(|text| {
                let at = start(finding, text, case);
                Span::new(at, at + text.len())
            });
            let is_it = |found: &Diagnostic| {
                is_like(found, finding)
                    && found.dropped.is_some_and(|it| it.as_str() == dropped)
                    && place.is_none_or(|place| place == found.span)
            };
            if !got.iter().any(is_it) {
                let text = format!("no {} at {place:?} drops `{dropped}`", finding.code);
                failures.fail("diagnostics", &text);
            }
        }
        one.sort();
        two.sort();
        failures.equal("diagnostics", &one.concat(), &two.concat());
    }
    let kinds = [
        ("fixed", &case.fixed, Applicability::Safe),
        ("suggested", &case.suggested, Applicability::Unsafe),
    ];
    for (what, expected, most) in kinds {
        let Some(expected) = expected else { continue };
        let fixes = got.iter().filter_map(|found| found.fix.as_ref());
        let fixes: Vec<&Fix> = fixes.filter(|fix| fix.applicability <= most).collect();
        let [one, two] = [expected.clone(), apply_fixes(&case.input, fixes).0]
            .map(|text| if is_json(case.format()) { pretty(case, &text) } else { text });
        failures.equal(what, &one, &two);
    }
}

fn is_like(found: &Diagnostic, finding: &Finding) -> bool {
    found.code.as_str() == finding.code && found.severity.as_str() == finding.severity
}

fn rejected(case: &Case, code: &str, failures: &mut Failures) {
    let mut options: ReadOptions = case.options();
    options.mode = Mode::Strict;
    let found = parse(&case.input, case.format(), &options).diagnostics;
    let is_it = |one: &Diagnostic| one.code.as_str() == code && one.severity == Severity::Error;
    if !found.iter().any(is_it) {
        let list: Vec<String> = found.iter().map(ToString::to_string).collect();
        failures.fail("strict mode", &format!("no error {code}, but: {}", list.join("; ")));
    }
}

fn rendering(case: &Case, document: &Document<'_>, format: Format, failures: &mut Failures) {
    let mut options = RenderOptions::default();
    let mut check = |what: &str, expected: &str, options: &RenderOptions| match render(
        document, format, options,
    ) {
        Ok(got) => failures.equal(what, expected, &got),
        Err(error) => failures.fail(what, &error.to_string()),
    };
    match &case.renders {
        Some(Renders::Same(true)) => check("rendering", &case.input, &options),
        Some(Renders::Text(expected)) => check("rendering", expected, &options),
        Some(Renders::Same(false)) => panic!("{}: leave `renders` out instead", case.name),
        None => {}
    }
    if let Some(expected) = &case.canonical {
        options.layout = LayoutChoice::Canonical;
        check("canonical layout", expected, &options);
    }
}

fn views(case: &Case, document: &Document<'_>, failures: &mut Failures) {
    let nothing = Conversation::default();
    let conversation = document.as_conversation().unwrap_or(&nothing);
    if let Some(expected) = &case.user_view {
        let line = |role: &str, text: &str, preamble: bool| {
            format!("{role}{}: {text:?}\n", if preamble { " (preamble)" } else { "" })
        };
        let one: String =
            expected.iter().map(|seen| line(&seen.role, &seen.text, seen.preamble)).collect();
        let view = Policy::default().view(conversation);
        let two: String = view
            .messages()
            .map(|seen| line(seen.role().as_str(), seen.text(), seen.is_preamble()))
            .collect();
        failures.equal("user view", &one, &two);
        let all = 0..conversation.messages.len();
        let refused = all.filter_map(|at| view.message(at).err()).collect::<Vec<_>>();
        if refused.len() + view.messages().count() != conversation.messages.len()
            || refused.iter().any(|found| found.code != Code::PermVisibility)
        {
            failures.fail("user view", "a hidden message is not refused as E-PERM-VISIBILITY");
        }
    }
    if let Some(expected) = &case.answers {
        let answers = history::answers(&conversation.messages).into_iter().enumerate();
        let answers: Vec<_> =
            answers.filter_map(|(reply, call)| call.map(|call| [reply, call])).collect();
        let [one, two] = [expected, &answers].map(|it| format!("{it:?}\n"));
        failures.equal("answers", &one, &two);
    }
    if let Some(kept) = &case.next_prompt {
        let mut expected = Conversation::default();
        expected.header.clone_from(&conversation.header);
        expected.messages = kept.iter().map(|at| conversation.messages[*at].clone()).collect();
        // The sampling that this message ended is finished.
        for message in expected.messages.iter_mut().filter(|it| it.end == End::Return) {
            message.end = End::End;
        }
        let next = history::next_prompt(conversation);
        let [one, two] = [expected, next].map(|it| pretty(case, &canonical(&it.into())));
        failures.equal("next prompt", &one, &two);
    }
}

fn converts(case: &Case, it: &Convert, document: &Document<'_>, failures: &mut Failures) {
    let to: Format = it.to.parse().unwrap_or_else(|error| panic!("{}: {error}", case.name));
    let options = it.options(case);
    let what = format!("conversion to {}", it.to);
    let converted = match it.no_loss {
        true => render(document, to, &options).map(|output| (output, Vec::new())),
        false => convert::convert(document, to, &options).map(|it| (it.output, it.losses)),
    };
    match (converted, &it.error) {
        (Ok((got, losses)), None) => {
            if let Some(expected) = &it.output {
                let [one, two] = [expected, &got]
                    .map(|text| if is_json(to) { pretty(case, text) } else { text.clone() });
                failures.equal(&what, &one, &two);
            }
            let names = losses.iter().map(ToString::to_string).collect::<Vec<String>>();
            let [one, two] = [it.losses.clone(), names].map(|mut losses| {
                losses.sort();
                losses.join("\n")
            });
            failures.equal(&format!("{what}, losses"), &one, &two);
        }
        (Err(error), Some(refusal)) => {
            failures.equal(&what, &refusal.code, error.code.as_str());
            if refusal.message != error.message {
                failures.fail(&what, &format!("refused for message {:?}", error.message));
            }
            if let (Some(text), Some(conversation)) = (&refusal.text, document.as_conversation()) {
                let span = error.to_diagnostic(conversation).span;
                failures.equal(&what, text, case.input.get(span.range()).unwrap_or_default());
            }
        }
        (Ok((got, _)), Some(refusal)) => {
            failures.fail(&what, &format!("not refused as {}: {got}", refusal.code));
        }
        (Err(error), None) => failures.fail(&what, &format!("refused: {error}")),
    }
}

fn negotiates(
    case: &Case,
    it: &Negotiate,
    conversation: Option<&Conversation<'_>>,
    failures: &mut Failures,
) {
    let other = parse(&it.with, case.format(), &ReadOptions::default()).into_conversation();
    let [one, two] = [conversation.and_then(|it| it.header.as_ref()), other.header.as_ref()]
        .map(|header| Settings::read(header.expect("a header")).0.capabilities);
    let (one, two) = (one.expect("capabilities"), two.expect("capabilities"));
    let agreed = one.negotiate(&two);
    let common = [
        ("roles", agreed.common.roles),
        ("channels", agreed.common.channels),
        ("tokens", agreed.common.tokens),
        ("streaming", agreed.common.streaming),
    ];
    for (kind, got) in common {
        let expected = it.common.get(kind);
        if expected != got.as_ref() {
            failures.fail("negotiation", &format!("{kind}: expected {expected:?}, got {got:?}"));
        }
    }
    failures.equal("missing", &it.missing.join("\n"), &agreed.missing.join("\n"));
    failures.equal("unused", &it.unused.join("\n"), &agreed.unused.join("\n"));
}

fn events(case: &Case, expected: &str, failures: &mut Failures) {
    tells(case, "events", expected, &live::told_of(case), failures);
}

fn user_events(case: &Case, expected: &str, failures: &mut Failures) {
    tells(case, "events for a user", expected, &live::told_to_users(case), failures);
}

fn tells(case: &Case, what: &str, expected: &str, told: &[live::Told], failures: &mut Failures) {
    let got: String = told.iter().map(|told| format!("{}\n", live::as_json(told))).collect();
    let expected: String = expected
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            let event: Value = serde_json::from_str(line)
                .unwrap_or_else(|error| panic!("{}: {error} in {line}", case.name));
            format!("{}\n", live::normal(event))
        })
        .collect();
    failures.equal(what, &expected, &got);
}

/// Returns the roles of the messages, sorted by authority.
fn hierarchy(
    expected: &[String],
    conversation: Option<&Conversation<'_>>,
    failures: &mut Failures,
) {
    let messages = conversation.map_or(&[][..], |it| &it.messages);
    let mut roles: Vec<Role> = messages.iter().map(|message| message.role).collect();
    roles.sort_by(|one, two| two.cmp(one));
    roles.dedup();
    let roles: Vec<_> = roles.iter().map(Role::to_string).collect();
    failures.equal("hierarchy", &expected.join(" > "), &roles.join(" > "));
}
