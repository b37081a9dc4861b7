//! Rules for property names that a schema does not list.

use std::collections::BTreeMap;

use openchatml::Value;

use super::rules::{Rules, class, quoted};

/// The short escapes of characters that JSON strings must escape.
const ESCAPES: &[&str] = &["\\\"", "\\\\", "\\b", "\\f", "\\n", "\\r", "\\t"];

/// Adds the rules of a JSON string that is not one of `names`. `rest` is the rule for the text
/// after the opening quote of any string. `firsts` are the first characters of control tokens, with
/// the rules for the text after them.
///
/// While the string is a prefix of a listed name, it contains no unnecessary escapes. Otherwise
/// another spelling of a listed name would count as unlisted.
pub(super) fn other(
    rules: &mut Rules,
    prefix: &str,
    names: &[&str],
    rest: &str,
    firsts: &[(char, Option<String>)],
) {
    let mut trie = Trie { nodes: vec![Node::default()] };
    let is_first = |c: char| firsts.iter().any(|first| first.0 == c);
    let watched: String = firsts.iter().map(|first| first.0).collect();
    for name in names {
        trie.insert(name, is_first);
    }
    for (at, node) in trie.nodes.iter().enumerate() {
        let mut ways = Vec::new();
        // After the first character of a control token inside a listed name, the automaton for
        // control tokens is not active.
        if !node.after_first {
            let taken: String = node.next.keys().filter_map(|unit| single(unit)).collect();
            let none = [class(&watched), "\\u0000-\\u001F".to_owned(), class(&taken)].concat();
            ways.push(format!("[^\\u0022\\u005C{none}] {rest}"));
            for (first, after) in firsts {
                if let Some(after) = after
                    && !taken.contains(*first)
                {
                    ways.push(format!("{} {after}", quoted(&first.to_string())));
                }
            }
            let is_free = |escape: &&&str| !node.next.contains_key(**escape);
            let free: Vec<_> = ESCAPES.iter().filter(is_free).map(|it| quoted(it)).collect();
            if free.len() == ESCAPES.len() {
                ways.push(format!("{} {rest}", rules.shared("short-escape")));
            } else {
                ways.extend(free.iter().map(|escape| format!("{escape} {rest}")));
            }
        }
        ways.extend(
            node.next.iter().map(|(unit, next)| format!("{} {prefix}-{next}", quoted(unit))),
        );
        if !node.is_name {
            ways.push("\"\\\"\"".to_owned());
        }
        if ways.is_empty() {
            ways.push(rules.shared("never").to_owned());
        }
        rules.add(&format!("{prefix}-{at}"), &ways.join(" | "));
    }
    rules.add(prefix, &format!("\"\\\"\" {prefix}-0"));
}

/// A trie of names.
struct Trie {
    nodes: Vec<Node>,
}

#[derive(Default)]
struct Node {
    /// The next characters or escapes, with their nodes.
    next: BTreeMap<String, usize>,
    is_name: bool,
    /// Whether an earlier character is the first of a control token.
    after_first: bool,
}

impl Trie {
    fn insert(&mut self, name: &str, is_first: impl Fn(char) -> bool) {
        let mut at = 0;
        for c in name.chars() {
            let json = Value::from(c.to_string()).to_json();
            let unit = json[1..json.len() - 1].to_owned();
            let after_first = self.nodes[at].after_first || is_first(c);
            let new = self.nodes.len();
            at = *self.nodes[at].next.entry(unit).or_insert(new);
            if at == new {
                self.nodes.push(Node { after_first, ..Node::default() });
            }
        }
        self.nodes[at].is_name = true;
    }
}

/// Returns the character of a unit that is not an escape.
fn single(unit: &str) -> Option<char> {
    let mut chars = unit.chars();
    chars.next().filter(|_| chars.next().is_none())
}
