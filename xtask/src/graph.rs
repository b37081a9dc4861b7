//! The modules of a crate and their uses of each other.
//!
//! A use is a path in a `use` declaration, in code or in the body of a macro. It counts for the
//! module that defines the item, even through re-exports and renames. Method calls and paths in
//! strings are not found.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use crate::code::{self, Placed, Token, closing, tokens, word};

/// The maximum number of re-exports between a name and its item.
const MOST_STEPS: usize = 16;

/// The keywords that declare an item.
const ITEMS: &[&str] = &["const", "enum", "fn", "static", "struct", "trait", "type", "union"];

/// Reads a file by its path in the folder of the sources.
type ReadFile<'f> = &'f dyn Fn(&str) -> Option<String>;

/// The modules of a crate.
#[derive(Debug)]
pub(crate) struct Graph {
    /// The modules, the root first.
    pub(crate) modules: Vec<Module>,
    by_path: HashMap<Vec<String>, usize>,
    /// The modules that declare macros.
    macros: HashMap<String, usize>,
}

/// A module of a crate.
#[derive(Debug)]
pub(crate) struct Module {
    /// The path from the root, which is empty for the root.
    pub(crate) path: Vec<String>,
    /// The file, in the folder of the sources.
    pub(crate) file: String,
    /// The file and the line of its declaration.
    pub(crate) declared: (String, usize),
    items: HashSet<String>,
    imports: Vec<Import>,
    mentions: Vec<Mention>,
}

/// One name of a `use` declaration.
#[derive(Debug)]
struct Import {
    path: Vec<String>,
    /// The local name, or `*` for all names.
    name: String,
    line: usize,
}

/// A path in code, or the name of a called macro.
#[derive(Debug)]
struct Mention {
    path: Vec<String>,
    line: usize,
}

/// A use of an item.
#[derive(Debug)]
pub(crate) struct Use<'g> {
    /// The module that uses it.
    pub(crate) from: &'g Module,
    pub(crate) line: usize,
    /// The module that defines it.
    pub(crate) to: &'g Module,
    /// The path of the item from the root.
    pub(crate) item: String,
}

/// The definition of an item.
struct Target {
    module: usize,
    /// The name; empty for the module itself.
    name: String,
    /// Whether the definition was found. Definitions by macros are not.
    is_certain: bool,
}

impl Graph {
    /// Reads the crate with its sources in this folder.
    pub(crate) fn read(sources: &Path) -> Self {
        Self::load(&|file| std::fs::read_to_string(sources.join(file)).ok())
    }

    /// Reads a crate, file by file.
    pub(crate) fn load(read: ReadFile<'_>) -> Self {
        let mut graph =
            Self { modules: Vec::new(), by_path: HashMap::new(), macros: HashMap::new() };
        let roots = ["lib.rs", "main.rs"];
        if let Some((file, text)) = roots.iter().find_map(|file| Some((*file, read(file)?))) {
            graph.add(Vec::new(), file, (file.to_owned(), 1), &tokens(&text), read);
        }
        graph
    }

