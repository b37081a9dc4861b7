//! The keys of an object, to find those that are given twice.

use std::borrow::Cow;
use std::collections::HashSet;

/// The keys of an object so far: a list as long as that is quick, a set afterwards.
#[derive(Debug, Default)]
pub(crate) struct Keys<'a> {
    few: Vec<Cow<'a, str>>,
    many: HashSet<Cow<'a, str>>,
}

impl<'a> Keys<'a> {
    const FEW: usize = 16;

    /// Adds a key, or gives it back if it is not new.
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
