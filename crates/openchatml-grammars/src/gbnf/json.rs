//! Rules for JSON Schemas.

use std::collections::HashSet;
use std::fmt::Write as _;

use super::rules::{FORMATS, Rules, quoted};
use super::text::{Kind, first_characters, named, text};
use super::{integer, keys};
use crate::schema::{Array, Count, Id, Node, Number, Object, Schema, Text};
use crate::tokens::{Region, Tokens};
use crate::unenforced::Unenforced;

/// The maximum number of repetitions: engines reject more.
const REPEATS: usize = 256;

/// Adds the rules of a schema, with names that start with `prefix`. Returns the name of the first
/// rule, and the requirements that the rules do not enforce.
pub(super) fn json(
    rules: &mut Rules,
    schema: &Schema,
    prefix: &str,
    region: Region,
    tokens: Tokens<'_>,
) -> (String, Vec<Unenforced>) {
    let region = tokens.region(region);
    let mut writer = Writer {
        rules,
        schema,
        prefix,
        region,
        tokens,
        open: Vec::new(),
        named: HashSet::new(),
        unenforced: Vec::new(),
    };
    let root = writer.name(Schema::ROOT);
    while let Some(id) = writer.open.pop() {
        let body = writer.body(id);
        let name = writer.numbered(id);
        writer.rules.add(&name, &body);
    }
    (root, writer.unenforced)
}

struct Writer<'w> {
    rules: &'w mut Rules,
    schema: &'w Schema,
    prefix: &'w str,
    region: Region,
    tokens: Tokens<'w>,
    /// The nodes that have a name but no rule yet.
    open: Vec<Id>,
    /// The nodes that have a name.
    named: HashSet<Id>,
    unenforced: Vec<Unenforced>,
}