    /// Adds a module and the modules that it declares.
    fn add(
        &mut self,
        path: Vec<String>,
        file: &str,
        declared: (String, usize),
        tokens: &[Placed<'_>],
        read: ReadFile<'_>,
    ) {
        let index = self.modules.len();
        let mut reader = ModuleReader::default();
        reader.read(tokens);
        for name in reader.macros {
            self.macros.insert(name, index);
        }
        self.by_path.insert(path.clone(), index);
        self.modules.push(Module {
            path: path.clone(),
            file: file.to_owned(),
            declared,
            items: reader.items,
            imports: reader.imports,
            mentions: reader.mentions,
        });
        for (name, line, body) in reader.children {
            let path = [path.as_slice(), &[name]].concat();
            let declared = (file.to_owned(), line);
            if let Some(body) = body {
                self.add(path, file, declared, body, read);
                continue;
            }
            let base = path.join("/");
            let files = [format!("{base}.rs"), format!("{base}/mod.rs")];
            let found = files.into_iter().find_map(|file| read(&file).map(|text| (file, text)));
            if let Some((file, text)) = found {
                self.add(path, &file, declared, &code::tokens(&text), read);
            }
        }
    }

    /// Returns every use of an item outside of its module. A `use` of a module is not counted, but
    /// paths through it are.
    pub(crate) fn uses(&self) -> Vec<Use<'_>> {
        let mut uses = Vec::new();
        for (at, module) in self.modules.iter().enumerate() {
            for import in &module.imports {
                let Some(target) = self.target(at, &import.path) else { continue };
                if !target.name.is_empty() || import.name == "*" {
                    self.push(&mut uses, at, import.line, &target);
                }
            }
            for mention in &module.mentions {
                if let Some(target) = self.mentioned(at, &mention.path) {
                    self.push(&mut uses, at, mention.line, &target);
                }
            }
        }
        uses
    }

    fn push<'g>(&'g self, uses: &mut Vec<Use<'g>>, from: usize, line: usize, target: &Target) {
        if target.module == from {
            return;
        }
        let (from, to) = (&self.modules[from], &self.modules[target.module]);
        let mut item = to.path.clone();
        item.extend((!target.name.is_empty()).then(|| target.name.clone()));
        uses.push(Use { from, line, to, item: item.join("::") });
    }

    /// Resolves a path in code, unless it begins with an imported item.
    fn mentioned(&self, at: usize, path: &[String]) -> Option<Target> {
        let module = &self.modules[at];
        let import = module.imports.iter().find(|import| import.name == path[0]);
        if let Some(import) = import
            && !self.target(at, &import.path)?.name.is_empty()
        {
            return None;
        }
        let [name] = path else { return self.target(at, path) };
        let is_own = import.is_some() || module.items.contains(name);
        let module = self.macros.get(name).filter(|_| !is_own)?;
        Some(Target { module: *module, name: name.clone(), is_certain: true })
    }

    /// Resolves a path in a module, if it leads into this crate.
    fn target(&self, at: usize, path: &[String]) -> Option<Target> {
        let path = self.absolute(at, path, MOST_STEPS)?;
        self.define(&path, MOST_STEPS)
    }

    /// Converts a path in a module to one from the root, if it leads into this crate.
    fn absolute(&self, at: usize, path: &[String], steps: usize) -> Option<Vec<String>> {
        let module = &self.modules[at];
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => return Some(rest.to_vec()),
            "self" => return Some([&module.path, rest].concat()),
            "super" => {
                let supers = path.iter().take_while(|word| *word == "super").count();
                let base = module.path.len().checked_sub(supers)?;
                return Some([&module.path[..base], &path[supers..]].concat());
            }
            _ => {}
        }
        let own = [&module.path, path].concat();
        if self.by_path.contains_key(&own[..=module.path.len()]) {
            return Some(own);
        }
        let steps = steps.checked_sub(1)?;
        let imported = |import: &Import| {
            let base = self.absolute(at, &import.path, steps)?;
            Some([&base, rest].concat())
        };
        // A function may have the name of an imported module.
        let mut named = module.imports.iter().filter(|import| import.name == *first);
        let found = named.find_map(imported);
        found.or_else(|| module.items.contains(first).then_some(own))
    }

    /// Finds the module that defines the item at a path from the root.
    fn define(&self, path: &[String], steps: usize) -> Option<Target> {
        let steps = steps.checked_sub(1)?;
        let len = (0..=path.len()).rev().find(|len| self.by_path.contains_key(&path[..*len]))?;
        let module = self.by_path[&path[..len]];
        let Some(name) = path.get(len).filter(|name| *name != "*") else {
            return Some(Target { module, name: String::new(), is_certain: true });
        };
        let target = |module, is_certain| Target { module, name: name.clone(), is_certain };
        if self.modules[module].items.contains(name) {
            return Some(target(module, true));
        }
        let imports = &self.modules[module].imports;
        let mut named = imports.iter().filter(|import| import.name == *name);
        let by_name = |import: &Import| {
            let base = self.absolute(module, &import.path, MOST_STEPS)?;
            self.define(&[&base, &path[len + 1..]].concat(), steps)
        };
        if let Some(found) = named.find_map(by_name) {
            return Some(found);
        }
        let globs = imports.iter().filter(|import| import.name == "*");
        let by_glob = |import: &Import| {
            let base = self.absolute(module, &import.path, MOST_STEPS)?;
            let (_, base) = base.split_last()?;
            self.define(&[base, &path[len..]].concat(), steps)
        };
        if let Some(found) = globs.filter_map(by_glob).find(|found| found.is_certain) {
            return Some(found);
        }
        let exported = self.macros.get(name).filter(|_| len == 0);
        Some(exported.map_or(target(module, false), |module| target(*module, true)))
    }
}

