//! Each call must have its own id and a reply, and each reply a call (SPEC 2.2 §6, §8.2; SPEC 2.0
//! §8).

use crate::diagnostic::quote;
use crate::model::{End, Message, Role, bare_name};
use crate::pairing::{Paired, Pairing, Pairs, ends_turn};
use crate::{Code, Diagnostic, Severity, Span};

fn duplicate(id: &str, span: Span) -> Diagnostic {
    let text = format!("duplicate `call_id` {}", quote(id));
    Code::ParseHeader.at(span, text).help("give each call its own id")
}

/// The calls so far.
#[derive(Debug)]
pub(super) struct Calls {
    pairing: Pairing,
    pairs: Pairs,
    /// The span of each call's header.
    spans: Vec<Span>,
    /// The number of calls before the last user message or answer.
    passed: usize,
}

impl Calls {
    pub(super) fn new(pairing: Pairing) -> Self {
        Self { pairing, pairs: Pairs::default(), spans: Vec::new(), passed: 0 }
    }

    /// Checks a call or a reply.
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
        let is_reused = id.is_some_and(|id| self.pairs.has(id));
        if self.has_ids() && id.is_none() {
            let diagnostic = Code::ParseHeader.at(span, "the call has no `call_id`");
            found.push(diagnostic.help("add `call_id=` to its header"));
        }
        match (self.pairs.call(id, tool), id) {
            (None, Some(id)) => found.push(duplicate(id, span)),
            (_, Some(id)) if is_reused => {
                let mut diagnostic = duplicate(id, span);
                if self.pairing == Pairing::ByLastId {
                    diagnostic.severity = Severity::Warning;
                }
                found.push(diagnostic);
                self.spans.push(span);
            }
            _ => self.spans.push(span),
        }
    }

    /// Whether calls and replies are paired by id.
    fn has_ids(&self) -> bool {
        matches!(self.pairing, Pairing::ById | Pairing::ByLastId)
    }

    fn reply(&mut self, message: &Message<'_>, found: &mut Vec<Diagnostic>) {
        let (id, name) = (self.id(message), message.name.as_deref());
        let unmatched = Code::ReplyUnmatched;
        let (code, wrong) = match (self.pairs.reply(id, name), id) {
            (Paired::Unknown, None) => {
                (unmatched, "no earlier call waits for this reply".to_owned())
            }
            (Paired::Unknown, Some(id)) => {
                (unmatched, format!("no earlier call has the `call_id` {}", quote(id)))
            }
            (Paired::Again(_), id) => {
                let id = quote(id.unwrap_or_default());
                (unmatched, format!("the call {id} already has a reply"))
            }
            (Paired::Answer(_), None) if self.has_ids() => {
                (Code::ParseHeader, "the reply has no `call_id`".to_owned())
            }
            (Paired::Answer(call), Some(id)) => {
                let tool = self.pairs.tool(call);
                let Some(name) = name.filter(|name| bare_name(name) != bare_name(tool)) else {
                    return;
                };
                let (id, name, tool) = (quote(id), quote(name), quote(tool));
                let text =
                    format!("the reply to call {id} comes from {name}, but the call was to {tool}");
                (Code::ParseHeader, text)
            }
            (Paired::Answer(_), None) => return,
        };
        found.push(code.at(message.header_span(), wrong));
    }

    /// Returns the id, if calls and replies are paired by id.
    fn id<'m>(&self, message: &'m Message<'_>) -> Option<&'m str> {
        message.call_id.as_deref().filter(|_| self.has_ids())
    }

    /// Handles a message, which may be of the user or an answer.
    pub(super) fn turn(&mut self, message: &Message<'_>) {
        if ends_turn(message) {
            self.end_turn();
        }
    }

    /// Handles a message of the user or an answer. Calls before it can no longer get a reply.
    #[inline]
    pub(super) fn end_turn(&mut self) {
        self.passed = self.pairs.len();
        self.pairs.turn();
    }

    /// Reports calls without a reply before the last user message or answer.
    pub(super) fn finish(&mut self, found: &mut Vec<Diagnostic>) {
        for call in (0..self.passed).filter(|call| !self.pairs.is_answered(*call)) {
            let text = format!("the call to {} has no reply", quote(self.pairs.tool(call)));
            found.push(Code::CallUnanswered.at(self.spans[call], text));
        }
    }
}
