//! Writes the pages of `docs/conversions`: what each format carries of the content of another one.
//! The pages result from conversions of a conversation with all features to the other format and
//! back.
//!
//! Each dialect has its own page. A pair of formats is on one of the two pages: an existing page
//! keeps its formats, and the page of a new dialect starts with all pairs in both directions.
//! Adding a dialect therefore changes no other page.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use openchatml::convert::{self, Lost};
use openchatml::dialects::{self, CallPiece, Completion, Dialect};
use openchatml::{Document, Dropped, Format, ReadOptions, RenderOptions, parse};
use openchatml_testkit::markdown::{docs, keep};

/// A conversation with all common features of formats.
const EVERYTHING: &str = include_str!("matrix/everything.json");

const INTRO: &str = include_str!("matrix/intro.md");

/// Returns the document with features of only this format, if there is one.
fn beyond(format: Format) -> Option<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/matrix");
    std::fs::read_to_string(folder.join(format!("{format}.json"))).ok()
}

/// Converts without additions, except for the date if a format requires it.
fn converted(document: &Document<'_>, to: Format) -> Result<(String, BTreeSet<Lost>), String> {
    let mut dated = RenderOptions::default();
    dated.date = Some("2026-01-31".into());
    let plain = convert::convert(document, to, &RenderOptions::default());
    match plain.or_else(|_| convert::convert(document, to, &dated)) {
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

/// Returns the conversation with all features in the form that a format can express.
fn sayable(format: Format) -> Document<'static> {
    match beyond(format) {
        Some(text) => read(&text, format),
        None => {
            let everything = read(EVERYTHING, Format::JSON);
            read(&converted(&everything, format).unwrap().0, format)
        }
    }
}

/// Whether a format makes the ids of calls from the names of tools.
fn makes_ids(format: Format) -> bool {
    let Some(Completion::Sections(sections)) = format.dialect().completion() else { return false };
    sections.calls.pieces.iter().any(|piece| matches!(piece, CallPiece::IdUpTo(_)))
}

/// Returns the losses of a pair, and checks them: the converted document is the same after the way
/// back if and only if no loss was reported.
fn losses(from: Format, to: Format) -> Result<BTreeSet<Lost>, String> {
    let before = sayable(from);
    let (text, lost) = converted(&before, to)?;
    let (back, behind) = match converted(&read(&text, to), from) {
        Ok((back, behind)) => (Ok(back), behind),
        Err(why) => (Err(why), BTreeSet::new()),
    };
    let same = converted(&before, from).map(|it| it.0);
    // That a function is not strict is said in one format, and meant in all others.
    let without_strict = |text: String| text.replace(",\"strict\":false", "");
    let back = back.map(without_strict);
    // Properties that follow from calls are restored. What a service does not accept is written
    // nevertheless. Records give earlier answers a weight, and formats without weights take none
    // back.
    let implied = |it: &Lost| match it {
        Lost::ContentType => from.carries().json_calls,
        Lost::CallId => makes_ids(from),
        Lost::Context => !from.carries().weights,
        Lost::Weight => behind.contains(&Lost::Context),
        it => *it == Lost::Unaccepted,
    };
    if lost.iter().all(implied) {
        assert_eq!(back, same, "{from} to {to} and back, through {text}");
    } else {
        assert_ne!(
            back, same,
            "{from} to {to} loses {lost:?}, and yet it came back, through {text}"
        );
    }
    // After a complete way back, converting again changes nothing. Additions of the source format
    // are merged again each time.
    let is_merged = lost.contains(&Lost::Merged) || lost.contains(&Lost::SystemMoved);
    if let (Ok(once), true) = (back, behind.is_empty() && !is_merged) {
        let (text, _) = converted(&read(&once, from), to)?;
        let twice = converted(&read(&text, to), from).map(|it| without_strict(it.0));
        assert_eq!(twice.as_ref(), Ok(&once), "{from} to {to}, twice");
    }
    Ok(lost)
}

#[test]
fn the_pages_of_conversions_are_current() {
    keep(&docs().join("conversions.md"), &names_page());
    // All pages are read before one is written.
    let pages: Vec<(PathBuf, String)> =
        dialects::ALL.iter().map(|dialect| (path(dialect), page(dialect))).collect();
    for (path, page) in pages {
        keep(&path, &page);
    }
}

/// Returns the path of the page of a dialect.
fn path(dialect: &Dialect) -> PathBuf {
    docs().join(format!("conversions/{}.md", dialect.id))
}

/// Returns the formats of a dialect.
fn formats(dialect: &'static Dialect) -> impl Iterator<Item = Format> {
    dialect.carriers().filter_map(move |carrier| Format::new(dialect, carrier).ok())
}

/// Returns the other formats on the page of a dialect. A page that does not exist yet gets all of
/// them.
fn others(dialect: &'static Dialect) -> Vec<Format> {
    let page = std::fs::read_to_string(path(dialect)).ok();
    let is_there = |format: &Format| {
        let Some(page) = &page else { return true };
        format.dialect().id == dialect.id || page.contains(&format!("`{format}`"))
    };
    Format::all().filter(is_there).collect()
}

fn told(dropped: Dropped) -> &'static str {
    match dropped {
        Dropped::Key => "an unknown key, with its value",
        Dropped::Duplicate => "all values but the last of a key that occurs twice in an object",
        Dropped::Value => "a value of the wrong type, or an unknown word",
        Dropped::Header => "a malformed header",
        Dropped::Item => "an object that is not a message, a tool or a part of the format",
        Dropped::Text => "text or a control token at a place where it is not allowed",
        Dropped::Limit => "all input after a limit is exceeded",
        Dropped::Record => "a malformed line or document",
        _ => unreachable!("a name without a description"),
    }
}

