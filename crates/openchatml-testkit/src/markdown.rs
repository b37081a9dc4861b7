//! Markdown files of the repository that tests check or update.

use std::path::{Path, PathBuf};

/// A line of Markdown.
pub struct Line<'t> {
    /// The text without the line break.
    pub text: &'t str,
    /// The level of a heading; 0 for everything else.
    pub level: usize,
    /// The place of the line.
    pub place: Place,
}

/// The place of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Text or a heading.
    Text,
    /// The line that opens a code block.
    Opening,
    /// Inside a code block.
    Code,
    /// The line that closes a code block.
    Closing,
}

/// Returns the lines of `text`. Lines inside of code blocks are never headings.
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

/// Replaces the code blocks of `text`. `write` receives the info string and the content of each
/// block, and returns the new content.
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

/// Returns the pages whose blocks show results: the guides in `docs/guide`, the page for programs
/// that migrate, and the READMEs of the crates.
///
/// # Panics
///
/// There are no guides.
pub fn guides() -> Vec<PathBuf> {
    let mut paths = files(&docs().join("guide"));
    assert!(!paths.is_empty(), "there are no guides");
    paths.push(docs().join("migrating.md"));
    paths.extend(readmes());
    paths.sort();
    paths
}

/// Returns the guides and all other pages.
pub fn pages() -> Vec<PathBuf> {
    let root = docs().join("..");
    let folders = [
        docs().join("guide"),
        docs(),
        docs().join("conversions"),
        root.clone(),
        root.join("conformance"),
    ];
    let mut pages: Vec<_> = folders.iter().flat_map(|folder| files(folder)).collect();
    pages.extend(readmes());
    pages.sort();
    pages
}

/// Returns the READMEs of the crates.
fn readmes() -> Vec<PathBuf> {
    let crates = std::fs::read_dir(docs().join("../crates")).expect("there is a folder of crates");
    let readmes = crates.map(|entry| entry.expect("it can be listed").path().join("README.md"));
    readmes.filter(|path| path.exists()).collect()
}

/// Returns the Markdown files of a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("there is such a folder");
    let paths = entries.map(|entry| entry.expect("it can be listed").path());
    paths.filter(|path| path.extension().is_some_and(|it| it == "md")).collect()
}

/// Returns the folder `docs`.
pub fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// Checks that the guides equal the output of `guide`. `UPDATE_DOCS=1` updates them.
///
/// # Panics
///
/// A guide differs.
pub fn keep_guides(mut guide: impl FnMut(&str, &Path) -> String) {
    for path in guides() {
        let stored = std::fs::read_to_string(&path).expect("it can be read");
        keep(&path, &guide(&stored, &path));
    }
}

/// Checks that the content of the file is `wanted`. `UPDATE_DOCS=1` updates it.
///
/// # Panics
///
/// The file differs, or cannot be written.
pub fn keep(path: &Path, wanted: &str) {
    let stored = std::fs::read_to_string(path).unwrap_or_default();
    if stored == wanted {
        return;
    }
    if std::env::var_os("UPDATE_DOCS").is_some_and(|value| value == "1") {
        // The file is replaced atomically, because another test may be reading it.
        let beside = path.with_extension("md.new");
        std::fs::write(&beside, wanted).expect("it can be written");
        return std::fs::rename(&beside, path).expect("it can be replaced");
    }
    let both = stored.lines().zip(wanted.lines()).enumerate();
    let first = both.into_iter().find(|(_, (stored, wanted))| stored != wanted);
    let (line, first) = first.map_or((0, None), |(line, first)| (line + 1, Some(first)));
    panic!("{}:{line} is stale, run with UPDATE_DOCS=1: {first:#?}", path.display());
}

/// Returns the anchor that Markdown viewers create for a heading.
pub fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}
