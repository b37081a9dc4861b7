//! A tool of a server.

use std::sync::Arc;

use openchatml::{Limits, Value};

use super::connection::Connection;
use super::{NotConnected, ServerOptions};
use crate::{Call, Entry, Run, Tool};

struct Remote {
    connection: Arc<Connection>,
    /// What the server calls it.
    name: String,
}

impl Tool for Remote {
    fn call<'t>(&'t self, call: &'t Call) -> Run<'t> {
        Box::pin(self.connection.call(&self.name, call))
    }
}

/// What models call a tool that its server calls so.
pub(super) fn name(theirs: &str) -> String {
    let fits = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    theirs.chars().map(|c| if fits(&c) { c } else { '_' }).collect()
}

/// A tool as its server lists it.
pub(super) fn entry(
    connection: &Arc<Connection>,
    listed: rmcp::model::Tool,
    options: &ServerOptions,
) -> Result<Entry, NotConnected> {
    let name = listed.name.into_owned();
    let wrong = |why: String| {
        NotConnected::new(format!("the schema of its tool `{}`: {why}", name.escape_debug()))
    };
    let schema =
        serde_json::to_string(&*listed.input_schema).map_err(|it| wrong(it.to_string()))?;
    let schema = Value::from_json(&schema, &Limits::default()).map_err(|it| wrong(it.message))?;
    let schema = schema.into_owned();
    let hints = listed.annotations.filter(|_| options.trusts_hints);
    let is_idempotent = hints.is_some_and(|hints| {
        hints.idempotent_hint == Some(true) || hints.read_only_hint == Some(true)
    });
    let mut entry = Entry::new(Remote { connection: connection.clone(), name });
    entry.description = listed.description.map(String::from).or(listed.title);
    entry.parameters = Some(schema);
    entry.is_idempotent = is_idempotent;
    Ok(entry)
}
