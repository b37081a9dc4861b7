//! Builds the tests of the core with all changes that compile.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use serde_json::Value;
use syn::visit::Visit;

use super::edit::{self, Number, Place};
use super::{Mutant, find, say};

/// The sources of the core.
const SOURCES: &str = "crates/openchatml/src";

/// The package of the core.
const PACKAGE: &str = "openchatml";

/// The module that says whether a change is made.
const SWITCH: &str = include_str!("switch.rs.txt");

type Result<T> = std::result::Result<T, String>;

/// The tests with all changes.
pub(super) struct Build {
    /// The changes by number, without those that do not compile or are not wanted.
    pub(super) mutants: BTreeMap<Number, Mutant>,
    /// The number of changes that do not compile.
    pub(super) not_compiled: usize,
    pub(super) tests: Vec<PathBuf>,
    /// The copy of the repository.
    pub(super) tree: PathBuf,
}

/// A file of the core.
struct File {
    path: String,
    source: String,
    places: Vec<Place>,
}

/// Copies the repository and builds its tests.
pub(super) fn prepare(folder: &Path, revision: Option<&str>) -> Result<Build> {
    let tree = folder.join("tree");
    let paths = git(&["ls-files", "-z", "--cached", "--others", "--exclude-standard"])?;
    let mut files = Vec::new();
    let mut mutants = BTreeMap::new();
    let mut next: Number = 1;
    for path in paths.split('\0').filter(|path| !path.is_empty() && Path::new(path).exists()) {
        let inside = path.strip_prefix(SOURCES).map(|it| it.trim_start_matches('/'));
        let is_source = inside.is_some_and(|it| {
            it.ends_with(".rs") && !it.ends_with("/tests.rs") && !it.contains("/tests/")
        });
        if !is_source {
            let data = fs::read(path).map_err(|error| format!("{path}: {error}"))?;
            write(&tree.join(path), &data)?;
            continue;
        }
        let source = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
        let found = find::find(inside.unwrap_or_default(), &source, next)
            .map_err(|error| format!("{path}: {error}"))?;
        let numbers = next..;
        next += found.mutants.len() as Number;
        mutants.extend(numbers.zip(found.mutants));
        files.push(File { path: path.to_owned(), source, places: found.places });
    }
    if let Some(revision) = revision {
        let changed = changed_lines(revision)?;
        mutants.retain(|_, it| changed.contains(&(it.file.clone(), it.line)));
    }
    write(&tree.join(SOURCES).join("mutation.rs"), SWITCH.as_bytes())?;
    let all = mutants.len();
    loop {
        write_files(&tree, &files, &mutants)?;
        let wrong = errors(&tree, &files, &mutants)?;
        if wrong.is_empty() {
            break;
        }
        say(&format!("{} changes do not compile", wrong.len()));
        mutants.retain(|number, _| !wrong.contains(number));
    }
    let not_compiled = all - mutants.len();
    let tests = tests(&tree)?;
    let tree = tree.canonicalize().map_err(|error| error.to_string())?;
    Ok(Build { mutants, not_compiled, tests, tree })
}

/// Writes the sources with the changes that are left.
fn write_files(tree: &Path, files: &[File], mutants: &BTreeMap<Number, Mutant>) -> Result<()> {
    for File { path, source, places } in files {
        let is_alive = |number: Number| mutants.contains_key(&number);
        let mut text = edit::write(source, places, &is_alive);
        if path.ends_with("src/lib.rs") {
            text.push_str("\n#[doc(hidden)]\npub mod mutation;\n");
        }
        write(&tree.join(path), text.as_bytes())?;
    }
    Ok(())
}

