//! The calls that have no reply yet.

use std::collections::VecDeque;

/// How many of the oldest calls are searched for an id, so that the time does not grow with their
/// number.
const MOST: usize = 64;

/// The calls of a turn that have no reply yet, in order.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// The tool and the id of each.
    calls: VecDeque<(String, Option<String>)>,
}

impl Waiting {
    pub(super) fn clear(&mut self) {
        self.calls.clear();
    }

    pub(super) fn push(&mut self, tool: &str, id: Option<&str>) {
        self.calls.push_back((tool.to_owned(), id.map(str::to_owned)));
    }

    /// Removes the call that a reply with this id answers, and returns its tool: the call with the
    /// same id or, without one, the first call. A reply with an id can only answer a call with
    /// another id if that has none.
    pub(super) fn answer(&mut self, id: Option<&str>) -> Option<String> {
        let calls = || self.calls.iter().take(MOST);
        let at = match id {
            None => 0,
            Some(_) => calls()
                .position(|(_, own)| own.as_deref() == id)
                .or_else(|| calls().position(|(_, own)| own.is_none()))?,
        };
        self.calls.remove(at).map(|(tool, _)| tool)
    }

    /// Removes the first call of a tool, or without one the first call, and returns its tool.
    pub(super) fn answer_tool(&mut self, tool: Option<&str>) -> Option<String> {
        let mut calls = self.calls.iter().take(MOST);
        let at = calls.position(|(own, _)| tool.is_none_or(|tool| own == tool))?;
        self.calls.remove(at).map(|(tool, _)| tool)
    }
}

#[cfg(test)]
mod tests {
    use super::Waiting;

    #[test]
    fn a_reply_answers_the_call_with_its_id() {
        let mut waiting = Waiting::default();
        for (tool, id) in [("f", Some("1")), ("g", None), ("h", Some("2")), ("i", None)] {
            waiting.push(tool, id);
        }
        let tools = [Some("2"), Some("3"), None, Some("4"), Some("5"), None]
            .map(|id| waiting.answer(id).unwrap_or_default());
        assert_eq!(tools, ["h", "g", "f", "i", "", ""]);
    }
}
