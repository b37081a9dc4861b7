//! JSON Schema as a TypeScript type, the way Harmony declares the arguments of a function.

use super::schema::{
    NEVER_SAID, NOT_SAID_BY_REFERENCE, default_of, grouped, is_enum, is_nullable, is_required,
    is_word, lines, literal, one_line, resolve, text,
};
use super::{Style, Unsaid};
use crate::model::{Data, Value};

/// So deep may schemas stand in each other, references followed.
const DEPTH: usize = 64;

/// A type is no longer than this, in bytes: what follows is `any`.
const BYTES: usize = 1 << 20;

/// A JSON Schema as a TypeScript type, and what of it the type does not say.
///
/// References inside of the schema are followed. Where they run in a circle, below a depth of 64,
/// and after a megabyte, the type is `any`.
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
        unsaid: vec![],
    };
    let text = printer.type_of(schema, "");
    (text, printer.unsaid)
}

struct Printer<'s, 'a> {
    root: &'s Value<'a>,
    style: Style,
    depth: usize,
    bytes: usize,
    pointer: String,
    /// The references that are being followed.
    following: Vec<String>,
    unsaid: Vec<Unsaid>,
}

impl Printer<'_, '_> {
    fn type_of(&mut self, schema: &Value<'_>, indent: &str) -> String {
        if self.depth >= DEPTH || self.bytes >= BYTES {
            return self.any("depth");
        }
        self.depth += 1;
        let text = self.type_inside(schema, indent);
        self.depth -= 1;
        self.bytes += text.len();
        text
    }

    fn type_inside(&mut self, schema: &Value<'_>, indent: &str) -> String {
        match &schema.data {
            Data::Map(_) => self.leave_out(schema),
            Data::Bool(true) => return "any".into(),
            _ => return self.any("schema"),
        }
        if let Some(variants) = schema.get("oneOf").and_then(Value::as_list) {
            return self.one_of(variants, indent);
        }
        if self.style == Style::Documented
            && let Some(text) = self.beyond_reference(schema, indent)
        {
            return text;
        }
        match schema.get("type").map(|kind| &kind.data) {
            Some(Data::List(kinds)) => {
                let kinds: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
                if kinds.is_empty() {
                    return "any".into();
                }
                self.either(&kinds, schema, indent)
            }
            Some(Data::String(kind)) => self.of_kind(kind, schema, indent),
            _ => "any".into(),
        }
    }

