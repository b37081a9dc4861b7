//! Collects the literals of a template.

use std::collections::HashSet;

use minijinja::Environment;

use super::scan::{Tag, TemplatePart, TokenKind, scan};

/// The literals of a template: its text, its strings and its names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Literals {
    /// The text outside of tags, and the contents of strings.
    pub(crate) texts: Vec<String>,
    /// The strings that the template compares with, searches for, or passes to functions. They are
    /// not necessarily written to the output.
    pub(crate) sought: HashSet<String>,
    /// The names, and the strings that are keys.
    pub(crate) names: HashSet<String>,
}

impl Literals {
    /// Returns the literals of this template.
    pub(crate) fn of(source: &str) -> Self {
        let mut this = Self::default();
        for part in scan(source) {
            match part {
                TemplatePart::Text(range) => this.texts.push(source[range].to_owned()),
                TemplatePart::Tag(tag) => this.add(source, &tag),
            }
        }
        this
    }

    fn add(&mut self, source: &str, tag: &Tag) {
        let tokens = &tag.tokens;
        let text = |at: Option<usize>| at.and_then(|at| tokens.get(at)).map(|it| it.text(source));
        // For each open bracket, whether it contains searched strings.
        let mut open: Vec<bool> = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            let word = token.text(source);
            let before = at.checked_sub(1);
            match (token.kind, word) {
                (TokenKind::Name, _) => drop(self.names.insert(word.to_owned())),
                (TokenKind::Sign, "[" | "{") => open.push(true),
                (TokenKind::Sign, "(") => {
                    // A bracket of a call, not of an expression.
                    let is_call = before.is_some_and(|at| {
                        tokens[at].kind == TokenKind::Name && !is_key_word(tokens[at].text(source))
                    });
                    open.push(is_call);
                }
                (TokenKind::Sign, ")" | "]" | "}") => drop(open.pop()),
                (TokenKind::String, _) => {
                    let content = content_of(word);
                    let is_sought = |word: &str| {
                        matches!(word, "==" | "!=" | "<" | ">" | "<=" | ">=" | "in" | "not")
                    };
                    let is_set = tag.is_block && text(before) == Some("=");
                    if open.contains(&true)
                        || is_set
                        || text(before).is_some_and(is_sought)
                        || text(Some(at + 1)).is_some_and(is_sought)
                    {
                        self.sought.insert(content.clone());
                    }
                    if text(before) == Some("[") {
                        self.names.insert(content.clone());
                    }
                    self.texts.push(content);
                }
                _ => {}
            }
        }
    }
}

fn is_key_word(word: &str) -> bool {
    matches!(word, "if" | "elif" | "else" | "and" | "or" | "not" | "in" | "is" | "set" | "for")
}

/// Returns the content of a string with quotes. A malformed string has no content: the engine
/// rejects the template.
fn content_of(string: &str) -> String {
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
    fn strings_are_output_or_searched() {
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
