//! Checks that hold for every case.

use openchatml::render::LayoutChoice;
use openchatml::{
    Carrier, Control, Diagnostic, Dialect, Document, Limits, Mode, Policy, ReadOptions, Recover,
    RenderOptions, Role, Section, Severity, dialects, parse, render,
};
use openchatml_testkit::fixes;
use serde_json::{Value, json};

use crate::case::Case;
use crate::check::canonical;
use crate::diff::Failures;
use crate::live::{Told, field, told};
use crate::wire;

/// Checks an input.
pub(crate) fn case(case: &Case, failures: &mut Failures) {
    let is_text = case.format().carrier() == Carrier::Text;
    if is_text {
        every_cut(case, failures);
    }
    if case.bytes.is_some() {
        return;
    }
    for (how, options) in readings(case) {
        fix(case, &options);
        json_carries_all(case, &how, &options, failures);
        if is_text {
            policies(case, &how, &options, failures);
        }
    }
    if is_text {
        well_formed(case, failures);
        wire::byte_by_byte(case);
    } else if openchatml_testkit::run::is_of_services(case.format()) {
        openchatml_testkit::property::rewrites(&case.input, case.format());
    }
}

/// Checks that fixes keep the meaning with every policy.
fn fix(case: &Case, options: &ReadOptions) {
    for recover in [Recover::Keep, Recover::Drop, Recover::Error] {
        let mut options = options.clone();
        options.recover = recover;
        // A fixed text may be longer and exceed a limit.
        if options.limits == Limits::default() {
            fixes::keep_the_conversation(&case.input, case.format(), &options);
        }
        fixes::are_checked(&case.input, case.format(), &options);
    }
}

/// Returns the options to read an input with: those of the case first, then others.
fn readings(case: &Case) -> Vec<(String, ReadOptions)> {
    let own = case.options();
    let mut readings = vec![("as the case says".to_owned(), own.clone())];
    for mode in [Mode::Lenient, Mode::Strict] {
        for continues in [None, Some(Role::Assistant)] {
            for open_prompt in [false, true] {
                let mut options = own.clone();
                options.mode = mode;
                options.continues = continues;
                options.open_prompt = open_prompt;
                let how = format!("{mode:?}, continues {continues:?}, open_prompt {open_prompt}");
                readings.push((how, options));
            }
        }
    }
    readings
}

/// Checks that splitting the input at any place does not change the stream.
fn every_cut(case: &Case, failures: &mut Failures) {
    let (format, options, input) = (case.format(), case.options(), case.input_bytes());
    let whole = told(format, &options, [input.as_slice()]);
    compare("byte by byte", &whole, &told(format, &options, input.chunks(1)), failures);
    for at in 0..=input.len() {
        let (front, rest) = input.split_at(at);
        let cut = told(format, &options, [front, rest]);
        if !compare(&format!("cut at byte {at}"), &whole, &cut, failures) {
            break;
        }
    }
}

/// Compares two streams.
fn compare(how: &str, whole: &[Told], other: &[Told], failures: &mut Failures) -> bool {
    if other != whole {
        let list = |told: &[Told]| told.iter().map(|it| format!("{it:?}\n")).collect::<String>();
        failures.equal(&format!("events, {how}"), &list(whole), &list(other));
    }
    other == whole
}

