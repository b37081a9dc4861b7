//! Checks the order of the modules of each crate, its floors: a module uses only lower ones.
//!
//! The order is in the `FLOORS.md` of the crate: a list item for each module, the lowest first.
//! `lib.rs` or `main.rs` is the top and is not listed.
//!
//! ```text
//! - `span`: places in a text
//! - `grammar`: readers and writers of families
//!   - `spaces`: white space
//!   - `frame`: `<|start|>…<|end|>`
//! - `dialects` (independent): one folder for each dialect
//!   - `python_text`: how Python writes JSON
//! ```
//!
//! A nested list gives the order inside that module in the same way. It contains every module
//! there; the file of the module itself is the top. `(independent)` after a name means that the
//! modules inside do not use each other. A nested list below such an item contains, in order,
//! helpers that the others may use. The file of the module itself may use all of them, and they may
//! use it.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use crate::graph::{Graph, Module, Use};

/// The crates of the workspace.
const CRATES: &str = "crates";

/// The file with the order, in the folder of a crate.
const FILE: &str = "FLOORS.md";

/// The mark of a module whose modules do not use each other.
const INDEPENDENT: &str = "(independent)";

/// The crates without a `FLOORS.md`.
const UNWRITTEN: &[&str] = &[];

/// Checks every crate.
pub(crate) fn check() -> Vec<String> {
    let Ok(entries) = fs::read_dir(CRATES) else {
        return vec![format!("{CRATES}: no such folder")];
    };
    let mut names: Vec<_> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names.iter().flat_map(|name| check_crate(name)).collect()
}

fn check_crate(name: &str) -> Vec<String> {
    let folder = format!("{CRATES}/{name}");
    let file = format!("{folder}/{FILE}");
    let is_unwritten = UNWRITTEN.contains(&name);
    match fs::read_to_string(&file) {
        Ok(_) if is_unwritten => vec![format!("{file}: remove `{name}` from `UNWRITTEN` in xtask")],
        Ok(text) => {
            let sources = format!("{folder}/src");
            let graph = Graph::read(Path::new(&sources));
            Checker { file: &file, sources: &sources, graph: &graph }.check(&text)
        }
        Err(_) if is_unwritten => Vec::new(),
        Err(error) => vec![format!("{file}: {error}; list the modules of the crate, lowest first")],
    }
}

/// An item of the list.
#[derive(Debug, PartialEq, Eq)]
struct Floor {
    module: String,
    line: usize,
    is_independent: bool,
    inside: Vec<Floor>,
}

/// Parses the list in a `FLOORS.md`.
fn floors(text: &str) -> Vec<Floor> {
    let mut items =
        text.lines().zip(1..).filter_map(|(line, number)| item(line, number)).peekable();
    inside(&mut items, 0)
}

/// Collects the items with at least this indentation, with their nested items.
fn inside(
    items: &mut std::iter::Peekable<impl Iterator<Item = (usize, Floor)>>,
    least: usize,
) -> Vec<Floor> {
    let mut floors = Vec::new();
    while let Some((indent, mut floor)) = items.next_if(|(indent, _)| *indent >= least) {
        floor.inside = inside(items, indent + 1);
        floors.push(floor);
    }
    floors
}

/// Parses a line as a list item. Returns it with its indentation.
fn item(line: &str, number: usize) -> Option<(usize, Floor)> {
    let text = line.trim_start();
    let (module, rest) = text.strip_prefix("- `")?.split_once('`')?;
    let is_independent = rest.trim_start().starts_with(INDEPENDENT);
    let module = module.to_owned();
    let floor = Floor { module, line: number, is_independent, inside: Vec::new() };
    Some((line.len() - text.len(), floor))
}

/// Checks one crate.
struct Checker<'c> {
    /// The `FLOORS.md`.
    file: &'c str,
    /// The folder of the sources.
    sources: &'c str,
    graph: &'c Graph,
}

impl Checker<'_> {
    /// Returns all violations of the order in a text.
    fn check(&self, text: &str) -> Vec<String> {
        let uses = self.graph.uses();
        let mut found = Vec::new();
        self.check_inside(&[], &floors(text), false, &uses, &mut found);
        let mut seen = HashSet::new();
        found.retain(|line| seen.insert(line.clone()));
        found
    }

    /// Checks the modules inside of the one with this path.
    fn check_inside(
        &self,
        path: &[String],
        floors: &[Floor],
        is_independent: bool,
        uses: &[Use<'_>],
        found: &mut Vec<String>,
    ) {
        self.check_list(path, floors, is_independent, found);
        for one in uses {
            if let Some(why) = refused(path, floors, is_independent, one) {
                let Use { from, line, item, .. } = one;
                found.push(format!(
                    "{}/{}:{line}: uses `{item}`, but {why}",
                    self.sources, from.file
                ));
            }
        }
        for floor in floors.iter().filter(|it| it.is_independent || !it.inside.is_empty()) {
            let path = [path, std::slice::from_ref(&floor.module)].concat();
            self.check_inside(&path, &floor.inside, floor.is_independent, uses, found);
        }
    }

    /// Checks that the list has every module once, and no other.
    fn check_list(
        &self,
        path: &[String],
        floors: &[Floor],
        is_independent: bool,
        found: &mut Vec<String>,
    ) {
        let is_inside =
            |module: &&Module| module.path.len() == path.len() + 1 && module.path.starts_with(path);
        let modules: Vec<_> = self.graph.modules.iter().filter(is_inside).collect();
        let mut listed = HashSet::new();
        for Floor { module, line, .. } in floors {
            if !modules.iter().any(|it| it.path.last() == Some(module)) {
                found.push(format!("{}:{line}: there is no module `{module}`", self.file));
            }
            if !listed.insert(module) {
                found.push(format!("{}:{line}: `{module}` is listed twice", self.file));
            }
        }
        for module in modules.iter().filter(|_| !is_independent) {
            let Some(name) = module.path.last().filter(|name| !listed.contains(name)) else {
                continue;
            };
            let (file, line) = &module.declared;
            let place = format!("{}/{file}:{line}", self.sources);
            found.push(format!("{place}: the module `{name}` is not listed in {}", self.file));
        }
    }
}

