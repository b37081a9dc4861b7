//! The names of tools in replies. A reply names its call by an id, and the call names the tool.

use std::borrow::Cow;

use super::calls::recipient;
use crate::model::{Message, bare_name};
use crate::pairing::{Paired, Pairs, ends_turn};

/// The calls so far, for their replies. Readers and writers use it in the same way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Replies {
    pairs: Pairs,
}

impl Replies {
    /// Adds a call.
    pub(crate) fn call(&mut self, call: &Message<'_>) {
        let tool = call.recipient.as_deref().unwrap_or_default();
        self.pairs.call(call.call_id.as_deref(), tool);
    }

    /// Adds a message: a call, or one after which a turn begins.
    pub(crate) fn hear(&mut self, message: &Message<'_>) {
        if message.is_call() {
            self.call(message);
        } else if ends_turn(message) {
            self.pairs.turn();
        }
    }

    /// Returns the tool of the call that a reply answers: the call with its id, or the oldest
    /// waiting call.
    fn answered(&mut self, id: Option<&str>, name: Option<&str>) -> Option<&str> {
        match self.pairs.reply(id, name) {
            Paired::Answer(call) | Paired::Again(call) => Some(self.pairs.tool(call)),
            Paired::Unknown => None,
        }
    }

    /// Returns the name of the tool that replies. `name` is the name in the reply, without its
    /// namespace. `author` is the whole name.
    pub(crate) fn name<'a>(
        &mut self,
        id: Option<&str>,
        name: Option<Cow<'a, str>>,
        author: Option<Cow<'a, str>>,
    ) -> Option<Cow<'a, str>> {
        let tool = self.answered(id, author.as_deref().or(name.as_deref()));
        match (author, name) {
            (Some(author), _) => Some(author),
            (None, Some(name)) => Some(whole(name, tool)),
            (None, None) => tool.map(|tool| Cow::Owned(tool.to_owned())),
        }
    }

    /// Returns the `name` and `author` that a reply must have, so that [`name`](Self::name) returns
    /// its name.
    pub(crate) fn identify<'m>(
        &mut self,
        reply: &'m Message<'_>,
    ) -> (Option<&'m str>, Option<&'m str>) {
        let (id, name) = (reply.call_id.as_deref(), reply.name.as_deref());
        let tool = self.answered(id, name);
        let Some(name) = name else { return (None, None) };
        if id.is_some() && tool == Some(name) {
            return (None, None);
        }
        match bare_name(name) {
            short if whole(Cow::Borrowed(short), tool) == name => (Some(short), None),
            _ => (None, Some(name)),
        }
    }

    /// The same for replies without ids: a reply to the oldest waiting call needs neither.
    pub(crate) fn identify_in_order<'m>(
        &mut self,
        reply: &'m Message<'_>,
    ) -> (Option<&'m str>, Option<&'m str>) {
        let oldest = self.pairs.oldest().map(|call| self.pairs.tool(call));
        if oldest == reply.name.as_deref() {
            self.pairs.reply(None, None);
            return (None, None);
        }
        self.identify(reply)
    }
}

/// Returns the whole name of a tool from its short name. `tool` is the called tool.
fn whole<'a>(name: Cow<'a, str>, tool: Option<&str>) -> Cow<'a, str> {
    match tool.filter(|tool| bare_name(tool) == name) {
        _ if bare_name(&name) != name => name,
        Some(tool) => Cow::Owned(tool.to_owned()),
        None => recipient(&name),
    }
}
