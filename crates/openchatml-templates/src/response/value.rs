//! The value of a region.

use openchatml::{Data, Limits, Value};

use super::python::string;
use super::spec::Field;

type Captures = [(String, String)];

impl Field {
    /// Returns the value of a region: its parsed content, reshaped with the groups of its anchors.
    pub(super) fn value(
        &self,
        text: &str,
        captures: &Captures,
        limits: &Limits,
    ) -> Result<Value<'static>, String> {
        let content = self.content.parse(text, limits)?;
        let Some(transform) = &self.transform else { return Ok(content) };
        let mut scope = scope(captures);
        if !self.transform_each {
            scope.push(("content", content));
            return transform.apply(&scope);
        }
        let items = content.as_list().ok_or("`transform_each` requires a list")?;
        let apply = |item: &Value<'static>| {
            let entries = item.as_map().ok_or("`transform_each` requires a list of objects")?;
            let entries = entries.iter().map(|(key, value)| (key.as_ref(), value.clone()));
            transform.apply(&scope.iter().cloned().chain(entries).collect::<Vec<_>>())
        };
        let items: Result<Vec<_>, String> = items.iter().map(apply).collect();
        Ok(Data::List(items?).into())
    }

    /// Returns the value of a region whose content cannot be parsed, from its anchors alone.
    pub(super) fn without_content(&self, captures: &Captures) -> Option<Value<'static>> {
        let transform = self.transform.as_ref().filter(|_| !self.transform_each)?;
        let mut scope = scope(captures);
        scope.push(("content", Value::default()));
        transform.apply(&scope).ok()
    }
}

fn scope(captures: &Captures) -> Vec<(&str, Value<'static>)> {
    captures.iter().map(|(name, text)| (name.as_str(), string(text))).collect()
}
