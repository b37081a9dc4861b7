//! What is written although a service does not accept it: what the services share. Nothing is lost
//! by it.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::function_name;
use crate::json::{Data, Value};
use crate::model::{Conversation, Message};
use crate::rules::Unaccepted;

/// What a service accepts as the name of a function.
pub(crate) struct FunctionName {
    /// The other characters than ASCII letters and digits.
    pub(crate) others: &'static str,
    /// Whether the first character must be a letter or `_`.
    pub(crate) begins_with_letter: bool,
    /// The largest number of characters.
    pub(crate) max: usize,
}

impl FunctionName {
    fn accepts(&self, name: &str) -> bool {
        let is_known = |it: char| it.is_ascii_alphanumeric() || self.others.contains(it);
        let first = name.chars().next();
        let begins = |it: char| !self.begins_with_letter || it == '_' || it.is_ascii_alphabetic();
        first.is_some_and(begins) && name.len() <= self.max && name.chars().all(is_known)
    }

    /// Returns why the service does not accept the function of a call.
    pub(crate) fn of_call(&self, call: &Message<'_>) -> Option<&'static str> {
        match call.recipient.as_deref().and_then(function_name) {
            None => Some("a tool that is not a function"),
            Some(name) => (!self.accepts(name)).then_some("the name of the function"),
        }
    }
}

/// Keywords that some services do not accept at the top of the schema of a function.
const COMPOSITIONS: &[&str] = &["oneOf", "anyOf", "allOf"];

/// Finds the schemas of declared functions that are composed of others.
pub(crate) fn of_compositions(conversation: &Conversation<'_>) -> Vec<Unaccepted> {
    let schemas = conversation.tools.iter().filter_map(|tool| tool.parameters.as_ref()?.as_map());
    let mut keys = schemas.flatten().map(|(key, _)| key.as_ref());
    let key = keys.find(|key| COMPOSITIONS.contains(key));
    let reason = key.map(|key| format!("the keyword {key} at the top of a schema"));
    reason.map(|reason| Unaccepted { at: None, reason: Cow::Owned(reason) }).into_iter().collect()
}

/// Finds what a service does not accept in the declared functions, which can have these `keys`
/// besides their name, description and schema.
pub(crate) fn of_tools(
    conversation: &Conversation<'_>,
    names: &FunctionName,
    keys: &[&str],
) -> Vec<Unaccepted> {
    let mut found = Vec::new();
    let mut declared = HashSet::new();
    for tool in &conversation.tools {
        if !declared.insert(tool.name.as_ref()) {
            found.push(Unaccepted::of_document("two declared functions of one name"));
        }
        if !names.accepts(&tool.name) {
            found.push(Unaccepted::of_document("the name of a declared function"));
        }
        let is_own = |key: &str, value: &Value<'_>| keys.contains(&key) || value.data == Data::Null;
        let others = tool.extra.iter().filter(|(key, value)| !is_own(key, value));
        found.extend(others.map(|(key, _)| Unaccepted {
            at: None,
            reason: Cow::Owned(format!("the key {key} of a declared function")),
        }));
        let schema = tool.parameters.as_ref().and_then(|it| it.as_map());
        let kind = schema.and_then(|it| it.iter().rev().find(|field| field.0 == "type"));
        let is_of_object = kind.is_some_and(|(_, kind)| kind.as_str() == Some("object"));
        if tool.parameters.is_some() && !is_of_object {
            found.push(Unaccepted::of_document("a schema that is not of an object"));
        }
    }
    found
}
