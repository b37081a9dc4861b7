//! A tool of a server.

use std::sync::Arc;

use openchatml::{Limits, Value};

use super::ConnectError;
use super::exact_numbers::ExactNumbers;
use super::remote::{Listed, RemoteServer};
use crate::{Call, Entry, Tool, ToolFuture};

/// A tool of a server.
struct ServerTool {
    remote: Arc<RemoteServer>,
    /// The name on the server.
    name: String,
}

impl Tool for ServerTool {
    fn call<'t>(&'t self, call: &'t Call) -> ToolFuture<'t> {
        Box::pin(self.remote.call(&self.name, call))
    }
}

/// Converts the listed tools of a server to entries, with the names that models use.
pub(super) fn entries(
    remote: &Arc<RemoteServer>,
    listed: Listed,
) -> Result<Vec<(String, Entry)>, ConnectError> {
    let exact_numbers = listed.connection.exact_numbers();
    let mut entries: Vec<(String, Entry)> = Vec::with_capacity(listed.tools.len());
    for listed in listed.tools {
        let name = format!("{}.{}", remote.options().namespace, name(&listed.name));
        if !remote.options().keeps_clashes && entries.iter().any(|(other, _)| *other == name) {
            let theirs = listed.name.escape_debug();
            return Err(ConnectError::unusable(format!(
                "its tool `{theirs}` has the same name `{name}` as another tool"
            )));
        }
        entries.push((name, entry(remote, listed, exact_numbers)?));
    }
    Ok(entries)
}

/// Converts the name of a tool on the server to the name that models use.
fn name(theirs: &str) -> String {
    let fits = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    theirs.chars().map(|c| if fits(&c) { c } else { '_' }).collect()
}

/// Converts a listed tool to an entry.
fn entry(
    remote: &Arc<RemoteServer>,
    listed: rmcp::model::Tool,
    exact_numbers: &ExactNumbers,
) -> Result<Entry, ConnectError> {
    let name = listed.name.into_owned();
    let wrong = |why: String| {
        ConnectError::unusable(format!("the schema of its tool `{}`: {why}", name.escape_debug()))
    };
    let schema =
        serde_json::to_string(&*listed.input_schema).map_err(|it| wrong(it.to_string()))?;
    let schema = exact_numbers.restore(&schema);
    let schema = Value::from_json(&schema, &Limits::default()).map_err(|it| wrong(it.message))?;
    let schema = schema.into_owned();
    let hints = listed.annotations.filter(|_| remote.options().trusts_hints);
    let is_idempotent = hints.is_some_and(|hints| {
        hints.idempotent_hint == Some(true) || hints.read_only_hint == Some(true)
    });
    let mut entry = Entry::new(ServerTool { remote: remote.clone(), name });
    entry.description = listed.description.map(String::from).or(listed.title);
    entry.parameters = Some(schema);
    entry.is_idempotent = is_idempotent;
    Ok(entry)
}
