//! Limits that the engine does not enforce.
//!
//! The engine counts steps and created text. It does not count the total size of a value, which
//! determines the length of its text, the time of comparisons and its depth. Therefore values are
//! checked when a variable stores them, and texts when they are created.

use std::sync::Arc;

use minijinja::value::{Tuple, ValueKind};
use minijinja::{Error, ErrorKind, State, Value};

use crate::limits::Limits;
use crate::marks::Marks;

/// The limits on values.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    pub(super) limits: Limits,
    /// The marks of content.
    pub(super) marks: Arc<Marks>,
}

/// An exceeded limit, as the source of an error of the engine.
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

/// How many bytes are compared in one step.
const BYTES_OF_STEP: u64 = 256;

impl Bounds {
    /// Returns the error for an exceeded limit.
    pub(super) fn exceeded(&self, limit: Exceeded) -> Error {
        Error::new(ErrorKind::InvalidOperation, limit.to_string()).with_source(limit)
    }

    /// Checks the depth of a value.
    pub(super) fn depth(&self, depth: usize) -> Result<(), Error> {
        match depth > self.limits.value_depth {
            true => Err(self.exceeded(Exceeded::Depth)),
            false => Ok(()),
        }
    }

    /// Checks the length of a text before it is created.
    pub(super) fn bytes(&self, bytes: Option<usize>) -> Result<(), Error> {
        match bytes {
            Some(bytes) if bytes <= self.limits.value_bytes => Ok(()),
            _ => Err(self.exceeded(Exceeded::Bytes)),
        }
    }

    /// Returns the value for a variable: it has not too many items, is not too deep, and is fully
    /// evaluated, because a lazy value would also keep the values that it is computed from.
    pub(super) fn keep(&self, state: &State, value: Value) -> Result<Value, Error> {
        let mut items = self.limits.value_items;
        Ok(self.made(state, &value, &mut items, 0)?.unwrap_or(value))
    }

    /// Evaluates a value fully. Returns `None` if it already is.
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
            // A value that is not data has no keys.
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

    /// Counts the steps of putting the items of a value in order: the engine counts each comparison as
    /// one step, however long the texts are.
    pub(super) fn ordered(&self, state: &State, value: &Value) -> Result<(), Error> {
        let mut items = self.limits.value_items;
        let bytes = self.text_bytes(value, &mut items, 0)?;
        let rounds = u64::from(self.limits.value_items.saturating_sub(items).max(2).ilog2()) + 1;
        state.consume_fuel(bytes.saturating_mul(rounds) / BYTES_OF_STEP)
    }

    /// Returns the length of all texts in a value.
    fn text_bytes(&self, value: &Value, items: &mut usize, depth: usize) -> Result<u64, Error> {
        self.depth(depth)?;
        if let Some(text) = value.as_str() {
            return Ok(text.len() as u64);
        }
        if !matches!(value.kind(), ValueKind::Seq | ValueKind::Map) {
            return Ok(0);
        }
        let is_map = value.kind() == ValueKind::Map;
        let mut bytes = 0_u64;
        for item in value.try_iter()?.checked() {
            *items = items.checked_sub(1).ok_or_else(|| self.exceeded(Exceeded::Items))?;
            let item = item?;
            bytes = bytes.saturating_add(self.text_bytes(&item, items, depth + 1)?);
            if is_map {
                let item = value.get_item(&item)?;
                bytes = bytes.saturating_add(self.text_bytes(&item, items, depth + 1)?);
            }
        }
        Ok(bytes)
    }

    /// Checks a value for a comparison: the number of its items and its depth.
    pub(super) fn bounded(&self, state: &State, value: Value) -> Result<Value, Error> {
        self.keep(state, value.clone()).map(|_| value)
    }
}
