//! What a template spells.

use std::collections::HashSet;

use minijinja::Environment;

use super::scan::{Kind, Part, Tag, scan};

/// What a template spells: in its text, in its strings, as names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Literals {
    /// Its text, and what its strings say.
    pub(crate) texts: Vec<String>,
    /// The strings that it compares with, looks for, or gives to functions: those that need not be
    /// written where they stand.
    pub(crate) sought: HashSet<String>,
    /// Its names and the strings that are keys.
    pub(crate) names: HashSet<String>,
}

impl Literals {
    /// What this template spells.
    pub(crate) fn of(source: &str) -> Self {
        let mut this = Self::default();
        for part in scan(source) {
            match part {
                Part::Text(range) => this.texts.push(source[range].to_owned()),
                Part::Tag(tag) => this.add(source, &tag),
            }
        }
        this
    }

    fn add(&mut self, source: &str, tag: &Tag) {
        let tokens = &tag.tokens;
        let text = |at: Option<usize>| at.and_then(|at| tokens.get(at)).map(|it| it.text(source));
        // The brackets that are open: whether each holds what is sought.
        let mut open: Vec<bool> = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            let word = token.text(source);
            let before = at.checked_sub(1);
            match (token.kind, word) {
                (Kind::Name, _) => drop(self.names.insert(word.to_owned())),
                (Kind::Sign, "[" | "{") => open.push(true),
                (Kind::Sign, "(") => {
                    // Of a call, and not around a sum.
                    let is_call = before.is_some_and(|at| {
                        tokens[at].kind == Kind::Name && !is_key_word(tokens[at].text(source))
                    });
                    open.push(is_call);
                }
                (Kind::Sign, ")" | "]" | "}") => drop(open.pop()),
                (Kind::String, _) => {
                    let said = said(word);
                    let is_sought = |word: &str| {
                        matches!(word, "==" | "!=" | "<" | ">" | "<=" | ">=" | "in" | "not")
                    };
                    let is_set = tag.is_block && text(before) == Some("=");
                    if open.contains(&true)
                        || is_set
                        || text(before).is_some_and(is_sought)
                        || text(Some(at + 1)).is_some_and(is_sought)
                    {
                        self.sought.insert(said.clone());
                    }
                    if text(before) == Some("[") {
                        self.names.insert(said.clone());
                    }
                    self.texts.push(said);
                }
                _ => {}
            }
        }
    }
}

fn is_key_word(word: &str) -> bool {
    matches!(word, "if" | "elif" | "else" | "and" | "or" | "not" | "in" | "is" | "set" | "for")
}

/// What a string says, which stands there with its quotes. One that is malformed says nothing: the
/// engine refuses the template.
fn said(string: &str) -> String {
    if !string.contains('\\') {
        return string[1..string.len() - 1].to_owned();
    }
    let engine = Environment::empty();
    let value = engine.compile_expression(string).and_then(|string| string.eval(()));
    value.ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::Literals;

    #[test]
    fn strings_are_written_or_sought() {
        let source = "a{{ '<b>' + c }}{% if '<d>' in c or c.split('<e>')[0] == \"f\\x67\" %}\
            {% set g = '<h>' %}{{ ('<i>' ~ c['j']) }}{% endif %}";
        let Literals { texts, sought, names } = Literals::of(source);
        let mut sought: Vec<_> = sought.iter().map(String::as_str).collect();
        sought.sort_unstable();
        assert_eq!(sought, ["<d>", "<e>", "<h>", "fg", "j"]);
        assert_eq!(texts, ["a", "<b>", "<d>", "<e>", "fg", "<h>", "<i>", "j"]);
        assert!(names.contains("split") && names.contains("j") && !names.contains("fg"));
    }
}
