//! What each format carries of what another one says: the table of the documentation is made here,
//! from conversions there and back of a conversation that has everything.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use std::collections::BTreeSet;
use std::fmt::Write as _;

use openchatml::convert::{self, Lost};
use openchatml::{Document, Dropped, Format, ReadOptions, RenderOptions, parse};

/// A conversation with all that formats have in common.
const EVERYTHING: &str = include_str!("matrix/everything.json");

/// What only one format has a place for.
const BEYOND: &[(&str, &str)] = &[
    ("openai", include_str!("matrix/openai.json")),
    ("responses", include_str!("matrix/responses.json")),
    ("sharegpt", include_str!("matrix/sharegpt.json")),
];

const INTRO: &str = include_str!("matrix/intro.md");
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/conversions.md");

fn options() -> RenderOptions {
    let mut options = RenderOptions::default();
    options.date = Some("2026-01-31".into());
    options
}

/// How formats are written here: with nothing put in.
fn converted(document: &Document<'_>, to: Format) -> Result<(String, BTreeSet<Lost>), String> {
    let options = match to.dialect().id {
        "apertus" => options(),
        _ => RenderOptions::default(),
    };
    match convert::convert(document, to, &options) {
        Ok(converted) => {
            let lost = converted.losses.iter().map(|loss| loss.lost).collect();
            Ok((converted.output, lost))
        }
        Err(error) => Err(error.to_string()),
    }
}

fn read(text: &str, format: Format) -> Document<'static> {
    let mut options = ReadOptions::default();
    options.open_prompt = true;
    parse(text, format, &options).document.into_owned()
}

/// What a format can say of everything, and what of that is lost on the way to it.
fn sayable(format: Format) -> Document<'static> {
    let beyond = BEYOND.iter().find(|it| it.0 == format.to_string());
    match beyond {
        Some((_, text)) => read(text, format),
        None => {
            let everything = read(EVERYTHING, Format::JSON);
            read(&converted(&everything, format).unwrap().0, format)
        }
    }
}

/// The losses of a pair, proved: what was converted comes back the same if, and only if, none were
/// told.
fn losses(from: Format, to: Format) -> Result<BTreeSet<Lost>, String> {
    let before = sayable(from);
    let (text, lost) = converted(&before, to)?;
    let (back, behind) = match converted(&read(&text, to), from) {
        Ok((back, behind)) => (Ok(back), behind),
        Err(why) => (Err(why), BTreeSet::new()),
    };
    let same = converted(&before, from).map(|it| it.0);
    // What calls imply comes back by itself.
    let implied = |it: &Lost| *it == Lost::ContentType && from.carries().json_calls;
    if lost.iter().all(implied) {
        assert_eq!(back, same, "{from} to {to} and back, through {text}");
    } else {
        assert_ne!(
            back, same,
            "{from} to {to} loses {lost:?}, and yet it came back, through {text}"
        );
    }
    // What came back whole has been there: going the same way again changes nothing.
    if let (Ok(once), true) = (back, behind.is_empty()) {
        let (text, _) = converted(&read(&once, from), to)?;
        let twice = converted(&read(&text, to), from).map(|it| it.0);
        assert_eq!(twice.as_ref(), Ok(&once), "{from} to {to}, twice");
    }
    Ok(lost)
}

#[test]
fn the_table_of_conversions_is_that_of_the_documentation() {
    let page = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(PAGE, &page).unwrap();
    }
    let written = std::fs::read_to_string(PAGE).unwrap_or_default();
    assert!(written == page, "docs/conversions.md is out of date: run with UPDATE_DOCS=1");
}

fn told(dropped: Dropped) -> &'static str {
    match dropped {
        Dropped::Key => "a key that the format does not know, with its value",
        Dropped::Duplicate => "all but the last value of a key that an object has twice",
        Dropped::Value => "a value of the wrong type, or a word that the format does not know",
        Dropped::Header => "a header that cannot be read",
        Dropped::Item => "an object that is no message, tool or part of the format",
        Dropped::Text => "text, or a control token, outside of its place",
        Dropped::Limit => "everything beyond a limit",
        Dropped::Record => "a line or a document that cannot be read at all",
        _ => unreachable!("a name without a description"),
    }
}

fn page() -> String {
    let formats: Vec<Format> = Format::all().collect();
    let mut page = INTRO.to_owned();
    page.push_str("## What a reader may drop\n\n| name | what |\n| --- | --- |\n");
    for dropped in Dropped::ALL {
        let _ = writeln!(page, "| `{dropped}` | {} |", told(*dropped));
    }
    page.push_str(
        "\n## What a format may have no place for\n\n\
         The name as it is told, and as `--allow-loss` takes it.\n\n| loss | name |\n| --- | --- |\n",
    );
    for lost in Lost::ALL {
        let _ = writeln!(page, "| {} | `{}` |", lost.as_str(), lost.word());
    }
    page.push_str(
        "\n## What a format has no place for\n\n\
         The tables from here on are made by a test (`crates/openchatml/tests/matrix.rs`) that converts\n\
         a conversation with everything in it there and back: where nothing is named, it came back the\n\
         same.\n\n\
         Of a conversation that has everything (`crates/openchatml/tests/matrix/everything.json`), in\n\
         canonical JSON:\n\n\
         | to | lost |\n| --- | --- |\n",
    );
    let everything = read(EVERYTHING, Format::JSON);
    for to in &formats {
        let cell = match converted(&everything, *to) {
            Ok((_, lost)) if lost.is_empty() => "nothing".to_owned(),
            Ok((_, lost)) => names(&lost),
            Err(why) => format!("refused: {why}"),
        };
        let _ = writeln!(page, "| `{to}` | {cell} |");
    }
    page.push_str(
        "\n## From each format to each\n\n\
         What a format could say of that conversation, and what is lost of it on the way to another.\n\
         `openai`, `responses` and `sharegpt` begin with all that they have a place for, images and\n\
         the like included. A pair that is not listed loses nothing.\n",
    );
    for from in &formats {
        let _ = write!(page, "\n### From `{from}`\n\n");
        let mut rows = String::new();
        let mut whole = Vec::new();
        for to in formats.iter().filter(|to| *to != from) {
            match losses(*from, *to) {
                Ok(lost) if lost.is_empty() => whole.push(format!("`{to}`")),
                Ok(lost) => {
                    let _ = writeln!(rows, "| `{to}` | {} |", names(&lost));
                }
                Err(why) => {
                    let _ = writeln!(rows, "| `{to}` | refused: {why} |");
                }
            }
        }
        if !whole.is_empty() {
            let _ = writeln!(page, "Nothing is lost to {}.", whole.join(", "));
        }
        if !rows.is_empty() {
            let _ = write!(page, "\n| to | lost |\n| --- | --- |\n{rows}");
        }
    }
    page
}

fn names(lost: &BTreeSet<Lost>) -> String {
    let names: Vec<&str> = lost.iter().map(|lost| lost.as_str()).collect();
    names.join(", ")
}
