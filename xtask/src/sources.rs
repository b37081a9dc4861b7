//! Rules about source files.

use std::path::{Path, PathBuf};

/// The maximum length of a file. A file is one idea: from 400 lines on, consider splitting it.
const MOST_LINES: usize = 600;

/// Checks every Rust file of the workspace.
pub(crate) fn check() -> Vec<String> {
    let mut found = Vec::new();
    let mut files = Vec::new();
    for folder in ["crates", "xtask", "bench", "fuzz"] {
        collect(Path::new(folder), &mut files);
    }
    let spellings = spellings();
    for file in files {
        let name = file.to_string_lossy().replace('\\', "/");
        match std::fs::read_to_string(&file) {
            Ok(text) => check_file(&name, &text, &spellings, &mut found),
            Err(error) => found.push(format!("{name}: {error}")),
        }
    }
    found
}

/// Adds the Rust files in a folder and below it to `files`.
pub(crate) fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() && !path.ends_with("target") {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// Returns the beginnings of literals that spell control tokens: those of all dialects, and common
/// ones of other models.
fn spellings() -> Vec<String> {
    let all = openchatml::dialects::ALL.iter().flat_map(|dialect| dialect.controls.entries());
    let shapes = ["<|", "<｜"].into_iter();
    all.map(|entry| entry.1).chain(shapes).map(|spelling| format!("\"{spelling}")).collect()
}

fn check_file(name: &str, text: &str, spellings: &[String], found: &mut Vec<String>) {
    let lines = text.lines().count();
    if lines > MOST_LINES {
        found.push(format!("{name}: {lines} lines; split it"));
    }
    if name.ends_with(".rs") && !text.starts_with("//!") && !name.contains("/target/") {
        found.push(format!("{name}: begins without a line that says what it is about"));
    }
    if !name.starts_with("crates/openchatml/src") {
        return;
    }
    let has_spellings = name.contains("/dialects/") || name.contains("/lex/");
    for (index, line) in text.lines().enumerate() {
        let code = line.split("//").next().unwrap_or_default();
        let place = format!("{name}:{}", index + 1);
        if !has_spellings && spellings.iter().any(|spelling| code.contains(spelling)) {
            found
                .push(format!("{place}: spells a control token outside of a dialect or the lexer"));
        }
        for (word, why) in IMPURE {
            if code.contains(word) {
                found.push(format!("{place}: `{word}`: {why}"));
            }
        }
    }
}

/// The items that the core must not use.
const IMPURE: &[(&str, &str)] = &[
    ("std::fs", "the core does no I/O"),
    ("std::io", "the core does no I/O"),
    ("std::env", "the core does not look around"),
    ("std::time", "the core has no clock"),
    ("std::thread", "the core starts no threads"),
    ("std::net", "the core has no network"),
    ("todo!", "nothing is left undone"),
    ("unimplemented!", "nothing is left undone"),
];
