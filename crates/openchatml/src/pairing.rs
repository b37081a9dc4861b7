//! Pairs replies with calls: by `call_id` (OpenChatML 2.2 §6, §8.2) or, without one, by the name of
//! the tool and the order (OpenChatML 2.0 §8), first of the calls since the last message of the user
//! or answer.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use crate::model::{End, Message, Role, bare_name};

/// How replies are paired with calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pairing {
    /// Not at all: the dialect has no calls.
    None,
    /// By recipient and order.
    ByOrder,
    /// By `call_id`, which no two calls share.
    ById,
    /// By `call_id`, which later calls can have again: many services number the calls of each
    /// request.
    ByLastId,
}

/// The calls so far, numbered from 0, and which of them have a reply. Its memory grows with the
/// number of calls, not with their size.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pairs {
    calls: Vec<Call>,
    /// The ids and tools of all calls, concatenated.
    words: String,
    /// The calls by id. It is filled only if there are more than a few calls.
    by_id: HashMap<String, usize>,
    /// The number of calls before the current turn.
    passed: usize,
    /// The waiting calls of the current turn, and those of earlier turns. They are filled only if
    /// there are more than a few calls and a reply without an id needs them.
    queues: [Queues; 2],
    /// How many calls are in the queues.
    queued: usize,
}

/// Calls that wait, oldest first. Calls with a reply are removed when they are found.
#[derive(Clone, Debug, Default)]
struct Queues {
    by_tool: HashMap<String, VecDeque<usize>>,
    /// All calls, for replies that do not name their tool.
    by_order: VecDeque<usize>,
}

impl Queues {
    /// Takes the calls of `others`, which are later ones.
    fn take(&mut self, others: &mut Self) {
        for (tool, mut queue) in others.by_tool.drain() {
            self.by_tool.entry(tool).or_default().append(&mut queue);
        }
        self.by_order.append(&mut others.by_order);
    }
}

/// Up to this number, calls are searched one by one.
const FEW: usize = 16;

/// A call. Its id and tool are in [`Pairs::words`].
#[derive(Clone, Debug)]
struct Call {
    id: Option<Range<usize>>,
    tool: Range<usize>,
    answered: bool,
}

/// The relation of a reply to the calls before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paired {
    /// It answers this call.
    Answer(usize),
    /// It is another reply to this call.
    Again(usize),
    /// No call has its id or, without an id, no call waits for it.
    Unknown,
}

impl Pairs {
    /// Forgets all calls and keeps the memory.
    pub(crate) fn clear(&mut self) {
        let Self { calls, words, by_id, passed, queues, queued } = self;
        calls.clear();
        words.clear();
        // With only a few calls, the indexes are empty.
        if !by_id.is_empty() {
            by_id.clear();
        }
        if *queued > 0 {
            *queues = Default::default();
        }
        (*passed, *queued) = (0, 0);
    }

    /// Begins a turn, after a message of the user or an answer. A reply without an id answers a
    /// call of an earlier turn only if no call of its own turn waits for it.
    #[inline]
    pub(crate) fn turn(&mut self) {
        self.passed = self.calls.len();
        if self.queued > 0 {
            let [current, earlier] = &mut self.queues;
            earlier.take(current);
        }
    }

    /// Adds a call and returns its number, or `None` if a call with its id still waits for a reply. A
    /// reply answers the last call with its id.
    pub(crate) fn call(&mut self, id: Option<&str>, tool: &str) -> Option<usize> {
        let at = self.calls.len();
        if let Some(id) = id {
            if self.find(id).is_some_and(|call| !self.calls[call].answered) {
                return None;
            }
            if at >= FEW {
                self.by_id.insert(id.to_owned(), at);
            }
        }
        let id = id.map(|id| self.keep(id));
        let tool = self.keep(tool);
        self.calls.push(Call { id, tool, answered: false });
        Some(at)
    }

    fn keep(&mut self, word: &str) -> Range<usize> {
        if self.words.capacity() == 0 {
            self.words.reserve(128);
        }
        let start = self.words.len();
        self.words.push_str(word);
        start..self.words.len()
    }