/// Returns the reason why a use violates the list of the modules inside the one with this path.
fn refused(
    path: &[String],
    floors: &[Floor],
    is_independent: bool,
    one: &Use<'_>,
) -> Option<String> {
    let from = one.from.path.strip_prefix(path)?.first();
    let to = one.to.path.strip_prefix(path)?.first();
    if from == to || is_independent && (from.is_none() || to.is_none()) {
        return None;
    }
    let from = from?;
    let Some(to) = to else {
        let own = path.last().map_or("the root of the crate".to_owned(), |own| format!("`{own}`"));
        return Some(format!("{own} is higher than `{from}`"));
    };
    let is_higher = || Some(format!("`{to}` is higher than `{from}`"));
    let place = |name: &String| floors.iter().position(|floor| floor.module == *name);
    match (place(from), place(to)) {
        (Some(user), Some(used)) if user < used => is_higher(),
        (Some(_), None) if is_independent => is_higher(),
        (None, None) if is_independent => {
            let own = path.last().map_or("", String::as_str);
            Some(format!("the modules of `{own}` are independent"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::Checker;
    use crate::graph::tests::graph;

    /// Returns the violations in a crate with these floors.
    fn found(floors: &str, files: &[(&str, &str)]) -> Vec<String> {
        let graph = graph(files);
        Checker { file: "FLOORS.md", sources: "src", graph: &graph }.check(floors)
    }

    #[test]
    fn a_cycle_is_found_in_any_order() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\npub use a::A;"),
            ("a.rs", "use crate::b::B;\npub struct A;"),
            ("b.rs", "pub struct B;\nfn f() { crate::a::g() }"),
        ];
        let a_first = found("# Floors\n\n- `a`: one\n- `b`: two\n", &files);
        assert_eq!(a_first, ["src/a.rs:1: uses `b::B`, but `b` is higher than `a`"]);
        let b_first = found("- `b`: two\n- `a`: one\n", &files);
        assert_eq!(b_first, ["src/b.rs:2: uses `a::g`, but `a` is higher than `b`"]);
    }

    #[test]
    fn a_use_through_a_re_export_counts_for_the_module_that_defines_the_item() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\nmod c;\npub use self::c::Thing;"),
            ("a.rs", "use crate::{\n    b::Other,\n    Thing,\n};"),
            ("b.rs", "pub(crate) struct Other;"),
            ("c.rs", "pub struct Thing;"),
        ];
        let found = found("- `b`\n- `a`\n- `c`", &files);
        assert_eq!(found, ["src/a.rs:3: uses `c::Thing`, but `c` is higher than `a`"]);
    }

    #[test]
    fn the_root_is_at_the_top() {
        let files = [("main.rs", "mod a;\nfn f() {}"), ("a.rs", "use super::f;")];
        let found = found("- `a`", &files);
        assert_eq!(found, ["src/a.rs:1: uses `f`, but the root of the crate is higher than `a`"]);
    }

    #[test]
    fn the_list_has_every_module_once() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\n#[cfg(test)]\nmod only_tests;"),
            ("a.rs", "mod own {}"),
            ("b.rs", ""),
            ("only_tests.rs", ""),
        ];
        let expected = [
            "FLOORS.md:2: `a` is listed twice",
            "FLOORS.md:3: there is no module `c`",
            "src/lib.rs:2: the module `b` is not listed in FLOORS.md",
        ];
        assert_eq!(found("- `a`\n- `a`\n- `c`", &files), expected);
    }

    #[test]
    fn a_list_inside_of_an_item_is_an_order_inside_of_the_module() {
        let files = [
            ("lib.rs", "mod a;"),
            ("a.rs", "mod b;\nmod c;\npub use self::b::B;\npub struct A;"),
            ("a/b.rs", "use super::c::C;\nuse super::A;\npub struct B;"),
            ("a/c.rs", "pub struct C;"),
        ];
        assert_eq!(found("- `a`", &files), [""; 0]);
        let expected = [
            "src/a.rs:2: the module `c` is not listed in FLOORS.md",
            "src/a/b.rs:2: uses `a::A`, but `a` is higher than `b`",
        ];
        assert_eq!(found("- `a`\n  - `b`", &files), expected);
        let expected = [
            "src/a/b.rs:1: uses `a::c::C`, but `c` is higher than `b`",
            "src/a/b.rs:2: uses `a::A`, but `a` is higher than `b`",
        ];
        assert_eq!(found("- `a`\n  - `b`\n  - `c`", &files), expected);
    }

    #[test]
    fn independent_modules_use_helpers_and_their_parent_but_not_each_other() {
        let files = [
            ("lib.rs", "mod a;"),
            ("a.rs", "mod b;\nmod c;\nmod help;\npub use self::b::B;\npub struct A;"),
            ("a/b.rs", "use super::c::C;\nuse super::{A, help::h};\npub struct B;"),
            ("a/c.rs", "pub struct C;"),
            ("a/help.rs", "use super::B;\npub fn h() {}"),
        ];
        let expected = [
            "src/a/b.rs:1: uses `a::c::C`, but the modules of `a` are independent",
            "src/a/help.rs:1: uses `a::b::B`, but `b` is higher than `help`",
        ];
        assert_eq!(found("- `a` (independent): all\n  - `help`", &files), expected);
    }
}