impl Writer<'_> {
    fn numbered(&self, id: Id) -> String {
        format!("{}-{id}", self.prefix)
    }

    /// Returns the name of the rule for a node.
    fn name(&mut self, id: Id) -> String {
        match self.schema.node(id) {
            Node::Any => self.value(),
            Node::Never => self.rules.shared("never").to_owned(),
            Node::Bool => self.rules.shared("boolean").to_owned(),
            Node::Null => "\"null\"".to_owned(),
            Node::String(it)
                if it.count.is_any() && it.pattern.is_none() && it.format.is_none() =>
            {
                self.string()
            }
            Node::Number(it) if it.bounds.is_empty() => self.plain_number(it).to_owned(),
            _ => {
                let name = self.numbered(id);
                if self.named.insert(id) {
                    self.open.push(id);
                }
                name
            }
        }
    }

    fn body(&mut self, id: Id) -> String {
        match self.schema.node(id) {
            Node::Const(values) => {
                let values: Vec<_> = values.iter().map(|it| quoted(&it.to_json())).collect();
                values.join(" | ")
            }
            Node::Union(parts) => {
                let parts: Vec<_> = parts.iter().map(|part| self.name(*part)).collect();
                parts.join(" | ")
            }
            Node::Object(object) => self.object(id, object),
            Node::Array(array) => self.array(id, array),
            Node::String(text) => self.text(id, text),
            Node::Number(number) => {
                let range = number.range();
                for (keyword, _) in &number.bounds {
                    if range.is_none() || *keyword == "multipleOf" {
                        self.unenforced.push(self.schema.keyword(id, keyword));
                    }
                }
                match range {
                    Some(range) => integer::range(range),
                    None => self.plain_number(number).to_owned(),
                }
            }
            _ => self.name(id),
        }
    }

    fn plain_number(&mut self, number: &Number) -> &'static str {
        self.rules.shared(if number.is_integer { "integer" } else { "number" })
    }

    /// Returns the name of the rule for any string.
    fn string(&mut self) -> String {
        let rest = text(self.rules, Kind::JsonString(self.region), self.tokens);
        let name = named("any-string", self.region);
        self.rules.add(&name, &format!("\"\\\"\" {rest}"));
        name
    }

    /// Returns the name of the rule for any value.
    fn value(&mut self) -> String {
        let [value, member, object, array] =
            ["value", "any-member", "any-object", "any-array"].map(|it| named(it, self.region));
        if !self.rules.has(&value) {
            let string = self.string();
            for name in ["number", "boolean", "ws"] {
                self.rules.shared(name);
            }
            let any = format!("{string} | number | boolean | \"null\" | {object} | {array}");
            self.rules.add(&value, &any);
            self.rules.add(&member, &format!("{string} ws \":\" ws {value}"));
            let list = |item: &str| format!("ws ({item} ws (\",\" ws {item} ws)*)?");
            self.rules.add(&object, &format!("\"{{\" {} \"}}\"", list(&member)));
            self.rules.add(&array, &format!("\"[\" {} \"]\"", list(&value)));
        }
        value
    }

    /// Properties are in the order of the schema, followed by unlisted properties.
    fn object(&mut self, id: Id, object: &Object) -> String {
        self.rules.shared("ws");
        self.counts(id, object.count);
        let names: Vec<&str> = object.properties.iter().map(|it| it.name.as_str()).collect();
        let additional = object.additional.map(|additional| {
            let key = self.other_key(id, &names);
            format!("{key} ws \":\" ws {} ws", self.name(additional))
        });
        let mut members = Vec::new();
        for property in &object.properties {
            let mut key = String::new();
            let name = openchatml::Value::from(property.name.as_str()).to_json();
            let _ = write!(key, "{} ws \":\" ws {} ws", quoted(&name), self.name(property.value));
            members.push((key, property.is_required));
        }
        // The members that may follow: rule `next-N` is for the members from the Nth on.
        let next = |at: usize| format!("{}-next-{at}", self.numbered(id));
        let last = additional.as_ref().map_or("\"\"".to_owned(), |it| format!("(\",\" ws {it})*"));
        let mut rules = vec![(next(members.len()), last)];
        for (at, (member, is_required)) in members.iter().enumerate() {
            let body = format!("\",\" ws {member}");
            let body = if *is_required { body } else { format!("({body})?") };
            rules.push((next(at), format!("{body} {}", next(at + 1))));
        }
        // The first member is the first required one or an earlier one.
        let mut first = Vec::new();
        let required = members.iter().position(|member| member.1);
        let until = required.map_or(members.len(), |at| at + 1);
        for (at, (member, _)) in members.iter().enumerate().take(until) {
            first.push(format!("{member} {}", next(at + 1)));
        }
        if required.is_none() {
            let others = additional.iter().map(|it| format!("{it} {}", next(members.len())));
            first.extend(others);
            first.push("\"\"".to_owned());
        }
        for (name, body) in rules {
            self.rules.add(&name, &body);
        }
        format!("\"{{\" ws ({}) \"}}\"", first.join(" | "))
    }

    /// Returns the name of the rule for a key that is not one of these.
    fn other_key(&mut self, id: Id, names: &[&str]) -> String {
        let rest = text(self.rules, Kind::JsonString(self.region), self.tokens);
        let firsts = first_characters(self.region, self.tokens, &rest);
        let name = format!("{}-key", self.numbered(id));
        keys::other(self.rules, &name, names, &rest, &firsts);
        name
    }

    fn counts(&mut self, id: Id, count: Count) {
        for (keyword, _) in count.limits() {
            self.unenforced.push(self.schema.keyword(id, keyword));
        }
    }

    fn array(&mut self, id: Id, array: &Array) -> String {
        self.rules.shared("ws");
        let count = self.bounded(id, array.count);
        let prefix: Vec<_> = array.prefix.iter().map(|id| self.name(*id)).collect();
        let most = count.most.unwrap_or(usize::MAX);
        let given = prefix.len().min(most);
        let items = array.items.map(|items| self.name(items)).filter(|_| most > given);
        let mut rest = items.map(|items| {
            // Without items before it, the first item has no comma.
            let least = count.least.saturating_sub(given);
            let repeats = repeats(least, count.most.map(|most| most - given));
            match given {
                0 => first_of(&items, least, count.most),
                _ => format!("(\",\" ws {items} ws){repeats}"),
            }
        });
        for (at, item) in prefix.iter().enumerate().take(given).rev() {
            let comma = if at == 0 { "" } else { "\",\" ws " };
            let inner = format!("{comma}{item} ws {}", rest.unwrap_or_default());
            let name = format!("{}-item-{at}", self.numbered(id));
            self.rules.add(&name, &inner);
            rest = Some(if at < count.least { name } else { format!("{name}?") });
        }
        format!("\"[\" ws {} \"]\"", rest.unwrap_or_default())
    }

    /// Limits a count to the maximum of engines.
    fn bounded(&mut self, id: Id, mut count: Count) -> Count {
        if count.most.is_some_and(|most| most > REPEATS) {
            self.unenforced.push(self.schema.keyword(id, count.keywords[1]));
            count.most = None;
        }
        if count.least > REPEATS {
            self.unenforced.push(self.schema.keyword(id, count.keywords[0]));
            count.least = REPEATS;
        }
        count
    }

    fn text(&mut self, id: Id, it: &Text) -> String {
        if it.pattern.is_some() {
            self.unenforced.push(self.schema.keyword(id, "pattern"));
        }
        if let Some(format) = &it.format {
            if let Some(known) = FORMATS.iter().find(|known| **known == *format) {
                self.counts(id, it.count);
                return self.rules.shared(known).to_owned();
            }
            self.unenforced.push(self.schema.keyword(id, "format"));
        }
        let count = self.bounded(id, it.count);
        if count.is_any() {
            return self.string();
        }
        // The automaton for control tokens cannot count characters, so `<` is written as an escape
        // here.
        let escape = self.rules.escape();
        self.rules.add("character", &format!("[^\\u0022\\u005C\\u003C\\u0000-\\u001F] | {escape}"));
        match count.most {
            Some(most) => {
                let times = repeats(count.least, Some(most));
                format!("\"\\\"\" character{times} \"\\\"\"")
            }
            None => {
                let rest = text(self.rules, Kind::JsonString(self.region), self.tokens);
                format!("\"\\\"\" character{{{}}} {rest}", count.least)
            }
        }
    }
}

/// Returns the repetition operator.
pub(super) fn repeats(least: usize, most: Option<usize>) -> String {
    match (least, most) {
        (0, None) => "*".to_owned(),
        (0, Some(1)) => "?".to_owned(),
        (least, None) => format!("{{{least},}}"),
        (least, Some(most)) => format!("{{{least},{most}}}"),
    }
}

/// Creates a list of items with commas.
fn first_of(items: &str, least: usize, most: Option<usize>) -> String {
    let times = repeats(least.saturating_sub(1), most.map(|most| most - 1));
    let all = format!("{items} ws (\",\" ws {items} ws){times}");
    if least == 0 { format!("({all})?") } else { all }
}
