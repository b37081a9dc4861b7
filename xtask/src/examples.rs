//! Checks that every public item of the core has an example in its documentation, which a test
//! runs.

use std::path::Path;

use crate::sources;

/// The crate whose documentation has the examples.
const CORE: &str = "crates/openchatml/src";

/// The keywords of items that count anywhere, also in macros. A function counts only at the
/// beginning of a line: elsewhere it is a method, and some methods are too simple for an example.
const KINDS: &[&str] = &["struct", "enum", "trait", "static", "type"];

/// The first lines of code blocks that are run.
const RUNS: &[&str] = &["```", "```rust", "```should_panic"];

/// Checks the documentation of the core. Every `pub` item is exported, because of the lint
/// `unreachable_pub`.
pub(crate) fn check() -> Vec<String> {
    let mut found = Vec::new();
    let mut files = Vec::new();
    sources::collect(Path::new(CORE), &mut files);
    files.sort();
    for file in files {
        let name = file.to_string_lossy().replace('\\', "/");
        match std::fs::read_to_string(&file) {
            Ok(text) => check_file(&name, &text, &mut found),
            Err(error) => found.push(format!("{name}: {error}")),
        }
    }
    found
}

fn check_file(name: &str, text: &str, found: &mut Vec<String>) {
    let mut doc = Doc::default();
    for (index, line) in text.lines().enumerate() {
        if doc.takes(line.trim()) {
            continue;
        }
        if let Some(item) = item(line).filter(|_| !doc.has_example) {
            found.push(format!("{name}:{}: `{item}` has no example that is run", index + 1));
        }
        doc = Doc::default();
    }
}

/// The documentation and the attributes of an item.
#[derive(Default)]
struct Doc {
    has_example: bool,
    in_code: bool,
    in_attribute: bool,
}

impl Doc {
    /// Adds a line if it is documentation or an attribute. Returns whether it is.
    fn takes(&mut self, line: &str) -> bool {
        if let Some(text) = line.strip_prefix("///") {
            let text = text.trim();
            if text.starts_with("```") {
                self.has_example |= !self.in_code && RUNS.contains(&text);
                self.in_code = !self.in_code;
            }
            return true;
        }
        let is_attribute = self.in_attribute || line.starts_with("#[");
        self.in_attribute = is_attribute && !line.ends_with(']');
        is_attribute
    }
}

/// Returns the name of the public item that the line declares.
fn item(line: &str) -> Option<&str> {
    let code = line.trim_start();
    let is_nested = code.len() < line.len();
    let mut words = code.strip_prefix("pub ")?.split(' ');
    let kind = words.find(|word| !matches!(*word, "const" | "async" | "unsafe"))?;
    let counts = KINDS.contains(&kind) || kind == "fn" && !is_nested;
    let name = words.next().filter(|_| counts)?;
    name.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}
