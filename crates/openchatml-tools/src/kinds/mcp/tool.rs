//! A tool of a server.

use std::sync::Arc;

use openchatml::{Limits, Value};

use super::NotConnected;
use super::digits::Digits;
use super::remote::{Listed, Remote};
use crate::{Call, Entry, Run, Tool};

/// A tool of a server.
struct ServerTool {
    remote: Arc<Remote>,
    /// What the server calls it.
    name: String,
}

impl Tool for ServerTool {
    fn call<'t>(&'t self, call: &'t Call) -> Run<'t> {
        Box::pin(self.remote.call(&self.name, call))
    }
}

/// The tools of a server as it lists them, by the names that models call them by.
pub(super) fn entries(
    remote: &Arc<Remote>,
    listed: Listed,
) -> Result<Vec<(String, Entry)>, NotConnected> {
    let digits = listed.connection.digits();
    let mut entries: Vec<(String, Entry)> = Vec::with_capacity(listed.tools.len());
    for listed in listed.tools {
        let name = format!("{}.{}", remote.options().namespace, name(&listed.name));
        if !remote.options().keeps_clashes && entries.iter().any(|(other, _)| *other == name) {
            let theirs = listed.name.escape_debug();
            return Err(NotConnected::unusable(format!(
                "its tool `{theirs}` has the same name `{name}` as another tool"
            )));
        }
        entries.push((name, entry(remote, listed, digits)?));
    }
    Ok(entries)
}

/// What models call a tool that its server calls so.
fn name(theirs: &str) -> String {
    let fits = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    theirs.chars().map(|c| if fits(&c) { c } else { '_' }).collect()
}

/// A tool as its server lists it.
fn entry(
    remote: &Arc<Remote>,
    listed: rmcp::model::Tool,
    digits: &Digits,
) -> Result<Entry, NotConnected> {
    let name = listed.name.into_owned();
    let wrong = |why: String| {
        NotConnected::unusable(format!("the schema of its tool `{}`: {why}", name.escape_debug()))
    };
    let schema =
        serde_json::to_string(&*listed.input_schema).map_err(|it| wrong(it.to_string()))?;
    let schema = digits.restore(&schema);
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
