//! Pairs replies with calls, by id or else with the oldest call without a reply.

use crate::pairing::{Paired, Pairs};

/// The calls of the last list, and which of them have replies. Reading and writing use the same
/// pairs.
#[derive(Debug, Default)]
pub(super) struct Replies {
    calls: Pairs,
}

/// The call that a reply answers.
#[derive(Debug, Default)]
pub(super) struct Answered<'r> {
    /// The tool of the call.
    pub(super) tool: Option<&'r str>,
    /// Whether an earlier call still has no reply.
    pub(super) is_early: bool,
}

impl Replies {
    /// Begins a list of calls, or a turn without one.
    #[inline]
    pub(super) fn begin(&mut self) {
        if self.calls.len() > 0 {
            self.calls.clear();
        }
    }

    /// Adds a call. A duplicate id is ignored.
    pub(super) fn call(&mut self, id: Option<&str>, recipient: &str) {
        let known = self.calls.call(id, recipient);
        known.or_else(|| self.calls.call(None, recipient));
    }

    /// Pairs a reply with a call. A reply with an unknown or used id answers the oldest call
    /// without a reply.
    pub(super) fn reply(&mut self, id: Option<&str>) -> Answered<'_> {
        let oldest = self.calls.oldest();
        let call = match self.calls.reply(id, None) {
            Paired::Again(_) | Paired::Unknown => self.calls.reply(None, None),
            answer => answer,
        };
        match call {
            Paired::Answer(call) => {
                Answered { tool: Some(self.calls.tool(call)), is_early: oldest != Some(call) }
            }
            _ => Answered::default(),
        }
    }
}
