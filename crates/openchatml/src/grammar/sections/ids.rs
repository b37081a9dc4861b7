//! Ids of calls that contain the name of the tool, such as `functions.now:0`, and the heading of
//! replies, which contains such an id.

use std::collections::HashSet;

use super::between::Kind;
use super::reader::{Reader, State};
use super::{Opening, Piece, Rules, Turn};
use crate::Span;
use crate::model::{Conversation, Message, Role, bare_name};
use crate::pairing::{Paired, Pairs};
use crate::reading::{Kept, Out};
use crate::rules::Lost;

impl Rules {
    /// Whether the ids of calls contain the names of tools.
    pub(super) fn has_named_ids(&self) -> bool {
        self.sections.calls.pieces.iter().any(|piece| matches!(piece, Piece::IdUpTo(_)))
    }

    /// Returns the name of the tool in an id: the text between the namespace, which can be missing,
    /// and the number.
    pub(super) fn named_by<'i>(&self, id: &'i str) -> Option<&'i str> {
        let (name, number) = id.rsplit_once(':')?;
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let name = self.sections.calls.tool(name);
        (is_number && !bare_name(name).is_empty() && name.trim_ascii() == name).then_some(name)
    }

    /// Whether an id contains the name of this tool.
    fn names(&self, id: &str, recipient: &str) -> bool {
        let name = self.named_by(id).filter(|_| id.trim_ascii() == id);
        name.is_some_and(|name| self.recipient(name) == recipient)
    }

    /// Returns the text before the id in replies.
    pub(super) fn heading(&self) -> Option<&'static str> {
        self.turn_of(Kind::Reply).and_then(Turn::heading)
    }

    /// Whether a call or a reply has no id, or one that is not read back.
    fn lacks_id(&self, message: &Message<'_>) -> bool {
        let id = message.call_id.as_deref();
        if message.is_call() {
            return !id.is_some_and(|id| {
                self.names(id, message.recipient.as_deref().unwrap_or_default())
            });
        }
        let is_named = |id: &str| {
            let name = self.named_by(id).map(|name| self.recipient(name));
            name.is_none_or(|name| message.name.as_deref() == Some(&*name))
        };
        message.role == Role::Tool && !id.is_none_or(|id| is_named(id) && is_line(id))
    }

    /// Whether the ids of a conversation must be composed before it is written.
    pub(crate) fn lacks_ids(&self, conversation: &Conversation<'_>) -> bool {
        conversation.messages.iter().any(|message| self.lacks_id(message))
    }
}

/// Whether an id can be written in the heading of a reply.
fn is_line(id: &str) -> bool {
    !id.is_empty() && id.trim_ascii() == id && !id.contains('\n')
}

impl Turn {
    /// Returns the text before the id, in turns of replies.
    pub(super) fn heading(&self) -> Option<&'static str> {
        match self.opening {
            Opening::Titled(title) => title.heading,
            _ => None,
        }
    }
}

/// Gives calls ids that contain the name of their tool, and gives replies the ids of their calls.
#[derive(Debug, Default)]
pub(super) struct Ids {
    /// The ids of the conversation.
    used: HashSet<String>,
    pairs: Pairs,
    /// The new ids of the calls in `pairs`.
    given: Vec<String>,
    /// The number of calls so far.
    count: usize,
    /// The number after the last one that was chosen because another was used.
    next: usize,
}

