//! Reads declarations of tools in the formats of other programs.

use std::borrow::Cow;

use openchatml::{Code, Data, Diagnostic, Limits, Tool, Value};

use crate::Entry;

/// Reads declarations of tools: functions in the format of Chat Completions or Responses, and tools
/// as MCP servers list them. One text may mix these formats. The text is a list of declarations, or
/// an object with the list under `tools`.
///
/// Other keys of a declaration are in [`Tool::extra`].
///
/// # Errors
///
/// The text is not JSON, or a part of it is not a declaration of a function. The diagnostic has a
/// [`span`](Diagnostic::span) and a [`pointer`](Diagnostic::pointer).
///
/// ```
/// use openchatml_tools::declare;
///
/// let text = r#"[
///     {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}},
///     {"type": "function", "name": "sub", "parameters": {"type": "object"}},
///     {"name": "mul", "description": "Multiplies.", "inputSchema": {"type": "object"}}
/// ]"#;
/// let tools = declare::read(text)?;
/// assert_eq!(tools.iter().map(|tool| &tool.name).collect::<Vec<_>>(), ["add", "sub", "mul"]);
/// assert!(tools.iter().all(|tool| tool.parameters.is_some()));
///
/// let error = declare::read(r#"[{"type": "web_search"}]"#).unwrap_err();
/// assert_eq!(error.pointer.as_deref(), Some("/0/type"));
/// # Ok::<(), openchatml::Diagnostic>(())
/// ```
pub fn read(text: &str) -> Result<Vec<Tool<'static>>, Diagnostic> {
    let value = Value::from_json(text, &Limits::default())?;
    let (list, path) = match value.get("tools") {
        Some(list) => (list, "/tools"),
        None => (&value, ""),
    };
    let Some(items) = list.as_list() else {
        return Err(wrong(list, path, "expected a list of tools"));
    };
    let tool = |(at, item): (usize, &Value<'_>)| tool(item, &format!("{path}/{at}"));
    items.iter().enumerate().map(tool).collect()
}

fn wrong(value: &Value<'_>, path: &str, message: &str) -> Diagnostic {
    let mut found = Code::ParseJson.at(value.span, format!("{message}, found {}", value.kind()));
    found.pointer = Some(path.to_owned());
    found
}

fn tool(value: &Value<'_>, path: &str) -> Result<Tool<'static>, Diagnostic> {
    if let Some(kind) = value.get("type").filter(|kind| kind.as_str() != Some("function")) {
        let text = "only functions can be declared";
        return Err(wrong(kind, &format!("{path}/type"), text));
    }
    match value.get("function") {
        Some(function) => fields(function, &format!("{path}/function")),
        None => fields(value, path),
    }
}

fn fields(value: &Value<'_>, path: &str) -> Result<Tool<'static>, Diagnostic> {
    let Some(fields) = value.as_map() else {
        return Err(wrong(value, path, "expected the declaration of a function"));
    };
    let mut tool = Tool::default();
    for (key, value) in fields {
        let at = || format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
        let text = || match value.as_str() {
            Some(text) => Ok(Cow::Owned(text.to_owned())),
            None => Err(wrong(value, &at(), "expected a string")),
        };
        match key.as_ref() {
            "type" => {}
            "name" => tool.name = text()?,
            _ if value.data == Data::Null => {}
            "description" => tool.description = Some(text()?),
            "parameters" | "inputSchema" => tool.parameters = Some(value.clone().into_owned()),
            _ => tool.extra.push((key.to_string().into(), value.clone().into_owned())),
        }
    }
    if tool.name.is_empty() {
        return Err(wrong(value, path, "the declaration has no name"));
    }
    Ok(tool)
}

impl Entry {
    /// Sets the description and the schema of a declaration.
    ///
    /// ```
    /// use openchatml_tools::{Entry, Output, declare, function};
    ///
    /// let text = r#"[{"name": "now", "description": "The time.", "inputSchema": {}}]"#;
    /// let declared = &declare::read(text)?[0];
    /// let now = function(|_| async { Ok(Output::text("12:00")) });
    /// let entry = Entry::new(now).declared(declared);
    /// assert_eq!(entry.description.as_deref(), Some("The time."));
    /// # Ok::<(), openchatml::Diagnostic>(())
    /// ```
    pub fn declared(mut self, declaration: &Tool<'_>) -> Self {
        self.description = declaration.description.as_deref().map(str::to_owned);
        self.parameters = declaration.parameters.clone().map(Value::into_owned);
        self
    }
}
