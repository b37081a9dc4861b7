//! The string literals of the libraries' sources.
//!
//! A scanner, not a parser: it finds literals and the calls that they are arguments of.

use std::path::{Path, PathBuf};

/// The crates whose sources are scanned.
const CRATES: &[&str] = &[
    "openchatml",
    "openchatml-grammars",
    "openchatml-templates",
    "openchatml-tokens",
    "openchatml-tools",
];

/// Literals in calls of these functions are for developers, not for users.
const INTERNAL: &[&str] =
    &["assert", "assert_eq", "debug_assert", "debug_assert_eq", "expect", "panic", "unreachable"];

/// Files that are excluded: `docs/diagnostics.md` records the texts of codes, and the others write
/// grammars and templates.
const NO_MESSAGES: &[&str] = &[
    "openchatml/src/diagnostic/code.rs",
    "openchatml-grammars/src/gbnf/json.rs",
    "openchatml-grammars/src/gbnf/rules.rs",
    "openchatml-templates/src/source/rewrite.rs",
];

/// A string literal outside of tests.
pub(crate) struct Literal {
    /// The file, relative to the folder `crates`.
    pub(crate) file: String,
    /// The text, with resolved escapes.
    pub(crate) text: String,
}

impl Literal {
    /// Whether the text is a sentence for people: several words, and not the beginning of a prompt,
    /// which has capital letters or several lines.
    pub(crate) fn is_sentence(&self) -> bool {
        let text = self.text.trim();
        let words = text.split(' ').filter(|word| {
            word.len() > 1
                && word.trim_end_matches([',', ';', ':']).chars().all(char::is_alphabetic)
        });
        let is_prompt = text.contains('\n')
            || text.starts_with('#')
            || text.starts_with(|c: char| c.is_ascii_uppercase());
        words.count() > 1 && !is_prompt
    }
}

/// Returns the literals of all crates, sorted by file and position.
pub(crate) fn all() -> Vec<Literal> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for name in CRATES {
        collect(&root.join(name).join("src"), &mut files);
    }
    let mut literals = Vec::new();
    for path in files {
        let file = path.strip_prefix(&root).expect("a file below the folder");
        let file = file.to_string_lossy().replace('\\', "/");
        if NO_MESSAGES.contains(&file.as_str()) {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let tests = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
        let found = scan(&text[..tests]).into_iter();
        literals.extend(found.map(|text| Literal { file: file.clone(), text }));
    }
    literals
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).expect("a folder of sources");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|it| it == "rs") && !path.ends_with("tests.rs") {
            files.push(path);
        }
    }
}

/// Returns the literals of a source text, except those in attributes and in calls of [`INTERNAL`].
fn scan(text: &str) -> Vec<String> {
    let mut literals = Vec::new();
    // For each open bracket: whether it is an internal call, or in one.
    let mut open: Vec<bool> = Vec::new();
    let mut word = "";
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let len = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some((len, literal)) = string(rest) {
            if !open.last().is_some_and(|it| *it) {
                literals.push(literal);
            }
            len
        } else if first == '\'' {
            character(rest)
        } else if first.is_alphanumeric() || first == '_' {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
            word = &rest[..end.unwrap_or(rest.len())];
            word.len()
        } else {
            match first {
                '(' | '[' | '{' => {
                    let outer = open.last().is_some_and(|it| *it);
                    open.push(outer || INTERNAL.contains(&word) || word == "#");
                }
                ')' | ']' | '}' => drop(open.pop()),
                '#' => word = "#",
                _ => {}
            }
            if !matches!(first, '!' | '#') && !first.is_whitespace() {
                word = "";
            }
            first.len_utf8()
        };
        rest = &rest[len..];
    }
    literals
}

/// Returns the length and the content of the string literal at the beginning of `text`.
fn string(text: &str) -> Option<(usize, String)> {
    let raw = text.strip_prefix('r').map(|rest| (rest, rest.trim_start_matches('#')));
    if let Some((hashes, rest)) = raw.filter(|it| it.1.starts_with('"')) {
        let end = format!("\"{}", &hashes[..hashes.len() - rest.len()]);
        let len = rest[1..].find(&end)?;
        let start = text.len() - rest.len() + 1;
        return Some((start + len + end.len(), rest[1..=len].to_owned()));
    }
    let mut chars = text.strip_prefix('"')?.char_indices();
    let mut out = String::new();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((at + 2, out)),
            '\\' => match chars.next()?.1 {
                'n' => out.push('\n'),
                't' => out.push('\t'),
                // An escaped line break, with the spaces after it.
                '\n' => {
                    let rest = chars.as_str();
                    let spaces = rest.len() - rest.trim_start().len();
                    if spaces > 0 {
                        chars.nth(spaces - 1);
                    }
                }
                c => out.push(c),
            },
            c => out.push(c),
        }
    }
    None
}

/// Returns the length of a character literal, or of the `'` of a lifetime.
fn character(text: &str) -> usize {
    let rest = &text[1..];
    if rest.starts_with('\\') {
        return rest[2..].find('\'').map_or(1, |at| at + 4);
    }
    let len = rest.chars().next().map_or(0, char::len_utf8);
    if rest[len..].starts_with('\'') { len + 2 } else { 1 }
}