    /// Adds a reply of the tool with this name.
    pub(crate) fn reply(&mut self, id: Option<&str>, tool: Option<&str>) -> Paired {
        let Some(id) = id else {
            return self.next_waiting(tool).map_or(Paired::Unknown, Paired::Answer);
        };
        let Some(at) = self.find(id) else { return Paired::Unknown };
        match std::mem::replace(&mut self.calls[at].answered, true) {
            true => Paired::Again(at),
            false => Paired::Answer(at),
        }
    }

    /// Returns the number of calls.
    pub(crate) fn len(&self) -> usize {
        self.calls.len()
    }

    /// Returns the tool of a call.
    pub(crate) fn tool(&self, call: usize) -> &str {
        &self.words[self.calls[call].tool.clone()]
    }

    pub(crate) fn is_answered(&self, call: usize) -> bool {
        self.calls[call].answered
    }

    /// Whether a call has this id.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.find(id).is_some()
    }

    /// Returns the last call with this id.
    fn find(&self, id: &str) -> Option<usize> {
        let few = &self.calls[..self.calls.len().min(FEW)];
        let is_it = |call: &Call| call.id.clone().is_some_and(|at| &self.words[at] == id);
        self.by_id.get(id).copied().or_else(|| few.iter().rposition(is_it))
    }

    /// Finds the first of a few calls that waits for a reply (of this tool, if given).
    fn first_of_few(&self, tool: Option<&str>) -> Option<usize> {
        let tool = tool.map(bare_name);
        let waits = |at: &usize| {
            !self.calls[*at].answered && tool.is_none_or(|tool| bare_name(self.tool(*at)) == tool)
        };
        (self.passed..self.calls.len()).find(waits).or_else(|| (0..self.passed).find(waits))
    }

    /// Returns the call that a reply without a name would answer.
    pub(crate) fn oldest(&mut self) -> Option<usize> {
        self.waiting(None)
    }

    /// Adds new calls to the queues.
    fn queue(&mut self) {
        for (at, call) in self.calls.iter().enumerate().skip(self.queued) {
            let queues = &mut self.queues[usize::from(at < self.passed)];
            let tool = bare_name(&self.words[call.tool.clone()]);
            match queues.by_tool.get_mut(tool) {
                Some(queue) => queue.push_back(at),
                None => drop(queues.by_tool.insert(tool.to_owned(), [at].into())),
            }
            queues.by_order.push_back(at);
        }
        self.queued = self.calls.len();
    }

    /// Returns the oldest waiting call of this turn, or else of an earlier turn (of this tool, if
    /// given).
    fn waiting(&mut self, tool: Option<&str>) -> Option<usize> {
        if self.calls.len() <= FEW {
            return self.first_of_few(tool);
        }
        self.queue();
        let Self { queues, calls, .. } = self;
        queues.iter_mut().find_map(|queues| {
            let queue = match tool {
                Some(tool) => queues.by_tool.get_mut(bare_name(tool))?,
                None => &mut queues.by_order,
            };
            while queue.front().is_some_and(|at| calls[*at].answered) {
                queue.pop_front();
            }
            queue.front().copied()
        })
    }

    /// Marks the call that a reply without an id answers, and returns it.
    fn next_waiting(&mut self, tool: Option<&str>) -> Option<usize> {
        let at = self.waiting(tool)?;
        self.calls[at].answered = true;
        Some(at)
    }
}

/// Whether calls before this message are calls of an earlier turn.
pub(crate) fn ends_turn(message: &Message<'_>) -> bool {
    message.role == Role::User || message.is_answer() && message.end != End::Prompt
}

/// Sorts replies by the order of their calls, if each reply names its call by `id`.
pub(crate) fn sort_replies<'c, T>(
    calls: impl Iterator<Item = Option<&'c str>>,
    replies: &mut [T],
    id: impl Fn(&T) -> Option<&str>,
) {
    if replies.len() < 2 || replies.iter().any(|reply| id(reply).is_none()) {
        return;
    }
    let mut places = HashMap::new();
    for (place, call) in calls.enumerate() {
        if let Some(call) = call {
            places.entry(call).or_insert(place);
        }
    }
    let place = |reply: &T| places.get(id(reply)?).copied();
    if replies.iter().all(|reply| place(reply).is_some()) {
        replies.sort_by_key(place);
    }
}

#[cfg(test)]
mod tests {
    use super::{Paired, Pairs};