impl Ids {
    /// Creates them for a conversation with these ids.
    pub(super) fn new<'m>(ids: impl Iterator<Item = &'m str>) -> Self {
        Self { used: ids.map(str::to_owned).collect(), ..Self::default() }
    }

    /// Begins a turn, after a message of the user or an answer.
    pub(super) fn turn(&mut self) {
        self.pairs.turn();
    }

    /// Sets the id of a call. Returns whether that changes one.
    pub(super) fn call(&mut self, rules: &Rules, message: &mut Message<'_>) -> Option<Lost> {
        let recipient = message.recipient.as_deref().unwrap_or_default();
        let own = message.call_id.as_deref();
        let kept = own.filter(|id| rules.names(id, recipient)).map(str::to_owned);
        let id = kept.unwrap_or_else(|| self.create(rules, rules.tool(message)));
        if self.pairs.call(own, recipient).is_some() {
            self.given.push(id.clone());
        }
        self.count += 1;
        let is_changed = own.is_some_and(|own| own != id);
        message.call_id = Some(id.into());
        is_changed.then_some(Lost::CallIdChanged)
    }

    /// Sets the id of a reply and the name of its tool. Returns what that changes.
    pub(super) fn reply(&mut self, rules: &Rules, reply: &mut Message<'_>) -> Vec<Lost> {
        let own = reply.call_id.as_deref();
        let paired = self.pairs.reply(own, reply.name.as_deref());
        let id = match paired {
            Paired::Answer(call) | Paired::Again(call) => Some(self.given[call].clone()),
            Paired::Unknown => {
                let fits =
                    |id: &&str| rules.named_by(id).is_some() || reply.name.is_none() && is_line(id);
                let name = reply.name.as_deref().map(|name| rules.sections.calls.tool(name));
                match own.filter(fits) {
                    Some(id) => Some(id.trim_ascii().to_owned()),
                    None => name.map(|name| self.create(rules, name)),
                }
            }
        };
        let mut lost = Vec::new();
        match (own, &id) {
            (Some(own), Some(id)) if own != id => lost.push(Lost::CallIdChanged),
            (Some(_), None) => lost.push(Lost::CallId),
            _ => {}
        }
        let name =
            id.as_deref().and_then(|id| rules.named_by(id)).map(|name| rules.recipient(name));
        if reply.name.is_some() && reply.name.as_deref() != name.as_deref() {
            lost.push(Lost::Name);
        }
        reply.name = name.map(Into::into);
        reply.call_id = id.map(Into::into);
        lost
    }

    /// Returns a new id for this tool.
    fn create(&mut self, rules: &Rules, tool: &str) -> String {
        let namespace = rules.sections.calls.namespace;
        let mut number = self.count;
        loop {
            let id = format!("{namespace}.{tool}:{number}");
            if self.used.insert(id.clone()) {
                return id;
            }
            number = self.next.max(number + 1);
            self.next = number + 1;
        }
    }
}

impl<'a> Reader<'a> {
    /// Reads text at the beginning of a turn of replies, up to the end of its heading.
    pub(super) fn in_heading(
        &mut self,
        heading: &'static str,
        text: &str,
        span: Span,
        out: &mut Out<'a, '_>,
    ) {
        let State::Turn(line) = &mut self.state else { return };
        let end = memchr::memchr(b'\n', text.as_bytes()).map(|at| at + 1);
        let wanted = end.unwrap_or(text.len());
        let exact = span.len() == text.len();
        let split = if exact { span.start + wanted } else { span.end };
        let room = out.options.limits.header_bytes.saturating_sub(line.len());
        let place = Span::new(span.start, split);
        let is_within = wanted <= room;
        let (text, rest) = if is_within { text.split_at(wanted) } else { (text, "") };
        line.push(text, if is_within { place } else { span }, out.keep);
        let so_far = line.as_str();
        let begins = so_far.starts_with(heading) || heading.starts_with(so_far);
        if is_within && begins && end.is_none() {
            return;
        }
        let line = std::mem::take(line);
        match is_within && self.has_id(heading, line.as_str()) {
            true => self.begin_body(Kind::Reply, split, out),
            false => self.speak(Kind::Reply, line, out),
        }
        if !rest.is_empty() {
            self.take(rest, Span::new(split, span.end), out);
        }
    }

    /// Takes the id of a reply out of its heading. Returns whether there is one.
    pub(super) fn has_id(&mut self, heading: &str, line: &str) -> bool {
        let id = line.strip_prefix(heading).map(str::trim_ascii).filter(|id| !id.is_empty());
        self.reply_id = id.map(str::to_owned);
        self.reply_id.is_some()
    }

    /// Sets the id of a reply and the name of its tool.
    pub(super) fn name_reply(&mut self, message: &mut Message<'a>) {
        let id = self.reply_id.take();
        if let Some(tool) = self.reply_tool.take() {
            let name = self.rules.recipient(&tool);
            self.waiting.answer_tool(Some(&name));
            message.name = Some(name.into());
            return;
        }
        let name = match self.rules.has_named_ids() {
            true => {
                let name = id.as_deref().and_then(|id| self.rules.named_by(id));
                let name = name.map(|name| self.rules.recipient(name));
                let waiting = self.waiting.answer_tool(name.as_deref());
                name.or(waiting)
            }
            false => self.waiting.answer(id.as_deref()),
        };
        message.name = name.map(Into::into);
        message.call_id = id.map(Into::into);
    }

    /// Begins a reply that ends in its heading, at byte `at`. Returns whether there is one.
    pub(super) fn say_heading(&mut self, at: usize, out: &mut Out<'a, '_>) -> bool {
        let heading = self.turn.and_then(Turn::heading).filter(|_| self.said.is_none());
        let State::Turn(line) = &self.state else { return false };
        let Some(heading) = heading else { return false };
        let line = line.as_str().to_owned();
        if !self.has_id(heading, &line) || !out.admits(Span::at(at)) {
            return false;
        }
        self.state = State::Turn(Kept::default());
        self.begin_body(Kind::Reply, at, out);
        true
    }
}