/// Reads one module.
#[derive(Default)]
struct ModuleReader<'t, 's> {
    items: HashSet<String>,
    macros: Vec<String>,
    imports: Vec<Import>,
    mentions: Vec<Mention>,
    /// The declared modules: names, lines, and bodies if they are inline.
    children: Vec<(String, usize, Option<&'s [Placed<'t>]>)>,
}

impl<'t, 's> ModuleReader<'t, 's> {
    fn read(&mut self, tokens: &'s [Placed<'t>]) {
        let mut depth = 0_usize;
        let mut at = 0;
        while let Some((token, _)) = tokens.get(at) {
            match *token {
                Token::Sign('(' | '[' | '{') => depth += 1,
                Token::Sign(')' | ']' | '}') => depth = depth.saturating_sub(1),
                Token::Word(first) => {
                    at = self.read_word(first, tokens, at, depth);
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// Reads code that starts with a word. Returns the index after it.
    fn read_word(
        &mut self,
        first: &str,
        tokens: &'s [Placed<'t>],
        at: usize,
        depth: usize,
    ) -> usize {
        let line = tokens[at].1;
        let token = |ahead: usize| tokens.get(at + ahead).map(|placed| placed.0);
        match (first, token(1), token(2)) {
            ("use", Some(next), _) if next != Token::Sign('<') => {
                return self.read_tree(tokens, at + 1, &[]);
            }
            // A visibility, not a use.
            ("pub", Some(Token::Sign('(')), Some(Token::Word("in"))) => {
                return closing(tokens, at + 1) + 1;
            }
            ("mod", Some(Token::Word(name)), Some(Token::Sign('{'))) => {
                let end = closing(tokens, at + 2);
                self.children.push((name.to_owned(), line, tokens.get(at + 3..end)));
                return end + 1;
            }
            ("mod", Some(Token::Word(name)), Some(Token::Sign(';'))) => {
                self.children.push((name.to_owned(), line, None));
            }
            ("macro_rules", Some(Token::Sign('!')), Some(Token::Word(name))) => {
                self.items.insert(name.to_owned());
                self.macros.push(name.to_owned());
                return at + 3;
            }
            (_, Some(Token::Word(name)), _) if depth == 0 && ITEMS.contains(&first) => {
                self.items.insert(name.to_owned());
            }
            (_, Some(Token::Sign('!')), Some(Token::Sign('(' | '[' | '{'))) => {
                self.mentions.push(Mention { path: vec![first.to_owned()], line });
            }
            (_, Some(Token::Path), _) => return self.read_path(tokens, at),
            _ => {}
        }
        at + 1
    }

    /// Reads a path in code. Returns the index after it.
    fn read_path(&mut self, tokens: &[Placed<'_>], at: usize) -> usize {
        let before = at.checked_sub(1).map(|at| tokens[at].0);
        let mut path = Vec::new();
        let mut end = at;
        while let Some(name) = tokens.get(end).and_then(|placed| word(placed.0)) {
            path.push(name.to_owned());
            end += 1;
            match (tokens.get(end), tokens.get(end + 1)) {
                (Some((Token::Path, _)), Some((Token::Word(_), _))) => end += 1,
                _ => break,
            }
        }
        // A path after `::` belongs to another crate, or is the rest of a path with generics.
        if path.len() > 1 && before != Some(Token::Path) {
            self.mentions.push(Mention { path, line: tokens[at].1 });
        }
        end
    }

    /// Reads a `use` tree below a prefix. Returns the index of its end.
    fn read_tree(&mut self, tokens: &[Placed<'_>], start: usize, prefix: &[String]) -> usize {
        let mut path = prefix.to_vec();
        let mut name = None;
        let mut line = 1;
        let mut at = start;
        while let Some((token, token_line)) = tokens.get(at) {
            line = *token_line;
            match *token {
                Token::Word("as") => {
                    name = tokens.get(at + 1).and_then(|placed| word(placed.0));
                    at += 1;
                }
                Token::Word(word) => path.push(word.to_owned()),
                Token::Sign('*') => path.push("*".to_owned()),
                // The name of another crate follows.
                Token::Path if path.is_empty() => path.push(String::new()),
                Token::Path => {}
                Token::Sign('{') => return self.read_branches(tokens, at + 1, &path),
                _ => break,
            }
            at += 1;
        }
        if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        if let Some(last) = path.last() {
            let name = name.unwrap_or(last).to_owned();
            self.imports.push(Import { path, name, line });
        }
        at
    }

    /// Reads the braces of a `use` tree. Returns the index after them.
    fn read_branches(&mut self, tokens: &[Placed<'_>], start: usize, prefix: &[String]) -> usize {
        let mut at = start;
        while let Some((token, _)) = tokens.get(at) {
            at = match token {
                Token::Sign('}') => return at + 1,
                Token::Sign(',') => at + 1,
                _ => self.read_tree(tokens, at, prefix).max(at + 1),
            };
        }
        at
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::Graph;

    /// Creates a crate from files with their paths.
    pub(crate) fn graph(files: &[(&str, &str)]) -> Graph {
        Graph::load(&|name| {
            let file = files.iter().find(|file| file.0 == name);
            file.map(|file| file.1.to_owned())
        })
    }

    /// Returns the uses in a crate: the file, the line and the item.
    fn uses(files: &[(&str, &str)]) -> Vec<String> {
        let graph = graph(files);
        let line = |it: &super::Use<'_>| format!("{}:{} {}", it.from.file, it.line, it.item);
        graph.uses().iter().map(line).collect()
    }

    #[test]
    fn re_exports_lead_to_the_file_that_defines_the_item() {
        let found = uses(&[
            ("lib.rs", "mod a;\nmod b;\nmod c;\npub use self::b::{Thing, helper as help};"),
            ("a.rs", "use crate::{Thing, help};\nuse crate::c::*;"),
            ("b/mod.rs", "mod deep;\npub use deep::Thing;\npub fn helper() {}"),
            ("b/deep.rs", "pub struct Thing;"),
            ("c.rs", "pub(crate) use super::b::*;"),
        ]);
        let expected = [
            "lib.rs:4 b::deep::Thing",
            "lib.rs:4 b::helper",
            "a.rs:1 b::deep::Thing",
            "a.rs:1 b::helper",
            "a.rs:2 c",
            "b/mod.rs:2 b::deep::Thing",
            "c.rs:1 b",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn use_trees_may_have_several_lines_and_other_names() {
        let found = uses(&[
            ("lib.rs", "mod a; mod b;"),
            (
                "a.rs",
                "use crate::{\n    b::{\n        self as other, One,\n        Two as Three,\n    },\n};\n\
                 use std::{fmt, io};\nuse ::b::Four;\nfn f() { other::five(); Three::new(); fmt::g() }",
            ),
            ("b.rs", "pub struct One; pub enum Two {} pub fn five() {}"),
        ]);
        assert_eq!(found, ["a.rs:3 b::One", "a.rs:4 b::Two", "a.rs:9 b::five"]);
    }

    #[test]
    fn paths_in_code_are_uses() {
        let found = uses(&[
            ("lib.rs", "mod a; mod b;"),
            (
                "a.rs",
                "mod c;\n\
                 fn f(x: &dyn crate::b::Trait) -> <Vec<u8> as crate::b::Trait>::Out {\n\
                 super::b::g::<u8>();\n\
                 self::c::h(); c::h();\n\
                 x.b::<u8>(); ::b::g(); std::b::g()\n\
                 }\n\
                 #[serde(with = \"crate::b\")]\n\
                 pub(in crate::b) struct S;",
            ),
            ("a/c.rs", "pub(crate) fn h() { use crate::b::g; g(); }"),
            ("b.rs", "pub(crate) trait Trait {} pub(crate) fn g() {}"),
        ]);
        let expected = [
            "a.rs:2 b::Trait",
            "a.rs:2 b::Trait",
            "a.rs:3 b::g",
            "a.rs:4 a::c::h",
            "a.rs:4 a::c::h",
            "a/c.rs:1 b::g",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn comments_texts_and_tests_are_not_uses() {
        let found = uses(&[
            ("lib.rs", "mod a; mod b; #[cfg(test)] mod only_tests;"),
            (
                "a.rs",
                "//! [`crate::b::One`]\n// use crate::b::One;\n/* crate::b::One */\n\
                 const A: &str = \"crate::b::One\";\nconst B: &str = r#\"use crate::b::One;\"#;\n\
                 #[cfg(test)]\nmod tests { use crate::b::One; }",
            ),
            ("b.rs", "pub struct One;"),
            ("only_tests.rs", "use crate::b::One;"),
        ]);
        assert_eq!(found, [""; 0]);
    }

    #[test]
    fn macros_are_items_by_path_and_by_name() {
        let found = uses(&[
            ("lib.rs", "mod a; mod b; mod c; mod d; mod e;"),
            ("a.rs", "macro_rules! words { () => { $crate::e::one() } }\npub(crate) use words;"),
            ("b.rs", "use crate::a::words;\nwords!();"),
            ("c.rs", "crate::a::words! {}\ncrate::exported!();"),
            ("d.rs", "words![];\nformat!(\"\");\nmacro_rules! own { () => {} }\nown!();"),
            ("e.rs", "#[macro_export] macro_rules! exported { () => {} }\npub(crate) fn one() {}"),
        ]);
        let expected = [
            "a.rs:1 e::one",
            "b.rs:1 a::words",
            "c.rs:1 a::words",
            "c.rs:2 e::exported",
            "d.rs:1 a::words",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn names_of_other_crates_lead_nowhere() {
        let found = uses(&[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use memchr::memchr;\nuse b;\nfn f() { memchr::memmem(); b::g() }"),
            ("b.rs", "pub(crate) use crate::b as again;\npub(crate) use again::nothing;"),
        ]);
        assert_eq!(found, [""; 0]);
    }

    #[test]
    fn a_function_may_have_the_name_of_an_imported_module() {
        let found = uses(&[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b;\npub fn b() { b::c(); }"),
            ("b.rs", "pub fn c() {}"),
        ]);
        assert_eq!(found, ["a.rs:2 b::c"]);
    }

    #[test]
    fn modules_inside_of_files_have_names_of_their_own() {
        let found = uses(&[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "mod own { use super::super::b::One;\nuse super::Two; }\nstruct Two;"),
            ("b.rs", "pub(crate) struct One;"),
        ]);
        assert_eq!(found, ["a.rs:1 b::One", "a.rs:2 a::Two"]);
    }
}
