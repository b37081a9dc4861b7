//! Calls and replies find each other by `call_id` (SPEC 2.2 §6, §8.2) or, where there is none, by
//! recipient and order (SPEC 2.0 §8).

use std::collections::{HashMap, VecDeque};

use super::Pairing;
use crate::diagnostic::quote;
use crate::model::{End, Message, Role};
use crate::{Code, Diagnostic, Span};

/// What is known of the calls so far. Its memory grows with the number of calls, not with what
/// they say.
#[derive(Debug)]
pub(super) struct Calls {
    pairing: Pairing,
    calls: Vec<Call>,
    /// How many of them the conversation has left behind.
    passed: usize,
    /// The calls by their id, once there are more than a few.
    by_id: HashMap<String, usize>,
    /// The calls of each tool, the oldest first, once a reply without an id asks for them. Answered
    /// ones are dropped when they are met.
    by_tool: HashMap<String, VecDeque<usize>>,
    /// All calls, for replies that do not say which tool they come from.
    by_order: VecDeque<usize>,
    /// How many calls are in the two queues.
    queued: usize,
}

/// So many calls are searched one by one.
const FEW: usize = 16;

#[derive(Debug)]
struct Call {
    id: Option<String>,
    tool: String,
    span: Span,
    answered: bool,
}

impl Calls {
    pub(super) fn new(pairing: Pairing) -> Self {
        Self {
            pairing,
            calls: Vec::new(),
            passed: 0,
            by_id: HashMap::new(),
            by_tool: HashMap::new(),
            by_order: VecDeque::new(),
            queued: 0,
        }
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
        let at = self.calls.len();
        match (self.pairing, message.call_id.as_deref()) {
            (Pairing::ById, Some(id)) => {
                if self.find(id).is_some() {
                    let text = format!("call_id {} is used twice", quote(id));
                    let diagnostic = Code::ParseHeader.at(span, text);
                    found.push(diagnostic.help("each call has an id of its own"));
                    return;
                }
                if at >= FEW {
                    self.by_id.insert(id.to_owned(), at);
                }
            }
            (Pairing::ById, None) => {
                let diagnostic = Code::ParseHeader.at(span, "the call has no call_id");
                found.push(diagnostic.help("add `call_id=` to its header"));
            }
            _ => {}
        }
        let id = message.call_id.as_deref().map(str::to_owned);
        self.calls.push(Call { id, tool: tool.to_owned(), span, answered: false });
    }

    /// The call with this id.
    fn find(&self, id: &str) -> Option<usize> {
        let few = &self.calls[..self.calls.len().min(FEW)];
        let found = few.iter().position(|call| call.id.as_deref() == Some(id));
        found.or_else(|| self.by_id.get(id).copied())
    }

    fn reply(&mut self, message: &Message<'_>, found: &mut Vec<Diagnostic>) {
        let span = message.header_span();
        let mut wrong = |text: String| found.push(Code::ParseHeader.at(span, text));
        let Some(id) = message.call_id.as_deref().filter(|_| self.pairing == Pairing::ById) else {
            if !self.answer_by_order(message.name.as_deref()) {
                wrong("no call before this reply waits for it".to_owned());
            } else if self.pairing == Pairing::ById {
                wrong("the reply has no call_id".to_owned());
            }
            return;
        };
        let Some(call) = self.find(id).and_then(|at| self.calls.get_mut(at)) else {
            return wrong(format!("no call before this reply has the call_id {}", quote(id)));
        };
        if call.answered {
            return wrong(format!("the call {} has been answered already", quote(id)));
        }
        call.answered = true;
        if let Some(name) = message.name.as_deref()
            && bare(name) != bare(&call.tool)
        {
            let (id, name, tool) = (quote(id), quote(name), quote(&call.tool));
            wrong(format!("the reply to {id} comes from {name}, but {tool} was called"));
        }
    }

    /// Answers the oldest call that waits, of the tool that is named if one is.
    fn answer_by_order(&mut self, name: Option<&str>) -> bool {
        for (at, call) in self.calls.iter().enumerate().skip(self.queued) {
            self.by_tool.entry(bare(&call.tool).to_owned()).or_default().push_back(at);
            self.by_order.push_back(at);
        }
        self.queued = self.calls.len();
        let queue = match name {
            Some(name) => self.by_tool.get_mut(bare(name)),
            None => Some(&mut self.by_order),
        };
        let Some(queue) = queue else { return false };
        while let Some(at) = queue.pop_front() {
            let call = &mut self.calls[at];
            if !call.answered {
                call.answered = true;
                return true;
            }
        }
        false
    }

    /// Takes note of a turn that leaves the calls before it behind: the user speaks again, or the
    /// assistant answers.
    pub(super) fn turn(&mut self, message: &Message<'_>) {
        if message.role == Role::User || message.is_answer() && message.end != End::Prompt {
            self.passed = self.calls.len();
        }
    }

    /// Reports the calls that were never answered, though the conversation went on.
    pub(super) fn finish(&mut self, found: &mut Vec<Diagnostic>) {
        for call in self.calls[..self.passed].iter().filter(|call| !call.answered) {
            let text = format!("the call to {} is never answered", quote(&call.tool));
            found.push(Code::ParseHeader.at(call.span, text));
        }
    }
}

/// The name of a tool without its namespace, which replies may leave out.
fn bare(tool: &str) -> &str {
    tool.strip_prefix("functions.").unwrap_or(tool)
}
