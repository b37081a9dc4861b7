//! The names of properties that a schema does not list.

use std::collections::BTreeMap;

use openchatml::Value;

use super::rules::{Rules, class, quoted};

/// The escapes of characters that a JSON string cannot have as they are, and that have a letter.
const ESCAPES: &[&str] = &["\\\"", "\\\\", "\\b", "\\f", "\\n", "\\r", "\\t"];

/// Adds the rules of a JSON string that is none of `names`; `rest` is the rule of what follows the
/// opening quote of any string.
///
/// As long as it is like a listed name, it is spelled plainly, with no escape that it does not
/// need: or another spelling of a listed name would pass for one that is not listed.
pub(super) fn other(rules: &mut Rules, prefix: &str, names: &[&str], rest: &str) {
    let mut trie = Trie { nodes: vec![Node::default()] };
    for name in names {
        trie.insert(name);
    }
    for (at, node) in trie.nodes.iter().enumerate() {
        let mut ways = Vec::new();
        // Behind a `<` of a listed name nobody watches for control tokens.
        if !node.after_angle {
            let taken: String = node.next.keys().filter_map(|unit| single(unit)).collect();
            ways.push(format!("[^\\u0022\\u005C\\u003C\\u0000-\\u001F{}] {rest}", class(&taken)));
            if !taken.contains('<') {
                // The second rule is for what follows a `<`.
                ways.push(format!("\"<\" {rest}-1"));
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

/// Names by what they begin with.
struct Trie {
    nodes: Vec<Node>,
}

#[derive(Default)]
struct Node {
    /// What follows, a character or its escape, and where that leads to.
    next: BTreeMap<String, usize>,
    is_name: bool,
    after_angle: bool,
}

impl Trie {
    fn insert(&mut self, name: &str) {
        let mut at = 0;
        for c in name.chars() {
            let json = Value::from(c.to_string()).to_json();
            let unit = json[1..json.len() - 1].to_owned();
            let after_angle = self.nodes[at].after_angle || c == '<';
            let new = self.nodes.len();
            at = *self.nodes[at].next.entry(unit).or_insert(new);
            if at == new {
                self.nodes.push(Node { after_angle, ..Node::default() });
            }
        }
        self.nodes[at].is_name = true;
    }
}

/// The character of a unit that is no escape.
fn single(unit: &str) -> Option<char> {
    let mut chars = unit.chars();
    chars.next().filter(|_| chars.next().is_none())
}
