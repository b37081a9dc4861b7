//! Writes a JSON Schema as a TypeScript type, as Harmony declares arguments of functions.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::schema::{
    TYPES, all_are_properties, default_of, grouped, is_enum, is_nullable, is_required, is_word,
    lines, literal, one_line, resolve, text,
};
use super::{Style, Unsaid};
use crate::json::{Data, Value};

/// The maximum nesting depth of schemas, including followed references.
const DEPTH: usize = 64;

/// The maximum length of a type in bytes. The rest becomes `any`.
const BYTES: usize = 1 << 20;

/// Returns a JSON Schema as a TypeScript type, and the keywords that the type does not express.
///
/// References in the schema are followed. The type is `any` for circular references, below a depth
/// of 64, and after a megabyte.
///
/// ```
/// use openchatml::declare::{Style, typescript};
/// use openchatml::{Data, Value};
///
/// let location = Data::Map(vec![
///     ("type".into(), "string".into()),
///     ("description".into(), "A city.".into()),
/// ]);
/// let schema = Data::Map(vec![
///     ("type".into(), "object".into()),
///     ("properties".into(), Data::Map(vec![("location".into(), location.into())]).into()),
///     ("required".into(), Data::List(vec!["location".into()]).into()),
/// ]);
/// let (text, unsaid) = typescript(&schema.into(), Style::Documented);
/// assert_eq!(text, "{\n// A city.\nlocation: string,\n}");
/// assert!(unsaid.is_empty());
/// ```
pub fn typescript(schema: &Value<'_>, style: Style) -> (String, Vec<Unsaid>) {
    let mut printer = Printer {
        root: schema,
        style,
        depth: 0,
        bytes: 0,
        pointer: String::new(),
        following: vec!["#".to_owned()],
        followed: BTreeSet::new(),
        unsaid: vec![],
    };
    let text = printer.type_of(schema, NOTHING, "");
    printer.note_definitions();
    (text, printer.unsaid)
}

/// The keywords of a schema that a type expresses.
type Said = Vec<&'static str>;

