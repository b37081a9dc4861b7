//! Writes the developer section: whether the model deliberates, and the declarations of tools.
//!
//! Tools are declared exactly as by the reference template, including its mistakes. If the template
//! raises an error, so does this module.
//!
//! The template does not escape the texts of a schema. A line break or a quotation mark can end the
//! comment, name or string that contains it, and the text after it would be read as a declaration.
//! The default profile escapes such a text. The profiles that must equal the output of the template
//! refuse it.

use crate::Span;
use crate::declare::{is_break, lines, literal, one_line};
use crate::json::python::{is_true, to_json, to_text};
use crate::json::{Data, Value};
use crate::model::Tool;
use crate::rules::{Loss, Lost};

/// The program whose output is imitated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Engine {
    /// The reference formatter, but with escapes for texts of a schema.
    Documented,
    /// The reference formatter, with the defaults of jinja2.
    Reference,
    /// `transformers`, which trims white space around blocks and has its own JSON filter.
    Transformers,
}

type Result<T, E = &'static str> = std::result::Result<T, E>;

/// Returns the developer section.
pub(super) fn section(
    thinking: bool,
    tools: &[Tool<'_>],
    engine: Engine,
    losses: &mut Vec<Loss>,
) -> Result<String, String> {
    // The approximate length of a declaration.
    let mut out = String::with_capacity(64 + tools.len() * 256);
    out.push_str(opening(thinking));
    if tools.is_empty() {
        out.push_str(DISABLED);
        return Ok(out);
    }
    out.push_str("Tool Capabilities:\n");
    for (index, tool) in tools.iter().enumerate() {
        out.push_str(if index == 0 { "" } else { "\n" });
        let mut writer = Writer { out: &mut out, engine, depth: 0, unsaid: !tool.extra.is_empty() };
        writer.tool(tool).map_err(|why| format!("tool `{}`: {why}", tool.name))?;
        if writer.unsaid {
            let span = tool.parameters.as_ref().map_or(Span::default(), |schema| schema.span);
            losses.push(Loss::new(None, span, Lost::Declaration));
        }
    }
    Ok(out)
}

/// The end of a section without tools.
const DISABLED: &str = "Tool Capabilities: disabled";

/// Whether a developer section says that there are no tools.
pub(super) fn is_without_tools(text: &str) -> bool {
    deliberates(text).is_some() && text.ends_with(DISABLED)
}

const fn opening(thinking: bool) -> &'static str {
    if thinking { "Deliberation: enabled\n" } else { "Deliberation: disabled\n" }
}

/// Returns whether a developer section says that the model deliberates. `None` if the text is not a
/// developer section.
pub(super) fn deliberates(text: &str) -> Option<bool> {
    [true, false].into_iter().find(|thinking| {
        text.strip_prefix(opening(*thinking)).is_some_and(|it| it.starts_with("Tool Capabilities:"))
    })
}

struct Writer<'o> {
    out: &'o mut String,
    engine: Engine,
    depth: usize,
    /// Whether the tool contains something that its declaration cannot express.
    unsaid: bool,
}

/// Maximum nesting depth of a schema. The engine of the template also has a limit.
const DEPTH: usize = 64;

/// The keys of a parameter that the template uses.
const SAID: &[&str] = &[
    "type",
    "items",
    "nullable",
    "oneOf",
    "enum",
    "properties",
    "required",
    "description",
    "default",
];

