//! The keys of an object, to find duplicates.

use std::borrow::Cow;
use std::collections::HashSet;

/// The keys of an object so far: a list while it is short, then a set.
#[derive(Debug, Default)]
pub(crate) struct Keys<'a> {
    few: Vec<Cow<'a, str>>,
    many: HashSet<Cow<'a, str>>,
}

impl<'a> Keys<'a> {
    const FEW: usize = 16;

    /// Adds a key, or returns it if it is a duplicate.
    pub(crate) fn insert(&mut self, key: Cow<'a, str>) -> Result<(), Cow<'a, str>> {
        if self.few.contains(&key) || self.many.contains(&key) {
            return Err(key);
        }
        if self.few.len() < Self::FEW {
            self.few.push(key);
        } else {
            self.many.insert(key);
        }
        Ok(())
    }
}