/// Checks that the stream equals the parsed document, also byte by byte.
fn stream(case: &Case, how: &str, options: &ReadOptions, failures: &mut Failures) {
    let format = case.format();
    let whole = told(format, options, [case.input.as_bytes()]);
    let bytes = told(format, options, case.input.as_bytes().chunks(1));
    compare(&format!("{how}, byte by byte"), &whole, &bytes, failures);
    let parsed = parse(&case.input, format, options);
    let Document::Conversation(_) = &parsed.document else { return };
    let document: Value = serde_json::from_str(&canonical(&parsed.document)).expect("JSON");
    let lines = |values: &[Value]| values.iter().map(|it| format!("{it}\n")).collect::<String>();
    let messages = document["messages"].as_array().expect("messages");
    let done = done(&whole);
    failures.equal(&format!("messages of the stream, {how}"), &lines(messages), &lines(&done));
    let place = |code: &str, severity: &str, start: usize, end: usize| {
        json!([code, severity, start, end]).to_string()
    };
    let mut one: Vec<String> = parsed
        .diagnostics
        .iter()
        .map(|it| place(it.code.as_str(), it.severity.as_str(), it.span.start, it.span.end))
        .collect();
    let codes = field(&whole, "diagnostic", "code");
    let severities = field(&whole, "diagnostic", "severity");
    let spans = field(&whole, "diagnostic", "span");
    let mut two: Vec<String> = Vec::new();
    for ((code, severity), span) in codes.iter().zip(&severities).zip(&spans) {
        let at = |key: &str| usize::try_from(span[key].as_u64().expect("a place")).expect("small");
        let words = [code, severity].map(|it| it.as_str().expect("a word"));
        two.push(place(words[0], words[1], at("start"), at("end")));
    }
    one.sort();
    two.sort();
    let what = format!("diagnostics of the stream, {how}");
    failures.equal(&what, &one.join("\n"), &two.join("\n"));
    shown(&parsed.document, &whole, how, failures);
}

/// Returns the messages of the stream. Those that a later token showed to be reasoning are changed as
/// the documentation of the event says.
fn done(whole: &[Told]) -> Vec<Value> {
    let mut done = field(whole, "message.done", "message");
    for id in field(whole, "message.hidden", "message_id") {
        let at: usize = id.as_str().expect("an id")[1..].parse().expect("a number");
        let message = &mut done[at];
        message["recovered"] = true.into();
        if message["channel"] == "commentary" {
            message.as_object_mut().expect("a message").remove("end");
        } else {
            message["channel"] = "analysis".into();
        }
    }
    done
}

/// Checks that the deltas for display equal the messages of the assistant in the user view, except
/// for messages whose ends show that they are reasoning.
fn shown(document: &Document<'_>, whole: &[Told], how: &str, failures: &mut Failures) {
    let Document::Conversation(conversation) = document else { return };
    let policy = Policy::default();
    let view = policy.view(conversation);
    let seen = view.messages().filter(|seen| seen.role() == Role::Assistant);
    let one: String = seen.map(|seen| seen.text()).collect();
    let done = done(whole);
    let ends_hidden =
        |at: &usize| done.get(*at).is_some_and(|message| message["channel"] == "analysis");
    let two: String = whole
        .iter()
        .filter_map(|told| match told {
            Told::Delta { kind: "response.delta", message, text } if !ends_hidden(message) => {
                Some(text.as_str())
            }
            _ => None,
        })
        .collect();
    failures.equal(&format!("text streamed for display, {how}"), &one, &two);
}

/// Checks that canonical JSON represents the document completely.
fn json_carries_all(case: &Case, how: &str, options: &ReadOptions, failures: &mut Failures) {
    let parsed = parse(&case.input, case.format(), options);
    let text = canonical(&parsed.document);
    let again = parse(&text, "json".parse().expect("a format"), &ReadOptions::default());
    if again.document != parsed.document {
        failures.equal(
            &format!("canonical JSON read again, {how}"),
            &text,
            &canonical(&again.document),
        );
    }
}

/// Checks every policy: no byte is lost, and nothing uncertain is shown.
fn policies(case: &Case, how: &str, options: &ReadOptions, failures: &mut Failures) {
    let mut views = Vec::new();
    for recover in [Recover::Keep, Recover::Drop, Recover::Error] {
        let mut options = options.clone();
        options.recover = recover;
        stream(case, &format!("{how}, {recover:?}"), &options, failures);
        let parsed = parse(&case.input, case.format(), &options);
        let Document::Conversation(conversation) = &parsed.document else { return };
        let lost = lost(case, &parsed.document, &parsed.diagnostics);
        // Diagnostics beyond their limit cover nothing.
        if !lost.is_empty() && options.limits.diagnostics >= parsed.diagnostics.len() {
            failures.fail(&format!("bytes lost, {how}, {recover:?}"), &lost);
        }
        let view = Policy::default().view(conversation);
        views.push(view.messages().map(|it| it.text().to_owned()).collect::<Vec<_>>());
    }
    if views[0] != views[1] {
        let text = format!("keep shows {:?}, drop shows {:?}", views[0], views[1]);
        failures.fail(&format!("view, {how}"), &text);
    }
    if !is_beginning(&views[2], &views[0]) {
        let text = format!("keep shows {:?}, error shows {:?}", views[0], views[2]);
        failures.fail(&format!("view, {how}"), &text);
    }
}

