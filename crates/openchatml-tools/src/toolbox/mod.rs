//! The tools of a router, with the names that models use.

mod entry;

use std::collections::HashMap;
use std::fmt;

use openchatml::Role;

pub use self::entry::Entry;

/// The tools of a router.
///
/// ```
/// use openchatml_tools::{Entry, Output, Toolbox, function};
///
/// let mut tools = Toolbox::default();
/// let echo = function(|call| async move { Ok(Output::text(call.arguments())) });
/// tools.insert("functions.echo", Entry::new(echo))?;
/// assert!(tools.get("functions.echo").is_some());
/// # Ok::<(), openchatml_tools::InvalidToolName>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Toolbox {
    entries: HashMap<String, Entry>,
    /// The names in the order of their insertion, which is also the order of declarations.
    names: Vec<String>,
}

impl Toolbox {
    /// Adds a tool under the recipient that models name: `functions.weather`, `browser.search`,
    /// `python`.
    ///
    /// # Errors
    ///
    /// The name is already used, is the name of a role, or is not allowed in a header.
    pub fn insert(&mut self, name: impl Into<String>, entry: Entry) -> Result<(), InvalidToolName> {
        let name = name.into();
        if self.entries.contains_key(&name) {
            return Err(InvalidToolName { name, why: "is the name of another tool" });
        }
        if Role::from_word(&name).is_some() {
            return Err(InvalidToolName { name, why: "is the name of a role" });
        }
        if !is_name(&name) {
            return Err(InvalidToolName {
                name,
                why: "cannot be written as a recipient in a header",
            });
        }
        self.names.push(name.clone());
        self.entries.insert(name, entry);
        Ok(())
    }

    /// Returns the tool with this name.
    pub fn get(&self, name: &str) -> Option<&Entry> {
        self.entries.get(name)
    }

    /// Returns all tools, in the order of their insertion.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.names.iter().map(|name| (name.as_str(), &self.entries[name]))
    }
}

/// Whether a name can be written in a header without ending the value (OpenChatML 2.2 §15).
fn is_name(name: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    name.split('.').all(is_part)
}

/// The error for an invalid name of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidToolName {
    /// The name.
    pub name: String,
    /// The reason.
    pub why: &'static str,
}

impl fmt::Display for InvalidToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.name.escape_debug(), self.why)
    }
}

impl std::error::Error for InvalidToolName {}