impl Writer<'_> {
    fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn tool(&mut self, tool: &Tool<'_>) -> Result<()> {
        let description = tool.description.as_deref();
        let description =
            description.ok_or("the template requires a `description` of each tool")?;
        self.push("// ");
        self.comment(description)?;
        self.push("\ntype ");
        // The model calls the tool by this name, so the name cannot be escaped.
        if leaves_name(&tool.name) {
            return Err("the template cannot declare a tool with this name");
        }
        self.push(&tool.name);
        self.push(" = ");
        let parameters = tool.parameters.as_ref().filter(|it| is_true(Some(it)));
        let kind = parameters.and_then(|it| it.get("type"));
        self.unsaid |= kind.is_some_and(|kind| kind.as_str() != Some("object"));
        let properties = parameters.and_then(|it| it.get("properties"));
        let Some(properties) = properties.filter(|it| is_true(Some(it))) else {
            self.notice(parameters, &["type", "properties", "required"]);
            self.push("() => any;");
            return Ok(());
        };
        self.notice(parameters, &["type", "properties", "required"]);
        let entries = entries(properties)?;
        let required = parameters.and_then(|it| it.get("required"));
        self.push("(_: {\n");
        for (index, (name, spec)) in entries.iter().enumerate() {
            self.parameter(name, spec, required)?;
            self.push(if index + 1 < entries.len() { ",\n" } else { "\n" });
        }
        self.push("}) => any;");
        Ok(())
    }

    fn parameter(
        &mut self,
        name: &str,
        spec: &Value<'_>,
        required: Option<&Value<'_>>,
    ) -> Result<()> {
        if let Some(description) = spec.get("description").filter(|it| is_true(Some(it))) {
            self.push("// ");
            self.comment(text(description)?)?;
            self.push("\n");
        }
        self.name(name)?;
        self.push(if is_required(name, required)? { ": " } else { "?: " });
        self.kind(spec, &["description", "default"])?;
        let Some(default) = spec.get("default") else { return Ok(()) };
        if is_true(spec.get("enum")) {
            self.push(", // default: ");
            self.note(text(default)?)?;
        } else if is_true(spec.get("oneOf")) {
            self.push("// default: ");
            self.note(text(default)?)?;
        } else {
            self.push(", // default: ");
            self.json(default)?;
        }
        Ok(())
    }

    /// Records whether a schema has keys that the declaration cannot express.
    fn notice(&mut self, spec: Option<&Value<'_>>, said: &[&str]) {
        let entries = spec.and_then(Value::as_map).unwrap_or_default();
        self.unsaid |= entries.iter().any(|(key, _)| !said.contains(&key.as_ref()));
    }

    /// Writes a type. `beside` are the keys that are written around it.
    fn kind(&mut self, spec: &Value<'_>, beside: &[&str]) -> Result<()> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err("the schema of a tool is nested too deeply");
        }
        let kind = spec.get("type");
        let word = kind.and_then(Value::as_str);
        let names = kind.and_then(Value::as_list).filter(|names| !names.is_empty());
        let one_of = spec.get("oneOf").filter(|it| is_true(Some(it)));
        let said: &[&str] = match (word, names, one_of) {
            (Some("array"), ..) => self.array(spec)?,
            (_, Some(names), _) => self.union(names)?,
            (.., Some(variants)) => self.one_of(variants)?,
            (Some("string"), ..) => self.string(spec)?,
            (Some("number" | "integer"), ..) => {
                self.unsaid |= word == Some("integer");
                self.push("number");
                &["type"]
            }
            (Some("boolean"), ..) => {
                self.push("boolean");
                &["type"]
            }
            (Some("object"), ..) => self.object(spec)?,
            _ => {
                self.push("any");
                &[]
            }
        };
        // The template ignores a schema that is not an object.
        self.unsaid |= spec.as_map().is_none() && is_true(Some(spec));
        let entries = spec.as_map().unwrap_or_default();
        self.unsaid |= entries.iter().any(|(key, value)| {
            let (key, nothing) = (key.as_ref(), !is_true(Some(value)));
            !(said.contains(&key) || beside.contains(&key) || nothing && SAID.contains(&key))
        });
        self.depth -= 1;
        Ok(())
    }

    fn array(&mut self, spec: &Value<'_>) -> Result<&'static [&'static str]> {
        let Some(items) = spec.get("items").filter(|it| is_true(Some(it))) else {
            self.push("any[]");
            self.nullable(spec);
            return Ok(&["type", "nullable"]);
        };
        let start = self.out.len();
        match items.get("type").and_then(Value::as_str) {
            // The template uses only the type here.
            Some(word @ ("string" | "number" | "integer" | "boolean")) => {
                self.unsaid |= items.as_map().is_some_and(|it| it.len() > 1) || word == "integer";
                self.push(if word == "integer" { "number" } else { word });
            }
            _ => self.kind(items, &[])?,
        }
        let inner = &self.out[start..];
        if inner == "object | object" || inner.chars().count() > 50 {
            self.out.truncate(start);
            self.push("any");
            self.unsaid = true;
        }
        self.push("[]");
        self.nullable(spec);
        Ok(&["type", "items", "nullable"])
    }

    fn nullable(&mut self, spec: &Value<'_>) {
        if is_true(spec.get("nullable")) {
            self.push(" | null");
        }
    }

    fn union(&mut self, names: &[Value<'_>]) -> Result<&'static [&'static str]> {
        for (index, name) in names.iter().enumerate() {
            self.push(if index == 0 { "" } else { " | " });
            let text = to_text(name).ok_or("the template cannot write a list of types")?;
            // A type is not quoted, so it cannot be escaped.
            match (leaves_name(&text), self.engine) {
                (true, Engine::Documented) => {
                    self.unsaid = true;
                    self.push("any");
                }
                (true, _) => return Err(LEAVES),
                (false, _) => self.push(&text),
            }
        }
        Ok(&["type"])
    }

    fn one_of(&mut self, variants: &Value<'_>) -> Result<&'static [&'static str]> {
        let variants = variants.as_list().ok_or("`oneOf` must be an array")?;
        for (index, variant) in variants.iter().enumerate() {
            self.kind(variant, &["description", "default"])?;
            if let Some(description) = variant.get("description").filter(|it| is_true(Some(it))) {
                self.push("// ");
                self.note(text(description)?)?;
            }
            if let Some(default) = variant.get("default") {
                // The text between the tags of the template.
                self.push(match self.engine {
                    Engine::Transformers => "                    // default: ",
                    _ => "\n                    // default: ",
                });
                self.json(default)?;
            }
            if index + 1 < variants.len() {
                self.push(match self.engine {
                    Engine::Transformers => " | \n",
                    _ => " | \n                ",
                });
            }
        }
        Ok(&["oneOf"])
    }

    fn string(&mut self, spec: &Value<'_>) -> Result<&'static [&'static str]> {
        let Some(values) = spec.get("enum").filter(|it| is_true(Some(it))) else {
            self.push("string");
            self.nullable(spec);
            return Ok(&["type", "nullable"]);
        };
        let values = values.as_list().ok_or("`enum` must be an array")?;
        for (index, value) in values.iter().enumerate() {
            self.push(if index == 0 { "" } else { " | " });
            let text = to_text(value).ok_or("the template cannot write this `enum`")?;
            let leaves = text.contains(|c| matches!(c, '"' | '\\') || is_break(c));
            match (leaves, self.engine) {
                (false, _) => self.out.extend(["\"", &*text, "\""]),
                (true, Engine::Documented) => self.push(&quoted(&text)),
                (true, _) => return Err(LEAVES),
            }
        }
        Ok(&["type", "enum"])
    }

    fn object(&mut self, spec: &Value<'_>) -> Result<&'static [&'static str]> {
        let Some(properties) = spec.get("properties").filter(|it| is_true(Some(it))) else {
            self.push("object");
            return Ok(&["type"]);
        };
        let entries = entries(properties)?;
        self.push("{\n");
        for (index, (name, spec_of)) in entries.iter().enumerate() {
            self.name(name)?;
            self.push(if is_required(name, spec.get("required"))? { "" } else { "?" });
            // The text between the tags of the template.
            self.push(": \n                ");
            self.kind(spec_of, &[])?;
            self.push(if index + 1 < entries.len() { ", " } else { "" });
        }
        self.push("}");
        Ok(&["type", "properties", "required"])
    }

    /// Writes a text in a comment on the line before the item.
    fn comment(&mut self, text: &str) -> Result<()> {
        match (text.contains(is_break), self.engine) {
            (false, _) => self.push(text),
            (true, Engine::Documented) => {
                for (index, line) in lines(text).enumerate() {
                    self.push(if index == 0 { "" } else { "\n// " });
                    self.push(line);
                }
            }
            (true, _) => return Err(LEAVES),
        }
        Ok(())
    }

    /// Writes a text in a comment after the item.
    fn note(&mut self, text: &str) -> Result<()> {
        match (text.contains(is_break), self.engine) {
            (false, _) => self.push(text),
            (true, Engine::Documented) => self.push(&one_line(text)),
            (true, _) => return Err(LEAVES),
        }
        Ok(())
    }

    /// Writes the name of a parameter.
    fn name(&mut self, name: &str) -> Result<()> {
        match (leaves_name(name), self.engine) {
            (false, _) => self.push(name),
            (true, Engine::Documented) => self.push(&quoted(name)),
            (true, _) => return Err(LEAVES),
        }
        Ok(())
    }

    fn json(&mut self, value: &Value<'_>) -> Result<()> {
        let mut json = String::new();
        if self.engine == Engine::Transformers {
            to_json(&mut json, value);
            if json.contains(is_break) {
                return Err(LEAVES);
            }
            self.push(&json);
            return Ok(());
        }
        to_json(&mut json, &sorted(value));
        for c in json.chars() {
            self.html_safe(c);
        }
        Ok(())
    }

    /// Writes a character of JSON like the filter of jinja2, which escapes everything except ASCII,
    /// and the special characters of HTML.
    fn html_safe(&mut self, c: char) {
        if c.is_ascii() && !matches!(c, '<' | '>' | '&' | '\'' | '\u{7f}') {
            return self.out.push(c);
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            self.out.push_str(&format!("\\u{unit:04x}"));
        }
    }
}

/// The error for a text that the template does not escape.
const LEAVES: &str = "the template does not escape a text of the schema; use the default profile";

/// Returns a text as a TypeScript string on one line.
fn quoted(text: &str) -> String {
    literal(&Value::from(Data::String(text.into())))
}

/// Whether a name would be read as more than a name.
fn leaves_name(name: &str) -> bool {
    name.contains("//")
        || name.contains("/*")
        || name.contains(|c| {
            is_break(c) || matches!(c, '"' | '\\' | '{' | '}' | ',' | ';' | ':' | '|')
        })
}

/// Returns a value with the keys of its objects in order.
fn sorted<'a>(value: &Value<'a>) -> Value<'a> {
    let data = match &value.data {
        Data::List(items) => Data::List(items.iter().map(sorted).collect()),
        Data::Map(entries) => {
            let mut entries: Vec<_> =
                entries.iter().map(|(key, value)| (key.clone(), sorted(value))).collect();
            entries.sort_by(|one, two| one.0.cmp(&two.0));
            Data::Map(entries)
        }
        data => data.clone(),
    };
    Value::from(data)
}

fn entries<'v, 'a>(value: &'v Value<'a>) -> Result<&'v [(std::borrow::Cow<'a, str>, Value<'a>)]> {
    value.as_map().ok_or("`properties` must be an object")
}

fn text<'v>(value: &'v Value<'_>) -> Result<&'v str> {
    value.as_str().ok_or("a description or default must be a string")
}

/// Whether a name is required, according to the operator `in` of Python.
fn is_required(name: &str, required: Option<&Value<'_>>) -> Result<bool> {
    let Some(required) = required.filter(|it| is_true(Some(it))) else { return Ok(false) };
    match &required.data {
        Data::List(names) => Ok(names.iter().any(|it| it.as_str() == Some(name))),
        Data::String(text) => Ok(text.contains(name)),
        Data::Map(entries) => Ok(entries.iter().any(|entry| entry.0 == name)),
        _ => Err("`required` must be an array"),
    }
}