    #[test]
    fn an_id_can_be_used_again_when_its_call_has_a_reply() {
        let mut pairs = Pairs::default();
        for number in 0..40 {
            assert_eq!(pairs.call(Some("c"), "functions.f"), Some(number));
            assert_eq!(pairs.call(Some("c"), "functions.f"), None);
            assert_eq!(pairs.reply(Some("c"), None), Paired::Answer(number));
            assert_eq!(pairs.reply(Some("c"), None), Paired::Again(number));
        }
    }

    #[test]
    fn replies_with_ids_find_their_calls_in_any_order_and_once() {
        let mut pairs = Pairs::default();
        // More than are searched one by one.
        for number in 0..40 {
            let id = format!("c{number}");
            assert_eq!(pairs.call(Some(&id), "functions.f"), Some(number));
            assert_eq!(pairs.call(Some(&id), "functions.g"), None);
        }
        for number in (0..40).rev() {
            let id = format!("c{number}");
            assert!(!pairs.is_answered(number));
            assert_eq!(pairs.reply(Some(&id), None), Paired::Answer(number));
            assert_eq!(pairs.reply(Some(&id), None), Paired::Again(number));
            assert!(pairs.is_answered(number));
        }
        assert_eq!(pairs.reply(Some("c40"), Some("f")), Paired::Unknown);
        assert_eq!(pairs.len(), 40);
    }

    #[test]
    fn replies_without_ids_answer_the_oldest_call_of_their_tool() {
        let mut pairs = Pairs::default();
        for (id, tool) in [(None, "functions.f"), (Some("g1"), "g"), (None, "f"), (None, "h")] {
            pairs.call(id, tool);
        }
        assert_eq!(pairs.reply(None, Some("f")), Paired::Answer(0));
        assert_eq!(pairs.reply(None, Some("functions.g")), Paired::Answer(1));
        assert_eq!(pairs.reply(Some("g1"), Some("g")), Paired::Again(1));
        // Whoever it is: the oldest that waits.
        assert_eq!(pairs.reply(None, None), Paired::Answer(2));
        assert_eq!(pairs.reply(None, Some("f")), Paired::Unknown);
        assert_eq!(pairs.reply(None, Some("nobody")), Paired::Unknown);
        assert_eq!((pairs.reply(None, None), pairs.tool(3)), (Paired::Answer(3), "h"));
        assert_eq!(pairs.reply(None, None), Paired::Unknown);
    }

    #[test]
    fn replies_without_ids_answer_calls_of_their_own_turn_first() {
        for more in [0, 40] {
            let mut pairs = Pairs::default();
            for _ in 0..more {
                pairs.call(None, "other");
            }
            pairs.call(None, "f");
            pairs.call(None, "f");
            assert_eq!(pairs.reply(None, Some("f")), Paired::Answer(more));
            pairs.turn();
            pairs.call(None, "f");
            assert_eq!(pairs.reply(None, Some("f")), Paired::Answer(more + 2));
            assert_eq!(pairs.reply(None, Some("f")), Paired::Answer(more + 1));
            pairs.turn();
            assert_eq!(pairs.reply(None, Some("f")), Paired::Unknown);
        }
    }

    #[test]
    fn few_calls_and_many_find_their_replies_alike() {
        let tools = ["functions.f", "g", "h"];
        let mut pairs = Pairs::default();
        let mut waiting: Vec<(usize, &str)> = Vec::new();
        for number in 0..60 {
            // More calls than replies, so that some wait while few become many.
            for (step, tool) in tools.iter().enumerate().take(1 + number % 2) {
                waiting.push((pairs.call(None, tool).unwrap_or_default(), tools[step]));
            }
            let oldest = waiting.first().map(|(call, _)| *call);
            assert_eq!(pairs.oldest(), oldest, "{number}");
            let tool = [Some("f"), None, Some("g"), Some("h")][number % 4];
            let is_it =
                |call: &(usize, &str)| tool.is_none_or(|tool| super::bare_name(call.1) == tool);
            let wanted = match waiting.iter().position(is_it) {
                Some(at) => Paired::Answer(waiting.remove(at).0),
                None => Paired::Unknown,
            };
            assert_eq!(pairs.reply(None, tool), wanted, "{number}");
        }
        assert!(pairs.len() > super::FEW && !waiting.is_empty());
    }
}
