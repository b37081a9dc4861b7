//! A tool with its properties for the router.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use openchatml::Value;

use crate::{ApprovalPolicy, Tool};

/// A tool with its properties for the router.
#[derive(Clone)]
#[non_exhaustive]
pub struct Entry {
    /// The tool.
    pub tool: Arc<dyn Tool>,
    /// The description for the model.
    pub description: Option<String>,
    /// The JSON Schema of the arguments. Without one, the tool accepts any text.
    pub parameters: Option<Value<'static>>,
    /// Whether a call may run twice. Only then is it repeated after a temporary failure.
    pub is_idempotent: bool,
    /// Whether calls run one after another, in the order of their dispatch. Tools that keep state
    /// between calls may require it.
    pub is_sequential: bool,
    /// The timeout of a call without `deadline_ms`. The default is that of the router.
    pub timeout: Option<Duration>,
    /// The calls that require approval. The default is that of the router.
    pub approve: Option<ApprovalPolicy>,
    /// What the tool knows and the model must not learn, such as a key: failures have `[secret]` in
    /// its place. Texts of less than 4 bytes are ignored.
    pub secrets: Vec<String>,
}

impl Entry {
    /// Creates an entry with default properties.
    pub fn new(tool: impl Tool + 'static) -> Self {
        Self {
            tool: Arc::new(tool),
            description: None,
            parameters: None,
            is_idempotent: false,
            is_sequential: false,
            timeout: None,
            approve: None,
            secrets: Vec::new(),
        }
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("description", &self.description)
            .field("parameters", &self.parameters)
            .field("is_idempotent", &self.is_idempotent)
            .field("is_sequential", &self.is_sequential)
            .field("timeout", &self.timeout)
            .field("approve", &self.approve)
            .finish_non_exhaustive()
    }
}
