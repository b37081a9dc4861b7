//! Checks that only the dialects name dialects: other code of the core uses the properties in their
//! tables and never compares ids.

use std::collections::BTreeMap;
use std::path::Path;

use openchatml::dialects::ALL;

use crate::code::{Placed, Token, closing, tokens, word};
use crate::graph::Graph;

/// The sources of the core.
const CORE: &str = "crates/openchatml/src";

/// The module with the dialects.
const DIALECTS: &str = "dialects";

/// The ids of dialects that are also ordinary words. They count only with a carrier (`json:text`) and
/// in paths into the dialects.
const AMBIGUOUS: &[&str] = &["json", "records", "responses"];

/// The files that may name a dialect, and the reasons: a specification or the public API requires
/// it. All other files must use the tables.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("check/channel.rs", "headers of 2.2 have a profile `harmony` (OpenChatML 2.2 §12)"),
    ("check/mod.rs", "headers of 2.2 have a profile `harmony`"),
    ("harmony/mod.rs", "the form that Harmony's own contents are kept under"),
    ("header/mod.rs", "headers of 2.2 have a profile `harmony`"),
    ("header/settings.rs", "headers of 2.2 have a profile `harmony`"),
    ("lib.rs", "the public path of Harmony's own contents, and of the profile in headers"),
    ("options/render.rs", "the public name of a profile"),
];

/// Checks the core.
pub(crate) fn check() -> Vec<String> {
    let graph = Graph::read(Path::new(CORE));
    excepted(found(&graph, &|file| std::fs::read_to_string(Path::new(CORE).join(file))), EXCEPTIONS)
}

/// The mentions of dialects in each file: lines and descriptions.
type Found = BTreeMap<String, Vec<(usize, String)>>;

/// Finds the files outside of the dialects that name one.
fn found(graph: &Graph, read: &dyn Fn(&str) -> std::io::Result<String>) -> Found {
    let is_outside = |path: &[String]| path.first().is_none_or(|first| first != DIALECTS);
    let mut found = Found::new();
    for module in graph.modules.iter().filter(|module| is_outside(&module.path)) {
        let names = match read(&module.file) {
            Ok(text) => names(&tokens(&text)),
            Err(error) => vec![(1, error.to_string())],
        };
        // An inline module is read with its file.
        found.insert(module.file.clone(), names);
    }
    for one in graph.uses() {
        let is_of_dialect = !is_outside(&one.to.path) && one.to.path.len() > 1;
        if is_outside(&one.from.path) && is_of_dialect {
            let what = format!("uses `{}`", one.item);
            found.entry(one.from.file.clone()).or_default().push((one.line, what));
        }
    }
    for names in found.values_mut() {
        names.sort();
        names.dedup();
    }
    found.retain(|_, names| !names.is_empty());
    found
}

/// Reports mentions in files without an exception, and unneeded exceptions.
fn excepted(mut found: Found, exceptions: &[(&str, &str)]) -> Vec<String> {
    let mut lines = Vec::new();
    for (file, _) in exceptions {
        if found.remove(*file).is_none() {
            let text = "knows no dialect; remove it from `EXCEPTIONS` in xtask/src/names.rs";
            lines.push(format!("{CORE}/{file}: {text}"));
        }
    }
    for (file, names) in found {
        for (line, what) in names {
            lines.push(format!("{CORE}/{file}:{line}: {what}; ask its table instead"));
        }
    }
    lines
}

/// Finds names of dialects and comparisons of their ids.
fn names(tokens: &[Placed<'_>]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, (token, line)) in tokens.iter().enumerate() {
        match token {
            Token::Word(name) if is_dialect(name) => {
                found.push((*line, format!("names the dialect of `{name}`")));
            }
            Token::Text(text) if is_id(text) => {
                found.push((*line, format!("names the dialect \"{text}\"")));
            }
            Token::Word("id") if compares_id(tokens, at) => {
                found.push((*line, "compares the id of a dialect".to_owned()));
            }
            _ => {}
        }
    }
    found
}

/// Whether a name in code contains the name of a dialect: `HARMONY`, `HarmonyProfile`,
/// `is_harmony`.
fn is_dialect(name: &str) -> bool {
    let mut snake = String::from("_");
    let mut was_small = false;
    for c in name.chars() {
        if was_small && c.is_uppercase() {
            snake.push('_');
        }
        was_small = c.is_lowercase();
        snake.extend(c.to_lowercase());
    }
    snake.push('_');
    let mut ids = ALL.iter().map(|dialect| dialect.id).filter(|id| !AMBIGUOUS.contains(id));
    ids.any(|id| snake.contains(&format!("_{}_", id.replace(['-', '.'], "_"))))
}

