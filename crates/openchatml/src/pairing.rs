//! Pairs replies with calls: by `call_id` (OpenChatML 2.2 §6, §8.2) or, without one, by the name of
//! the tool and the order (OpenChatML 2.0 §8).

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use crate::model::bare_name;

/// How replies are paired with calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pairing {
    /// Not at all: the dialect has no calls.
    None,
    /// By recipient and order.
    ByOrder,
    /// By `call_id`.
    ById,
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
    /// The calls of each tool, oldest first. It is filled only if there are more than a few calls
    /// and a reply without an id needs it. Calls with a reply are removed when they are found.
    by_tool: HashMap<String, VecDeque<usize>>,
    /// All calls, for replies that do not name their tool.
    by_order: VecDeque<usize>,
    /// How many calls are in the two queues.
    queued: usize,
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
        let Self { calls, words, by_id, by_tool, by_order, queued } = self;
        calls.clear();
        words.clear();
        by_order.clear();
        // With only a few calls, the index is empty.
        if !by_id.is_empty() {
            by_id.clear();
        }
        if !by_tool.is_empty() {
            by_tool.clear();
        }
        *queued = 0;
    }

    /// Adds a call and returns its number, or `None` if its id is already used.
    pub(crate) fn call(&mut self, id: Option<&str>, tool: &str) -> Option<usize> {
        let at = self.calls.len();
        if let Some(id) = id {
            if self.find(id).is_some() {
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

    fn find(&self, id: &str) -> Option<usize> {
        let few = &self.calls[..self.calls.len().min(FEW)];
        let is_it = |call: &Call| call.id.clone().is_some_and(|at| &self.words[at] == id);
        few.iter().position(is_it).or_else(|| self.by_id.get(id).copied())
    }

    /// Finds the oldest of a few calls that waits for a reply (of this tool, if given).
    fn oldest_of_few(&self, tool: Option<&str>) -> Option<usize> {
        let tool = tool.map(bare_name);
        (0..self.calls.len()).find(|at| {
            !self.calls[*at].answered && tool.is_none_or(|tool| bare_name(self.tool(*at)) == tool)
        })
    }

    /// Returns the oldest call that waits for a reply.
    pub(crate) fn oldest(&mut self) -> Option<usize> {
        if self.calls.len() <= FEW {
            return self.oldest_of_few(None);
        }
        self.queue();
        while let Some(at) = self.by_order.front().copied() {
            if !self.calls[at].answered {
                return Some(at);
            }
            self.by_order.pop_front();
        }
        None
    }

    /// Adds new calls to the queues.
    fn queue(&mut self) {
        for (at, call) in self.calls.iter().enumerate().skip(self.queued) {
            let tool = bare_name(&self.words[call.tool.clone()]);
            match self.by_tool.get_mut(tool) {
                Some(queue) => queue.push_back(at),
                None => drop(self.by_tool.insert(tool.to_owned(), [at].into())),
            }
            self.by_order.push_back(at);
        }
        self.queued = self.calls.len();
    }

    /// Marks the oldest waiting call (of this tool, if given) as answered, and returns it.
    fn next_waiting(&mut self, tool: Option<&str>) -> Option<usize> {
        if self.calls.len() <= FEW {
            let at = self.oldest_of_few(tool)?;
            self.calls[at].answered = true;
            return Some(at);
        }
        self.queue();
        let queue = match tool {
            Some(tool) => self.by_tool.get_mut(bare_name(tool))?,
            None => &mut self.by_order,
        };
        while let Some(at) = queue.pop_front() {
            if !std::mem::replace(&mut self.calls[at].answered, true) {
                return Some(at);
            }
        }
        None
    }
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
