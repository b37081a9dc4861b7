//! Laws of reading and writing: the meaning stays the same.

use std::collections::BTreeSet;

use openchatml::convert::convert;
use openchatml::lex::Escape;
use openchatml::render::LayoutChoice;
use openchatml::{
    Carrier, Diagnostic, Format, Mode, Recover, RenderOptions, Severity, parse, render,
};

use super::{Broken, Case, Verdict, brief, read, strict};
use crate::grammar::{data, json};
use crate::property;

/// Nothing panics, and the spans of diagnostics are inside the text.
pub(crate) fn nocrash(case: &Case<'_>) -> Verdict {
    for format in [case.from, case.to] {
        let mut options = case.options();
        options.mode = case.choose(&[Mode::Lenient, Mode::Strict]);
        options.recover = case.choose(&[Recover::Keep, Recover::Drop, Recover::Error]);
        let parsed = parse(case.text, format, &options);
        for found in &parsed.diagnostics {
            if case.text.get(found.span.range()).is_none() {
                let detail = found.to_string();
                return Err(Broken::new("a finding is outside of the text", detail));
            }
        }
        let all: Vec<_> = Format::all().collect();
        for target in [case.from, case.to, case.choose(&all)] {
            drop(convert(&parsed.document, target, &RenderOptions::default()));
            drop(render(&parsed.document, target, &RenderOptions::default()));
        }
    }
    drop(openchatml::detect(case.text));
    Ok(())
}

/// A text without errors in strict mode is written unchanged: text byte for byte, and JSON with the
/// same data.
pub(crate) fn roundtrip(case: &Case<'_>) -> Verdict {
    let parsed = parse(case.text, case.from, &strict());
    if parsed.diagnostics.iter().any(|found| found.severity == Severity::Error) {
        return Ok(());
    }
    let found = || format!("{:?}\n  {}", parsed.diagnostics, brief(&parsed.document));
    let again = match render(&parsed.document, case.from, &RenderOptions::default()) {
        Ok(again) => again,
        Err(error) => {
            let detail = format!("{error}\n  {}", found());
            return Err(Broken::new("read strictly, and refused when it is written", detail));
        }
    };
    if case.from.carrier() == Carrier::Text {
        if again != case.text {
            let detail = format!("written {again:?}\n  {}", found());
            return Err(Broken::new("other bytes", detail));
        }
        return Ok(());
    }
    if json::read(&again).is_none() {
        return Err(Broken::new("what is written is no JSON", again));
    }
    let reread = parse(&again, case.from, &strict());
    if reread.document != parsed.document {
        let detail = format!("written {again:?}\n  {}\n  {}", found(), brief(&reread.document));
        return Err(Broken::new("another document", detail));
    }
    Ok(())
}

/// Canonical JSON has no losses: it is read back as the same document.
pub(crate) fn identity(case: &Case<'_>) -> Verdict {
    let parsed = case.parse();
    let options = RenderOptions::default();
    let json = match render(&parsed.document, Format::JSON, &options) {
        Ok(json) => json,
        // Features that only the JSON of a service has are refused.
        Err(_) => match convert(&parsed.document, Format::JSON, &options) {
            Ok(converted) if !converted.losses.is_empty() => return Ok(()),
            Ok(converted) => converted.output,
            Err(error) => {
                return Err(Broken::new("canonical JSON refuses a document", error.to_string()));
            }
        },
    };
    let again = read(&json, Format::JSON);
    if again.document != parsed.document {
        let [one, two] = [&parsed.document, &again.document].map(brief);
        let detail = format!("{json}\n  {one}\n  {two}\n  {:?}", again.diagnostics);
        return Err(Broken::new("canonical JSON reads as another document", detail));
    }
    if let Some(found) = again.diagnostics.iter().find(|found| found.dropped.is_some()) {
        return Err(Broken::new(
            "canonical JSON has what it cannot say",
            format!("{json}: {found}"),
        ));
    }
    Ok(())
}