/// Whether a text is the id of a dialect, alone or with a carrier.
fn is_id(text: &str) -> bool {
    let id = text.split_once(':').map_or(text, |(id, _)| id);
    let is_plain = id.len() == text.len();
    ALL.iter().any(|dialect| dialect.id == id) && !(is_plain && AMBIGUOUS.contains(&id))
}

/// Whether the word at this index ends a compared or matched value that is the id of a dialect:
/// `….dialect.id` or `….dialect().id`. A form id has its own type, and comparing it with that of a
/// table is allowed.
fn compares_id(tokens: &[Placed<'_>], at: usize) -> bool {
    let first = value(tokens, at);
    let is = |at: Option<usize>, token| {
        at.and_then(|at| tokens.get(at)).is_some_and(|placed| placed.0 == token)
    };
    let equals = |first, second| {
        let begins = is(first, Token::Sign('=')) || is(first, Token::Sign('!'));
        begins && is(second, Token::Sign('='))
    };
    let before = |count| first.checked_sub(count);
    let is_compared = equals(Some(at + 1), Some(at + 2))
        || equals(before(2), before(1))
        || is(before(1), Token::Word("match"));
    let of_dialect = tokens[first..at].iter().any(|it| it.0 == Token::Word("dialect"));
    is_compared && first < at && of_dialect
}

/// Returns the start of the value that ends with the word at this index: `a.b().c`.
fn value(tokens: &[Placed<'_>], at: usize) -> usize {
    let mut first = at;
    while first > 1 && tokens[first - 1].0 == Token::Sign('.') {
        let mut before = first - 2;
        if tokens[before].0 == Token::Sign(')') {
            let is_its_opener = |open: &usize| closing(tokens, *open) == before;
            let open = (0..before).rev().find(is_its_opener);
            before = open.and_then(|open| open.checked_sub(1)).unwrap_or(first);
        }
        if before >= first || word(tokens[before].0).is_none() {
            break;
        }
        first = before;
    }
    first
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::{CORE, excepted, found, names};
    use crate::code::tokens;
    use crate::graph::tests::graph;

    /// Returns the descriptions of the findings in code.
    fn whats(text: &str) -> Vec<String> {
        names(&tokens(text)).into_iter().map(|(_, what)| what).collect()
    }

    #[test]
    fn names_and_ids_of_dialects_are_found() {
        for name in ["HARMONY", "HarmonyProfile", "is_harmony_builtin", "OPENCHATML_2_2"] {
            assert_eq!(whats(name), [format!("names the dialect of `{name}`")]);
        }
        for id in ["harmony", "openchatml-2.2", "json:tokens", "chatml"] {
            assert_eq!(whats(&format!("\"{id}\"")), [format!("names the dialect \"{id}\"")]);
        }
        for other in ["json", "ImStart", "responses", "openchatml", "OpenChatMl", "harmonic"] {
            assert_eq!(whats(&format!("{other} \"{other}\" // harmony")), [""; 0]);
        }
    }

    #[test]
    fn comparisons_of_ids_are_found() {
        for text in [
            "a.dialect.id == id",
            "id != target.of(b, c).dialect().id",
            "match format.dialect.id {",
        ] {
            assert_eq!(whats(text), ["compares the id of a dialect"], "{text}");
        }
        for text in
            ["a.dialect.id", "f(dialect.id, a == b)", "call.id == id", "form.id == it.origin"]
        {
            assert_eq!(whats(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn unneeded_exceptions_are_reported() {
        let files = [
            ("lib.rs", "mod a; mod b; mod dialects;\npub use dialects::Format;"),
            ("a.rs", "use crate::dialects::{Format, open};\nfn f() { \"harmony\" }"),
            ("b.rs", "#[cfg(test)]\nmod tests { use crate::dialects::open; }"),
            ("dialects/mod.rs", "mod one;\npub use one::open;\npub struct Format;"),
            ("dialects/one.rs", "pub fn open() { super::HARMONY }"),
        ];
        let read = |name: &str| {
            let file = files.iter().find(|file| file.0 == name);
            file.map(|file| file.1.to_owned()).ok_or(io::Error::from(io::ErrorKind::NotFound))
        };
        let found = || found(&graph(&files), &read);
        let expected = [
            format!("{CORE}/a.rs:1: uses `dialects::one::open`; ask its table instead"),
            format!("{CORE}/a.rs:2: names the dialect \"harmony\"; ask its table instead"),
        ];
        assert_eq!(excepted(found(), &[]), expected);
        assert_eq!(excepted(found(), &[("a.rs", "why")]), [""; 0]);
        let text = "knows no dialect; remove it from `EXCEPTIONS` in xtask/src/names.rs";
        let expected = [format!("{CORE}/b.rs: {text}")];
        assert_eq!(excepted(found(), &[("a.rs", "why"), ("b.rs", "why")]), expected);
    }
}