/// Whether a keyword is expressed outside of the type: in a comment, or by the enclosing type.
type Beside = fn(Style, &str, &Value<'_>) -> bool;

/// No keyword is expressed outside of the type.
const NOTHING: Beside = |_, _, _| false;

/// The keywords that are expressed outside of the type of a property or a variant.
fn of_property(style: Style, keyword: &str, value: &Value<'_>) -> bool {
    match keyword {
        "title" | "description" => value.as_str().is_some(),
        "examples" => value.as_list().is_some_and(|examples| {
            style == Style::Documented || examples.iter().all(|it| it.as_str().is_some())
        }),
        _ => of_variant(style, keyword, value),
    }
}

/// The keywords that are expressed outside of the type of a variant.
fn of_variant(_: Style, keyword: &str, value: &Value<'_>) -> bool {
    match keyword {
        "description" => value.as_str().is_some(),
        "default" => true,
        "nullable" => value.as_bool().is_some(),
        _ => false,
    }
}

struct Printer<'s, 'a> {
    root: &'s Value<'a>,
    style: Style,
    depth: usize,
    bytes: usize,
    pointer: String,
    /// The references that are being followed.
    following: Vec<String>,
    /// All references that were followed.
    followed: BTreeSet<String>,
    unsaid: Vec<Unsaid>,
}

impl Printer<'_, '_> {
    /// Returns a type. Records the keywords that neither the type nor `beside` expresses.
    fn type_of(&mut self, schema: &Value<'_>, beside: Beside, indent: &str) -> String {
        if self.depth >= DEPTH || self.bytes >= BYTES {
            return self.any("depth");
        }
        self.depth += 1;
        let text = match &schema.data {
            Data::Map(entries) => {
                let (text, handled) = self.type_inside(schema, indent);
                self.note(entries, &handled, beside);
                text
            }
            Data::Bool(true) => "any".into(),
            _ => self.any("schema"),
        };
        self.depth -= 1;
        self.bytes += text.len();
        text
    }

    /// Returns a type, and the keywords that it expresses.
    fn type_inside(&mut self, schema: &Value<'_>, indent: &str) -> (String, Said) {
        if let Some(variants) = schema.get("oneOf").and_then(Value::as_list) {
            return (self.one_of(variants, indent), vec!["oneOf"]);
        }
        if self.style == Style::Documented
            && let Some(handled) = self.beyond_reference(schema, indent)
        {
            return handled;
        }
        match schema.get("type").map(|kind| &kind.data) {
            Some(Data::List(kinds)) => {
                let words: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
                if words.is_empty() {
                    return ("any".into(), Vec::new());
                }
                let (text, mut handled) = self.either(&words, schema, indent);
                handled.extend((words.len() == kinds.len()).then_some("type"));
                (text, handled)
            }
            Some(Data::String(kind)) => self.of_kind(kind, schema, indent),
            _ => ("any".into(), Vec::new()),
        }
    }

    /// Records the keywords that are not expressed.
    fn note(&mut self, entries: &[(Cow<'_, str>, Value<'_>)], handled: &[&str], beside: Beside) {
        for (keyword, value) in entries {
            let is_said = match keyword.as_ref() {
                // They do not restrict arguments.
                "$schema" | "$id" | "$comment" | "$anchor" => true,
                // Definitions are expressed where they are referred to.
                "$defs" | "definitions" => self.pointer.is_empty(),
                // A type always excludes other properties.
                "additionalProperties" if value.as_bool().is_some() => true,
                "nullable" if value.as_bool() == Some(false) => true,
                "required" if handled.contains(&"required") => all_are_properties(value, entries),
                key => handled.contains(&key) || beside(self.style, key, value),
            };
            if !is_said {
                let (pointer, keyword) = (self.pointer.clone(), keyword.to_string());
                self.unsaid.push(Unsaid { pointer, keyword });
            }
        }
    }

    /// Records definitions without a reference.
    fn note_definitions(&mut self) {
        for keyword in ["$defs", "definitions"] {
            let Some(definitions) = self.root.get(keyword) else { continue };
            let is_said = |name: &str| {
                let name = name.replace('~', "~0").replace('/', "~1");
                self.followed.contains(&format!("#/{keyword}/{name}"))
            };
            let names = definitions.as_map();
            if !names.is_some_and(|names| names.iter().all(|(name, _)| is_said(name))) {
                let (pointer, keyword) = (String::new(), keyword.to_owned());
                self.unsaid.push(Unsaid { pointer, keyword });
            }
        }
    }

    /// Handles what the reference renderer cannot express.
    fn beyond_reference(&mut self, schema: &Value<'_>, indent: &str) -> Option<(String, Said)> {
        if let Some(reference) = text(schema, "$ref") {
            let is_circle = self.following.iter().any(|it| it == reference);
            let target = resolve(self.root, reference).filter(|_| !is_circle);
            let Some(target) = target else { return Some((self.any("$ref"), vec!["$ref"])) };
            self.following.push(reference.to_owned());
            self.followed.insert(reference.to_owned());
            let text = self.type_of(target, NOTHING, indent);
            self.following.pop();
            return Some((text, vec!["$ref"]));
        }
        // Values must have a type.
        let with_type = |keyword| match text(schema, "type") {
            Some(kind) if TYPES.contains(&kind) => vec![keyword, "type"],
            _ => vec![keyword],
        };
        if let Some(value) = schema.get("const") {
            return Some((literal(value), with_type("const")));
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_list)
            && !values.is_empty()
        {
            let values: Vec<_> = values.iter().map(literal).collect();
            return Some((values.join(" | "), with_type("enum")));
        }
        for (keyword, join) in [("anyOf", " | "), ("allOf", " & ")] {
            if let Some(variants) = schema.get(keyword).and_then(Value::as_list) {
                let mut types = Vec::new();
                for (index, variant) in variants.iter().enumerate() {
                    let step = format!("{keyword}/{index}");
                    let text = self.at(&step, |it| it.type_of(variant, NOTHING, indent));
                    let text = if join == " & " { grouped(text) } else { text };
                    if !types.contains(&text) {
                        types.push(text);
                    }
                }
                return (!types.is_empty()).then(|| (types.join(join), vec![keyword]));
            }
        }
        None
    }

    fn either(&mut self, kinds: &[&str], schema: &Value<'_>, indent: &str) -> (String, Said) {
        let mut handled = Vec::new();
        let types = kinds.iter().map(|kind| match (self.style, *kind) {
            (_, "integer") => "number".to_owned(),
            (Style::Reference, kind) => kind.to_owned(),
            (Style::Documented, kind) => {
                let (text, more) = self.of_kind(kind, schema, indent);
                handled.extend(more);
                text
            }
        });
        let text = types.collect::<Vec<_>>().join(" | ");
        (text, handled)
    }

    fn of_kind(&mut self, kind: &str, schema: &Value<'_>, indent: &str) -> (String, Said) {
        let (text, mut handled) = match kind {
            "object" => self.object(schema, indent),
            "array" => self.array(schema, indent),
            "string" => {
                let values = schema.get("enum").and_then(Value::as_list).unwrap_or_default();
                let words: Vec<_> = values.iter().filter_map(Value::as_str).collect();
                let all = !words.is_empty() && words.len() == values.len();
                let quoted: Vec<_> = words.iter().map(|it| format!("\"{it}\"")).collect();
                let text = if words.is_empty() { "string".into() } else { quoted.join(" | ") };
                (text, if all { vec!["enum"] } else { Vec::new() })
            }
            "number" | "integer" => ("number".into(), Vec::new()),
            "boolean" => ("boolean".into(), Vec::new()),
            "null" if self.style == Style::Documented => ("null".into(), Vec::new()),
            _ => return ("any".into(), Vec::new()),
        };
        handled.push("type");
        (text, handled)
    }

    fn array(&mut self, schema: &Value<'_>, indent: &str) -> (String, Said) {
        if self.style == Style::Documented
            && let Some(items) = schema.get("prefixItems").and_then(Value::as_list)
        {
            let mut types = Vec::new();
            for (index, item) in items.iter().enumerate() {
                let step = format!("prefixItems/{index}");
                types.push(self.at(&step, |it| it.type_of(item, NOTHING, indent)));
            }
            return (format!("[{}]", types.join(", ")), vec!["prefixItems"]);
        }
        match schema.get("items") {
            None => ("Array<any>".into(), Vec::new()),
            Some(items) => {
                let item = self.at("items", |it| it.type_of(items, NOTHING, indent));
                let text = match self.style {
                    Style::Documented => format!("{}[]", grouped(item)),
                    Style::Reference => format!("{item}[]"),
                };
                (text, vec!["items"])
            }
        }
    }

    fn object(&mut self, schema: &Value<'_>, indent: &str) -> (String, Said) {
        let mut out = String::new();
        let mut handled = Vec::new();
        if let Some(description) = text(schema, "description") {
            self.comment(&mut out, description, indent);
            handled.push("description");
        }
        out.push_str("{\n");
        if let Some(properties) = schema.get("properties").and_then(Value::as_map) {
            handled.extend(["properties", "required"]);
            for (name, property) in properties {
                let is_required = is_required(schema, name);
                let pointer = format!("properties/{}", name.replace('~', "~0").replace('/', "~1"));
                let text = self.at(&pointer, |it| it.property(name, property, is_required, indent));
                out.push_str(&text);
            }
        }
        if self.style == Style::Documented
            && let Some(values @ Value { data: Data::Map(_), .. }) =
                schema.get("additionalProperties")
        {
            handled.push("additionalProperties");
            let text = self.at("additionalProperties", |it| it.type_of(values, NOTHING, indent));
            out.push_str(&format!("{indent}[key: string]: {text},\n"));
        }
        out.push_str(indent);
        out.push('}');
        (out, handled)
    }

    fn property(&mut self, name: &str, schema: &Value<'_>, required: bool, indent: &str) -> String {
        let mut out = String::new();
        let name = match self.style == Style::Documented && !is_word(name) {
            true => literal(&Value::from(name)),
            false => name.to_owned(),
        };
        let mark = if required { "" } else { "?" };
        if let Some(title) = text(schema, "title") {
            self.comment(&mut out, title, indent);
            out.push_str(&format!("{indent}//\n"));
        }
        let description = text(schema, "description");
        if let Some(description) = description.filter(|_| schema.get("oneOf").is_none()) {
            self.comment(&mut out, description, indent);
        }
        self.examples(&mut out, schema, indent);
        if let Some(variants) = schema.get("oneOf").and_then(Value::as_list) {
            self.variants(&mut out, &format!("{name}{mark}"), schema, variants, indent);
            let beside: Beside =
                |style, keyword, value| keyword != "nullable" && of_property(style, keyword, value);
            self.note(schema.as_map().unwrap_or_default(), &["oneOf"], beside);
            return out;
        }
        let text = self.nullable(schema, of_property, &format!("{indent}    "));
        out.push_str(&format!("{indent}{name}{mark}: {text},"));
        if let Some(default) = default_of(schema, is_enum(schema), self.style)
            .filter(|_| schema.get("oneOf").is_none())
        {
            out.push_str(&format!(" // {default}"));
        }
        out.push('\n');
        out
    }

    fn examples(&self, out: &mut String, schema: &Value<'_>, indent: &str) {
        let examples = schema.get("examples").and_then(Value::as_list).unwrap_or_default();
        if examples.is_empty() {
            return;
        }
        out.push_str(&format!("{indent}// Examples:\n"));
        for example in examples {
            match (self.style, example.as_str()) {
                (Style::Reference, None) => {}
                (Style::Reference, Some(example)) => {
                    out.push_str(&format!("{indent}// - \"{example}\"\n"));
                }
                (Style::Documented, _) => {
                    out.push_str(&format!("{indent}// - {}\n", literal(example)));
                }
            }
        }
    }

    /// Writes a property with several variants, one per line.
    fn variants(
        &mut self,
        out: &mut String,
        name: &str,
        schema: &Value<'_>,
        variants: &[Value<'_>],
        indent: &str,
    ) {
        let description = text(schema, "description");
        let first = variants.first().and_then(|first| text(first, "description"));
        let above = description.filter(|description| Some(*description) != first);
        if let Some(above) = above {
            self.comment(out, above, indent);
        }
        if let Some(default) = default_of(schema, is_enum(schema), self.style) {
            out.push_str(&format!("{indent}// {default}\n"));
        }
        out.push_str(&format!("{indent}{name}:\n"));
        for (index, variant) in variants.iter().enumerate() {
            let inner = format!("{indent}   ");
            let text_of =
                self.at(&format!("oneOf/{index}"), |it| it.nullable(variant, of_variant, &inner));
            let own = text(variant, "description").filter(|own| Some(*own) != description);
            let own = own.filter(|_| index > 0 || above.is_none());
            let notes = [
                own.map(|own| self.one_line(own)),
                default_of(variant, is_enum(variant), self.style),
            ];
            out.push_str(&format!("{indent} | {text_of}"));
            trailing(out, notes);
            out.push('\n');
        }
        out.push_str(&format!("{indent},\n"));
    }

    /// Returns a type with several variants, one per line.
    fn one_of(&mut self, variants: &[Value<'_>], indent: &str) -> String {
        let mut out = String::new();
        for (index, variant) in variants.iter().enumerate() {
            let inner = format!("{indent}   ");
            let text_of =
                self.at(&format!("oneOf/{index}"), |it| it.nullable(variant, of_variant, &inner));
            let own = text(variant, "description").map(|own| self.one_line(own));
            // A default that is a string is quoted here, even among listed values.
            let notes = [own, default_of(variant, false, self.style)];
            out.push_str(&format!("\n{indent} | {text_of}"));
            trailing(&mut out, notes);
        }
        out
    }

    fn nullable(&mut self, schema: &Value<'_>, beside: Beside, indent: &str) -> String {
        let text = self.type_of(schema, beside, indent);
        match is_nullable(schema) && !text.contains("null") {
            true => format!("{text} | null"),
            false => text,
        }
    }

    /// Writes a comment above its subject.
    fn comment(&self, out: &mut String, text: &str, indent: &str) {
        match self.style {
            Style::Reference => out.push_str(&format!("{indent}// {text}\n")),
            Style::Documented => {
                for line in lines(text) {
                    out.push_str(format!("{indent}// {line}").trim_end());
                    out.push('\n');
                }
            }
        }
    }

    /// Returns a comment on one line, for the same line as its subject.
    fn one_line(&self, text: &str) -> String {
        match self.style {
            Style::Reference => text.to_owned(),
            Style::Documented => one_line(text).into_owned(),
        }
    }

    fn at<T>(&mut self, step: &str, inside: impl FnOnce(&mut Self) -> T) -> T {
        let len = self.pointer.len();
        self.pointer.push('/');
        self.pointer.push_str(step);
        let result = inside(self);
        self.pointer.truncate(len);
        result
    }

    fn any(&mut self, keyword: &str) -> String {
        self.unsaid.push(Unsaid { pointer: self.pointer.clone(), keyword: keyword.to_owned() });
        "any".into()
    }
}

fn trailing(out: &mut String, notes: [Option<String>; 2]) {
    let notes: Vec<String> = notes.into_iter().flatten().collect();
    if !notes.is_empty() {
        out.push_str(&format!(" // {}", notes.join(" ")));
    }
}