/// Whether one list of texts is the beginning of another. Its last text may be truncated.
fn is_beginning(part: &[String], whole: &[String]) -> bool {
    let Some((last, before)) = part.split_last() else { return true };
    whole.starts_with(before)
        && whole.get(before.len()).is_some_and(|text| text.starts_with(last.as_str()))
}

/// Returns the parts of the input that are neither in a message, nor in a diagnostic, nor white
/// space, nor framing.
fn lost(case: &Case, document: &Document<'_>, found: &[Diagnostic]) -> String {
    let Document::Conversation(conversation) = document else { return String::new() };
    let mut covered = vec![false; case.input.len()];
    let mut cover = |from: usize, to: usize| covered[from..to].fill(true);
    let spans = conversation.messages.iter().map(|message| message.span);
    for span in spans.clone().chain(found.iter().map(|found| found.span)) {
        cover(span.start, span.end);
    }
    if conversation.header.is_some() {
        let first = spans.map(|span| span.start).min();
        let found = found.iter().map(|it| it.span.start).filter(|at| *at > 0).min();
        cover(0, first.or(found).unwrap_or(case.input.len()));
    }
    let spelled = |dialect: &Dialect, control| dialect.controls.spelling(control);
    let wraps = [Control::Bos, Control::Eos].map(|it| spelled(&dialects::OPENCHATML_0_1, it));
    for wrap in wraps.into_iter().flatten() {
        for (at, wrap) in case.input.match_indices(wrap) {
            cover(at, at + wrap.len());
        }
    }
    let dialect = case.format().dialect();
    if let (Some(call), Some(end)) =
        (spelled(dialect, Control::Call), spelled(dialect, Control::End))
    {
        for (at, both) in case.input.match_indices(&format!("{call}{end}")) {
            cover(at + call.len(), at + both.len());
        }
    }
    // The turn also ends at the calls that end the completion.
    let ends = [Control::CloseSection(Section::Calls), Control::Close(Role::Assistant)];
    if let [Some(calls), Some(end)] = ends.map(|control| spelled(dialect, control)) {
        for (at, _) in case.input.match_indices(calls) {
            let behind = at + calls.len();
            let rest = case.input[behind..].trim_ascii_start();
            let at = case.input.len() - rest.len();
            if case.continues.is_some() && rest.starts_with(end) {
                cover(at, at + end.len());
            }
        }
    }
    let bytes = case.input.bytes().zip(&covered).enumerate();
    let lost = bytes.filter(|(_, (byte, covered))| !**covered && !byte.is_ascii_whitespace());
    lost.map(|(at, (byte, _))| format!("{at}: {:?}  ", char::from(byte))).collect()
}

/// Checks that a text without diagnostics is written back unchanged, and has the same meaning in
/// the canonical layout.
fn well_formed(case: &Case, failures: &mut Failures) {
    let (format, mut options) = (case.format(), case.options());
    options.mode = Mode::Strict;
    let parsed = parse(&case.input, format, &options);
    let is_clean = parsed.diagnostics.iter().all(|found| found.severity == Severity::Note);
    if !is_clean || case.continues.is_some() {
        return;
    }
    let mut how = RenderOptions::default();
    match render(&parsed.document, format, &how) {
        Ok(text) => failures.equal("written back", &case.input, &text),
        Err(error) => failures.fail("written back", &error.to_string()),
    }
    how.layout = LayoutChoice::Canonical;
    match render(&parsed.document, format, &how) {
        Ok(text) => {
            let again = parse(&text, format, &options).document;
            if again != parsed.document {
                let [one, two] = [&parsed.document, &again].map(canonical);
                failures.equal("canonical layout read again", &one, &two);
            }
            match render(&again, format, &how) {
                Ok(twice) => failures.equal("canonical layout twice", &text, &twice),
                Err(error) => failures.fail("canonical layout twice", &error.to_string()),
            }
        }
        Err(error) => failures.fail("canonical layout", &error.to_string()),
    }
}
