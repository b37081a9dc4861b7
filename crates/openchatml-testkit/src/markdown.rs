//! Markdown files of the repository that tests write, or compare with what they would write.

use std::path::{Path, PathBuf};

/// A line of Markdown.
pub struct Line<'t> {
    /// Without its line break.
    pub text: &'t str,
    /// The level of a heading; 0 for everything else.
    pub level: usize,
    /// What it is.
    pub place: Place,
}

/// Where a line stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// It is text, or a heading.
    Text,
    /// It opens a code block.
    Opening,
    /// It is in a code block.
    Code,
    /// It closes a code block.
    Closing,
}

/// The lines of `text`. What looks like a heading inside of a code block is none.
pub fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut is_open = false;
    text.lines().map(move |text| {
        let is_fence = text.starts_with("```");
        let place = match (is_fence, is_open) {
            (true, false) => Place::Opening,
            (true, true) => Place::Closing,
            (false, true) => Place::Code,
            (false, false) => Place::Text,
        };
        is_open ^= is_fence;
        let marks = text.bytes().take_while(|byte| *byte == b'#').count();
        let is_heading = place == Place::Text && text[marks..].starts_with(' ');
        Line { text, level: if is_heading { marks } else { 0 }, place }
    })
}

/// `text` with the code blocks that `write` gives: it is told the info string and the content of
/// each, and gives what is to be there instead.
pub fn with_blocks(text: &str, mut write: impl FnMut(&str, &str) -> Option<String>) -> String {
    let mut out = String::new();
    let (mut info, mut content) = ("", String::new());
    for line in lines(text) {
        if line.place == Place::Code {
            push_line(&mut content, line.text);
            continue;
        }
        match line.place {
            Place::Opening => info = line.text.trim_start_matches('`'),
            Place::Closing => {
                out.push_str(&write(info, &content).unwrap_or_else(|| content.clone()));
                content.clear();
            }
            _ => {}
        }
        push_line(&mut out, line.text);
    }
    out
}

/// Adds a line and its line break.
pub fn push_line(out: &mut String, line: &str) {
    out.push_str(line);
    out.push('\n');
}

/// The guides in `docs/guide`.
///
/// # Panics
///
/// If there are none.
pub fn guides() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(docs().join("guide")).expect("there is a folder of guides");
    let paths = entries.map(|entry| entry.expect("it can be listed").path());
    let mut paths: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|it| it == "md")).collect();
    paths.sort();
    assert!(!paths.is_empty(), "there are no guides");
    paths
}

/// The guides and all other pages that people read.
pub fn pages() -> Vec<PathBuf> {
    let root = docs().join("..");
    let mut pages = guides();
    for folder in [docs(), docs().join("conversions"), root.clone(), root.join("conformance")] {
        let entries = std::fs::read_dir(folder).expect("there is such a folder");
        let paths = entries.map(|entry| entry.expect("it can be listed").path());
        pages.extend(paths.filter(|path| path.extension().is_some_and(|it| it == "md")));
    }
    pages.sort();
    pages
}

/// The folder `docs`.
pub fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// The guides say what `guide` makes of them; `UPDATE_DOCS=1` writes it.
///
/// # Panics
///
/// If one says something else.
pub fn keep_guides(mut guide: impl FnMut(&str, &Path) -> String) {
    for path in guides() {
        let stored = std::fs::read_to_string(&path).expect("it can be read");
        keep(&path, &guide(&stored, &path));
    }
}

/// The file says `wanted`; `UPDATE_DOCS=1` writes it.
///
/// # Panics
///
/// If it says something else, or cannot be written.
pub fn keep(path: &Path, wanted: &str) {
    let stored = std::fs::read_to_string(path).unwrap_or_default();
    if stored == wanted {
        return;
    }
    if std::env::var_os("UPDATE_DOCS").is_some_and(|value| value == "1") {
        // At once: another test may be reading it.
        let beside = path.with_extension("md.new");
        std::fs::write(&beside, wanted).expect("it can be written");
        return std::fs::rename(&beside, path).expect("it can be replaced");
    }
    let both = stored.lines().zip(wanted.lines()).enumerate();
    let first = both.into_iter().find(|(_, (stored, wanted))| stored != wanted);
    let (line, first) = first.map_or((0, None), |(line, first)| (line + 1, Some(first)));
    panic!("{}:{line} is stale, run with UPDATE_DOCS=1: {first:#?}", path.display());
}

/// The anchor that Markdown viewers make of a heading.
pub fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}