/// If strict reading accepts a text, its format can write the document without diagnostics. JSON of
/// a dialect with a text form can also be written as that text (2.2 §10).
pub(crate) fn strictness(case: &Case<'_>) -> Verdict {
    let parsed = parse(case.text, case.from, &strict());
    if parsed.has_errors() {
        return Ok(());
    }
    let text = case.from.text().ok().map(Format::from);
    let text = text.filter(|_| case.from.dialect().id.starts_with("openchatml-2"));
    for format in [Some(case.from), text].into_iter().flatten() {
        let mut options = RenderOptions::default();
        options.layout = LayoutChoice::Canonical;
        let written = match convert(&parsed.document, format, &options) {
            Ok(written) => written.output,
            Err(error)
                if format.dialect().controls.escape() == Escape::None && format != case.from =>
            {
                drop(error);
                continue;
            }
            Err(error) => {
                let what = match format == case.from {
                    true => "read strictly, and refused when it is written",
                    false => "read strictly as JSON, and refused as text",
                };
                return Err(Broken::new(what, error.to_string()));
            }
        };
        let again = parse(&written, format, &strict());
        let is_new = |found: &&Diagnostic| {
            parsed
                .diagnostics
                .iter()
                .all(|it| (it.code, &it.message) != (found.code, &found.message))
        };
        let worst =
            again.diagnostics.iter().filter(|it| it.severity == Severity::Error).find(is_new);
        if let Some(found) = worst {
            let what = match format == case.from {
                true => "read strictly, and wrong when it is written",
                false => "read strictly as JSON, and wrong as text",
            };
            return Err(Broken {
                what,
                cause: found.code.to_string(),
                detail: format!("{written:?}: {found}"),
            });
        }
    }
    Ok(())
}

/// The canonical layout has the same meaning without losses. A document with an error has no
/// canonical layout.
pub(crate) fn fmt(case: &Case<'_>) -> Verdict {
    let parsed = case.parse();
    if parsed.has_errors() {
        return Ok(());
    }
    let mut options = RenderOptions::default();
    options.layout = LayoutChoice::Canonical;
    let Ok(laid_out) = render(&parsed.document, case.from, &options) else { return Ok(()) };
    let again = read(&laid_out, case.from);
    if again.document != parsed.document {
        let [one, two] = [&parsed.document, &again.document].map(brief);
        return Err(Broken::new(
            "laid out, it says something else",
            format!("{laid_out:?}\n  {one}\n  {two}"),
        ));
    }
    let [before, after] = [case.text, &laid_out]
        .map(|text| data(text).into_iter().map(|(_, datum)| datum).collect::<BTreeSet<_>>());
    if let Some(datum) = before.difference(&after).next() {
        return Err(Broken::new(
            "the layout loses text",
            format!("{datum}: {laid_out:?}\n  {:?}", parsed.diagnostics),
        ));
    }
    let twice = render(&again.document, case.from, &options);
    if twice.as_ref() != Ok(&laid_out) {
        return Err(Broken::new(
            "laid out twice, it is another text",
            format!("{laid_out:?}, then {twice:?}"),
        ));
    }
    Ok(())
}

/// A stream gives the same result for all chunks, and the same as parsing the whole text.
pub(crate) fn chunks(case: &Case<'_>) -> Verdict {
    if case.from.carrier() != Carrier::Text {
        return Ok(());
    }
    let mut options = case.options();
    options.open_prompt = case.choice_seed.is_multiple_of(2);
    let len = case.text.len().max(1);
    let cuts: Vec<usize> = match case.choice_seed % 5 {
        0 => (0..len).collect(),
        n => {
            let mut cuts =
                [7, 11, 13].map(|factor| (case.choice_seed as usize / (n as usize)) / factor % len);
            cuts.sort_unstable();
            cuts.into()
        }
    };
    property::chunk_invariant(case.text, &cuts, case.from, &options);
    Ok(())
}
