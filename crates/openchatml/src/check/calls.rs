//! Every call has an id of its own and a reply, every reply a call (SPEC 2.2 §6, §8.2; SPEC 2.0 §8).

use crate::diagnostic::quote;
use crate::model::{End, Message, Role, bare_name};
use crate::pairing::{Paired, Pairing, Pairs};
use crate::{Code, Diagnostic, Span};

/// What is known of the calls so far.
#[derive(Debug)]
pub(super) struct Calls {
    pairing: Pairing,
    pairs: Pairs,
    /// Where each call's header stands.
    spans: Vec<Span>,
    /// How many of them the conversation has left behind.
    passed: usize,
}

impl Calls {
    pub(super) fn new(pairing: Pairing) -> Self {
        Self { pairing, pairs: Pairs::default(), spans: Vec::new(), passed: 0 }
    }

    /// Takes a call or a reply.
    pub(super) fn message(&mut self, message: &Message<'_>, found: &mut Vec<Diagnostic>) {
        if self.pairing == Pairing::None || message.end == End::Prompt {
            return;
        }
        if message.is_call() {
            self.call(message, found);
        } else if message.role == Role::Tool {
            self.reply(message, found);
        }
    }

    fn call(&mut self, message: &Message<'_>, found: &mut Vec<Diagnostic>) {
        let span = message.header_span();
        let tool = message.recipient.as_deref().unwrap_or_default();
        let id = self.id(message);
        if self.pairing == Pairing::ById && id.is_none() {
            let diagnostic = Code::ParseHeader.at(span, "the call has no call_id");
            found.push(diagnostic.help("add `call_id=` to its header"));
        }
        match (self.pairs.call(id, tool), id) {
            (None, Some(id)) => {
                let text = format!("call_id {} is used twice", quote(id));
                let diagnostic = Code::ParseHeader.at(span, text);
                found.push(diagnostic.help("each call has an id of its own"));
            }
            _ => self.spans.push(span),
        }
    }

    fn reply(&mut self, message: &Message<'_>, found: &mut Vec<Diagnostic>) {
        let (id, name) = (self.id(message), message.name.as_deref());
        let wrong = match (self.pairs.reply(id, name), id) {
            (Paired::Unknown, None) => "no call before this reply waits for it".to_owned(),
            (Paired::Unknown, Some(id)) => {
                format!("no call before this reply has the call_id {}", quote(id))
            }
            (Paired::Again(_), id) => {
                let id = quote(id.unwrap_or_default());
                format!("the call {id} has been answered already")
            }
            (Paired::Answer(_), None) if self.pairing == Pairing::ById => {
                "the reply has no call_id".to_owned()
            }
            (Paired::Answer(call), Some(id)) => {
                let tool = self.pairs.tool(call);
                let Some(name) = name.filter(|name| bare_name(name) != bare_name(tool)) else {
                    return;
                };
                let (id, name, tool) = (quote(id), quote(name), quote(tool));
                format!("the reply to {id} comes from {name}, but {tool} was called")
            }
            (Paired::Answer(_), None) => return,
        };
        found.push(Code::ParseHeader.at(message.header_span(), wrong));
    }

    /// The id that counts.
    fn id<'m>(&self, message: &'m Message<'_>) -> Option<&'m str> {
        message.call_id.as_deref().filter(|_| self.pairing == Pairing::ById)
    }

    /// Takes note of a turn that leaves the calls before it behind: the user speaks again, or the
    /// assistant answers.
    pub(super) fn turn(&mut self, message: &Message<'_>) {
        if message.role == Role::User || message.is_answer() && message.end != End::Prompt {
            self.passed = self.pairs.len();
        }
    }

    /// Reports the calls that were never answered, though the conversation went on.
    pub(super) fn finish(&mut self, found: &mut Vec<Diagnostic>) {
        for call in (0..self.passed).filter(|call| !self.pairs.is_answered(*call)) {
            let text = format!("the call to {} is never answered", quote(self.pairs.tool(call)));
            found.push(Code::ParseHeader.at(self.spans[call], text));
        }
    }
}
