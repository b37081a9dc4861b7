//! A tool, and what the router has to know of it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use openchatml::Value;

use crate::{Approve, Tool};

/// A tool, and what the router has to know of it.
#[derive(Clone)]
#[non_exhaustive]
pub struct Entry {
    /// What runs.
    pub tool: Arc<dyn Tool>,
    /// What it does, in the words that the model reads.
    pub description: Option<String>,
    /// The JSON Schema of its arguments. Without one, it takes any text.
    pub parameters: Option<Value<'static>>,
    /// Whether a call may be made twice. Only then it is made again after a failure that may pass.
    pub is_idempotent: bool,
    /// Whether its calls are made one after the other, in the order in which they were dispatched.
    /// Those of a tool that keeps something from one call to the next may have to be.
    pub is_sequential: bool,
    /// How long a call may take that names no `deadline_ms`. The router's default, if none.
    pub timeout: Option<Duration>,
    /// Which of its calls somebody approves before they are made. The router's default, if none.
    pub approve: Option<Approve>,
}

impl Entry {
    /// A tool of which nothing else is known.
    pub fn new(tool: impl Tool + 'static) -> Self {
        Self {
            tool: Arc::new(tool),
            description: None,
            parameters: None,
            is_idempotent: false,
            is_sequential: false,
            timeout: None,
            approve: None,
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
