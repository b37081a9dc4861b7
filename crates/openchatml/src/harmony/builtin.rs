//! The built-in tools of gpt-oss.

use crate::declare::Namespace;
use crate::json::{Data, Value};
use crate::model::Tool;

/// A property: its name, its types, its default, and whether it is required.
type Property = (&'static str, &'static [&'static str], Option<Data<'static>>, bool);

impl Namespace<'_> {
    /// Returns the browser tool: `browser.search`, `browser.open` and `browser.find`.
    pub fn browser() -> Namespace<'static> {
        let latest = || Some(Data::Number("-1".into()));
        let search: &[Property] = &[
            ("query", &["string"], None, true),
            ("topn", &["number"], Some(Data::Number("10".into())), false),
            ("source", &["string"], None, false),
        ];
        let open: &[Property] = &[
            ("id", &["number", "string"], latest(), false),
            ("cursor", &["number"], latest(), false),
            ("loc", &["number"], latest(), false),
            ("num_lines", &["number"], latest(), false),
            ("view_source", &["boolean"], Some(Data::Bool(false)), false),
            ("source", &["string"], None, false),
        ];
        let find: &[Property] =
            &[("pattern", &["string"], None, true), ("cursor", &["number"], latest(), false)];
        Namespace {
            name: "browser".into(),
            description: Some(BROWSER.into()),
            tools: vec![
                tool("search", SEARCH, search),
                tool("open", OPEN, open),
                tool("find", FIND, find),
            ],
        }
    }

    /// Returns the tool that runs code: `python`.
    pub fn python() -> Namespace<'static> {
        Namespace { name: "python".into(), description: Some(PYTHON.into()), tools: Vec::new() }
    }
}

fn tool(name: &'static str, description: &'static str, properties: &[Property]) -> Tool<'static> {
    let list = |words: &[&'static str]| {
        Value::from(Data::List(words.iter().map(|word| Value::from(*word)).collect()))
    };
    let property = |(name, types, default, _): &Property| {
        let kind = match types {
            [one] => Value::from(*one),
            several => list(several),
        };
        let mut keys = vec![("type".into(), kind)];
        keys.extend(default.clone().map(|default| ("default".into(), default.into())));
        ((*name).into(), Value::from(Data::Map(keys)))
    };
    let required: Vec<_> = properties.iter().filter(|it| it.3).map(|it| it.0).collect();
    let mut schema = vec![
        ("type".into(), Value::from("object")),
        ("properties".into(), Data::Map(properties.iter().map(property).collect()).into()),
    ];
    if !required.is_empty() {
        schema.push(("required".into(), list(&required)));
    }
    Tool {
        name: name.into(),
        description: Some(description.into()),
        parameters: Some(Data::Map(schema).into()),
        ..Tool::default()
    }
}

// The exact texts that the models were trained on. They are part of the format.

const BROWSER: &str = "Tool for browsing.
The `cursor` appears in brackets before each browsing display: `[{cursor}]`.
Cite information from the tool using the following format:
`【{cursor}†L{line_start}(-L{line_end})?】`, for example: `【6†L9-L11】` or `【8†L3】`.
Do not quote more than 10 words directly from the tool output.
sources=web (default: web)";

const SEARCH: &str = "Searches for information related to `query` and displays `topn` results.";

const OPEN: &str = "Opens the link `id` from the page indicated by `cursor` starting at line number `loc`, showing `num_lines` lines.
Valid link ids are displayed with the formatting: `【{id}†.*】`.
If `cursor` is not provided, the most recent page is implied.
If `id` is a string, it is treated as a fully qualified URL associated with `source`.
If `loc` is not provided, the viewport will be positioned at the beginning of the document or centered on the most relevant passage, if available.
Use this function without `id` to scroll to a new location of an opened page.";

const FIND: &str =
    "Finds exact matches of `pattern` in the current page, or the page given by `cursor`.";

const PYTHON: &str = "Use this tool to execute Python code in your chain of thought. The code will not be shown to the user. This tool should be used for internal reasoning, but not for code that is intended to be visible to the user (e.g. when creating plots, tables, or files).

When you send a message containing Python code to python, it will be executed in a stateful Jupyter notebook environment. python will respond with the output of the execution or time out after 120.0 seconds. The drive at '/mnt/data' can be used to save and persist user files. Internet access for this session is UNKNOWN. Depends on the cluster.";
