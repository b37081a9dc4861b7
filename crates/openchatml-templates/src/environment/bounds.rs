//! Bounds that the engine does not keep.
//!
//! The engine counts steps, and text that is made as it is made. It does not count what a value
//! holds in all, and so not how long its text is, how long a comparison takes, or how deep it nests.
//! So what a variable keeps is bounded when it is kept, and what is made of values when it is made.

use std::sync::Arc;

use minijinja::value::{Tuple, ValueKind};
use minijinja::{Error, ErrorKind, State, Value};

use crate::limits::Limits;
use crate::marks::Marks;

/// Bounds on values.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    pub(super) limits: Limits,
    /// What content is marked with.
    pub(super) marks: Arc<Marks>,
}

/// A limit that is exceeded, as the source of the engine's error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exceeded {
    Bytes,
    Items,
    Depth,
}

impl std::fmt::Display for Exceeded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a limit is exceeded")
    }
}

impl std::error::Error for Exceeded {}

impl Bounds {
    /// The error that says so.
    pub(super) fn exceeded(&self, limit: Exceeded) -> Error {
        Error::new(ErrorKind::InvalidOperation, limit.to_string()).with_source(limit)
    }

    /// Checks how deep a value nests.
    pub(super) fn depth(&self, depth: usize) -> Result<(), Error> {
        match depth > self.limits.value_depth {
            true => Err(self.exceeded(Exceeded::Depth)),
            false => Ok(()),
        }
    }

    /// Checks how long a text gets before it is made.
    pub(super) fn bytes(&self, bytes: Option<usize>) -> Result<(), Error> {
        match bytes {
            Some(bytes) if bytes <= self.limits.value_bytes => Ok(()),
            _ => Err(self.exceeded(Exceeded::Bytes)),
        }
    }

    /// A value that may be kept in a variable: it has no more items than it may, nests no deeper,
    /// and is made in full, since one that is made of another when it is read would keep that, too.
    pub(super) fn keep(&self, state: &State, value: Value) -> Result<Value, Error> {
        let mut items = self.limits.value_items;
        Ok(self.made(state, &value, &mut items, 0)?.unwrap_or(value))
    }

    /// The value made in full, unless it is already.
    fn made(
        &self,
        state: &State,
        value: &Value,
        items: &mut usize,
        depth: usize,
    ) -> Result<Option<Value>, Error> {
        self.depth(depth)?;
        let kind = value.kind();
        if !matches!(kind, ValueKind::Seq | ValueKind::Iterable | ValueKind::Map) {
            return Ok(None);
        }
        let mut take = || {
            *items = items.checked_sub(1).ok_or_else(|| self.exceeded(Exceeded::Items))?;
            state.consume_fuel(1)
        };
        if kind == ValueKind::Map {
            let mut made = Vec::new();
            let mut is_made = true;
            // What is no data has no keys.
            let Ok(keys) = value.try_iter() else { return Ok(None) };
            for key in keys.checked() {
                take()?;
                made.push((key?, Value::UNDEFINED));
            }
            for (key, item) in &mut made {
                *item = value.get_item(key)?;
                if let Some(other) = self.made(state, item, items, depth + 1)? {
                    (*item, is_made) = (other, false);
                }
            }
            return Ok((!is_made).then(|| Value::from_pairs(made)));
        }
        let is_tuple = value.is_tuple();
        let mut is_made = is_tuple || value.downcast_object_ref::<Vec<Value>>().is_some();
        let mut all = Vec::new();
        for item in value.try_iter()?.checked() {
            take()?;
            all.push(item?);
        }
        for item in &mut all {
            if let Some(other) = self.made(state, item, items, depth + 1)? {
                (*item, is_made) = (other, false);
            }
        }
        let list = |all: Vec<Value>| match is_tuple {
            true => Value::from(Tuple::from(all)),
            false => Value::from(all),
        };
        Ok((!is_made).then(|| list(all)))
    }

    /// A value that may be compared: it has no more items than it may, and nests no deeper.
    pub(super) fn bounded(&self, state: &State, value: Value) -> Result<Value, Error> {
        self.keep(state, value.clone()).map(|_| value)
    }
}