/// Returns the changes that do not compile.
fn errors(
    tree: &Path,
    files: &[File],
    mutants: &BTreeMap<Number, Mutant>,
) -> Result<BTreeSet<Number>> {
    let output = cargo(tree)
        .args(["check", "--lib", "--message-format=json", "-p", PACKAGE, "--all-features"])
        .output()
        .map_err(|error| error.to_string())?;
    let mut wrong = BTreeSet::new();
    let mut unplaced = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(found) = serde_json::from_str::<Value>(line) else { continue };
        let message = &found["message"];
        if found["reason"] != "compiler-message" || message["level"] != "error" {
            continue;
        }
        let spans = message["spans"].as_array().cloned().unwrap_or_default();
        let before = wrong.len();
        for span in spans.iter().filter(|span| span["is_primary"] == true) {
            let name = span["file_name"].as_str().unwrap_or_default();
            let at = span["byte_start"].as_u64().unwrap_or_default() as usize;
            let Some(file) = files.iter().find(|file| file.path == name) else { continue };
            let text = fs::read_to_string(tree.join(&file.path)).map_err(|it| it.to_string())?;
            let around = edit::around(&text, at);
            match around.iter().find(|number| mutants.contains_key(number)) {
                Some(number) => drop(wrong.insert(*number)),
                None => wrong.extend(of_function(&text, at)),
            }
        }
        if wrong.len() == before {
            unplaced.push(message["rendered"].as_str().unwrap_or_default().to_owned());
        }
    }
    if wrong.is_empty() && !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("the core does not compile: {text}\n{}", unplaced.concat()));
    }
    Ok(wrong)
}

/// Returns the changes of the function around this place.
fn of_function(text: &str, at: usize) -> Vec<Number> {
    struct Around {
        at: usize,
        found: Option<std::ops::Range<usize>>,
    }
    impl Visit<'_> for Around {
        fn visit_block(&mut self, block: &syn::Block) {
            let range = syn::spanned::Spanned::span(block).byte_range();
            if range.contains(&self.at) {
                // The blocks of the changes themselves are too small.
                if self.found.is_none() {
                    self.found = Some(range);
                }
                syn::visit::visit_block(self, block);
            }
        }
    }
    let Ok(file) = syn::parse_file(text) else { return Vec::new() };
    let mut around = Around { at, found: None };
    around.visit_file(&file);
    let Some(range) = around.found else { return Vec::new() };
    let starts = text[range].split("/*<").skip(1);
    starts.filter_map(|it| it.split_once("*/")?.0.parse().ok()).collect()
}

/// Builds the tests and returns them.
fn tests(tree: &Path) -> Result<Vec<PathBuf>> {
    let output = cargo(tree)
        .args(["test", "--no-run", "--message-format=json", "-p", PACKAGE, "--all-features"])
        .output()
        .map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let found = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let tests = found.filter(|it| it["profile"]["test"] == true);
    Ok(tests.filter_map(|it| Some(it["executable"].as_str()?.into())).collect())
}

fn cargo(tree: &Path) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(tree);
    // Warnings of changed code say nothing.
    command.env("RUSTFLAGS", "--cap-lints=allow");
    command.env("CARGO_TARGET_DIR", "../build");
    command.env("CARGO_PROFILE_TEST_DEBUG", "0");
    command
}

/// Returns the files below the sources, and their lines that differ from a revision.
fn changed_lines(revision: &str) -> Result<HashSet<(String, usize)>> {
    let text = git(&["diff", "--unified=0", revision, "--", SOURCES])?;
    let mut found = HashSet::new();
    let mut file = String::new();
    for line in text.lines() {
        if let Some(path) = line.strip_prefix("+++ b/") {
            path.strip_prefix(SOURCES)
                .unwrap_or(path)
                .trim_start_matches('/')
                .clone_into(&mut file);
        } else if let Some(place) = line.strip_prefix("@@ ")
            && let Some(new) = place.split(' ').find_map(|it| it.strip_prefix('+'))
        {
            let (first, count) = new.split_once(',').unwrap_or((new, "1"));
            let number = |word: &str| word.parse::<usize>().unwrap_or_default();
            let first = number(first);
            found.extend((first..first + number(count)).map(|line| (file.clone(), line)));
        }
    }
    Ok(found)
}

fn git(arguments: &[&str]) -> Result<String> {
    let output = Command::new("git").args(arguments).output().map_err(|it| it.to_string())?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// Writes a file, if it changes.
fn write(path: &Path, data: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|before| before == data) {
        return Ok(());
    }
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent)
        .and_then(|()| fs::write(path, data))
        .map_err(|error| format!("{}: {error}", path.display()))
}