fn names_page() -> String {
    let mut page = INTRO.to_owned();
    page.push_str("## What a reader may drop\n\n| name | what |\n| --- | --- |\n");
    for dropped in Dropped::ALL {
        let _ = writeln!(page, "| `{dropped}` | {} |", told(*dropped));
    }
    page.push_str(
        "\n## What a format may not be able to represent\n\n\
         The loss as it is reported, and its name for `--allow-loss`.\n\n| loss | name |\n| --- | --- |\n",
    );
    for lost in Lost::ALL {
        let _ = writeln!(page, "| {} | `{}` |", lost.as_str(), lost.word());
    }
    page
}

fn page(dialect: &'static Dialect) -> String {
    let mut page = format!(
        "# Conversions of `{}`\n\n\
         [Conversions](../conversions.md) explains the names. A test generates this page\n\
         (`crates/openchatml/tests/matrix.rs`). It converts a conversation to each format and back.\n\
         If a pair has no loss, the conversation came back unchanged.\n",
        dialect.id
    );
    let everything = read(EVERYTHING, Format::JSON);
    let others = others(dialect);
    for format in formats(dialect) {
        let _ = write!(
            page,
            "\n## To `{format}`\n\n\
             The losses of a conversation with all features (`crates/openchatml/tests/matrix/everything.json`):\n"
        );
        page.push_str(&match converted(&everything, format) {
            Ok((_, lost)) if lost.is_empty() => "nothing is lost.\n".to_owned(),
            Ok((_, lost)) => format!("{}.\n", names(&lost)),
            Err(why) => format!("the conversion is rejected: {why}.\n"),
        });
        let _ = write!(page, "\n## From `{format}`\n\n");
        page.push_str(match beyond(format) {
            Some(_) => {
                "The losses of everything that the format can represent, including images:\n"
            }
            None => "The losses of the part of that conversation that the format can represent:\n",
        });
        let targets = others.iter().filter(|to| **to != format);
        page.push_str(&table("to", targets.map(|to| (*to, losses(format, *to)))));
        // Existing pages.
        let sources = Format::all().filter(|from| {
            let dialect = from.dialect();
            dialect.id != format.dialect().id && !self::others(dialect).contains(&format)
        });
        let sources: Vec<_> = sources.map(|from| (from, losses(from, format))).collect();
        if !sources.is_empty() {
            let _ = write!(page, "\n## From others to `{format}`\n\n");
            page.push_str(
                "The losses of the part of that conversation that each of them can represent:\n",
            );
            page.push_str(&table("from", sources.into_iter()));
        }
    }
    page
}

/// Writes the table of losses for these formats.
fn table(
    title: &str,
    pairs: impl Iterator<Item = (Format, Result<BTreeSet<Lost>, String>)>,
) -> String {
    let mut rows = String::new();
    let mut whole = Vec::new();
    for (other, lost) in pairs {
        match lost {
            Ok(lost) if lost.is_empty() => whole.push(format!("`{other}`")),
            Ok(lost) => {
                let _ = writeln!(rows, "| `{other}` | {} |", names(&lost));
            }
            Err(why) => {
                let _ = writeln!(rows, "| `{other}` | rejected: {why} |");
            }
        }
    }
    let mut table = String::new();
    if !whole.is_empty() {
        let _ = write!(table, "\nNothing is lost {title} {}.\n", whole.join(", "));
    }
    if !rows.is_empty() {
        let _ = write!(table, "\n| {title} | lost |\n| --- | --- |\n{rows}");
    }
    table
}

fn names(lost: &BTreeSet<Lost>) -> String {
    let names: Vec<&str> = lost.iter().map(|lost| lost.as_str()).collect();
    names.join(", ")
}