    /// Notes the keywords that are not said.
    fn leave_out(&mut self, schema: &Value<'_>) {
        let is_left = |keyword: &&&'static str| match **keyword {
            // That nothing else is allowed is what a type says without it.
            "additionalProperties" => schema.get(keyword).is_some_and(|it| it.as_map().is_some()),
            _ => schema.get(keyword).is_some(),
        };
        let more = match self.style {
            Style::Documented => &[],
            Style::Reference => NOT_SAID_BY_REFERENCE,
        };
        for keyword in NEVER_SAID.iter().chain(more).filter(is_left) {
            self.unsaid.push(Unsaid { pointer: self.pointer.clone(), keyword });
        }
    }

    /// What the reference renderer has no words for.
    fn beyond_reference(&mut self, schema: &Value<'_>, indent: &str) -> Option<String> {
        if let Some(reference) = text(schema, "$ref") {
            let is_circle = self.following.iter().any(|it| it == reference);
            let target = resolve(self.root, reference).filter(|_| !is_circle);
            let Some(target) = target else { return Some(self.any("$ref")) };
            self.following.push(reference.to_owned());
            let text = self.type_of(target, indent);
            self.following.pop();
            return Some(text);
        }
        if let Some(value) = schema.get("const") {
            return Some(literal(value));
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_list)
            && !values.is_empty()
        {
            return Some(values.iter().map(literal).collect::<Vec<_>>().join(" | "));
        }
        for (keyword, join) in [("anyOf", " | "), ("allOf", " & ")] {
            if let Some(variants) = schema.get(keyword).and_then(Value::as_list) {
                let mut types = Vec::new();
                for (index, variant) in variants.iter().enumerate() {
                    let text =
                        self.at(&format!("{keyword}/{index}"), |it| it.type_of(variant, indent));
                    let text = if join == " & " { grouped(text) } else { text };
                    if !types.contains(&text) {
                        types.push(text);
                    }
                }
                return (!types.is_empty()).then(|| types.join(join));
            }
        }
        None
    }

    fn either(&mut self, kinds: &[&str], schema: &Value<'_>, indent: &str) -> String {
        let types = kinds.iter().map(|kind| match (self.style, *kind) {
            (_, "integer") => "number".to_owned(),
            (Style::Reference, kind) => kind.to_owned(),
            (Style::Documented, kind) => self.of_kind(kind, schema, indent),
        });
        types.collect::<Vec<_>>().join(" | ")
    }

    fn of_kind(&mut self, kind: &str, schema: &Value<'_>, indent: &str) -> String {
        match kind {
            "object" => self.object(schema, indent),
            "string" => {
                let values = schema.get("enum").and_then(Value::as_list).unwrap_or_default();
                let values: Vec<_> = values.iter().filter_map(Value::as_str).collect();
                match values.is_empty() {
                    true => "string".into(),
                    false => {
                        values.iter().map(|it| format!("\"{it}\"")).collect::<Vec<_>>().join(" | ")
                    }
                }
            }
            "number" | "integer" => "number".into(),
            "boolean" => "boolean".into(),
            "null" if self.style == Style::Documented => "null".into(),
            "array" => self.array(schema, indent),
            _ => "any".into(),
        }
    }

    fn array(&mut self, schema: &Value<'_>, indent: &str) -> String {
        if self.style == Style::Documented
            && let Some(items) = schema.get("prefixItems").and_then(Value::as_list)
        {
            let mut types = Vec::new();
            for (index, item) in items.iter().enumerate() {
                types.push(self.at(&format!("prefixItems/{index}"), |it| it.type_of(item, indent)));
            }
            return format!("[{}]", types.join(", "));
        }
        match schema.get("items") {
            None => "Array<any>".into(),
            Some(items) => {
                let item = self.at("items", |it| it.type_of(items, indent));
                match self.style {
                    Style::Documented => format!("{}[]", grouped(item)),
                    Style::Reference => format!("{item}[]"),
                }
            }
        }
    }

    fn object(&mut self, schema: &Value<'_>, indent: &str) -> String {
        let mut out = String::new();
        if let Some(description) = text(schema, "description") {
            self.comment(&mut out, description, indent);
        }
        out.push_str("{\n");
        for (name, property) in schema.get("properties").and_then(Value::as_map).unwrap_or_default()
        {
            let is_required = is_required(schema, name);
            let pointer = format!("properties/{}", name.replace('~', "~0").replace('/', "~1"));
            let text = self.at(&pointer, |it| it.property(name, property, is_required, indent));
            out.push_str(&text);
        }
        if self.style == Style::Documented
            && let Some(values @ Value { data: Data::Map(_), .. }) =
                schema.get("additionalProperties")
        {
            let text = self.at("additionalProperties", |it| it.type_of(values, indent));
            out.push_str(&format!("{indent}[key: string]: {text},\n"));
        }
        out.push_str(indent);
        out.push('}');
        out
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
            return out;
        }
        let text = self.nullable(schema, &format!("{indent}    "));
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

    /// A property that is one of several variants, each on a line of its own.
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
            let text_of = self.at(&format!("oneOf/{index}"), |it| it.nullable(variant, &inner));
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

    /// A type that is one of several variants, each on a line of its own.
    fn one_of(&mut self, variants: &[Value<'_>], indent: &str) -> String {
        let mut out = String::new();
        for (index, variant) in variants.iter().enumerate() {
            let inner = format!("{indent}   ");
            let text_of = self.at(&format!("oneOf/{index}"), |it| it.nullable(variant, &inner));
            let own = text(variant, "description").map(|own| self.one_line(own));
            // A default that is a word stands in quotes here, even among those listed.
            let notes = [own, default_of(variant, false, self.style)];
            out.push_str(&format!("\n{indent} | {text_of}"));
            trailing(&mut out, notes);
        }
        out
    }

    fn nullable(&mut self, schema: &Value<'_>, indent: &str) -> String {
        let text = self.type_of(schema, indent);
        match is_nullable(schema) && !text.contains("null") {
            true => format!("{text} | null"),
            false => text,
        }
    }

    /// Writes a comment above what it is about.
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

    /// A comment after what it is about has one line.
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

    fn any(&mut self, keyword: &'static str) -> String {
        self.unsaid.push(Unsaid { pointer: self.pointer.clone(), keyword });
        "any".into()
    }
}

fn trailing(out: &mut String, notes: [Option<String>; 2]) {
    let notes: Vec<String> = notes.into_iter().flatten().collect();
    if !notes.is_empty() {
        out.push_str(&format!(" // {}", notes.join(" ")));
    }
}
